// msprof_tx: marks and ranges of the user, on the host and where their streams reached them.
#include <map>
#include <unordered_map>

#include "observe/profiling/export/tables.h"
#include "observe/profiling/export/text_file.h"

namespace updraft::profiling {

void write_markers(const Profile& p, const std::string& folder, const Selection& selection) {
  if (p.markers.empty()) return;
  std::map<uint64_t, const TaskRecord*> reached;  // by correlation
  for (const TaskRecord& task : p.tasks)
    if (p.text(task.name).substr(0, 5) == "MSTX_") reached[task.correlation] = &task;
  TextFile out(folder + "/msprof_tx_" + selection.stamp + ".csv");
  out << "pid,tid,category,event_type,payload_type,payload_value,Start_time(us),End_time(us),message_type,message,"
         "domain,Device "
         "Start_time(us),Device End_time(us)\n";
  std::unordered_map<uint64_t, const MarkerRecord*> open;
  for (const MarkerRecord& m : p.markers) {
    if (m.what == static_cast<uint32_t>(MarkerKind::Begin)) {
      open[m.range] = &m;
      continue;
    }
    const MarkerRecord* begin = &m;
    if (m.what == static_cast<uint32_t>(MarkerKind::End)) {
      const auto found = open.find(m.range);
      if (found == open.end()) continue;
      begin = found->second;
      open.erase(found);
    }
    out.number(p.process) << ',';
    out.number(begin->thread) << ',';
    out.number(begin->category) << ',' << (begin == &m ? "marker" : "start/end") << ",0,0,";
    out.microseconds(p.wall(begin->time)) << "\t,";
    out.microseconds(p.wall(m.time)) << "\t,0,";
    out.csv(p.text(begin->message)) << ',';
    out.csv(p.text(begin->domain));
    for (const MarkerRecord* end : {begin, &m}) {
      const auto found = end->on_stream ? reached.find(end->correlation) : reached.end();
      out << ',';
      if (found == reached.end()) out << "N/A";
      else out.microseconds(p.wall(found->second->ended)) << '\t';
    }
    out << '\n';
  }
  out.done();
}

}  // namespace updraft::profiling
