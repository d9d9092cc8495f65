// What the TensorFlow tool is asked for (-m, -d, -c of the guide), where it writes, and what it prints.
#pragma once
#include <ctime>
#include <filesystem>
#include <string>
#include <string_view>

#include "migrate/finding.h"

namespace updraft::migrate {

/// How the original script trains on several devices (-d).
enum class Strategy : std::uint8_t {
  None,
  TfStrategy,  ///< tf.distribute.Strategy
  Horovod
};

std::string_view name(Strategy strategy) noexcept;
/// none, tf_strategy or horovod; throws Error with the known ones else.
Strategy strategy_of(std::string_view name);

struct TensorFlowOptions {
  std::string main_file;  ///< -m, relative to the input with '/'; empty: files that ask for __main__
  Strategy strategy = Strategy::None;
  bool compat = false;        ///< -c: the script behaves as TensorFlow 1.x, by tf.compat.v1
  std::size_t version = 0;    ///< of kTfVersions: whose APIs are looked up
  bool beside_torch = false;  ///< PyTorch's sources of the project have been migrated: programs are rather theirs
};

/// Folders of a run, as the guide's tool names them.
struct TensorFlowFolders {
  std::filesystem::path output;        ///< the migrated project: [-o or output_npu_TIME]/NAME_npu_TIME
  std::filesystem::path report;        ///< [-r or .]/report_npu_TIME
  std::filesystem::path shown_output;  ///< what the last line names: the folder that holds the project
};

/// `output` and `report` are -o and -r, empty where not given. TIME is local: 20220517172706.
TensorFlowFolders tensorflow_folders(const std::filesystem::path& input, const std::filesystem::path& output,
                                     const std::filesystem::path& report, std::time_t now);

/// -i is a folder, -o and -r lie outside it, -m is a Python file in it. Throws Error with what is wrong and what is
/// wanted. Sets `options.main_file` to the path relative to the input.
void check_tensorflow(const std::filesystem::path& input, const std::filesystem::path& output,
                      const std::filesystem::path& report, const std::filesystem::path& main_file,
                      TensorFlowOptions& options);

/// Printed as a file is done: "Begin conver file: PATH" and "Finish conver file: PATH" are the guide's words.
std::string tensorflow_begin(std::string_view path);
std::string tensorflow_end(std::string_view path);
/// The last line: "Finish conver, output file: …; report file: …".
std::string tensorflow_finish(const TensorFlowFolders& folders);

/// What the user has to know after a run and that no single line of the source tells: no entry file was found, the
/// strategy or compat mode is missing. Empty where there is nothing. `guide`: the guide's command line ran, whose
/// options have other names.
std::vector<Text> tensorflow_advice(const ProjectResult& result, const TensorFlowOptions& options, bool guide);

}  // namespace updraft::migrate
