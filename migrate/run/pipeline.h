// The whole way: what a run is to do; files are found, looked through, rewritten, written.
#pragma once
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "migrate/finding.h"
#include "migrate/rewrite/tensorflow/options.h"
#include "migrate/rules/rule.h"

namespace updraft::migrate::run {

// What a run of the tool is to do.

enum class Mode : std::uint8_t {
  Copy,     ///< a whole output tree, the input is never touched
  InPlace,  ///< changed files are replaced
  Report    ///< nothing is written but reports (--diff, --check, --json)
};

struct Options {
  std::filesystem::path input;   ///< a folder or a file
  std::filesystem::path output;  ///< Copy: the new tree; must not be in the input
  Mode mode = Mode::Copy;
  std::string framework = "pytorch";  ///< or tensorflow; "auto": the command line asks framework_of
  std::string version;                ///< of the framework; empty: the newest with facts
  std::string product = "A2";
  Confidence least = Confidence::Likely;
  std::vector<std::filesystem::path> rules;  ///< the user's own
  rules::Selection selection;                ///< which rules; all by default
  bool analysis = false;                     ///< nothing is rewritten; every use of the framework is looked at
  bool automatic = false;                    ///< --auto: only import torch_npu and transfer_to_npu, in entry files
  std::string distributed_main, distributed_model;  ///< one card becomes several: entry file, variable of the model
  bool specify_device = false;                      ///< the device is chosen by the variable DEVICE_ID
  bool similar = false;                             ///< unsupported APIs become equivalent functions
  bool mixed_precision = false;                     ///< a plain training loop gets autocast and GradScaler
  std::string affine_model;                         ///< name of the model whose NPU-affine replacements are made
  std::string amp_model;   ///< -a: variables of the models that go from torch.cuda.amp to apex.amp, by commas
  bool modelarts = false;  ///< -m: entry files prepare the paths of a ModelArts job
  /// Sources that are another framework's already: of Python, only the others are rewritten. Null: all of everything.
  const std::set<std::string>* others = nullptr;
  TensorFlowOptions tensorflow;
  unsigned threads = 0;  ///< 0: as many as there are processors
  /// Called from any thread as files are done; may be empty.
  std::function<void(std::size_t done, std::size_t all)> progress;
  std::string command;
};

// The whole way: files are found, looked through, rewritten, written.

/// pytorch or tensorflow: which of them more of the input's sources import; `both`: whether some import the other one.
std::string framework_of(const std::filesystem::path& input, bool* both = nullptr);

/// Whether a source imports a package, in whatever statement: import os, tensorflow as tf.
bool brings(std::string_view text, std::string_view package);

/// Rewrites in memory; writes nothing. Failures of single files are findings.
ProjectResult migrate(const Options& options);

/// One source without a file: stdin.
FileResult migrate_text(const std::string& path, std::string text, const Options& options);

/// Copy: makes the output tree. InPlace: replaces what changed. Throws Error before anything is written where that
/// cannot work (output within input, a folder that is in use).
void write_output(const Options& options, ProjectResult& result);

}  // namespace updraft::migrate::run
