#include "observe/profiling/export/operator.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

namespace updraft::profiling {
namespace {

enum Unit : uint8_t { Other, Cube, Vector, MixCube, AICPU, SDMA };  // device/task.h's numbers

bool is(const TaskRecord& task, TaskKindOf kind) { return task.kind == static_cast<uint8_t>(kind); }

std::vector<std::string_view> lines(std::string_view text) {
  std::vector<std::string_view> list;
  while (true) {
    const size_t end = text.find('\n');
    list.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return list;
    text.remove_prefix(end + 1);
  }
}

int64_t number(std::string_view text) {
  int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// "HcclAllReduce" as the card's tools write it.
std::string collective_type(std::string_view name) {
  static const std::map<std::string_view, const char*> names = {{"HcclAllReduce", "allReduce"},
                                                                {"HcclBroadcast", "broadcast"},
                                                                {"HcclAllGather", "allGather"},
                                                                {"HcclReduceScatter", "reduceScatter"},
                                                                {"HcclReduce", "reduce"},
                                                                {"HcclScatter", "scatter"},
                                                                {"HcclSend", "send"},
                                                                {"HcclRecv", "receive"},
                                                                {"HcclAlltoAll", "alltoall"},
                                                                {"HcclAlltoAllV", "alltoallv"},
                                                                {"HcclAlltoAllVC", "alltoallvc"},
                                                                {"HcclBatchSendRecv", "batchSendRecv"},
                                                                {"HcclAllGatherV", "allGatherV"},
                                                                {"HcclReduceScatterV", "reduceScatterV"},
                                                                // a barrier is an all-reduce of one element
                                                                {"HcclBarrier", "allReduce"}};
  const auto found = names.find(name);
  return fmt::format("hcom_{}_", found == names.end() ? std::string(name.substr(4)) : found->second);
}

double element_bytes(std::string_view type) {
  static const std::map<std::string_view, int> sizes = {{"INT8", 1},    {"UINT8", 1},   {"BOOL", 1},   {"INT16", 2},
                                                        {"UINT16", 2},  {"FLOAT16", 2}, {"BF16", 2},   {"BFLOAT16", 2},
                                                        {"DT_BF16", 2}, {"INT64", 8},   {"UINT64", 8}, {"DOUBLE", 8}};
  const auto found = sizes.find(type);
  return found == sizes.end() ? 4 : found->second;
}

}  // namespace

bool is_graph_piece(const TaskRecord& task) { return is(task, TaskKindOf::Compute) && task.model && task.index < 0; }

bool is_operator(const TaskRecord& task) { return is(task, TaskKindOf::Compute) && !is_graph_piece(task); }

static bool is_collective(const Profile& profile, const TaskRecord& task) {
  return is(task, TaskKindOf::Control) && profile.text(task.name).substr(0, 4) == "Hccl";
}

std::string_view core_of(const Profile& profile, const TaskRecord& task) {
  if (is_collective(profile, task)) return "COMMUNICATION";
  if (is_operator(task)) switch (task.unit) {
      case Cube: return "AI_CORE";
      case MixCube: return "MIX_AIC";
      case AICPU: return "AI_CPU";
      case Vector: return "AI_VECTOR_CORE";
      default: break;
    }
  const std::string_view name = profile.text(task.name);
  return is_operator(task) ? "AI_VECTOR_CORE" : name.empty() ? "N/A" : name;
}

std::string_view type_of(std::string_view name) {
  if (name.substr(0, 5) == "aclnn" && name.size() > 5) name.remove_prefix(5);
  if (name.substr(0, 7) == "Inplace" && name.size() > 7) name.remove_prefix(7);
  return name;
}

int64_t stream_of(const TaskRecord& task) {
  if (task.stream >= 0) return task.stream;
  return task.stream == INT32_MIN ? 60000 : 60001 - static_cast<int64_t>(task.stream);
}

Tensors tensors_of(const Profile& profile, const TaskRecord& task) {
  Tensors tensors;
  const std::string_view text = profile.text(task.arguments);
  if (text.empty() || text[0] != kTensors) return tensors;
  const auto list = lines(text);
  if (list.size() < 7) return tensors;
  for (size_t i = 0; i < 6; ++i) tensors.text[i] = list[i + 1];
  if (list.size() > 7) tensors.attributes = list[7];
  tensors.known = true;
  return tensors;
}

std::vector<Collective> collectives_of(const Profile& profile) {
  std::vector<Collective> all;
  std::map<std::pair<int, std::string>, int> places;
  for (const TaskRecord& task : profile.tasks) {
    if (!is_collective(profile, task)) continue;
    Collective c;
    c.task = &task;
    c.type = collective_type(profile.text(task.name));
    const auto list = lines(profile.text(task.arguments));
    if (list.size() >= 9 && list[0].size() == 1 && list[0][0] == kCollective) {
      c.group = list[1];
      c.rank = static_cast<int>(number(list[2]));
      c.ranks = static_cast<int>(number(list[3]));
      c.data_type = list[4];
      c.count = static_cast<uint64_t>(number(list[5]));
      c.operation = list[6];
      c.root = static_cast<int>(number(list[7]));
      for (std::string_view peers = list[8]; !peers.empty();) {
        const size_t end = peers.find(';');
        c.peers.push_back(static_cast<int>(number(peers.substr(0, end))));
        peers = end == std::string_view::npos ? std::string_view() : peers.substr(end + 1);
      }
      if (c.ranks < 1 || c.ranks > 1 << 20) c.ranks = 1;
      if (c.rank < 0 || c.rank >= c.ranks) c.rank = 0;
    }
    all.push_back(std::move(c));
  }
  // Places count along the stream of calls, not of ends.
  std::vector<Collective*> order;
  for (Collective& c : all) order.push_back(&c);
  std::sort(order.begin(), order.end(), [](auto* a, auto* b) { return a->task->id < b->task->id; });
  for (Collective* c : order)
    c->name = fmt::format("{}_{:03}_{}_1", c->type, c->group.empty() ? 0 : text_id(c->group) % 1000,
                          places[{c->task->device, c->group}]++);
  return all;
}

std::vector<Traffic> traffic_of(const Collective& c) {
  std::vector<Traffic> list;
  const auto whole = static_cast<double>(c.task->bytes > 0 ? c.task->bytes : 0);
  if (!c.peers.empty()) {
    list.push_back({c.rank, c.rank, 0});
    const bool receives = c.type == "hcom_receive_";
    for (const int peer : c.peers)
      list.push_back(receives ? Traffic{peer, c.rank, whole / static_cast<double>(c.peers.size())}
                              : Traffic{c.rank, peer, whole / static_cast<double>(c.peers.size())});
    return list;
  }
  // What stays: readers take from this link which rank of the group this one is.
  list.push_back({c.rank, c.rank, 0});
  const double bytes = c.count ? static_cast<double>(c.count) * element_bytes(c.data_type) : whole;
  const int n = c.ranks;
  if (n < 2) return list;
  double each = bytes / n;                                // what goes to each other rank
  if (c.type == "hcom_allReduce_") each = 2 * bytes / n;  // parts are reduced, then gathered
  else if (c.type == "hcom_allGather_" || c.type == "hcom_reduceScatter_") each = bytes;
  else if (c.type == "hcom_broadcast_" || c.type == "hcom_scatter_" || c.type == "hcom_reduce_") {
    const bool gathers = c.type == "hcom_reduce_";
    if (c.rank != c.root) {
      if (gathers) list.push_back({c.rank, c.root, bytes});
      return list;
    }
    if (gathers) return list;
    each = bytes;
  } else if (c.type == "hcom_alltoall_") {
    each = whole / n;
  }
  for (int peer = 0; peer < n; ++peer)
    if (peer != c.rank) list.push_back({c.rank, peer, each});
  return list;
}

}  // namespace updraft::profiling
