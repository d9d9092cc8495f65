// Who this process is among the ranks, and how they find each other.
#pragma once
#include <string>

#include "hccl/hccl.h"
#include "options.h"

namespace hccl_test {

struct Place {
  int rank = 0, ranks = 1;
  int local = 0;           ///< number of the device
  std::string root_info;   ///< file that rank 0 writes
  bool chosen = false;     ///< the user named that file; else its name can be guessed by others
  std::string rank_table;  ///< instead of it; the library says then how many ranks there are
  std::string job;         ///< tells this run's file from one that another left
};

/// Whether something started this process as one of several ranks.
bool launched();
Place place(const Options& options);

/// Starts this program once for each rank and waits; the exit status. Call it before anything of acl.
int start_ranks(const Options& options, char** argv);

/// Rank 0 makes it, the others read it.
HcclRootInfo exchange(const Place& place);
/// Rank 0, once all have joined.
void forget(const Place& place);

}  // namespace hccl_test
