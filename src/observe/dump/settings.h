// What the "dump" section of a configuration file asks for.
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

namespace updraft::dump {

/// The steps of dump_step, "0|3-5|10"; without ranges all.
struct Steps {
  std::vector<std::pair<uint64_t, uint64_t>> ranges;  ///< first and last
  bool contain(uint64_t step) const;
};

/// An entry of dump_list.
struct ModelRule {
  std::string model;                  ///< its name; empty: every model
  std::vector<std::string> layers;    ///< names or types of operators; empty: all
  std::vector<std::string> watchers;  ///< watcher_nodes: their outputs are written after each of the layers
};

/// Figures that dump_stats asks for.
enum Figure : uint32_t { kMax = 1, kMin = 2, kAvg = 4, kNan = 8, kNegativeInf = 16, kPositiveInf = 32, kL2 = 64 };
inline constexpr uint32_t kDefaultFigures = kMax | kMin | kAvg | kNan | kNegativeInf | kPositiveInf;

struct Settings {
  enum class Scene : uint8_t { None, Brief, Normal, Detail, Watcher };
  std::string path;        ///< dump_path, absolute; empty where nothing is written
  bool operators = false;  ///< dump_op_switch: operators that no model runs
  std::vector<ModelRule> models;
  bool inputs = false, outputs = true;  ///< dump_mode
  bool statistics = false;              ///< dump_data stats
  uint32_t figures = kDefaultFigures;   ///< dump_stats, with `statistics`
  Steps steps;
  bool overflow = false;  ///< dump_debug: operators that overflow, and nothing else
  /// dump_debug_mode: overflows of kernels, of atomic adds.
  bool overflow_of_cores = true, overflow_of_atomics = true;
  Scene scene = Scene::None;

  /// True when tensors are to be written as operators run (of all, or of those that overflow).
  bool writes() const { return operators || !models.empty() || overflow; }
  /// True when the tensors of an operator that fails are to be written.
  bool writes_failures() const { return scene == Scene::Normal || scene == Scene::Detail; }
};

/// "0|3-5|10"; throws Error 100009 that names `key` otherwise.
Steps parse_steps(const std::string& text, const char* key);

/// Checks the section `dump` of the file `file` (for messages). Throws Error 100009: the key, its value, what is
/// allowed. A folder that does not exist or cannot be written is refused, too. Unknown keys are told to the log.
Settings read_settings(const nlohmann::json& dump, const std::string& file);

/// Throws 100009 unless `path` is a folder that can be written; gives it absolute.
std::string checked_folder(const std::string& path, const std::string& key);

}  // namespace updraft::dump
