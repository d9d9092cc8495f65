#include "graph/passes/switches.h"

#include <algorithm>

#include "base/json_text.h"
#include "graph/compile/option_error.h"
#include "graph/compile/option_file.h"
#include "graph/passes/pass.h"

namespace updraft::graph {
namespace {

/// What the planner or an operator counts on.
bool is_needed(std::string_view pass) { return pass == "DeadNodeRemovePass"; }

std::string trimmed(std::string text) {
  text.erase(0, text.find_first_not_of(" \t\r"));
  text.erase(text.find_last_not_of(" \t\r") + 1);
  return text;
}

}  // namespace

void PassSwitches::set(const std::string& option, const std::string& where, const std::string& name,
                       const std::string& state) {
  if (state != "on" && state != "off")
    throw OptionError(option, where, fmt::format("{} is {}, want on or off", name, state));
  switches_[name] = state == "on";
}

PassSwitches PassSwitches::of_text(const std::string& option, const std::string& text) {
  PassSwitches made;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find_first_of(";\n", begin), text.size());
    const std::string part = trimmed(text.substr(begin, end - begin));
    begin = end + 1;
    if (part.empty() || part[0] == '#') continue;
    const size_t colon = part.rfind(':');
    if (colon == std::string::npos) throw OptionError(option, part, "want PASS:on or PASS:off");
    made.set(option, part, trimmed(part.substr(0, colon)), trimmed(part.substr(colon + 1)));
  }
  return made;
}

PassSwitches PassSwitches::of_file(const std::string& path) {
  const std::string option = "fusion_switch_file";
  const std::string text = option_file_text(option, path);
  if (text.find('{') == std::string::npos) return of_text(option, text);
  const auto json = parse_relaxed_json(option, path, text);
  const auto all = json.find("Switch");
  if (all == json.end() || !all->is_object())
    throw OptionError(option, path, R"(want {"Switch":{"GraphFusion":{"PASS":"off"}}})");
  PassSwitches made;
  for (const auto& [group, passes] : all->items()) {
    if (passes.is_string()) {  // without the level of groups
      made.set(option, path, group, passes.get<std::string>());
      continue;
    }
    if (!passes.is_object()) throw OptionError(option, path, group + " is no list of passes");
    for (const auto& [name, state] : passes.items()) {
      if (!state.is_string())
        throw OptionError(option, path, fmt::format("{} is {}, want \"on\" or \"off\"", name, json_text(state)));
      // passes here are graph fusion; those of on-chip buffers are none of ours
      if (name == "ALL" && group == "UBFusion") continue;
      made.set(option, path, name, state.get<std::string>());
    }
  }
  return made;
}

bool PassSwitches::on(std::string_view pass) const {
  if (is_needed(pass)) return true;
  if (const auto own = switches_.find(pass); own != switches_.end()) return own->second;
  const auto all = switches_.find("ALL");
  return all == switches_.end() || all->second;
}

void PassSwitches::add(const PassSwitches& other) {
  for (const auto& [name, on] : other.switches_) switches_[name] = on;
}

std::vector<std::string> PassSwitches::unknown() const {
  std::vector<std::string> names;
  for (const auto& [name, on] : switches_)
    if (name != "ALL" && std::ranges::none_of(all_passes(), [&](const Pass& p) { return name == p.name; }))
      names.push_back(name);
  return names;
}

}  // namespace updraft::graph
