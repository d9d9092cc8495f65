// What a rank does itself once all have posted. Every rank works on its own slice, or fetches what is meant for it, so
// that the work is divided evenly and no two ranks write the same place.
#include <algorithm>
#include <cstring>

#include "base/parallel.h"
#include "collective/algorithm/schedule.h"
#include "collective/copy.h"
#include "collective/local_group.h"
#include "collective/reduce.h"

namespace updraft::collective {
namespace {

constexpr int64_t kGrain = 512 << 10;  // bytes a worker should have to be worth waking

class Work {
 public:
  Work(const LocalGroup& group, const Request& request, uint64_t ticket)
      : group_(group), region_(group.region()), request_(request), ticket_(ticket), me_(group.me()), n_(group.size()) {}

  void run() const {
    const uint64_t count = request_.count;
    const Block mine = block_of(count, n_, me_);
    const auto root = static_cast<int>(request_.root), my_block = me_;
    switch (request_.kind) {
      case Kind::AllReduce: combine_sends(mine.offset, mine.count, mine.offset, all()); break;
      case Kind::Reduce: combine_sends(mine.offset, mine.count, mine.offset, {root}); break;
      case Kind::ReduceScatter: combine_sends(static_cast<uint64_t>(my_block) * count, count, 0, {me_}); break;
      case Kind::AllGather: spread(send(me_), count, static_cast<uint64_t>(me_) * count, all()); break;
      case Kind::Broadcast:
        if (n_ > 1) {
          std::vector<int> others = all();
          std::erase(others, root);
          spread(send(root) + mine.offset * size(), mine.count, mine.offset, others);
        }
        break;
      case Kind::Scatter:
        copy_bytes(receive(me_), send(root) + static_cast<uint64_t>(me_) * count * size(), count * size());
        break;
      case Kind::AllToAll: {
        std::vector<Copy> copies;
        for (int k = 1; k <= n_; ++k) {
          // Beginning behind oneself keeps the ranks from reading the same memory together.
          const int from = (me_ + k) % n_;
          copies.push_back({receive(me_) + group_.rank(from) * count * size(),
                            send(from) + group_.rank(me_) * count * size(), count * size()});
        }
        copy_all(copies);
        break;
      }
      case Kind::AllGatherV:
      case Kind::AllToAllV:
      case Kind::AllToAllVC: {
        std::vector<Copy> copies;
        for (int k = 1; k <= n_; ++k) {
          const int from = (me_ + k) % n_;
          const Part part = region_.part(from, ticket_, me_);
          if (part.bytes == 0) continue;
          copies.push_back({receive(me_) + request_.receive_offsets[group_.rank(from)] * size(),
                            group_.at(from, part.place), part.bytes});
        }
        copy_all(copies);
        break;
      }
      case Kind::ReduceScatterV: {
        std::vector<const void*> in;
        for (int r = 0; r < n_; ++r) in.push_back(group_.at(r, region_.part(r, ticket_, me_).place));
        combine(in, {receive(me_)}, count);
        break;
      }
      default: break;
    }
  }

 private:
  size_t size() const { return request_.element(); }
  char* send(int r) const { return group_.at(r, region_.post(r, ticket_).send); }
  char* receive(int r) const { return group_.at(r, region_.post(r, ticket_).receive); }
  std::vector<int> all() const {
    std::vector<int> ranks;
    for (int k = 0; k < n_; ++k) ranks.push_back(k);
    return ranks;
  }

  /// Elements [from, from + count) of all send buffers, combined into the receive buffers of `to` from element `at` on.
  void combine_sends(uint64_t from, uint64_t count, uint64_t at, const std::vector<int>& to) const {
    std::vector<const void*> in;
    std::vector<void*> out;
    for (int r = 0; r < n_; ++r) in.push_back(send(r) + from * size());
    for (int r : to) out.push_back(receive(r) + at * size());
    combine(in, out, count);
  }

  void combine(const std::vector<const void*>& in, const std::vector<void*>& out, uint64_t count) const {
    const auto grain = std::max<int64_t>(1, kGrain / static_cast<int64_t>(size()));
    parallel_for(static_cast<int64_t>(count), grain, [&](int64_t begin, int64_t end) {
      std::vector<const void*> from;
      std::vector<void*> to;
      for (const void* p : in) from.push_back(static_cast<const char*>(p) + static_cast<size_t>(begin) * size());
      for (void* p : out) to.push_back(static_cast<char*>(p) + static_cast<size_t>(begin) * size());
      reduce_blocks(request_.type, request_.op, from.data(), static_cast<int>(from.size()), to.data(),
                    static_cast<int>(to.size()), end - begin);
    });
  }

  /// Copies one block to the receive buffers of `to` from element `at` on.
  void spread(const char* from, uint64_t count, uint64_t at, const std::vector<int>& to) const {
    std::vector<void*> out;
    for (int r : to)
      if (char* p = receive(r) + at * size(); p != from) out.push_back(p);
    if (!out.empty()) combine({from}, out, count);
  }

  const LocalGroup& group_;
  const Region& region_;
  const Request& request_;
  const uint64_t ticket_;
  const int me_, n_;
};

}  // namespace

void work_in_place(const LocalGroup& group, const Request& request, uint64_t ticket) {
  Work(group, request, ticket).run();
}

bool fits_inline(const Request& request, int ranks) {
  return fits_inline(request.kind, request.count * request.element(), ranks);
}

void work_inline(const LocalGroup& group, const Request& request, uint64_t ticket) {
  const Region& region = group.region();
  const int n = group.size(), me = group.me();
  const size_t block = request.count * request.element(), mine = static_cast<size_t>(me) * block;
  char* out = static_cast<char*>(host_address(request.receive));
  // `parts`: of what a rank that sends has posted.
  const bool parts =
      request.kind == Kind::ReduceScatter || request.kind == Kind::Scatter || request.kind == Kind::AllToAll;
  const size_t posted = parts ? block * static_cast<size_t>(n) : block;
  auto data = [&](int r) -> const char* { return region.inline_data(r, ticket, posted); };
  auto combine = [&](size_t from) {
    static thread_local std::vector<const void*> in;
    in.clear();
    for (int r = 0; r < n; ++r) in.push_back(data(r) + from);
    void* to = out;
    if (request.count)
      reduce_blocks(request.type, request.op, in.data(), n, &to, 1, static_cast<int64_t>(request.count));
  };
  switch (request.kind) {
    case Kind::AllReduce: combine(0); break;
    case Kind::Reduce:
      if (static_cast<uint32_t>(me) == request.root) combine(0);
      break;
    case Kind::ReduceScatter: combine(mine); break;
    case Kind::AllGather:
      for (int r = 0; r < n; ++r) std::memcpy(out + static_cast<size_t>(r) * block, data(r), block);
      break;
    case Kind::Broadcast:
      if (static_cast<uint32_t>(me) != request.root) std::memcpy(out, data(static_cast<int>(request.root)), block);
      break;
    case Kind::Scatter: std::memcpy(out, data(static_cast<int>(request.root)) + mine, block); break;
    case Kind::AllToAll:
      for (int r = 0; r < n; ++r) std::memcpy(out + static_cast<size_t>(r) * block, data(r) + mine, block);
      break;
    default: break;
  }
}

}  // namespace updraft::collective
