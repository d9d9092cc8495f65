#include "observe/dump/names.h"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <cstring>

#include "base/wall_clock.h"

namespace updraft::dump {

std::string type_of(const TaskEvent& task) {
  const std::string_view name = task.name;
  return clean(name.starts_with("aclnn") && name.size() > 5 ? name.substr(5) : name);
}

std::string clean(std::string_view name) {
  std::string result(name);
  for (char& c : result)
    if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') && c != '-' && c != '_') c = '_';
  return result.empty() ? "_" : result;
}

uint64_t next_timestamp() {
  static std::atomic<uint64_t> last{0};
  const auto now = static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
          .count());
  uint64_t before = last.load(std::memory_order_relaxed), next = 0;
  do next = std::max(now, before + 1);
  while (!last.compare_exchange_weak(before, next, std::memory_order_relaxed));
  return next;
}

std::string time_folder() { return wall_clock("%Y%m%d%H%M%S").text; }

uint32_t stream_number(int32_t stream) {
  return stream >= 0 ? static_cast<uint32_t>(stream) : 60000u + static_cast<uint32_t>(-(stream + 1)) % 5000u;
}

std::string file_name(std::string_view type, std::string_view name, uint64_t task, int32_t stream, uint64_t timestamp) {
  return fmt::format("{}.{}.{}.{}.{}", clean(type), clean(name), task, stream_number(stream), timestamp);
}

bool is_operator(const TaskEvent& task) {
  if (!task.arguments_known) return false;
  if (task.kind == TaskKind::Compute) return !(task.model && task.index < 0);
  return task.kind == TaskKind::Control && std::string_view(task.name).starts_with("Hccl");
}

bool is_input(const TaskEvent& task, const Argument& argument) {
  if (argument.direction != Direction::InOut) return argument.direction == Direction::In;
  const std::string_view name = task.name;
  if (!name.starts_with("aclnnInplace")) return true;
  const std::string_view what = name.substr(12);
  for (const char* one :
       {"Copy", "Zero", "One", "FillScalar", "FillTensor", "Uniform", "UniformTensor", "Normal", "NormalTensor",
        "Random", "RandomTensor", "Bernoulli", "BernoulliTensor", "Exponential", "Geometric", "Cauchy", "LogNormal"})
    if (what == one) return false;
  return true;
}

}  // namespace updraft::dump
