// Measures of the user's own (-c): functions in Python, which a process of its own runs (tools/operator_cmp/compare/
// custom_measures.py in the tree).
#pragma once
#include <sys/types.h>

#include <mutex>
#include <string>
#include <vector>

#include "observe/compare/array.h"
#include "observe/compare/measures.h"

namespace updraft::compare {

class CustomMeasures {
 public:
  /// Starts the process, in UPDRAFT_PYTHON or else python3, which wants NumPy. `options` as -a has them. Throws Error
  /// with what is wrong in the folder or the options.
  CustomMeasures(const std::string& folder, const std::string& options);
  ~CustomMeasures();
  CustomMeasures(const CustomMeasures&) = delete;

  /// What there is.
  const std::vector<std::string>& names() const { return names_; }
  /// A cell for each of `chosen`. One pair at a time; more threads wait. Throws Error when the process has ended.
  std::vector<Cell> measure(const Array& x, const Array& y, const std::vector<std::string>& chosen,
                            const std::string& mine, const std::string& golden, int64_t most);

 private:
  std::string line();

  std::mutex mutex_;
  pid_t process_ = -1;
  int to_ = -1, from_ = -1;
  std::string read_, folder_;  ///< what has come of the next line; where arrays are handed over
  std::vector<std::string> names_;
};

}  // namespace updraft::compare
