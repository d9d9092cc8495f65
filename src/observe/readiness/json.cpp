#include <unistd.h>

#include "base/json_text.h"
#include "device/device.h"
#include "device/soc.h"
#include "observe/readiness/recorder.h"

namespace updraft::readiness {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const Stack& stack) {
  Json frames = Json::array();
  for (const PythonFrame& f : stack) frames.push_back({{"file", f.file}, {"line", f.line}, {"function", f.function}});
  return frames;
}

}  // namespace

std::string Recorder::json() const {
  std::lock_guard lock(mutex_);
  Json all;
  all["process"] = getpid();
  all["product"] = soc().name;
  all["operators"] = Json::array();
  for (const auto& [name, o] : operators_)
    all["operators"].push_back({{"name", name},
                                {"count", o.count},
                                {"nanoseconds", o.nanoseconds},
                                {"engine", name_of(o.unit)},
                                {"flops", o.flops},
                                {"bytes", o.bytes},
                                {"by_name", o.by_name}});
  all["signatures"] = Json::array();
  for (const auto& [key, s] : signatures_)
    all["signatures"].push_back({{"operator", key.first},
                                 {"types", key.second},
                                 {"count", s.count},
                                 {"shapes", s.shapes},
                                 {"more_shapes", s.more_shapes},
                                 {"new_at", s.new_at},
                                 {"where", json_of(s.first)}});
  all["refusals"] = Json::array();
  for (const auto& [key, r] : refusals_)
    all["refusals"].push_back({{"operator", key.first}, {"why", key.second}, {"where", json_of(r.first)}});
  all["waits"] = Json::array();
  for (const auto& [key, w] : waits_)
    all["waits"].push_back(
        {{"call", key.first}, {"count", w.count}, {"nanoseconds", w.nanoseconds}, {"where", json_of(key.second)}});
  all["missing"] = missing_;
  all["chains"] = Json::array();
  for (const auto& [name, c] : chains_)
    all["chains"].push_back({{"name", name}, {"count", c.count}, {"where", json_of(c.first)}});
  all["gaps"] = Json::array();
  for (const auto& [key, g] : gaps_)
    all["gaps"].push_back(
        {{"before", key.first}, {"behind", key.second}, {"count", g.count}, {"nanoseconds", g.nanoseconds}});
  all["devices"] = Json::array();
  for (const auto& [index, line] : timelines_) {
    Json device{{"device", index},
                {"span", line.changed - line.first},
                {"busy", line.busy},
                {"idle", line.idle},
                {"collectives_alone", line.exposed}};
    if (Device* d = index >= 0 ? Device::find(index) : nullptr) device["peak_memory"] = d->memory().peak();
    all["devices"].push_back(std::move(device));
  }
  all["loss_scaling"] = {{"checks", unscaled_}, {"overflows", overflowed_}};
  return json_text(all);
}

}  // namespace updraft::readiness
