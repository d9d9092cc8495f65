// Where new statements go in a source, and how they look there: its indentation and line endings.
#pragma once
#include <initializer_list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "migrate/finding.h"
#include "migrate/names/project.h"
#include "migrate/rewrite/distributed/program.h"
#include "migrate/rewrite/sites.h"

namespace updraft::migrate::rewrite::distributed {

using Lines = std::vector<std::string>;

/// "\n" or "\r\n", as the file has it.
std::string newline(std::string_view text);
/// One step of indentation, as the file has it.
std::string unit(const syntax::Tree& tree);
/// The white space before the node on its line.
std::string indent(const syntax::Tree& tree, NodeId node);
/// Whether nothing but white space and a comment shares the statement's lines.
bool alone(const syntax::Tree& tree, NodeId statement);
/// Statements before (after) one, in its block. Comment lines are left out where the statement shares its line.
Edit before(const syntax::Tree& tree, NodeId statement, const Lines& lines);
Edit after(const syntax::Tree& tree, NodeId statement, const Lines& lines);
/// Before the first statement of a block or module that is no docstring.
Edit at_start(const syntax::Tree& tree, NodeId block, const Lines& lines);
/// The last statement of a block; kNone where it has none.
NodeId last_of(const syntax::Tree& tree, NodeId block);
/// Puts neighbouring statements of a block under one condition.
std::vector<Edit> under(const syntax::Tree& tree, const std::vector<NodeId>& statements, const std::string& condition);
/// Takes a statement away with its line; `pass` stays where its block would be empty.
Edit remove(const syntax::Tree& tree, NodeId statement);
/// One more keyword at the end of a call's arguments.
Edit keyword(const syntax::Tree& tree, NodeId call, const std::string& text);
/// An argument of a call, by keyword or, where position >= 0, by position; kNone also where stars hide it.
struct Argument {
  NodeId whole = kNone, value = kNone;
  bool hidden = false;  ///< a star stands where it may be
  explicit operator bool() const noexcept { return value != kNone; }
};
Argument argument(const syntax::Tree& tree, NodeId call, std::string_view name, int position);

}  // namespace updraft::migrate::rewrite::distributed

namespace updraft::migrate::rewrite {

// The guide's `distributed -t MODEL -m MAIN`: a script that trains on one card becomes one that trains on several, one
// process each. The conversion looks at the entry file and what it imports as one program, because a loader that is
// made in one function is walked in another; what it finds is then added to the findings of each file.

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
