// What TensorFlow knows of operators and functions: read once, kept for the life of the process.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "frontends/tensorflow/graph_def.h"
#include "npu_device/tf_api.h"

namespace updraft::npu_device {

using tensorflow::ElementType;

class Library {
 public:
  explicit Library(TFE_Context* context);

  /// The definition of an operator; null for the name of a function.
  const tensorflow::OpDef* operator_named(std::string_view name) const;
  /// A function of the context; null where it has none of that name. Who keeps it may use it after forget().
  std::shared_ptr<const tensorflow::FunctionDef> function(std::string_view name);
  void forget(std::string_view name);

 private:
  struct Kept {
    graph::Bytes bytes;  ///< which the definition points into
    tensorflow::FunctionDef def;
  };
  TFE_Context* context_;
  graph::Bytes operator_bytes_;
  std::map<std::string_view, tensorflow::OpDef> operators_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Kept>, std::less<>> functions_;
};

/// The attributes of a call as a message NameAttrList.
graph::Bytes serialized(const TFE_OpAttrs* attributes);
/// The types of the tensors that a node gives, in order. Throws 161002 where an attribute is missing that says them.
std::vector<ElementType> output_types(const tensorflow::OpDef& def, const tensorflow::Attrs& attributes);
/// The place among a node's outputs where the named one begins; -1 when there is none.
int first_output(const tensorflow::OpDef& def, const tensorflow::Attrs& attributes, std::string_view name);

}  // namespace updraft::npu_device
