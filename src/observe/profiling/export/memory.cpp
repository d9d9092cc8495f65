// npu_mem, npu_module_mem and hbm: what a process held of a device's memory, and how much its tasks moved.
#include "observe/profiling/export/tables.h"
#include "observe/profiling/export/text_file.h"

namespace updraft::profiling {

void write_memory(const Profile& p, const std::string& folder, const Selection& selection) {
  if (p.memory.empty()) return;
  {
    TextFile out(folder + "/npu_mem_" + selection.stamp + ".csv");
    out << "Device_id,event,ddr(KB),hbm(KB),memory(KB),timestamp(us)\n";
    for (const MemoryRecord& m : p.memory)
      for (const char* event : {"APP", "Device"}) {
        // One process is what is known of the device.
        const uint64_t kilobytes = (event[0] == 'A' ? m.used : m.reserved) >> 10;
        out.number(m.device) << ',' << event << ",0,";
        out.number(kilobytes) << ',';
        out.number(kilobytes) << ',';
        out.microseconds(p.wall(m.time)) << "\t\n";
      }
    out.done();
  }
  {
    TextFile out(folder + "/npu_module_mem_" + selection.stamp + ".csv");
    out << "Device_id,Component,Timestamp(us),Total Reserved(KB),Device\n";
    for (const MemoryRecord& m : p.memory) {
      out.number(m.device) << ",RUNTIME,";
      out.microseconds(p.wall(m.time)) << "\t,";
      out.number(m.reserved >> 10) << ",NPU:";
      out.number(m.device) << '\n';
    }
    out.done();
  }
  TextFile out(folder + "/hbm_" + selection.stamp + ".csv");
  out << "Device_id,Timestamp(us),Read and Write(MB/s)\n";
  const MemoryRecord* before = nullptr;
  for (const MemoryRecord& m : p.memory) {
    if (before && before->device == m.device && m.time > before->time && m.moved >= before->moved) {
      out.number(m.device) << ',';
      out.microseconds(p.wall(m.time)) << "\t,";
      out.real(static_cast<double>(m.moved - before->moved) / static_cast<double>(m.time - before->time) * 1e3) << '\n';
    }
    before = &m;
  }
  out.done();
}

}  // namespace updraft::profiling
