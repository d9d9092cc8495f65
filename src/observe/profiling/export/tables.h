// The files of an export. Each function writes one or a few into the folder that it gets, or nothing where there is
// nothing to say; all take times from the profile's clock to the time of day.
#pragma once
#include <string>
#include <vector>

#include "observe/profiling/export/operator.h"
#include "observe/profiling/export/profile.h"

namespace updraft::profiling {

struct Selection {
  std::string stamp;       ///< what file names end in, "20261124190000"
  int64_t iteration = -1;  ///< only tasks of that iteration; -1: all
  int64_t model = -1;      ///< only tasks of that graph; -1: all
};

/// What tasks and calls have to do with each other.
struct Connections {
  /// For each task: the number of the arrow from its call, 0: it has none.
  std::vector<uint64_t> of_task;
  /// For each call: the index of the first task, -1: none.
  std::vector<int64_t> first_task;
  /// For each task: the call that put it on its stream, -1: none was recorded.
  std::vector<int64_t> call;
};
Connections connect(const Profile& profile);

struct Iteration;

/// msprof_*.json, for chrome://tracing and Perfetto.
void write_timeline(const Profile& profile, const std::vector<Collective>& collectives,
                    const std::vector<Iteration>& iterations, const std::string& folder, const Selection& selection);
/// op_summary, op_statistic, task_time.
void write_operators(const Profile& profile, const std::vector<Collective>& collectives, const std::string& folder,
                     const Selection& selection);
/// api_statistic.
void write_calls(const Profile& profile, const std::string& folder, const Selection& selection);
/// communication_statistic; and in `analysis` communication.json, communication_matrix.json.
void write_communication_statistic(const Profile& profile, const std::vector<Collective>& collectives,
                                   const std::string& folder, const Selection& selection);
void write_communication(const Profile& profile, const std::vector<Collective>& collectives,
                         const std::string& analysis);
/// npu_mem, npu_module_mem, hbm.
void write_memory(const Profile& profile, const std::string& folder, const Selection& selection);
/// step_trace and ai_stack_time.
void write_steps(const Profile& profile, const std::vector<Iteration>& iterations, const std::string& folder,
                 const Selection& selection);
/// msprof_tx.
void write_markers(const Profile& profile, const std::string& folder, const Selection& selection);
/// host_cpu_usage, host_mem_usage, cpu_usage …, nic.
void write_host(const Profile& profile, const std::string& folder, const Selection& selection);
/// hccs: bytes that ranks exchange through shared memory, by time.
void write_links(const Profile& profile, const std::vector<Collective>& collectives, const std::string& folder,
                 const Selection& selection);
/// aicpu: operators that run on the host's cores.
void write_aicpu(const Profile& profile, const std::string& folder, const Selection& selection);

/// A range of time in which something of a device's step lies.
struct Iteration {
  int device = 0;
  uint32_t model = kNone;
  int64_t number = 0;
  uint64_t begin = 0, end = 0;                            ///< the records' clock
  uint64_t forward = 0, backward = 0;                     ///< fp_start and bp_end; 0: not known
  std::vector<std::pair<uint64_t, uint64_t>> reductions;  ///< all-reduces, begins and ends
};
/// Runs of graphs and steps that aclprofGetStepTimestamp marked, by device and begin.
std::vector<Iteration> iterations_of(const Profile& profile, const std::vector<Collective>& collectives);

/// Whether times of tasks were asked for; else a few tasks are recorded for other tables alone.
bool has_task_times(const Profile& profile);
/// Drops tasks that no switch asked the tables to tell.
void drop_unasked(Profile& profile);

/// The tasks that a selection leaves.
Profile select(Profile profile, const Selection& selection);

/// msprof_*.db in `folder`, or communication_analyzer.db in `analysis`.
void write_database(const Profile& profile, const std::vector<Collective>& collectives, const std::string& folder,
                    const Selection& selection);
void write_communication_database(const Profile& profile, const std::vector<Collective>& collectives,
                                  const std::string& analysis);

}  // namespace updraft::profiling
