// The raw records of a profile, as they lie in PROF_*/host/data and PROF_*/device_N/data until `msprof` makes tables of
// them. A file is a FileHeader and then records; a record is a RecordHeader and its payload. Numbers are in the order
// of the machine, times in nanoseconds of CLOCK_MONOTONIC_RAW; texts are stored once, under a hash of their bytes.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/fnv1a.h"

namespace updraft::profiling {

inline constexpr char kMagic[8] = {'U', 'P', 'D', 'P', 'R', 'O', 'F', '1'};

struct FileHeader {
  char magic[8];
  uint32_t version;  ///< 1
  int32_t device;    ///< -1: the host's
};
inline constexpr uint32_t kVersion = 1;

enum class Kind : uint16_t {
  Text = 1,    ///< TextRecord, then the bytes
  Call = 2,    ///< CallRecord
  Task = 3,    ///< TaskRecord
  Memory = 4,  ///< MemoryRecord
  Report = 5,  ///< ReportRecord, then what the client handed in (MsprofApi, MsprofCompactInfo, MsprofAdditionalInfo)
  Marker = 6,  ///< MarkerRecord
  Step = 7,    ///< StepRecord
  HostSample = 8,  ///< HostSampleRecord
  Lost = 9,        ///< LostRecord
};

struct RecordHeader {
  uint16_t kind;   ///< Kind
  uint16_t bytes;  ///< with this header; a multiple of 4 is not wanted
};

struct TextRecord {
  uint64_t id;
};

/// A call of the C interface.
struct CallRecord {
  uint64_t name;
  uint64_t begin, end;
  uint64_t correlation;
  int32_t thread;
  int32_t code;
  uint16_t depth;
  uint8_t phase;  ///< 0 whole, 1 plan, 2 launch
  uint8_t implemented;
  uint32_t spare;
};

/// A task that has ended.
struct TaskRecord {
  uint64_t id;
  uint64_t correlation;
  uint64_t submitted, begun, ended;
  uint64_t name;
  uint64_t arguments;  ///< a text: describe_tensors(), or describe_collective(); 0: not recorded
  int64_t flops, bytes;
  int32_t device;
  int32_t stream;
  uint32_t model;
  int32_t index;
  int32_t thread;
  int32_t submitter;
  uint8_t kind;     ///< TaskKind
  uint8_t outcome;  ///< Outcome
  uint8_t unit;     ///< Unit
  uint8_t spare;
  uint32_t spare2;
};

/// What the process holds of a device's memory.
struct MemoryRecord {
  uint64_t time;
  uint64_t used, reserved;  ///< bytes; reserved has also what was freed and is kept
  uint64_t moved;           ///< bytes that tasks have read and written since the profile began
  int32_t device;
  uint32_t spare;
};

enum class ReportKind : uint32_t { Api = 0, Compact = 1, Additional = 2 };
struct ReportRecord {
  uint32_t what;  ///< ReportKind
  uint32_t spare;
};

enum class MarkerKind : uint32_t { Mark = 0, Begin = 1, End = 2 };
/// A mark of the user, or an end of a range.
struct MarkerRecord {
  uint64_t time;
  uint64_t range;    ///< the same number at both ends of a range
  uint64_t message;  ///< a text
  uint64_t domain;   ///< a text
  uint64_t correlation;
  uint32_t what;  ///< MarkerKind
  int32_t thread;
  uint32_t on_stream;  ///< 1: a task of that correlation tells when the stream reached it
  uint32_t category;
};

/// aclprofGetStepTimestamp; a task of that correlation tells when the stream reached it.
struct StepRecord {
  uint64_t time;
  uint64_t step;
  uint64_t correlation;
  uint32_t tag;  ///< 0 start, 1 end
  int32_t device;
};

enum class HostSampleKind : uint32_t {
  ProcessCpu = 0,
  ProcessMemory = 1,
  SystemCpu = 2,
  SystemMemory = 3,
  Network = 4
};
struct HostSampleRecord {
  uint64_t time;
  uint32_t what;  ///< HostSampleKind
  uint32_t spare;
  /// cpu: user and system time in us, since the process (the machine) began; idle time (machine). Memory: used and
  /// total bytes. Network: received and sent bytes, receive and send packets.
  uint64_t values[4];
};

/// Records that could not be written.
struct LostRecord {
  uint64_t time;
  uint64_t records;
};

/// The number of a text; what MsprofGetHashId gives, too. Never 0.
inline uint64_t text_id(std::string_view text) {
  uint64_t h = fnv1a(text.data(), text.size());
  h ^= h >> 32;
  return h ? h : 1;
}

// Texts that describe arguments: lines, so that an export copies them. Tensors: "T", then input shapes, types and
// formats, then those of outputs, each list as the tables have it ("2,3;4" "FLOAT;FLOAT" "ND;ND"),
// and in an eighth line the attributes ("alpha=1;beta=0"), where they were wanted.
// Collectives: "C", then communicator, rank, ranks, element type, count, operation, root, peers ("1;2").
inline constexpr char kTensors = 'T';
inline constexpr char kCollective = 'C';

}  // namespace updraft::profiling
