#include "observe/profiling/export/metrics.h"

#include <algorithm>

namespace updraft::profiling {
namespace {

// What the model takes for a card. Every figure that it gives is a modelled one and says so in its column's name.
//   cubes     cores with a Cube unit (Kubernetes' device plugins list them: HAMi, docs/ascend910b-support.md);
//   src/device/soc.cpp has the same vectors   two Vector units a Cube unit from 910B on, one before hertz     from the
//   published operations a second: 16x16x16 multiply-adds a cycle and Cube (Hot Chips 31, 2019) memory    bytes a
//   second
// Ascend910   256 TFLOPS of 32 cores (Hot Chips 31): 0.98 GHz. Four HBM2 stacks of 1024 bits; 2.4 Gbit/s a pin, the
// most that HBM2 has. Ascend910B  1.8 GHz, 1.6 TB/s: 24 cores of 910B2 make 353.9 TFLOPS, and 376 with the Vector
// units, which is half of the 752 TFLOPS of
//             910C, two such dies ("Serving Large Language Models on Huawei CloudMatrix384"). B1, B3, B4 and 910_93: no
//             figures of their own are published, so they have B2's clock and bandwidth, and their own cores.
// Ascend310P  half of Atlas 300I Duo, which has two: 280 TOPS of int8 of 8 cores each, 16384 operations a cycle and
// core and 408 GB/s. Ascend950   950PR: 432 TFLOPS of float16 of 32 cores (its white paper, as quoted): 1.65 GHz. 1.6
// TB/s (Huawei Connect 2025); 950DT has 4.
struct Card {
  std::string_view prefix;
  double cubes, vectors, hertz, memory;
  /// L2 counts as five times the memory: the ratio that ascend-boost-comm's example/ops/include/hardware.h plans with.
  double l2() const { return 5 * memory; }
};
constexpr Card kCards[] = {
    {"Ascend950DT", 32, 64, 1.65e9, 4.0e12},  {"Ascend950", 32, 64, 1.65e9, 1.6e12},
    {"Ascend910_937", 20, 40, 1.8e9, 1.6e12}, {"Ascend910_936", 20, 40, 1.8e9, 1.6e12},
    {"Ascend910_93", 24, 48, 1.8e9, 1.6e12},  {"Ascend910B1", 25, 50, 1.8e9, 1.6e12},
    {"Ascend910B2", 24, 48, 1.8e9, 1.6e12},   {"Ascend910B3", 20, 40, 1.8e9, 1.6e12},
    {"Ascend910B4", 20, 40, 1.8e9, 1.6e12},   {"Ascend310P", 8, 8, 1.07e9, 0.204e12},
    {"Ascend910", 32, 32, 0.98e9, 1.23e12},  // also Ascend910B without a number, which is of that family
};
const Card& card_of(std::string_view product) {
  for (const Card& card : kCards)
    if (product.substr(0, card.prefix.size()) == card.prefix) return card;
  return card_of("Ascend910B2");
}

constexpr uint8_t kCube = 1, kMixCube = 3, kAicpu = 4;  // Unit's numbers (device/task.h)

// Seconds that the parts of the card would be busy; the longest of them is how long the operator would take.
struct Times {
  double mac = 0, vec = 0, memory = 0, whole = 0;
};
Times times_of(const Card& card, const TaskRecord& task) {
  Times t;
  const auto flops = static_cast<double>(std::max<int64_t>(task.flops, 0));
  const auto bytes = static_cast<double>(std::max<int64_t>(task.bytes, 0));
  if (task.unit == kCube || task.unit == kMixCube) t.mac = flops / (card.cubes * 8192 * card.hertz);
  else if (task.unit != kAicpu) t.vec = flops / (card.vectors * 64 * card.hertz);  // 64 elements of fp32
  t.memory = bytes / card.memory;
  t.whole = std::max({t.mac, t.vec, t.memory, 1e-6});  // no operator takes less than about a microsecond
  return t;
}

struct Metric {
  const char* column;
  double (*value)(const Card& card, const Times& t, const TaskRecord& task);
};
double bytes_of(const TaskRecord& task) { return static_cast<double>(std::max<int64_t>(task.bytes, 0)); }
double flops_of(const TaskRecord& task) { return static_cast<double>(std::max<int64_t>(task.flops, 0)); }

#define METRIC(name, ...)                                                             \
  {                                                                                   \
    name "(modelled)",                                                                \
        []([[maybe_unused]] const Card& card, [[maybe_unused]] const Times& t,        \
           [[maybe_unused]] const TaskRecord& task) -> double { return __VA_ARGS__; } \
  }
constexpr Metric kPipe[] = {
    METRIC("task_time(us)", t.whole * 1e6),   METRIC("aic_mac_time(us)", t.mac * 1e6),
    METRIC("aic_mac_ratio", t.mac / t.whole), METRIC("aiv_vec_time(us)", t.vec * 1e6),
    METRIC("aiv_vec_ratio", t.vec / t.whole), METRIC("mte_time(us)", t.memory * 1e6),
    METRIC("mte_ratio", t.memory / t.whole),
};
constexpr Metric kArithmetic[] = {
    METRIC("aic_mac_ratio", t.mac / t.whole),
    METRIC("aic_cube_fops", task.unit == kCube || task.unit == kMixCube ? flops_of(task) : 0),
    METRIC("aiv_vec_ratio", t.vec / t.whole),
    METRIC("aiv_vector_fops", task.unit == kCube || task.unit == kMixCube ? 0 : flops_of(task)),
};
constexpr Metric kMemory[] = {
    METRIC("main_mem_bytes", bytes_of(task)),
    METRIC("main_mem_bw(GB/s)", bytes_of(task) / t.whole * 1e-9),
    METRIC("main_mem_ratio", t.memory / t.whole),
};
constexpr Metric kL0[] = {
    // a Cube core reads two 16x16 tiles of 2 bytes for 8192 operations
    METRIC("aic_l0a_read_bw(GB/s)", t.mac / t.whole * card.cubes * 512 * card.hertz * 1e-9),
    METRIC("aic_l0b_read_bw(GB/s)", t.mac / t.whole * card.cubes * 512 * card.hertz * 1e-9),
    METRIC("aic_l0c_write_bw(GB/s)", t.mac / t.whole * card.cubes * 1024 * card.hertz * 1e-9),
};
constexpr Metric kUb[] = {
    METRIC("aiv_ub_read_bw(GB/s)", t.vec / t.whole * card.vectors * 512 * card.hertz * 1e-9),
    METRIC("aiv_ub_write_bw(GB/s)", t.vec / t.whole * card.vectors * 256 * card.hertz * 1e-9),
};
constexpr Metric kConflict[] = {
    METRIC("aiv_vec_wait_ratio", 1 - t.vec / t.whole),
    METRIC("aic_cube_wait_ratio", 1 - t.mac / t.whole),
};
constexpr Metric kL2[] = {
    METRIC("l2_bytes", bytes_of(task)),
    METRIC("l2_time(us)", bytes_of(task) / card.l2() * 1e6),
};
#undef METRIC

std::pair<const Metric*, size_t> group_of(std::string_view group) {
  if (group == "PipeUtilization" || group == "PipelineExecuteUtilization") return {kPipe, std::size(kPipe)};
  if (group == "ArithmeticUtilization") return {kArithmetic, std::size(kArithmetic)};
  if (group == "Memory" || group == "MemoryAccess") return {kMemory, std::size(kMemory)};
  if (group == "MemoryL0") return {kL0, std::size(kL0)};
  if (group == "MemoryUB") return {kUb, std::size(kUb)};
  if (group == "ResourceConflictRatio") return {kConflict, std::size(kConflict)};
  if (group == "L2Cache") return {kL2, std::size(kL2)};
  return {nullptr, 0};
}

}  // namespace

std::vector<std::string> metric_columns(std::string_view group) {
  std::vector<std::string> columns;
  const auto [list, count] = group_of(group);
  for (size_t i = 0; i < count; ++i) columns.emplace_back(list[i].column);
  return columns;
}

std::vector<double> metric_values(std::string_view group, std::string_view product, const TaskRecord& task) {
  std::vector<double> values;
  const Card& card = card_of(product);
  const Times times = times_of(card, task);
  const auto [list, count] = group_of(group);
  for (size_t i = 0; i < count; ++i) values.push_back(list[i].value(card, times, task));
  return values;
}

}  // namespace updraft::profiling
