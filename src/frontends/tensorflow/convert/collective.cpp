// Collectives between processes, as npu_device and hccl_ops name them.
#include "frontends/tensorflow/convert/families.h"

namespace updraft::tensorflow {
namespace {

/// What an operator of that name has in the graph.
void collective(Conversion& c) {
  Attributes attributes = {{"group", c.text("group", "hccl_world_group")}};
  if (c.has("reduction")) attributes["reduction"] = c.text("reduction");
  for (const char* number : {"root_rank", "rank_size", "fusion", "fusion_id"})
    if (c.has(number)) attributes[number] = c.integer(number);
  if (std::string_view(c.row.type) == "HcomBroadcast") c.result(c.row.type, {c.all()}, attributes, c.inputs());
  else c.result(c.row.type, {c.in(0)}, attributes);
}

constexpr Row kRows[] = {
    {"HcomAllGather", collective, "HcomAllGather"},         {"HcomAllReduce", collective, "HcomAllReduce"},
    {"HcomBroadcast", collective, "HcomBroadcast"},         {"HcomReduce", collective, "HcomReduce"},
    {"HcomReduceScatter", collective, "HcomReduceScatter"},
};

}  // namespace

std::span<const Row> collective_rows() { return kRows; }

}  // namespace updraft::tensorflow
