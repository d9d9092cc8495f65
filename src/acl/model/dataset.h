// Handles of AscendCL's model interface.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "acl/acl_mdl.h"
#include "graph/executor/loaded_model.h"

/// What aclmdlGetDesc gives: it stays when the model is unloaded.
struct aclmdlDesc {
  std::vector<std::string> input_names, output_names;
  std::vector<updraft::graph::TensorDesc> inputs, outputs;
  std::map<std::string, std::vector<std::string>, std::less<>> origins;  ///< what fused operators were made of
  std::vector<size_t> image_bytes;  ///< of inputs for images of dynamic AIPP what the largest source has; else 0
  std::vector<bool> added;          ///< inputs that are none of the client's model: see is_added()
  std::shared_ptr<const updraft::graph::GearTable> gears;  ///< null without gears
  std::string text;                                        ///< what aclmdlGetOpAttr gave last
};

struct aclmdlDataset {
  struct Item {
    aclDataBuffer* buffer;
    aclTensorDesc* desc = nullptr;  ///< null: as the model says
    bool own_desc = false;          ///< made by an execution
  };
  std::vector<Item> items;
  std::optional<size_t> gear;  ///< of the model's, as aclmdlSetDynamicBatchSize and its kin chose it
};

namespace updraft {
/// The handle's description or dataset; throws 100000 for one that is none.
aclmdlDesc& live(const aclmdlDesc* handle);
aclmdlDataset& live(const aclmdlDataset* handle);
/// True for the inputs that the compiler has added: the choice of a gear, parameters of AIPP.
bool is_added(const graph::Node& input);
/// The model behind an id; throws 145003 that says what to do.
std::shared_ptr<graph::LoadedModel> loaded_model(uint32_t id);
/// One execution, copied of what the client gave: it may destroy its handles when the call returns.
std::shared_ptr<graph::Execution> execution_of(uint32_t id, const aclmdlDataset* input, const aclmdlDataset* output);
/// Puts it on the stream.
void submit(uint32_t id, const std::shared_ptr<graph::Execution>& execution, Stream& stream);
/// What an execution that is over says of its outputs.
void give_results(const graph::Execution& execution, aclmdlDataset* output);
}  // namespace updraft
