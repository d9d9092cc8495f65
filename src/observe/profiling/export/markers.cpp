// msprof_tx: marks and ranges of the user, on the host and where their streams reached them.
#include <map>

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
  for (const MarkedSpan& span : marked_spans(p)) {
    out.number(p.process) << ',';
    out.number(span.begin->thread) << ',';
    out.number(span.begin->category) << ',' << (span.is_mark() ? "marker" : "start/end") << ",0,0,";
    out.microseconds(p.wall(span.begin->time)) << "\t,";
    out.microseconds(p.wall(span.end->time)) << "\t,0,";
    out.csv(p.text(span.begin->message)) << ',';
    out.csv(p.text(span.begin->domain));
    for (const MarkerRecord* end : {span.begin, span.end}) {
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
