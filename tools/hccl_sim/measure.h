// Times of this machine's collectives, by the hccl_test that lies beside hccl_sim; and files.
#pragma once
#include <string>
#include <vector>

#include "hccl_sim/calibrate.h"

namespace hccl_sim {

/// AllReduce, ReduceScatter, AllGather and Broadcast of 1 KiB to 16 MiB among each number of ranks. Takes about a
/// second each. Throws updraft::Error.
std::vector<Measurement> measure(const std::vector<int>& ranks);

/// Throw updraft::Error.
std::string read_text(const std::string& path);
void write_text(const std::string& path, const std::string& text);

}  // namespace hccl_sim
