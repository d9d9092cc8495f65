// api_statistic: what the time of the C interface's calls goes to.
#include <algorithm>
#include <cstring>
#include <map>

#include "observe/profiling/export/tables.h"
#include "observe/profiling/export/text_file.h"
#include "observe/profiling/settings.h"

namespace updraft::profiling {
namespace {

struct Row {
  uint64_t count = 0, total = 0, least = UINT64_MAX, most = 0;
  double squares = 0;
  void add(uint64_t time) {
    ++count;
    total += time;
    least = std::min(least, time);
    most = std::max(most, time);
    squares += static_cast<double>(time) * static_cast<double>(time);
  }
};

}  // namespace

void write_calls(const Profile& p, const std::string& folder, const Selection& selection) {
  // Written in any case: clients wait for a table, whatever it holds.
  std::map<std::pair<std::string, std::string>, Row> rows;
  const Connections links = connect(p);
  const bool runtime = (p.switches & data::kRuntimeApi) != 0;
  for (size_t i = 0; i < p.calls.size(); ++i) {
    const CallRecord& call = p.calls[i];
    std::string name(p.text(call.name));
    const uint64_t time = call.end - call.begin;
    const bool collective = name.rfind("Hccl", 0) == 0;
    if (call.phase == 1) name += "GetWorkspaceSize";
    rows[{collective ? "communication" : "acl", name}].add(time);
    // What the card's tools call the runtime is the same call here.
    if (runtime && name.rfind("aclrt", 0) == 0) rows[{"runtime", name.substr(5)}].add(time);
    const int64_t t = links.first_task[i];
    if (t < 0) continue;
    const TaskRecord& task = p.tasks[static_cast<size_t>(t)];
    if (is_operator(task) || collective)
      rows[{"node", "launch"}].add(std::clamp(task.submitted, call.begin, call.end) - call.begin);
    if (task.model && name.rfind("aclmdl", 0) == 0) rows[{"model", name}].add(time);
  }
  for (const Report& report : p.reports) {
    if (report.what != ReportKind::Api || report.bytes.size() < 40) continue;
    uint64_t begin, end, item;
    std::memcpy(&begin, report.bytes.data() + 16, 8);
    std::memcpy(&end, report.bytes.data() + 24, 8);
    std::memcpy(&item, report.bytes.data() + 32, 8);
    if (end >= begin) rows[{"node", p.text(item).empty() ? "launch" : std::string(p.text(item))}].add(end - begin);
  }
  const int device = p.devices.empty() ? 0 : p.devices.front();
  TextFile out(folder + "/api_statistic_" + selection.stamp + ".csv");
  out << "Device_id,Level,API Name,Time(us),Count,Avg(us),Min(us),Max(us),Variance\n";
  for (const auto& [key, row] : rows) {
    const double mean = static_cast<double>(row.total) / static_cast<double>(row.count);
    const double variance = std::max(0.0, row.squares / static_cast<double>(row.count) - mean * mean);
    out.number(device) << ',' << key.first << ',';
    out.csv(key.second) << ',';
    out.microseconds(static_cast<int64_t>(row.total)) << ',';
    out.number(row.count) << ',';
    out.real(mean * 1e-3) << ',';
    out.microseconds(static_cast<int64_t>(row.least)) << ',';
    out.microseconds(static_cast<int64_t>(row.most)) << ',';
    out.real(variance * 1e-6) << '\n';
  }
  out.done();
}

}  // namespace updraft::profiling
