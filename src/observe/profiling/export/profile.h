// A profile as it was recorded, in memory and in order.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "observe/profiling/record.h"

namespace updraft::profiling {

struct Report {
  ReportKind what;
  std::string bytes;
};

/// Everything of PROF_*/…/data.
struct Profile {
  std::string folder;
  int64_t wall_offset = 0;  ///< nanoseconds from the records' clock to the time of day
  uint64_t begin = 0;       ///< by the records' clock
  uint32_t process = 0;     ///< its id
  int rank = -1;
  std::string host;
  std::string host_id;
  std::string soc;      ///< the product, "Ascend910B2"
  std::string metrics;  ///< "PipeUtilization", …; "" none
  std::string fp_point, bp_point;
  bool collectives = true, iterations = true;  ///< asked for in the tables
  uint64_t switches = 0;                       ///< bits of data (settings.h)
  int io_frequency = 0, interconnect_frequency = 0;
  std::vector<std::string> remarks;
  std::vector<int> devices;  ///< that have a folder

  std::unordered_map<uint64_t, std::string> texts;
  std::vector<CallRecord> calls;      ///< by begin
  std::vector<TaskRecord> tasks;      ///< by device and begin
  std::vector<MemoryRecord> memory;   ///< by device and time
  std::vector<MarkerRecord> markers;  ///< by time
  std::vector<StepRecord> steps;
  std::vector<HostSampleRecord> host_samples;
  std::vector<Report> reports;
  uint64_t lost = 0;     ///< blocks that could not be written
  uint64_t damaged = 0;  ///< files that end in the middle of a record, or hold something else

  int64_t wall(uint64_t time) const { return static_cast<int64_t>(time) + wall_offset; }
  std::string_view text(uint64_t id) const {
    const auto found = texts.find(id);
    return found == texts.end() ? std::string_view() : std::string_view(found->second);
  }
};

/// A mark of the user, or a range that was begun and ended.
struct MarkedSpan {
  const MarkerRecord* begin;
  const MarkerRecord* end;  ///< of a mark: the same
  bool is_mark() const { return begin == end; }
};
/// In the order of their ends; what was only begun, or only ended, is left out.
std::vector<MarkedSpan> marked_spans(const Profile& profile);

/// Adds what a file of records holds. Never throws but for memory: what is no record counts as damage.
void read_records(std::string_view bytes, Profile& profile);
/// Sorts, and drops what cannot be (ends before begins).
void put_in_order(Profile& profile);
/// Reads a folder PROF_*. Throws Error 100003 when it is none.
Profile read_profile(const std::string& folder);

/// True for a folder that holds a profile.
bool is_profile(const std::string& folder);
/// The folder itself, or those in it that hold profiles, in order of their names. Throws Error 100003 when there is
/// none.
std::vector<std::string> find_profiles(const std::string& folder);

}  // namespace updraft::profiling
