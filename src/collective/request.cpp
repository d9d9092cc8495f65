#include "collective/request.h"

#include <algorithm>

#include "base/fnv1a.h"

namespace updraft::collective {
namespace {
uint64_t extent(const std::vector<uint64_t>& counts, const std::vector<uint64_t>& offsets) {
  uint64_t end = 0;
  for (size_t i = 0; i < counts.size(); ++i)
    if (counts[i]) end = std::max(end, offsets[i] + counts[i]);
  return end;
}
}  // namespace

uint64_t digest_of(const std::vector<uint64_t>& counts) {
  return fnv1a(counts.data(), counts.size() * sizeof(uint64_t));
}

size_t Request::send_bytes(int rank, int ranks) const {
  const auto p = static_cast<uint64_t>(ranks);
  uint64_t n = 0;
  switch (kind) {
    case Kind::AllReduce:
    case Kind::AllGather:
    case Kind::AllGatherV:
    case Kind::Reduce: n = count; break;
    case Kind::Broadcast: n = static_cast<uint32_t>(rank) == root ? count : 0; break;
    case Kind::ReduceScatter:
    case Kind::AllToAll: n = count * p; break;
    case Kind::Scatter: n = static_cast<uint32_t>(rank) == root ? count * p : 0; break;
    case Kind::ReduceScatterV:
    case Kind::AllToAllV:
    case Kind::AllToAllVC: n = extent(send_counts, send_offsets); break;
    default: break;
  }
  return n * element();
}

size_t Request::receive_bytes(int rank, int ranks) const {
  const auto p = static_cast<uint64_t>(ranks);
  uint64_t n = 0;
  switch (kind) {
    case Kind::AllReduce:
    case Kind::ReduceScatter:
    case Kind::ReduceScatterV:
    case Kind::Scatter: n = count; break;
    case Kind::Broadcast: n = count; break;
    case Kind::Reduce: n = static_cast<uint32_t>(rank) == root ? count : 0; break;
    case Kind::AllGather:
    case Kind::AllToAll: n = count * p; break;
    case Kind::AllGatherV:
    case Kind::AllToAllV:
    case Kind::AllToAllVC: n = extent(receive_counts, receive_offsets); break;
    default: break;
  }
  return n * element();
}

}  // namespace updraft::collective
