// Handles of AscendCL's model interface.
#pragma once
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
}  // namespace updraft
