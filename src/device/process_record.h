// What this process holds on a device, for npu-smi's process table: one small locked file a device and process. A
// record whose lock is free belongs to a process that died: readers ignore it, writers of the same folder remove it.
#pragma once
#include <cstddef>
#include <cstdint>

namespace updraft {
/// Opens the record of this process on device `index`; failures are silent (a read-only system has no table).
void open_process_record(int index);
/// Rewrites the bytes in use when they changed by more than 1/16 or 16 MiB.
void update_process_record(int index, size_t used);
/// Bytes that other living processes hold on the device, by their records. Opens each record: not for every allocation.
size_t other_processes_use(int index);
/// How often that was asked (tests).
uint64_t record_readings();
}  // namespace updraft
