// Collectives that are nodes of graphs: they go to the communicator that has the name of their group.
#include <algorithm>
#include <cstring>

#include "acl/acl.h"
#include "base/boundary.h"
#include "collective/fusion/gradient_split.h"
#include "device/memory.h"
#include "device/stream.h"
#include "graph/executor/collective.h"
#include "hccl/group.h"
#include "hccl/hccl.h"

namespace updraft {
namespace {

using graph::CollectiveTensor;
using graph::Node;

HcclDataType type_of(const Node& node, DType type) {
  try {
    return static_cast<HcclDataType>(collective_type(type));
  } catch (const Error& e) { throw Error(code::kAclnnParamInvalid, "{} ({}): {}", node.name(), node.type(), e.text()); }
}

int32_t reduction_of(const Node& node) {
  static constexpr const char* kNames[] = {"sum", "prod", "max", "min"};
  const auto name = graph::find_or(node.attributes, "reduction", std::string());
  for (int32_t i = 0; i < 4; ++i)
    if (name == kNames[i]) return i;
  throw Error(code::kAclnnParamInvalid, "{} ({}): reduction is {}, want sum, prod, max or min", node.name(),
              node.type(), name);
}

uint64_t count(const CollectiveTensor& t) { return static_cast<uint64_t>(graph::count_of(t.dims)); }

/// The numbers of a small tensor that the host can read.
std::vector<uint64_t> numbers(const CollectiveTensor& t) {
  const void* data = host_address(t.data);
  std::vector<uint64_t> all(count(t));
  for (size_t i = 0; i < all.size(); ++i)
    all[i] = t.dtype == DType::Int32 ? static_cast<uint64_t>(static_cast<const int32_t*>(data)[i])
                                     : static_cast<const uint64_t*>(data)[i];
  return all;
}

void run(const Node& node, const std::vector<CollectiveTensor>& inputs, const std::vector<CollectiveTensor>& outputs,
         Stream& stream) {
  const auto group = graph::find_or(node.attributes, "group", std::string());
  void* comm = nullptr;
  try {
    comm = communicator_of_group(group, stream.device());
  } catch (const Error& e) { throw Error(code::kAclnnParamInvalid, "{} ({}): {}", node.name(), node.type(), e.text()); }
  const auto number = [&](const char* name) {
    return static_cast<uint32_t>(graph::find_or<int64_t>(node.attributes, name, 0));
  };
  void* const on = &stream;
  const std::string& type = node.type();
  const CollectiveTensor* x = inputs.empty() ? nullptr : &inputs[0];
  const CollectiveTensor* y = outputs.empty() ? nullptr : &outputs[0];
  int failed = 0;
  if (type == "HcomAllReduce") {
    failed = HcclAllReduce(x->data, y->data, count(*x), type_of(node, x->dtype),
                           static_cast<HcclReduceOp>(reduction_of(node)), comm, on);
  } else if (type == "HcomReduce") {
    failed = HcclReduce(x->data, y->data, count(*x), type_of(node, x->dtype),
                        static_cast<HcclReduceOp>(reduction_of(node)), number("root_rank"), comm, on);
  } else if (type == "HcomAllGather") {
    failed = HcclAllGather(x->data, y->data, count(*x), type_of(node, x->dtype), comm, on);
  } else if (type == "HcomReduceScatter") {
    failed = HcclReduceScatter(x->data, y->data, count(*y), type_of(node, x->dtype),
                               static_cast<HcclReduceOp>(reduction_of(node)), comm, on);
  } else if (type == "HcomSend") {
    failed = HcclSend(x->data, count(*x), type_of(node, x->dtype), number("dest_rank"), comm, on);
  } else if (type == "HcomReceive") {
    failed = HcclRecv(y->data, count(*y), type_of(node, y->dtype), number("src_rank"), comm, on);
  } else if (type == "HcomAllToAll") {
    uint32_t ranks = 1;
    failed = HcclGetRankSize(comm, &ranks);
    if (!failed && count(*x) % ranks)
      throw Error(code::kAclnnParamInvalid, "{} ({}): x has {} elements, want a multiple of the {} ranks", node.name(),
                  type, count(*x), ranks);
    const auto dtype = type_of(node, x->dtype);
    if (!failed) failed = HcclAlltoAll(x->data, count(*x) / ranks, dtype, y->data, count(*x) / ranks, dtype, comm, on);
  } else if (type == "HcomAllToAllV") {
    const auto sent = numbers(inputs.at(1)), sent_at = numbers(inputs.at(2)), got = numbers(inputs.at(3)),
               got_at = numbers(inputs.at(4));
    const auto dtype = type_of(node, x->dtype);
    failed =
        HcclAlltoAllV(x->data, sent.data(), sent_at.data(), dtype, y->data, got.data(), got_at.data(), dtype, comm, on);
  } else if (type == "HcomAllGatherV" || type == "HcomReduceScatterV") {
    // What the graph counts are rows of dimension 0, what the operation counts are elements.
    std::vector<uint64_t> counts = numbers(inputs.at(2)), places;
    uint64_t row = 1, before = 0;
    for (size_t d = 1; d < x->dims.size(); ++d) row *= static_cast<uint64_t>(x->dims[d]);
    for (uint64_t& rows : counts) {
      rows *= row;
      places.push_back(before);
      before += rows;
    }
    const auto dtype = type_of(node, x->dtype);
    if (type == "HcomAllGatherV")
      failed = HcclAllGatherV(x->data, count(*x), y->data, counts.data(), places.data(), dtype, comm, on);
    else
      failed = HcclReduceScatterV(x->data, counts.data(), places.data(), y->data, count(*y), dtype,
                                  static_cast<HcclReduceOp>(reduction_of(node)), comm, on);
  } else if (type == "HcomBroadcast") {
    // The root gives its x away; what the others have in y is written over.
    for (size_t i = 0; i < inputs.size() && !failed; ++i) {
      const size_t bytes = count(inputs[i]) * size_of(inputs[i].dtype);
      if (bytes && outputs[i].data != inputs[i].data &&
          aclrtMemcpyAsync(outputs[i].data, bytes, inputs[i].data, bytes, ACL_MEMCPY_DEVICE_TO_DEVICE, on) != 0)
        throw Error(code::kRtCommunication, "{} ({}): {}", node.name(), type, take_error_text());
      failed = HcclBroadcast(outputs[i].data, count(inputs[i]), type_of(node, inputs[i].dtype), number("root_rank"),
                             comm, on);
    }
  } else {
    throw Error(code::kAclnnParamInvalid, "{}: there is no collective {} here", node.name(), type);
  }
  if (failed) throw Error(code::kRtCommunication, "{} ({}): {}", node.name(), type, take_error_text());
}

std::vector<size_t> segments(const std::string& group, const std::vector<uint64_t>& bytes) {
  std::vector<size_t> ends;
  for (const collective::Segment& segment : collective::split_gradients(group, bytes)) ends.push_back(segment.last);
  return ends;
}

[[maybe_unused]] const bool registered =
    (graph::set_collective_door(&run), graph::set_segments_door(&segments, &collective::split_strategy), true);

}  // namespace
}  // namespace updraft
