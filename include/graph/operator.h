// Part of Updraft: a software implementation of the interfaces that Ascend programs use.
/** @file
 * Operators of the Ascend IR by their types.
 */
#ifndef UPDRAFT_GRAPH_OPERATOR_H_
#define UPDRAFT_GRAPH_OPERATOR_H_

#include <map>
#include <memory>

#include "graph/tensor.h"

namespace ge {

class OperatorImpl;

/** An operator that may become a node. */
class GE_FUNC_VISIBILITY Operator {
 public:
  Operator() = default;
  virtual ~Operator() = default;

  /** The names of the attributes that the type has, and their kinds: VT_INT, VT_LIST_FLOAT … */
  graphStatus GetAllIrAttrNamesAndTypes(std::map<AscendString, AscendString>& names_types) const;
  /** GRAPH_FAILED when the type has no such input. */
  graphStatus UpdateInputDesc(const char* name, const TensorDesc& desc);

 private:
  friend class OperatorFactory;
  std::shared_ptr<OperatorImpl> impl_;
};

class GE_FUNC_VISIBILITY OperatorFactory {
 public:
  /** An operator of that type; without anything in it when there is none. */
  static Operator CreateOperator(const char* name, const char* type);
  /** True for types that the virtual NPU has. */
  static bool IsExistOp(const char* type);
};

}  // namespace ge

#endif  // UPDRAFT_GRAPH_OPERATOR_H_
