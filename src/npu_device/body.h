// A function with everything that it calls in its place: a list of operators, each behind those that it reads or waits
// for. One operator that runs by itself is such a list, too.
#pragma once
#include <deque>
#include <string>
#include <vector>

#include "npu_device/library.h"

namespace updraft::npu_device {

/// An output of an item.
struct Ref {
  int item = -1;
  int output = 0;
  bool operator==(const Ref&) const = default;
  auto operator<=>(const Ref&) const = default;
};

/// An attribute of nodes that run on TensorFlow's CPU kernels whatever the device has.
inline constexpr std::string_view kOnHost = "_npu_host";

struct Item {
  const tensorflow::NodeDef* def = nullptr;  ///< null: an argument of the function
  std::string name;                          ///< with the names of the calls that it came from
  int argument = -1;
  std::vector<Ref> inputs;
  std::vector<int> after;  ///< items that have to be over before
  std::vector<ElementType> outputs;

  std::string_view type() const { return def ? def->type : "argument"; }
};

struct Body {
  std::string name;
  std::vector<Item> items;
  size_t arguments = 0;  ///< the first items
  std::vector<Ref> results;
  std::deque<tensorflow::NodeDef> own;                                    ///< definitions that belong to nobody else
  graph::Bytes bytes;                                                     ///< which those point into
  std::vector<std::shared_ptr<const tensorflow::FunctionDef>> functions;  ///< whose nodes the items are

  ElementType type_of(Ref ref) const {
    return items.at(static_cast<size_t>(ref.item)).outputs.at(static_cast<size_t>(ref.output));
  }
};

/// Throws StatusError (NotFound) for a function that the context has not, 161002 for one that cannot be read.
Body body_of_function(Library& library, std::string_view name);
/// `attributes` is a message NameAttrList.
Body body_of_operator(const Library& library, const std::string& type, graph::Bytes attributes,
                      const std::vector<ElementType>& inputs);

}  // namespace updraft::npu_device
