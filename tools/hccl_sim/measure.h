// Times of this machine's collectives, by the hccl_test that lies beside hccl_sim; and files.
#pragma once
#include <string>
#include <vector>

#include "hccl_sim/calibrate.h"

namespace hccl_sim {

/// A server of a measurement: its address, and what its programs are started by ("ip netns exec a", "ssh b"; nothing:
/// here).
struct Host {
  std::string address, start;
};
/// What is measured: each number of ranks, spread over each number of servers that divides it.
struct Measured {
  std::vector<int> ranks = {2, 3, 4}, servers = {1};
  std::vector<Host> hosts;                ///< as many as the most servers; else addresses of this machine's loopback
  Algorithm algorithm = Algorithm::Auto;  ///< between the servers
  int turns = 5;  ///< of which the shortest counts: what else the machine does only makes times longer
};
/// AllReduce, ReduceScatter, AllGather and Broadcast of 1 KiB to 16 MiB, all ranks on this machine's cores. Takes some
/// seconds for each number of ranks. Throws updraft::Error.
std::vector<Measurement> measure(const Measured& what);

/// Throw updraft::Error.
std::string read_text(const std::string& path);
void write_text(const std::string& path, const std::string& text);

}  // namespace hccl_sim
