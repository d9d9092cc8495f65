// The guide's `distributed -t MODEL -m MAIN`: a script that trains on one card becomes one that trains on several, one
// process each. The conversion looks at the entry file and what it imports as one program, because a loader that is
// made in one function is walked in another; what it finds is then added to the findings of each file.
#pragma once
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "migrate/finding.h"
#include "migrate/names/project.h"
#include "migrate/rewrite/sites.h"

namespace updraft::migrate::rewrite {

struct DistributedOptions {
  std::string main_file;        ///< -m: the script that starts the training, relative to the project's root
  std::string model = "model";  ///< -t: the variable that holds the model: NAME or self.NAME
};

class Conversion {
 public:
  /// Reads the entry file and the project's files that it imports. Throws Error where the entry file cannot be read.
  Conversion(const names::Project& project, const names::Project::Reader& read, DistributedOptions options);

  /// Adds what belongs to the file of `sites`, after the rules on devices have run: a device that the conversion
  /// chooses takes the place of what they would write.
  void add(Sites& sites) const;
  /// Whether the script is converted; else a finding in the entry file says why not.
  bool converted() const noexcept { return converted_; }
  /// Whether it has anything to say of a file.
  bool touches(const std::string& path) const { return files_.contains(path); }

 private:
  struct File {
    std::vector<Finding> findings;
    std::string local_rank;       ///< name of the variable; empty where there is none
    std::uint32_t ranked_at = 0;  ///< from here on module-level code may read it
    std::string torch;            ///< what the file calls torch
  };

  DistributedOptions options_;
  std::unordered_map<std::string, File> files_;
  bool converted_ = false;
};

/// Text of run_distributed_npu.sh, an executable file in the root of the output.
std::string distributed_launcher(const std::string& main_file);

/// torch.nn.DataParallel(…): DistributedDataParallel as a change for review.
void data_parallel(Sites& sites);

}  // namespace updraft::migrate::rewrite
