// The command line.
#pragma once
#include <cstdint>
#include <string>

#include "numbers.h"

namespace hccl_test {

struct Options {
  std::string operation;
  uint64_t begin = uint64_t{64} << 20, end = uint64_t{64} << 20;  ///< bytes
  uint64_t step = 0;                                              ///< added to the size, if not 0
  double factor = 2;                                              ///< multiplies it otherwise
  Number number = Number::of("fp32");
  HcclReduceOp op = HCCL_REDUCE_SUM;
  uint32_t root = 0;
  int iterations = 20, warmup = 10;
  int ranks = 0;  ///< -p: ranks to start here, or ranks a host under a launcher
  bool check = true;
  bool alone = false;      ///< each operation waits for the one before
  bool in_place = false;   ///< all_reduce into its own input
  std::string root_info;   ///< file by which rank 0 tells its address
  std::string rank_table;  ///< the ranks are those of this table
  int rank = -1;           ///< with rank_table: which of them this process is

  uint64_t next(uint64_t bytes) const;
};

/// Throws std::invalid_argument with a sentence.
Options parse(int argc, char** argv);
std::string usage();

}  // namespace hccl_test
