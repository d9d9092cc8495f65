// Part of Updraft: a software implementation of the interfaces that Ascend programs use.
/** @file
 * Operators of the Ascend IR, by which programs build graphs: each gets its inputs from others, and Graph::SetOutputs
 * collects what the outputs need. `all_ops.h` has a class for each type (op::Conv2D), which names its inputs, outputs
 * and attributes.
 *
 * Names, parameters and results are those that clients of GE link or call. Ours are: the forms with std::string
 * (inline, so that programs of either ABI of std::string work), and the rule that what is refused is remembered.
 * Functions that return the operator cannot fail at once: GEGetErrorMsg() tells of the refusal, and whoever takes the
 * graph (Session::AddGraph, aclgrphBuildModel) fails with the first one.
 *
 * An operator may be used by one thread at a time.
 */
#ifndef UPDRAFT_GRAPH_OPERATOR_H_
#define UPDRAFT_GRAPH_OPERATOR_H_

#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "graph/tensor.h"

namespace ge {

class Graph;
class OperatorImpl;
class TensorTypeImpl;
class PromoteImpl;

/** Types that a tensor of an operator may have. */
class GE_FUNC_VISIBILITY TensorType {
 public:
  explicit TensorType(const std::initializer_list<DataType>& types);

 private:
  std::shared_ptr<TensorTypeImpl> impl_;
};

/** A type that is the wider one of others. */
class GE_FUNC_VISIBILITY Promote {
 public:
  explicit Promote(const std::initializer_list<const char*>& names);

 private:
  std::shared_ptr<PromoteImpl> impl_;
};

/** An operator that may become a node. Copies are the same operator. */
class GE_FUNC_VISIBILITY Operator {
 public:
  /** None: it has neither type nor inputs. */
  Operator() = default;
  /** Its name in the graph is the type, with a number behind it where that is taken. */
  explicit Operator(const char* type);
  Operator(const char* name, const char* type);
  Operator(const AscendString& name, const AscendString& type);
  Operator(const std::string& name, const std::string& type) : Operator(name.c_str(), type.c_str()) {}
  virtual ~Operator() = default;

  bool IsEmpty() const;
  graphStatus GetName(AscendString& name) const;
  graphStatus GetOpType(AscendString& type) const;

  /** Input `dst` is output `name` of `src`; without a name or number its first output. Another call replaces it. */
  Operator& SetInput(const char* dst, const Operator& src);
  Operator& SetInput(const char* dst, const Operator& src, const char* name);
  Operator& SetInput(const char* dst, const Operator& src, uint32_t index);
  /** The same by numbers in the order of the IR, where a dynamic input counts as many as it has. */
  Operator& SetInput(uint32_t dst, const Operator& src, uint32_t index);
  /** Place `place` of the dynamic input `dst`. */
  Operator& SetInput(const char* dst, uint32_t place, const Operator& src);
  Operator& SetInput(const char* dst, uint32_t place, const Operator& src, const char* name);
  Operator& SetInput(const std::string& dst, const Operator& src) { return SetInput(dst.c_str(), src); }
  Operator& SetInput(const std::string& dst, const Operator& src, const std::string& name) {
    return SetInput(dst.c_str(), src, name.c_str());
  }
  /** This operator runs behind `src`, although it reads nothing of it. */
  Operator& AddControlInput(const Operator& src);

  /** The constant behind an input. Fails when there is none. */
  graphStatus GetInputConstData(const char* dst, Tensor& data) const;

  /** Places of dynamic inputs and outputs; 0 for a name that is none. */
  int GetDynamicInputNum(const char* name) const;
  int GetDynamicOutputNum(const char* name) const;
  /** All inputs and outputs, places counted. */
  size_t GetInputsSize() const;
  size_t GetOutputsSize() const;

  /**
   * Descriptions of inputs and outputs. Those of Data and Variable say what they are; elsewhere types and shapes are
   * inferred, and the format of an input stands for the attribute data_format where that is not set.
   * Fails when the type has no such input or output.
   */
  graphStatus UpdateInputDesc(const char* name, const TensorDesc& desc);
  graphStatus UpdateOutputDesc(const char* name, const TensorDesc& desc);
  graphStatus UpdateDynamicInputDesc(const char* name, uint32_t place, const TensorDesc& desc);
  graphStatus UpdateDynamicOutputDesc(const char* name, uint32_t place, const TensorDesc& desc);
  graphStatus TryGetInputDesc(const char* name, TensorDesc& desc) const;
  /** Empty descriptions (DT_UNDEFINED) where there is no such input or output. */
  TensorDesc GetInputDesc(uint32_t index) const;
  TensorDesc GetInputDescByName(const char* name) const;
  TensorDesc GetDynamicInputDesc(const char* name, uint32_t place) const;
  TensorDesc GetOutputDesc(uint32_t index) const;
  TensorDesc GetOutputDescByName(const char* name) const;
  TensorDesc GetDynamicOutputDesc(const char* name, uint32_t place) const;
  graphStatus UpdateInputDesc(const std::string& name, const TensorDesc& desc) {
    return UpdateInputDesc(name.c_str(), desc);
  }
  graphStatus UpdateOutputDesc(const std::string& name, const TensorDesc& desc) {
    return UpdateOutputDesc(name.c_str(), desc);
  }

  /** Gives the outputs' descriptions the types and shapes that follow from all that the operator reads. */
  graphStatus InferShapeAndType();

  /**
   * An attribute of the type, of its kind. Names that begin with _ are free. Whole numbers are taken for floats and
   * data types, too.
   */
  Operator& SetAttr(const char* name, bool value);
  Operator& SetAttr(const char* name, int32_t value);
  Operator& SetAttr(const char* name, uint32_t value);
  Operator& SetAttr(const char* name, int64_t value);
  Operator& SetAttr(const char* name, float value);
  Operator& SetAttr(const char* name, const char* value);
  Operator& SetAttr(const char* name, const AscendString& value);
  Operator& SetAttr(const char* name, const DataType& value);
  /** The elements are copied when a graph is made. */
  Operator& SetAttr(const char* name, const Tensor& value);
  Operator& SetAttr(const char* name, const std::vector<bool>& value);
  Operator& SetAttr(const char* name, const std::vector<int32_t>& value);
  Operator& SetAttr(const char* name, const std::vector<uint32_t>& value);
  Operator& SetAttr(const char* name, const std::vector<int64_t>& value);
  Operator& SetAttr(const char* name, const std::vector<float>& value);
  Operator& SetAttr(const char* name, const std::vector<AscendString>& value);
  Operator& SetAttr(const char* name, const std::vector<DataType>& value);
  Operator& SetAttr(const char* name, const std::vector<std::vector<int64_t>>& value);
  Operator& SetAttr(const char* name, const std::string& value) { return SetAttr(name, value.c_str()); }
  Operator& SetAttr(const char* name, const std::vector<std::string>& value) {
    std::vector<AscendString> texts;
    for (const std::string& text : value) texts.emplace_back(text.c_str());
    return SetAttr(name, texts);
  }
  template <class T>
  Operator& SetAttr(const std::string& name, const T& value) {
    return SetAttr(name.c_str(), value);
  }

  /** The value, else the default of the type. Fails when there is neither, or when it is of another kind. */
  graphStatus GetAttr(const char* name, bool& value) const;
  graphStatus GetAttr(const char* name, int32_t& value) const;
  graphStatus GetAttr(const char* name, uint32_t& value) const;
  graphStatus GetAttr(const char* name, int64_t& value) const;
  graphStatus GetAttr(const char* name, float& value) const;
  graphStatus GetAttr(const char* name, AscendString& value) const;
  graphStatus GetAttr(const char* name, DataType& value) const;
  graphStatus GetAttr(const char* name, Tensor& value) const;
  graphStatus GetAttr(const char* name, std::vector<bool>& value) const;
  graphStatus GetAttr(const char* name, std::vector<int32_t>& value) const;
  graphStatus GetAttr(const char* name, std::vector<uint32_t>& value) const;
  graphStatus GetAttr(const char* name, std::vector<int64_t>& value) const;
  graphStatus GetAttr(const char* name, std::vector<float>& value) const;
  graphStatus GetAttr(const char* name, std::vector<AscendString>& value) const;
  graphStatus GetAttr(const char* name, std::vector<DataType>& value) const;
  graphStatus GetAttr(const char* name, std::vector<std::vector<int64_t>>& value) const;
  graphStatus GetAttr(const char* name, std::string& value) const {
    AscendString text;
    const graphStatus status = GetAttr(name, text);
    if (status == GRAPH_SUCCESS) value = text.GetString();
    return status;
  }
  graphStatus GetAttr(const char* name, std::vector<std::string>& value) const {
    std::vector<AscendString> texts;
    const graphStatus status = GetAttr(name, texts);
    if (status != GRAPH_SUCCESS) return status;
    value.clear();
    for (const AscendString& text : texts) value.emplace_back(text.GetString());
    return status;
  }
  template <class T>
  graphStatus GetAttr(const std::string& name, T& value) const {
    return GetAttr(name.c_str(), value);
  }

  /** The names of the attributes that the type has, and their kinds: VT_INT, VT_LIST_FLOAT … */
  graphStatus GetAllIrAttrNamesAndTypes(std::map<AscendString, AscendString>& names_types) const;

 protected:
  /** Makes `count` places of a dynamic input or output. They stand where the IR has them, in front or behind others. */
  void DynamicInputRegister(const char* name, unsigned int count, bool is_push_back);
  void DynamicInputRegisterByIndex(const char* name, unsigned int count, unsigned long index);
  void DynamicOutputRegister(const char* name, unsigned int count, bool is_push_back);
  void DynamicInputRegister(const char* name, unsigned int count, const char* type, bool is_push_back);
  void DynamicOutputRegister(const char* name, unsigned int count, const char* type, bool is_push_back);
  /**
   * By these the classes of other headers say what their type has, whenever an operator is made. Types are known here
   * already, so nothing is done; an operator of a type that is unknown is refused, whatever it says of itself.
   */
  void InputRegister(const char* name);
  void InputRegister(const char* name, const char* type);
  void OptionalInputRegister(const char* name);
  void OptionalInputRegister(const char* name, const char* type);
  void OutputRegister(const char* name);
  void OutputRegister(const char* name, const char* type);
  void DataTypeRegister(const char* type, const TensorType& types);
  void DataTypeRegister(const char* type, const Promote& types);
  void RequiredAttrRegister(const char* name);
  void RequiredAttrWithTypeRegister(const char* name, const char* type);
  void AttrRegister(const char* name, bool value);
  void AttrRegister(const char* name, int64_t value);
  void AttrRegister(const char* name, float value);
  void AttrRegister(const char* name, const AscendString& value);
  void AttrRegister(const char* name, const DataType& value);
  void AttrRegister(const char* name, const Tensor& value);
  void AttrRegister(const char* name, const std::vector<bool>& value);
  void AttrRegister(const char* name, const std::vector<int64_t>& value);
  void AttrRegister(const char* name, const std::vector<float>& value);
  void AttrRegister(const char* name, const std::vector<AscendString>& value);
  void AttrRegister(const char* name, const std::vector<DataType>& value);
  void AttrRegister(const char* name, const std::vector<std::vector<int64_t>>& value);
  /** How many graphs a list of graphs has (`branches` of Case): 1 to 4096. */
  void SubgraphCountRegister(const char* name, unsigned int count);
  /** What makes a graph that the operator runs: a branch, a condition, a body. It is called when the operator's graph
   * is made. `index`: which one of a list, otherwise 0. */
  void SetSubgraphBuilder(const char* name, unsigned int index, const std::function<Graph()>& builder);

 private:
  friend class OperatorFactory;
  friend std::shared_ptr<OperatorImpl> operator_impl(const Operator& op);
  std::shared_ptr<OperatorImpl> impl_;
};

class GE_FUNC_VISIBILITY OperatorFactory {
 public:
  /** An operator of that type; without anything in it when there is none. */
  static Operator CreateOperator(const char* name, const char* type);
  static Operator CreateOperator(const std::string& name, const std::string& type) {
    return CreateOperator(name.c_str(), type.c_str());
  }
  /** True for types that the virtual NPU has. */
  static bool IsExistOp(const char* type);
  static bool IsExistOp(const std::string& type) { return IsExistOp(type.c_str()); }
};

}  // namespace ge

#endif  // UPDRAFT_GRAPH_OPERATOR_H_
