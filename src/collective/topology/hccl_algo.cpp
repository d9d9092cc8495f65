// HCCL_ALGO: "level0:NA;level1:ring;level2:NHR" for all operators, or by operator: "allreduce=level0:NA;level1:ring/
// others=level0:NA;level1:H-D_R".
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "collective/topology/environment.h"
#include "collective/topology/variable.h"

namespace updraft::collective {
namespace {

struct Word {
  const char* name;
  Algorithm algorithm;
};
constexpr Word kWords[] = {
    {"NA", Algorithm::Auto},
    {"ring", Algorithm::Ring},
    {"H-D_R", Algorithm::HalvingDoubling},
    {"NHR", Algorithm::NHR},
    {"NHR_V1", Algorithm::NHR},  // a slower NHR that HCCL is about to drop
    {"NB", Algorithm::NB},
    {"AHC", Algorithm::AHC},
    {"pipeline", Algorithm::Pipeline},
    {"pairwise", Algorithm::Pairwise},
};

struct Operator {
  const char* name;
  std::vector<Kind> kinds;
};
const std::vector<Operator>& operators() {
  static const std::vector<Operator> all = {
      {"allreduce", {Kind::AllReduce}},
      {"allgather", {Kind::AllGather}},
      {"reducescatter", {Kind::ReduceScatter}},
      {"broadcast", {Kind::Broadcast}},
      {"reduce", {Kind::Reduce}},
      {"scatter", {Kind::Scatter}},
      {"alltoall", {Kind::AllToAll, Kind::AllToAllV, Kind::AllToAllVC}},
      {"allgatherv", {Kind::AllGatherV}},
      {"reducescatterv", {Kind::ReduceScatterV}},
      {"others", {}},
  };
  return all;
}

Levels parse_levels(const Variable& whole, const std::string& text) {
  Levels levels = {Algorithm::Auto, Algorithm::Auto, Algorithm::Auto};
  bool seen[3] = {};
  for (const std::string& part : split(text, ';')) {
    if (part.empty()) continue;  // a trailing semicolon
    const size_t colon = part.find(':');
    const std::string key(trimmed(std::string_view(part).substr(0, colon)));
    if (colon == std::string::npos || key.size() != 6 || !key.starts_with("level") || key[5] < '0' || key[5] > '2')
      whole.refuse(fmt::format("levels as level0:NA;level1:ring;level2:NHR, not \"{}\"", part));
    const size_t at = static_cast<size_t>(key[5] - '0');
    if (seen[at]) whole.refuse(fmt::format("{} once", key));
    seen[at] = true;
    const std::string value(trimmed(std::string_view(part).substr(colon + 1)));
    if (at == 0 && value != "NA") whole.refuse(fmt::format("NA for level0 (inside a server), not \"{}\"", value));
    const Word* found = nullptr;
    for (const Word& word : kWords)
      if (value == word.name) found = &word;
    if (!found)
      whole.refuse(
          fmt::format("NA, ring, H-D_R, NHR, NHR_V1, NB, AHC, pipeline or pairwise for {}, not \"{}\"", key, value));
    levels[at] = found->algorithm;
  }
  if (!seen[0] && !seen[1] && !seen[2]) whole.refuse("levels as level0:NA;level1:ring;level2:NHR");
  if (levels[1] == Algorithm::AHC) levels[2] = Algorithm::AHC;  // it spans both levels
  return levels;
}

}  // namespace

std::string Algorithms::between_servers() const {
  std::string text;
  for (const Operator& op : operators())
    for (const Kind kind : op.kinds)
      if (const Algorithm wish = algorithm(kind, 1), above = algorithm(kind, 2);
          wish != Algorithm::Auto || above != Algorithm::Auto)
        text += fmt::format("{}{} {}{}", text.empty() ? "" : ", ", name_of(kind), name_of(wish),
                            above == Algorithm::Auto ? std::string() : fmt::format(" and {}", name_of(above)));
  return text;
}

bool Algorithms::chosen(int at) const {
  const auto wished = [at](const Levels& levels) {
    // AHC of the level below is written down for this one, too.
    const Algorithm a = levels[static_cast<size_t>(at)];
    return a != Algorithm::Auto && !(a == Algorithm::AHC && levels[static_cast<size_t>(at) - 1] == a);
  };
  return wished(level) || std::ranges::any_of(level_of, [&](const auto& entry) { return wished(entry.second); });
}

void Algorithms::read_algorithms(const std::string& text, const char* origin) {
  const Variable whole{origin, text};
  level = {Algorithm::Auto, Algorithm::Auto, Algorithm::Auto};
  level_of.clear();
  if (trimmed(text).empty()) return;
  if (text.find('=') == std::string::npos) {
    level = parse_levels(whole, text);
    return;
  }
  bool others = false;
  for (const std::string& part : split(text, '/')) {
    if (part.empty()) continue;
    const size_t equal = part.find('=');
    if (equal == std::string::npos) whole.refuse(fmt::format("OPERATOR=LEVELS, not \"{}\"", part));
    const std::string name(trimmed(std::string_view(part).substr(0, equal)));
    const Operator* found = nullptr;
    std::string names;
    for (const Operator& op : operators()) {
      if (name == op.name) found = &op;
      names += std::string(names.empty() ? "" : ", ") + op.name;
    }
    if (!found) whole.refuse(fmt::format("an operator of {}, not \"{}\"", names, name));
    const Levels levels = parse_levels(whole, part.substr(equal + 1));
    if (found->kinds.empty()) {
      if (others) whole.refuse("others once");
      others = true;
      level = levels;
    } else if (name != "alltoall" && levels[1] == Algorithm::Pairwise) {
      whole.refuse(fmt::format("pairwise for alltoall only, not for {}", name));
    }
    for (Kind kind : found->kinds)
      if (!level_of.emplace(kind, levels).second) whole.refuse(fmt::format("{} once", name));
  }
}

}  // namespace updraft::collective
