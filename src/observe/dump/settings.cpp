#include "observe/dump/settings.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>
#include <span>
#include <string_view>

#include "base/error.h"
#include "base/json_text.h"
#include "base/log.h"

namespace updraft::dump {
namespace {

using Json = nlohmann::json;

/// dump_step has at most so many parts.
constexpr size_t kMostRanges = 100;

class Reader {
 public:
  Reader(const Json& dump, const std::string& file) : dump_(dump), file_(file) {}

  bool has(const char* key) const { return dump_.contains(key); }

  [[noreturn]] void refuse(const std::string& key, const Json& value, std::string_view wanted) const {
    throw Error(kInvalidDump, "{}: {} is {}, want {}", file_, key, json_text(value), wanted);
  }
  [[noreturn]] void refuse(const std::string& text) const { throw Error(kInvalidDump, "{}: {}", file_, text); }

  /// The text of a key that takes one of few, `absent` where it is not there.
  std::string choice(const char* key, std::initializer_list<const char*> allowed, const char* absent) const {
    if (!has(key)) return absent;
    const Json& value = dump_.at(key);
    std::string wanted;
    for (const char* one : allowed) {
      if (value == one) return one;
      wanted += fmt::format("{}\"{}\"", wanted.empty() ? "" : ", ", one);
    }
    refuse(key, value, "one of " + wanted);
  }

  std::string text(const Json& from, const char* key, const std::string& name) const {
    const auto found = from.find(key);
    if (found == from.end()) return {};
    if (!found->is_string()) refuse(name, *found, "a text");
    return found->get<std::string>();
  }

  std::vector<std::string> texts(const Json& from, const char* key, const std::string& name) const {
    std::vector<std::string> all;
    const auto found = from.find(key);
    if (found == from.end()) return all;
    if (!found->is_array()) refuse(name, *found, "an array of names of operators");
    for (const Json& one : *found) {
      if (!one.is_string() || one.get<std::string>().empty()) refuse(name, one, "the name of an operator");
      all.push_back(one.get<std::string>());
    }
    return all;
  }

  const Json& at(const char* key) const { return dump_.at(key); }
  const std::string& file() const { return file_; }

  static constexpr int kInvalidDump = 100009;

 private:
  const Json& dump_;
  const std::string& file_;
};

std::vector<ModelRule> read_models(const Reader& from) {
  std::vector<ModelRule> rules;
  if (!from.has("dump_list")) return rules;
  const Json& list = from.at("dump_list");
  if (!list.is_array()) from.refuse("dump_list", list, "an array of objects with model_name, layer and watcher_nodes");
  std::set<std::string> names;
  for (size_t i = 0; i < list.size(); ++i) {
    const Json& entry = list[i];
    const std::string at = fmt::format("dump_list[{}]", i);
    if (!entry.is_object()) from.refuse(at, entry, "an object with model_name, layer and watcher_nodes");
    for (const auto& [key, value] : entry.items())
      if (key != "model_name" && key != "layer" && key != "watcher_nodes" && key != "optype_blacklist" &&
          key != "opname_blacklist" && key != "opname_range")
        from.refuse(at + "." + key, value, "no such key: only model_name, layer and watcher_nodes are known");
      else if (key == "optype_blacklist" || key == "opname_blacklist" || key == "opname_range")
        from.refuse(at + "." + key, value, "\"layer\" in its place: lists of what is left out are not implemented");
    ModelRule& rule = rules.emplace_back();
    rule.model = from.text(entry, "model_name", at + ".model_name");
    rule.layers = from.texts(entry, "layer", at + ".layer");
    rule.watchers = from.texts(entry, "watcher_nodes", at + ".watcher_nodes");
    if (!names.insert(rule.model).second)
      from.refuse(at + ".model_name", entry.contains("model_name") ? entry.at("model_name") : Json(""),
                  "a name that no other entry has");
  }
  return rules;
}

uint32_t read_figures(const Reader& from, bool statistics) {
  if (!from.has("dump_stats")) return kDefaultFigures;
  constexpr std::pair<const char*, Figure> kNames[] = {{"Max", kMax},
                                                       {"Min", kMin},
                                                       {"Avg", kAvg},
                                                       {"Nan", kNan},
                                                       {"Negative Inf", kNegativeInf},
                                                       {"Positive Inf", kPositiveInf},
                                                       {"L2norm", kL2}};
  const Json& list = from.at("dump_stats");
  constexpr const char* kWanted =
      "an array of some of \"Max\", \"Min\", \"Avg\", \"Nan\", \"Negative Inf\", \"Positive Inf\", \"L2norm\"";
  if (!list.is_array() || list.empty()) from.refuse("dump_stats", list, kWanted);
  if (!statistics) from.refuse("dump_stats", list, "\"dump_data\": \"stats\" beside it");
  uint32_t figures = 0;
  for (const Json& one : list) {
    const auto* found = std::find_if(std::begin(kNames), std::end(kNames), [&](auto& n) { return one == n.first; });
    if (found == std::end(kNames)) from.refuse("dump_stats", one, kWanted);
    figures |= found->second;
  }
  return figures;
}

Settings::Scene read_scene(const Reader& from) {
  const std::string scene =
      from.choice("dump_scene",
                  {"lite_exception", "aic_err_brief_dump", "aic_err_norm_dump", "aic_err_detail_dump", "watcher"}, "");
  if (scene.empty()) return Settings::Scene::None;
  if (scene == "watcher") return Settings::Scene::Watcher;
  if (scene == "aic_err_norm_dump") return Settings::Scene::Normal;
  if (scene == "aic_err_detail_dump") return Settings::Scene::Detail;
  return Settings::Scene::Brief;
}

void check_watchers(const Reader& from, const Settings& settings) {
  const bool watcher = settings.scene == Settings::Scene::Watcher;
  for (size_t i = 0; i < settings.models.size(); ++i) {
    const ModelRule& rule = settings.models[i];
    if (watcher && (rule.layers.empty() || rule.watchers.empty()))
      from.refuse(
          fmt::format("dump_scene is \"watcher\", so dump_list[{}] wants both layer (operators that may write where "
                      "they must not) and watcher_nodes (operators whose outputs are looked at)",
                      i));
    if (!watcher && !rule.watchers.empty())
      from.refuse(fmt::format("dump_list[{}].watcher_nodes wants \"dump_scene\": \"watcher\"", i));
  }
  if (!watcher) return;
  if (settings.models.empty())
    from.refuse("dump_scene is \"watcher\", which wants dump_list with layer and watcher_nodes");
  if (settings.inputs) from.refuse("dump_mode", from.at("dump_mode"), "\"output\" beside \"dump_scene\": \"watcher\"");
}

}  // namespace

bool Steps::contain(uint64_t step) const {
  return ranges.empty() ||
         std::ranges::any_of(ranges, [&](auto& range) { return range.first <= step && step <= range.second; });
}

Steps parse_steps(const std::string& text, const char* key) {
  auto refuse = [&](std::string_view part, std::string_view why) {
    throw Error(Reader::kInvalidDump, "{} is \"{}\": {} {}; want numbers and ranges such as \"0|3-5|10\"", key, text,
                part.empty() ? "an empty part" : fmt::format("\"{}\"", part), why);
  };
  Steps steps;
  std::string_view rest = text;
  while (true) {
    const size_t bar = rest.find('|');
    const std::string_view part = rest.substr(0, bar);
    const size_t dash = part.find('-');
    auto number = [&](std::string_view digits) {
      uint64_t value = 0;
      const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
      if (digits.empty() || error != std::errc() || end != digits.data() + digits.size()) refuse(part, "is no step");
      return value;
    };
    const uint64_t first = number(part.substr(0, dash));
    const uint64_t last = dash == std::string_view::npos ? first : number(part.substr(dash + 1));
    if (last < first) refuse(part, "ends before it begins");
    steps.ranges.emplace_back(first, last);
    if (steps.ranges.size() > kMostRanges) refuse(part, "is more than the 100th part");
    if (bar == std::string_view::npos) return steps;
    rest.remove_prefix(bar + 1);
  }
}

std::string checked_folder(const std::string& path, const std::string& key) {
  auto refuse = [&](const char* why) {
    throw Error(Reader::kInvalidDump, "{} is \"{}\": {}; want a folder that exists and can be written", key, path, why);
  };
  if (path.empty()) refuse("it is empty");
  if (path.size() > 512) refuse("it has more than 512 characters");
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  if (error || !std::filesystem::exists(absolute, error)) refuse("there is no such folder");
  if (!std::filesystem::is_directory(absolute, error)) refuse("it is no folder");
  if (access(absolute.c_str(), W_OK | X_OK) != 0) refuse(std::strerror(errno));
  return absolute.lexically_normal().string();
}

Settings read_settings(const Json& dump, const std::string& file) {
  const Reader from(dump, file);
  if (!dump.is_object()) from.refuse("dump", dump, "an object");
  static const std::set<std::string> kKnown = {"dump_path",  "dump_list",  "dump_mode",        "dump_op_switch",
                                               "dump_debug", "dump_step",  "dump_data",        "dump_level",
                                               "dump_stats", "dump_scene", "dump_kernel_data", "dump_debug_mode"};
  for (const auto& [key, value] : dump.items())
    if (!kKnown.contains(key))
      UPDRAFT_LOG(kWarning, "ASCENDCL", "{}: the key dump.{} is not known and changes nothing", file, key);
  Settings settings;
  const std::string mode = from.choice("dump_mode", {"input", "output", "all"}, "output");
  settings.inputs = mode != "output";
  settings.outputs = mode != "input";
  settings.operators = from.choice("dump_op_switch", {"on", "off"}, "off") == "on";
  settings.overflow = from.choice("dump_debug", {"on", "off"}, "off") == "on";
  const std::string part = from.choice("dump_debug_mode", {"aicore_overflow", "atomic_overflow", "all"}, "all");
  settings.overflow_of_cores = part != "atomic_overflow";
  settings.overflow_of_atomics = part != "aicore_overflow";
  settings.statistics = from.choice("dump_data", {"tensor", "stats"}, "tensor") == "stats";
  from.choice("dump_level", {"op", "kernel", "all"}, "all");  // an operator is one kernel here
  settings.scene = read_scene(from);
  settings.models = read_models(from);
  settings.figures = read_figures(from, settings.statistics);
  if (from.has("dump_step")) {
    const Json& step = from.at("dump_step");
    if (!step.is_string()) from.refuse("dump_step", step, "a text such as \"0|3-5|10\"");
    if (!step.get<std::string>().empty()) settings.steps = parse_steps(step.get<std::string>(), "dump_step");
  }
  if (settings.scene != Settings::Scene::None && settings.scene != Settings::Scene::Watcher && (settings.writes()))
    from.refuse(fmt::format("dump_scene is {}, which writes what a failing operator had: leave out {}",
                            json_text(from.at("dump_scene")),
                            settings.overflow    ? "dump_debug"
                            : settings.operators ? "dump_op_switch"
                                                 : "dump_list"));
  check_watchers(from, settings);
  if (settings.overflow && (settings.operators || !settings.models.empty()))
    from.refuse(
        fmt::format("dump_debug and {} are both on: overflow detection writes the operators that overflow, a "
                    "dump all of them; want one of the two",
                    settings.operators ? "dump_op_switch" : "dump_list"));
  const std::string path = from.text(dump, "dump_path", "dump_path");
  if (settings.writes() || settings.writes_failures()) {
    if (!from.has("dump_path")) from.refuse("there is no dump_path; want a folder that exists and can be written");
    settings.path = checked_folder(path, file + ": dump_path");
  } else if (from.has("dump_path") && settings.scene == Settings::Scene::None) {
    from.refuse(
        "dump_list has no entry and dump_op_switch and dump_debug are off, so nothing would be written: name "
        "models in dump_list ([{}] means all), or set \"dump_op_switch\": \"on\" for operators outside of models");
  }
  return settings;
}

}  // namespace updraft::dump
