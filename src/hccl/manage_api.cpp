// What the Python package hccl calls by ctypes (python/updraft/tree/python/site-packages/hccl). Names of groups come
// with their length; each function gives an HcclResult and, when it fails, the sentence in `error`.
#include <algorithm>
#include <cstring>
#include <string_view>

#include "base/boundary.h"
#include "base/log.h"
#include "collective/error.h"
#include "collective/fusion/gradient_split.h"
#include "collective/topology/groups.h"
#include "collective/topology/world.h"
#include "hccl/job.h"

using namespace updraft;
using namespace updraft::collective;

namespace {

int answer(const char* name, char* error, size_t bytes, FunctionRef<void()> body) {
  std::string text;
  const int code = guard(name, [&] {
    try {
      body();
    } catch (const std::exception& e) {
      text = e.what();
      throw;
    }
  });
  if (error && bytes > 0) {
    const size_t n = std::min(bytes - 1, text.size());
    std::memcpy(error, text.data(), n);
    error[n] = 0;
  }
  return code;
}

int64_t in_group(const Group& group, const std::string& name, int64_t rank) {
  if (rank < 0 || rank >= static_cast<int64_t>(group.ranks.size()))
    throw Error(result::kPara, "EI0003: group {} has no rank {}; it has the ranks 0 to {}", name, rank,
                group.ranks.size() - 1);
  return group.ranks[static_cast<size_t>(rank)];
}

int64_t of_world(const Group& group, const std::string& name, int64_t world_rank) {
  for (size_t i = 0; i < group.ranks.size(); ++i)
    if (group.ranks[i] == world_rank) return static_cast<int64_t>(i);
  throw Error(result::kPara, "EI0003: rank {} of the job is not in group {} ({})", world_rank, name,
              fmt::join(group.ranks, ","));
}

/// The words at the beginning of the line are those that people look for in a plog, whose script asks before there is a
/// job.
Group group_for(const char* query, const std::string& name) {
  try {
    return find_group(name);
  } catch (const std::exception& e) {
    UPDRAFT_LOG(kError, "HCCL", "Call hcom_bind_model failed: {} of group {}: {}", query, name, e.what());
    throw;
  }
}

int64_t local_rank(const Group& group) {
  for (size_t i = 0; i < group.local.size(); ++i)
    if (group.local[i] == group.rank) return static_cast<int64_t>(i);
  return -1;  // not reached: a process is on its own server
}

}  // namespace

extern "C" {

UPDRAFT_API int updraft_hccl_create_group(const char* group, size_t length, int64_t rank_num, const int64_t* rank_ids,
                                          size_t count, char* error, size_t bytes) {
  return answer("create_group", error, bytes, [&] {
    create_group(std::string(group, length), rank_num, std::vector<int64_t>(rank_ids, rank_ids + count));
  });
}

UPDRAFT_API int updraft_hccl_destroy_group(const char* group, size_t length, char* error, size_t bytes) {
  return answer("destroy_group", error, bytes, [&] {
    const std::string name(group, length);
    destroy_group(name);
    end_group_communicator(name);
    forget_split(name);
  });
}

/// The HcclComm of the group (hccl/job.h); the client may destroy it with HcclCommDestroy, or the group.
UPDRAFT_API int updraft_hccl_group_communicator(const char* group, size_t length, void** comm, char* error,
                                                size_t bytes) {
  return answer("group_communicator", error, bytes, [&] { *comm = group_communicator(std::string(group, length)); });
}

/// `what` is the name of a function of hccl.manage.api, `argument` its rank where it has one.
UPDRAFT_API int updraft_hccl_query(const char* what, const char* group, size_t length, int64_t argument, int64_t* value,
                                   char* error, size_t bytes) {
  return answer(what, error, bytes, [&] {
    const std::string_view query = what;
    const std::string name(group, length);
    const Group g = group_for(what, name);
    if (query == "get_rank_size") *value = static_cast<int64_t>(g.ranks.size());
    else if (query == "get_local_rank_size") *value = static_cast<int64_t>(g.local.size());
    else if (query == "get_rank_id") *value = g.rank;
    else if (query == "get_local_rank_id") *value = local_rank(g);
    else if (query == "get_world_rank_from_group_rank") *value = in_group(g, name, argument);
    else if (query == "get_group_rank_from_world_rank") *value = of_world(g, name, argument);
    else throw Error(result::kNotSupport, "EI0003: there is no query {}", query);
  });
}

UPDRAFT_API int updraft_hccl_split_by_index(const char* group, size_t length, const int64_t* last, size_t count,
                                            char* error, size_t bytes) {
  return answer("set_split_strategy_by_idx", error, bytes,
                [&] { split_by_index(std::string(group, length), std::vector<int64_t>(last, last + count)); });
}

UPDRAFT_API int updraft_hccl_split_by_size(const char* group, size_t length, const double* percents, size_t count,
                                           char* error, size_t bytes) {
  return answer("set_split_strategy_by_size", error, bytes,
                [&] { split_by_size(std::string(group, length), std::vector<double>(percents, percents + count)); });
}

/// Writes the last gradient of each segment into `last` (room for kMostSegments) and their number into `segments`.
UPDRAFT_API int updraft_hccl_split_gradients(const char* group, size_t length, const uint64_t* sizes, size_t count,
                                             uint32_t* last, size_t* segments, char* error, size_t bytes) {
  return answer("split_gradients", error, bytes, [&] {
    const auto result = split_gradients(std::string(group, length), std::vector<uint64_t>(sizes, sizes + count));
    for (size_t i = 0; i < result.size(); ++i) last[i] = result[i].last;
    *segments = result.size();
  });
}

}  // extern "C"
