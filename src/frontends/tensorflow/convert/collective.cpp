// Collectives between processes, as npu_device and hccl_ops name them.
#include "frontends/tensorflow/convert/families.h"

namespace updraft::tensorflow {
namespace {

constexpr const char* kWorld = "hccl_world_group";

/// What an operator of that name has in the graph.
void collective(Conversion& c) {
  Attributes attributes = {{"group", c.text("group", kWorld)}};
  if (c.has("reduction")) attributes["reduction"] = c.text("reduction");
  for (const char* number : {"root_rank", "rank_size", "fusion", "fusion_id"})
    if (c.has(number)) attributes[number] = c.integer(number);
  if (std::string_view(c.row.type) == "HcomBroadcast") c.result(c.row.type, {c.all()}, attributes, c.inputs());
  else c.result(c.row.type, {c.in(0)}, attributes);
}

void send(Conversion& c) {
  c.result("HcomSend", {c.in(0)},
           {{"group", c.text("group", kWorld)}, {"sr_tag", c.integer("sr_tag")}, {"dest_rank", c.integer("dest_rank")}},
           0);
}

void receive(Conversion& c) {
  c.result("HcomReceive", {},
           {{"group", c.text("group", kWorld)},
            {"sr_tag", c.integer("sr_tag")},
            {"src_rank", c.integer("src_rank")},
            {"shape", c.integers("shape")},
            {"dtype", c.element_type("T")}});
}

void all_to_all(Conversion& c) {
  c.result("HcomAllToAllV", {c.in(0), c.in(1), c.in(2), c.in(3), c.in(4)}, {{"group", c.text("group", kWorld)}});
}

constexpr Row kRows[] = {
    {"HcomAllGather", collective, "HcomAllGather"},
    {"HcomAllReduce", collective, "HcomAllReduce"},
    {"HcomAllToAllV", all_to_all, "HcomAllToAllV"},
    {"HcomBroadcast", collective, "HcomBroadcast"},
    {"HcomReceive", receive, "HcomReceive"},
    {"HcomReduce", collective, "HcomReduce"},
    {"HcomReduceScatter", collective, "HcomReduceScatter"},
    {"HcomSend", send, "HcomSend"},
};

}  // namespace

std::span<const Row> collective_rows() { return kRows; }

}  // namespace updraft::tensorflow
