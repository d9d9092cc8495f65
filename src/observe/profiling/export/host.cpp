// What the host did meanwhile: processor, memory, network.
#include <memory>

#include "observe/profiling/export/tables.h"
#include "observe/profiling/export/text_file.h"

namespace updraft::profiling {
namespace {

std::vector<const HostSampleRecord*> of_kind(const Profile& p, HostSampleKind kind) {
  std::vector<const HostSampleRecord*> list;
  for (const HostSampleRecord& s : p.host_samples)
    if (s.what == static_cast<uint32_t>(kind)) list.push_back(&s);
  return list;
}

double share(const HostSampleRecord* before, const HostSampleRecord* now, size_t value) {
  if (now->time <= before->time || now->values[value] < before->values[value]) return 0;
  return static_cast<double>(now->values[value] - before->values[value]) * 1e5 /
         static_cast<double>(now->time - before->time);
}

void processor(const Profile& p, HostSampleKind kind, const std::string& path) {
  const auto list = of_kind(p, kind);
  if (list.size() < 2) return;
  TextFile out(path);
  out << "Timestamp(us),User(%),System(%),Total(%)\n";  // 100 is one processor
  for (size_t i = 1; i < list.size(); ++i) {
    const double user = share(list[i - 1], list[i], 0), system = share(list[i - 1], list[i], 1);
    out.microseconds(p.wall(list[i]->time)) << "\t,";
    out.real(user, 2) << ',';
    out.real(system, 2) << ',';
    out.real(user + system, 2) << '\n';
  }
  out.done();
}

void memory(const Profile& p, HostSampleKind kind, const std::string& path, const char* header) {
  const auto list = of_kind(p, kind);
  if (list.empty()) return;
  TextFile out(path);
  out << header;
  for (const HostSampleRecord* s : list) {
    out.microseconds(p.wall(s->time)) << "\t,";
    out.number(s->values[0] >> 10) << ',';
    out.number(s->values[1] >> 10) << '\n';
  }
  out.done();
}

}  // namespace

void write_host(const Profile& p, const std::string& folder, const Selection& selection) {
  const std::string end = "_" + selection.stamp + ".csv";
  processor(p, HostSampleKind::ProcessCpu, folder + "/process_cpu_usage" + end);
  processor(p, HostSampleKind::SystemCpu, folder + "/host_cpu_usage" + end);
  memory(p, HostSampleKind::ProcessMemory, folder + "/process_mem" + end, "Timestamp(us),Resident(KB),Virtual(KB)\n");
  memory(p, HostSampleKind::SystemMemory, folder + "/host_mem_usage" + end, "Timestamp(us),Used(KB),Total(KB)\n");
  const auto list = of_kind(p, HostSampleKind::Network);
  if (list.size() < 2) return;
  const int device = p.devices.empty() ? 0 : p.devices.front();
  TextFile out(folder + "/nic" + end);
  out << "Device_id,Timestamp(us),Bandwidth(MB/s),Rx Bandwidth efficiency(%),rxPacket/s,rxError rate(%),rxDropped "
         "rate(%),Tx "
         "Bandwidth efficiency(%),txPacket/s,txError rate(%),txDropped rate(%),funcId\n";
  for (size_t i = 1; i < list.size(); ++i) {
    const auto rate = [&](size_t value) { return share(list[i - 1], list[i], value) * 1e-5 * 1e9; };  // a second
    out.number(device) << ',';
    out.microseconds(p.wall(list[i]->time)) << "\t,";
    out.real((rate(0) + rate(1)) * 1e-6) << ",N/A,";
    out.real(rate(2), 0) << ",N/A,N/A,N/A,";
    out.real(rate(3), 0) << ",N/A,N/A,0\n";
  }
  out.done();
}

}  // namespace updraft::profiling
