// communication.json, communication_matrix.json and communication_statistic: collectives by operation and by link.
#include <algorithm>
#include <map>

#include "observe/profiling/export/tables.h"
#include "observe/profiling/export/text_file.h"

namespace updraft::profiling {
namespace {

constexpr double kMegabyte = 1e6;

double milliseconds(uint64_t nanoseconds) { return static_cast<double>(nanoseconds) * 1e-6; }

// "name@group", by which the tools that read these files know an operation on all ranks.
std::string key_of(const Collective& c) { return c.name + "@" + (c.group.empty() ? "0" : c.group); }

struct Sum {
  double megabytes = 0, milliseconds = 0;
};

void write_times(const Profile& p, const Collective& c, TextFile& out) {
  const double elapse = milliseconds(c.task->ended - c.task->begun);
  out << "\"Communication Time Info\": {\"Start Timestamp(us)\": ";
  out.microseconds(p.wall(c.task->begun)) << ", \"Elapse Time(ms)\": ";
  // Waiting for the other ranks and moving data are one: the rank helps to move whatever is there.
  out.real(elapse, 6) << ", \"Transit Time(ms)\": ";
  out.real(elapse, 6) << ", \"Wait Time(ms)\": 0, \"Synchronization Time(ms)\": 0, \"Idle Time(ms)\": 0, "
                         "\"Wait Time Ratio\": 0, \"Synchronization Time Ratio\": 0}";
}

void write_bandwidth(const char* transport, double megabytes, double time, TextFile& out) {
  out << '"' << transport << "\": {\"Transit Size(MB)\": ";
  out.real(megabytes, 6) << ", \"Transit Time(ms)\": ";
  out.real(time, 6) << ", \"Bandwidth(GB/s)\": ";
  out.real(time > 0 ? megabytes / time : 0, 4) << ", \"Large Packet Ratio\": 0, \"Size Distribution\": {";
  if (megabytes > 0) {
    out << '"';
    out.real(megabytes, 6) << "\": [1, ";
    out.real(time, 6) << ']';
  }
  out << "}}";
}

double sent_by(const Collective& c) {
  double bytes = 0;
  for (const Traffic& t : traffic_of(c)) bytes += t.bytes;
  return bytes;
}

}  // namespace

void write_communication(const Profile& p, const std::vector<Collective>& collectives, const std::string& analysis) {
  if (collectives.empty()) return;
  TextFile out(analysis + "/communication.json");
  out << "{";
  std::map<std::string, Sum> groups;
  bool first = true;
  for (const Collective& c : collectives) {
    const double elapse = milliseconds(c.task->ended - c.task->begun), megabytes = sent_by(c) / kMegabyte;
    out << (first ? "\n" : ",\n");
    first = false;
    out.json(key_of(c)) << ": {";
    write_times(p, c, out);
    out << ", \"Communication Bandwidth Info\": {";
    write_bandwidth("RDMA", 0, 0, out);
    out << ", ";
    write_bandwidth("HCCS", 0, 0, out);
    out << ", ";
    write_bandwidth("PCIE", 0, 0, out);
    out << ", ";
    write_bandwidth("SDMA", megabytes, elapse, out);
    out << ", ";
    write_bandwidth("SIO", 0, 0, out);
    out << "}}";
  }
  out << "\n}\n";
  out.done();

  TextFile matrix(analysis + "/communication_matrix.json");
  matrix << "{";
  first = true;
  for (const Collective& c : collectives) {
    const double elapse = milliseconds(c.task->ended - c.task->begun);
    matrix << (first ? "\n" : ",\n");
    first = false;
    matrix.json(key_of(c)) << ": {";
    bool link = false;
    for (const Traffic& t : traffic_of(c)) {
      const bool local = t.from == t.to;
      matrix << (link ? ", " : "")
             << fmt::format("\"{}-{}\": {{\"Transport Type\": \"{}\", \"Transit Time(ms)\": ", t.from, t.to,
                            local ? "LOCAL" : "SDMA");
      link = true;
      const double time = local ? 0 : elapse;
      matrix.real(time, 6) << ", \"Transit Size(MB)\": ";
      matrix.real(t.bytes / kMegabyte, 6) << ", \"Bandwidth(GB/s)\": ";
      matrix.real(time > 0 ? t.bytes / kMegabyte / time : 0, 4) << '}';
    }
    matrix << '}';
  }
  matrix << "\n}\n";
  matrix.done();
}

void write_links(const Profile& p, const std::vector<Collective>& collectives, const std::string& folder,
                 const Selection& selection) {
  if (p.interconnect_frequency <= 0 || collectives.empty()) return;
  // Bytes of a collective are spread evenly over its time; a sample is what falls between two moments.
  const int frequency = std::min(p.interconnect_frequency, 50);
  const double step = 1e9 / frequency;
  struct Samples {
    uint64_t begin = UINT64_MAX, end = 0;
    std::vector<double> sent, received;
  };
  std::map<int, Samples> devices;
  for (const Collective& c : collectives) {
    Samples& s = devices[c.task->device];
    s.begin = std::min(s.begin, c.task->begun);
    s.end = std::max(s.end, c.task->ended);
  }
  for (auto& [device, s] : devices) {
    // A time that damaged records make endless has the samples of a day at most.
    const double count = std::min(static_cast<double>(s.end - s.begin) / step + 1, 86400.0 * frequency);
    s.sent.assign(static_cast<size_t>(count), 0);
    s.received.assign(static_cast<size_t>(count), 0);
  }
  for (const Collective& c : collectives) {
    Samples& s = devices[c.task->device];
    double sent = 0, received = 0;
    for (const Traffic& t : traffic_of(c)) (t.from == c.rank ? sent : received) += t.bytes;
    // What a rank sends to each other in an exchange of all it gets from each other as well.
    if (c.peers.empty() && c.root < 0) received = sent;
    const double begin = static_cast<double>(c.task->begun - s.begin) / step,
                 end = static_cast<double>(c.task->ended - s.begin) / step, whole = end - begin;
    for (auto i = static_cast<size_t>(begin); i < s.sent.size() && static_cast<double>(i) <= end; ++i) {
      const double from = std::max(begin, static_cast<double>(i)), to = std::min(end, static_cast<double>(i + 1));
      const double share = whole > 0 ? (to - from) / whole : 1;
      s.sent[i] += sent * share;
      s.received[i] += received * share;
      if (whole <= 0) break;
    }
  }
  TextFile out(folder + "/hccs_" + selection.stamp + ".csv");
  out << "Device_id,Mode,Max,Min,Average\n";  // MB/s
  for (const auto& [device, s] : devices)
    for (const auto& [mode, samples] : {std::pair{"Tx (MB/s)", &s.sent}, {"Rx (MB/s)", &s.received}}) {
      double total = 0;
      for (const double bytes : *samples) total += bytes;
      const double scale = 1e9 / step / kMegabyte;
      out.number(device) << ',' << mode << ',';
      out.real(*std::max_element(samples->begin(), samples->end()) * scale) << ',';
      out.real(*std::min_element(samples->begin(), samples->end()) * scale) << ',';
      out.real(total / static_cast<double>(samples->size()) * scale) << '\n';
    }
  out.done();
}

void write_communication_statistic(const Profile& p, const std::vector<Collective>& collectives,
                                   const std::string& folder, const Selection& selection) {
  static_cast<void>(p);
  if (collectives.empty()) return;
  struct Row {
    uint64_t count = 0, total = 0, least = UINT64_MAX, most = 0;
  };
  std::map<std::pair<int, std::string>, Row> rows;
  std::map<int, uint64_t> totals;
  for (const Collective& c : collectives) {
    const uint64_t time = c.task->ended - c.task->begun;
    Row& row = rows[{c.task->device, c.type}];
    ++row.count;
    row.total += time;
    row.least = std::min(row.least, time);
    row.most = std::max(row.most, time);
    totals[c.task->device] += time;
  }
  TextFile out(folder + "/communication_statistic_" + selection.stamp + ".csv");
  out << "Device_id,OP Type,Count,Total Time(us),Min Time(us),Avg Time(us),Max Time(us),Ratio(%)\n";
  for (const auto& [key, row] : rows) {
    out.number(key.first) << ',' << key.second << ',';
    out.number(row.count) << ',';
    out.microseconds(static_cast<int64_t>(row.total)) << ',';
    out.microseconds(static_cast<int64_t>(row.least)) << ',';
    out.microseconds(static_cast<int64_t>(row.total / row.count)) << ',';
    out.microseconds(static_cast<int64_t>(row.most)) << ',';
    out.real(100.0 * static_cast<double>(row.total) / static_cast<double>(std::max<uint64_t>(totals[key.first], 1)))
        << '\n';
  }
  out.done();
}

}  // namespace updraft::profiling
