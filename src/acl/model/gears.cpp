// Models with gears: which sizes there are, and which the next execution has (aclmdlSetDynamicBatchSize and its kin).
#include <algorithm>
#include <cstring>

#include "acl/api.h"
#include "acl/model/dataset.h"
#include "acl/tensor_desc.h"
#include "device/memory.h"
#include "graph/shape/aipp_inputs.h"

using namespace updraft;

namespace {

using GearKind = graph::Gears::Kind;

constexpr int kInputAddress = 145011, kInputLength = 145012, kNoSuchGear = 145013;

const char* option_of(GearKind kind) {
  return kind == GearKind::Batch   ? "dynamic_batch_size"
         : kind == GearKind::Image ? "dynamic_image_size"
                                   : "dynamic_dims";
}

/// The gears of that kind; null where the model has none.
const graph::Gears* gears_of(const aclmdlDesc* handle, GearKind kind) {
  const auto& table = live(handle).gears;
  return table && table->gears.kind == kind ? &table->gears : nullptr;
}

void choose(uint32_t id, aclmdlDataset* handle, size_t index, GearKind kind, const graph::Dims& value) {
  const auto model = loaded_model(id);
  aclmdlDataset& set = live(handle);
  const graph::Gears* gears = model->gears();
  if (!gears || gears->kind != kind)
    throw Error(code::kAclInvalidParam, "model {} was not compiled with {}: convert it with atc --{}=…", id,
                option_of(kind), option_of(kind));
  const auto& inputs = model->inputs();
  if (index >= inputs.size() || inputs[index]->name() != graph::kGearInput)
    throw Error(code::kAclInvalidParam, "index {} is not that of the input {}: ask aclmdlGetInputIndexByName", index,
                graph::kGearInput);
  if (index >= set.items.size())
    throw Error(code::kAclInvalidParam, "the dataset has {} buffers, index {} is none: add a buffer for {}",
                set.items.size(), index, graph::kGearInput);
  const auto gear = gears->find(value);
  if (!gear)
    throw Error(kNoSuchGear, "model {} has no gear {}; it has {}", id,
                value.size() == 1 ? std::to_string(value[0]) : graph::describe(value), gears->text());
  const aclDataBuffer& buffer = updraft::live(set.items[index].buffer);
  const std::vector<int32_t> numbers(value.begin(), value.end());
  const size_t bytes = numbers.size() * sizeof(int32_t);
  if (!buffer.data)
    throw Error(kInputAddress, "the buffer of {} has no memory, want {} bytes on the device", graph::kGearInput, bytes);
  if (buffer.size < bytes)
    throw Error(kInputLength, "the buffer of {} has {} bytes, want {}", graph::kGearInput, buffer.size, bytes);
  std::memcpy(host_address(buffer.data), numbers.data(), bytes);
  set.gear = gear;
  model->choose_gear(*gear);
}

}  // namespace

bool updraft::is_added(const graph::Node& input) {
  return input.name() == graph::kGearInput || graph::aipp_with_parameters(input);
}

extern "C" {

UPDRAFT_API int aclmdlSetDynamicBatchSize(uint32_t id, aclmdlDataset* dataset, size_t index, uint64_t batch) {
  return guard("aclmdlSetDynamicBatchSize",
               [&] { choose(id, dataset, index, GearKind::Batch, {static_cast<int64_t>(batch)}); });
}
UPDRAFT_API int aclmdlSetDynamicHWSize(uint32_t id, aclmdlDataset* dataset, size_t index, uint64_t height,
                                       uint64_t width) {
  return guard("aclmdlSetDynamicHWSize", [&] {
    choose(id, dataset, index, GearKind::Image, {static_cast<int64_t>(height), static_cast<int64_t>(width)});
  });
}
UPDRAFT_API int aclmdlSetInputDynamicDims(uint32_t id, aclmdlDataset* dataset, size_t index, const aclmdlIODims* dims) {
  return guard("aclmdlSetInputDynamicDims", [&] {
    need(dims, "dims");
    const auto model = loaded_model(id);
    // clients give all dimensions of all inputs, one after the other; the gear is what stands at the unknown ones
    graph::Dims value;
    size_t at = 0;
    for (const graph::Node* input : model->inputs()) {
      if (is_added(*input)) continue;
      const graph::Dims& known = input->output().desc.dims;
      for (size_t d = 0; d < known.size(); ++d) {
        const int64_t size = known[d];
        if (at >= std::min(dims->dimCount, std::size(dims->dims)))
          throw Error(code::kAclInvalidParam,
                      "dims has {} sizes, the inputs of model {} have more: give all dimensions of all inputs",
                      dims->dimCount, id);
        const int64_t given = dims->dims[at++];
        if (size < 0) value.push_back(graph::gear_number(*input, d, given));
        else if (given != size)
          throw Error(code::kAclInvalidParam, "dims has {} at place {}, input {} of model {} has {} there", given,
                      at - 1, input->name(), id, size);
      }
    }
    if (at != dims->dimCount)
      throw Error(code::kAclInvalidParam, "dims has {} sizes, the inputs of model {} have {}", dims->dimCount, id, at);
    choose(id, dataset, index, GearKind::Dims, value);
  });
}

UPDRAFT_API int aclmdlGetDynamicBatch(const aclmdlDesc* desc, aclmdlBatch* batch) {
  return guard("aclmdlGetDynamicBatch", [&] {
    need(batch, "batch");
    *batch = {};
    if (const graph::Gears* gears = gears_of(desc, GearKind::Batch))
      for (const graph::Dims& value : gears->values)
        batch->batch[batch->batchCount++] = static_cast<uint64_t>(value[0]);
  });
}
UPDRAFT_API int aclmdlGetDynamicHW(const aclmdlDesc* desc, size_t, aclmdlHW* hw) {
  return guard("aclmdlGetDynamicHW", [&] {
    need(hw, "hw");
    *hw = {};
    if (const graph::Gears* gears = gears_of(desc, GearKind::Image))
      for (const graph::Dims& value : gears->values) {
        hw->hw[hw->hwCount][0] = static_cast<uint64_t>(value[0]);
        hw->hw[hw->hwCount++][1] = static_cast<uint64_t>(value[1]);
      }
  });
}
UPDRAFT_API int aclmdlGetInputDynamicGearCount(const aclmdlDesc* desc, size_t, size_t* count) {
  return guard("aclmdlGetInputDynamicGearCount", [&] {
    need(count, "gearCount");
    const graph::Gears* gears = gears_of(desc, GearKind::Dims);
    *count = gears ? gears->values.size() : 0;
  });
}
UPDRAFT_API int aclmdlGetInputDynamicDims(const aclmdlDesc* desc, size_t, aclmdlIODims* dims, size_t count) {
  return guard("aclmdlGetInputDynamicDims", [&] {
    need(dims, "dims");
    const graph::Gears* gears = gears_of(desc, GearKind::Dims);
    const size_t have = gears ? gears->values.size() : 0;
    if (count < have) throw Error(code::kAclInvalidParam, "gearCount is {}, the model has {} gears", count, have);
    const auto& handle = live(desc);
    for (size_t g = 0; g < have; ++g) {
      dims[g] = {};
      const auto& shapes = handle.gears->inputs[g];
      for (size_t i = 0; i < shapes.size(); ++i) {
        if (handle.added[i]) continue;
        for (const int64_t size : shapes[i])
          if (dims[g].dimCount < std::size(dims[g].dims)) dims[g].dims[dims[g].dimCount++] = size;
      }
    }
  });
}

UPDRAFT_API int aclmdlGetInputDimsRange(const aclmdlDesc* desc, size_t index, aclmdlIODimsRange* range) {
  return guard("aclmdlGetInputDimsRange", [&] {
    need(range, "range");
    const auto& inputs = live(desc).inputs;
    if (index >= inputs.size())
      throw Error(code::kAclInvalidParam, "the model has {} inputs, index {} is none", inputs.size(), index);
    const graph::TensorDesc& t = inputs[index];
    *range = {};
    for (size_t d = 0; t.rank_known() && d < std::min(t.dims.size(), std::size(range->range)); ++d) {
      const bool known = t.dims[d] >= 0;
      const auto bounds = d < t.ranges.size() ? t.ranges[d] : std::pair<int64_t, int64_t>{0, -1};
      range->range[d][0] = known ? t.dims[d] : bounds.first;
      range->range[d][1] = known ? t.dims[d] : bounds.second;
      ++range->rangeCount;
    }
  });
}

}  // extern "C"
