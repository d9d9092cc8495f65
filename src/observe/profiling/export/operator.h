// What the tables call a task: its type, the core that runs it, its tensors; and collectives with their names.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "observe/profiling/export/profile.h"

namespace updraft::profiling {

inline constexpr uint32_t kNone = 4294967295u;  ///< how tables write that there is no number

enum class TaskKindOf : uint8_t { Compute = 0, Copy = 1, Host = 2, Control = 3 };  // TaskKind's numbers

/// The execution of a piece of a graph: its tasks have rows of their own.
bool is_graph_piece(const TaskRecord& task);
/// An operator: what computes.
bool is_operator(const TaskRecord& task);
/// "AI_CORE", "AI_VECTOR_CORE", "MIX_AIC", "AI_CPU", "COMMUNICATION", or the task's own name ("MEMCPY_ASYNC").
std::string_view core_of(const Profile& profile, const TaskRecord& task);
/// "aclnnInplaceAdd" is an Add.
std::string_view type_of(std::string_view name);
/// The number of a stream in tables: streams of the library and synchronous copies have numbers from 60000 on.
int64_t stream_of(const TaskRecord& task);
inline uint32_t model_of(const TaskRecord& task) { return task.model ? task.model : kNone; }
inline uint32_t task_number(const TaskRecord& task) { return static_cast<uint32_t>(task.id); }

/// Input shapes, types, formats, then those of the outputs; and the attributes where they were recorded.
struct Tensors {
  std::array<std::string_view, 6> text;
  std::string_view attributes;
  bool known = false;
};
Tensors tensors_of(const Profile& profile, const TaskRecord& task);

struct Collective {
  const TaskRecord* task;
  std::string name;   ///< "hcom_allReduce__721_3_1": group, place in the group, iteration
  std::string type;   ///< "hcom_allReduce_"
  std::string group;  ///< the communicator's name; "" where it was not recorded
  std::string data_type, operation;
  int rank = 0, ranks = 1, root = -1;
  uint64_t count = 0;
  std::vector<int> peers;  ///< of messages
};
/// In order of tasks; a collective's place in its group is the same on all ranks.
std::vector<Collective> collectives_of(const Profile& profile);

/// Bytes that a rank sends to another, when each pair of ranks exchanges its part directly; none to itself.
struct Traffic {
  int from, to;
  double bytes;
};
std::vector<Traffic> traffic_of(const Collective& collective);

}  // namespace updraft::profiling
