#include "observe/sanitizer/findings.h"

#include <unistd.h>

#include <cstdlib>

#include "base/json_text.h"
#include "device/soc.h"

namespace updraft::sanitizer {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kIds[] = {"race",      "use-after-reuse", "use-after-free", "uninitialised",
                                "host-race", "host-access",     "out-of-bounds",  "leak"};
static_assert(std::size(kIds) == kKinds);

constexpr uint32_t bit(Kind kind) { return 1u << static_cast<int>(kind); }

Json json_of(const std::vector<PythonFrame>& stack) {
  Json frames = Json::array();
  for (const PythonFrame& f : stack) frames.push_back({{"file", f.file}, {"line", f.line}, {"function", f.function}});
  return frames;
}

std::string hexadecimal(uintptr_t address) { return fmt::format("{:#x}", address); }

Json json_of(const Side& side, const Stacks& stacks) {
  Json json{{"name", side.name}, {"call", side.call}, {"device", side.device}};
  if (side.stream == INT32_MIN) json["stream"] = nullptr;
  else json["stream"] = side.stream;
  if (side.model) json["graph"] = side.model;
  json["thread"] = side.thread;
  json["access"] = side.reads && side.writes ? "reads and writes" : side.writes ? "writes" : "reads";
  json["parameter"] = side.parameter;
  json["tensor"] = side.tensor;
  json["address"] = hexadecimal(side.address);
  json["bytes"] = side.bytes;
  json["where"] = json_of(stacks.frames(side.stack));
  return json;
}

Json json_of(const Place& place, const Stacks& stacks) {
  Json json{{"address", hexadecimal(place.address)},
            {"bytes", place.bytes},
            {"offset", place.offset},
            {"device", place.device},
            {"block", place.block},
            {"live", place.live}};
  const auto tell = [&](const char* what, const std::shared_ptr<Site>& site) {
    json[what] = site ? json_of(stacks.frames(site->stack)) : Json::array();
    json[std::string(what) + "_by"] = site ? site->call : "";
  };
  tell("allocated", place.made);
  tell("freed", place.freed);
  return json;
}

const char* environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

}  // namespace

const char* id_of(Kind kind) { return kIds[static_cast<int>(kind)]; }

std::optional<uint32_t> kinds_of(const std::string& text) {
  constexpr uint32_t kAll = (1u << kKinds) - 1;
  uint32_t bits = 0;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    begin = end + 1;
    uint32_t found = 0;
    for (int i = 0; i < kKinds; ++i)
      if (word == kIds[i]) found = 1u << i;
    if (word == "all" || word == "1") found = kAll;
    if (word == "memory") found = bit(Kind::Reused) | bit(Kind::Freed) | bit(Kind::Unwritten) | bit(Kind::OutOfBounds);
    if (word == "host") found = bit(Kind::HostRace) | bit(Kind::HostAccess);
    if (!found) return std::nullopt;
    bits |= found;
  }
  return bits;
}

void Findings::add(Finding finding) {
  {
    const auto name = [](const std::optional<Side>& side) { return side ? side->name : std::string(); };
    const auto stack = [](const std::optional<Side>& side) { return side ? side->stack : 0u; };
    // Texts of refusals have addresses in them, which are others each time: where there is a place, that is enough.
    std::string detail = stack(finding.second) || stack(finding.first) ? std::string() : finding.detail;
    Key key{finding.kind,         name(finding.first),   name(finding.second),
            stack(finding.first), stack(finding.second), std::move(detail)};
    std::lock_guard lock(mutex_);
    const auto [found, is_fresh] = known_.emplace(std::move(key), all_.size());
    if (!is_fresh) {
      all_[found->second].count += finding.count;
      return;
    }
    if (all_.size() >= kMost) {
      known_.erase(found);
      ++left_out_;
      return;
    }
    all_.push_back(std::move(finding));
  }
  if (fresh) fresh();
}

void Findings::after_fork(bool child) {
  if (child) {
    known_.clear();
    all_.clear();
    left_out_ = 0;
  }
  mutex_.unlock();
}

bool Findings::empty() const {
  std::lock_guard lock(mutex_);
  return all_.empty();
}

std::string Findings::json() const {
  std::lock_guard lock(mutex_);
  Json json{{"process", getpid()}, {"rank", environment("RANK")}, {"product", soc().name}, {"left_out", left_out_}};
  json["findings"] = Json::array();
  for (const Finding& f : all_) {
    Json one{{"kind", id_of(f.kind)}, {"count", f.count}};
    if (f.first) one["first"] = json_of(*f.first, stacks_);
    if (f.second) one["second"] = json_of(*f.second, stacks_);
    if (f.place) one["memory"] = json_of(*f.place, stacks_);
    if (!f.detail.empty()) one["detail"] = f.detail;
    if (f.kind == Kind::Leak) one["items"] = f.items, one["bytes"] = f.bytes;
    json["findings"].push_back(std::move(one));
  }
  return json_text(json);
}

}  // namespace updraft::sanitizer
