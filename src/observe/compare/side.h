// One side of a comparison: a folder with what operators read and wrote, as dump files or as arrays.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "observe/compare/array.h"

namespace updraft::compare {

/// The files of an operator. Of several runs of it in the folder the latest counts.
struct OperatorFiles {
  std::string type;  ///< of dump files; "NaN" where no name says it
  std::string dump;  ///< the dump file, else empty
  uint64_t time = 0;
  std::map<int, std::string> inputs, outputs;  ///< files of arrays by index
};

/// What is known of an operator's tensors.
struct Tensors {
  std::string path;  ///< of the dump file, or of the first array
  std::map<int, Array> inputs, outputs;
};

class Side {
 public:
  /// Reads the names in a folder. They are OpType.OpName.TaskId[.StreamId].time (dump files),
  /// OpName.Index.time.npy|pt|bin (outputs of a reference), and NAME_OF_A_DUMP.input|output.N[.…].npy|pt|bin (converted
  /// dumps); mapping.csv gives the names of files whose own name is too long. Throws Error 100003 when there is no such
  /// folder or no such file in it.
  explicit Side(const std::string& folder);

  const std::string& folder() const { return folder_; }
  /// True when it has dump files of an NPU.
  bool is_npu() const { return npu_; }
  /// By name; "/" and "." of a name in a graph are "_" in files.
  const OperatorFiles* find(const std::string& op) const;
  const std::map<std::string, OperatorFiles>& operators() const { return operators_; }
  /// The names in the order of their times.
  std::vector<std::string> in_order() const;
  Tensors load(const OperatorFiles& files) const;

 private:
  void add(const std::string& name, const std::string& path);
  std::string folder_;
  std::map<std::string, OperatorFiles> operators_;
  bool npu_ = false;
};

/// A dump file's name in its parts.
struct DumpName {
  std::string type, op;
  uint64_t task = 0, stream = 0, time = 0;
  bool has_stream = false;
};
/// False when it is none.
bool parse_dump_name(const std::string& name, DumpName& to);

/// The folder's mapping.csv: names by what files are called.
std::map<std::string, std::string> read_mapping(const std::string& folder);

}  // namespace updraft::compare
