// Collectives between hosts: what ranks of one host have for each other goes through memory, and each of them carries
// its pieces of the data to the owners of the same pieces on the other hosts.
#include <algorithm>
#include <cstring>

#include "base/log.h"
#include "collective/error.h"
#include "collective/flight.h"
#include "collective/message_trace.h"
#include "collective/network.h"
#include "collective/reduce.h"

namespace updraft::collective {
namespace {

// α, β, γ of TCP between hosts: what chooses an algorithm when HCCL_ALGO does not.
constexpr LinkCost kLink = {50e-6, 1e-9, 0.2e-9};

}  // namespace

void combine_blocks(const Request& request, const std::vector<const void*>& in, void* out, uint64_t count) {
  if (count)
    reduce_blocks(request.type, request.op, in.data(), static_cast<int>(in.size()), &out, 1,
                  static_cast<int64_t>(count));
}

const char* Network::sent_by(const Operation& operation, int index) const {
  const LocalGroup& group = *communicator_.group_;
  if (index == me_)
    return static_cast<const char*>(
        host_address(operation.staged_send ? operation.staged_send : operation.request.send));
  return group.at(index, group.region().post(index, operation.ticket).send);
}

char* Network::received_by(const Operation& operation, int index) const {
  const LocalGroup& group = *communicator_.group_;
  if (index == me_)
    return static_cast<char*>(
        host_address(operation.staged_receive ? operation.staged_receive : operation.request.receive));
  return group.at(index, group.region().post(index, operation.ticket).receive);
}

void Network::execute(Operation& operation) {
  communicator_.gather_locally(operation);
  agree(operation);
  communicator_.claim_peers(operation);
  switch (operation.request.kind) {
    case Kind::AllReduce: all_reduce(operation); break;
    case Kind::ReduceScatter: reduce_scatter(operation); break;
    case Kind::AllGather: all_gather(operation); break;
    case Kind::Broadcast: broadcast(operation); break;
    case Kind::Reduce: reduce(operation); break;
    case Kind::Scatter: scatter(operation); break;
    case Kind::Barrier: barrier(operation); break;
    case Kind::ReduceScatterV: reduce_scatter(operation); break;
    case Kind::AllGatherV: all_gather(operation); break;
    default: exchange(operation); break;
  }
  communicator_.group_->region().busy(communicator_.group_->me()).store(0, std::memory_order_release);
  communicator_.meet(operation);
}

void Network::spread(const Operation& operation, const char* from, uint64_t count, uint64_t at, int except) {
  const size_t element = operation.request.element();
  std::vector<void*> to;
  for (int i = 0; i < n_; ++i)
    if (char* p = received_by(operation, i) + at * element; p != from && i != except) to.push_back(p);
  const void* in = from;
  if (!to.empty() && count)
    reduce_blocks(operation.request.type, Op::Sum, &in, 1, to.data(), static_cast<int>(to.size()),
                  static_cast<int64_t>(count));
}

namespace {

// Where the block of a rank lies in a client's buffer of all blocks, and how long it is.
Block block_of_rank(const Request& r, uint32_t rank) {
  if (r.kind == Kind::AllGatherV) return {r.receive_offsets[rank], r.receive_counts[rank]};
  if (r.kind == Kind::ReduceScatterV) return {r.send_offsets[rank], r.send_counts[rank]};
  return {rank * r.count, r.count};
}

bool of_any_sizes(Kind kind) { return kind == Kind::AllGatherV || kind == Kind::ReduceScatterV; }

}  // namespace

// The part of n elements that this rank carries to the other hosts.
Extent Network::divide(uint64_t n) const {
  if (!alike_) return Extent({0, n});
  std::vector<uint64_t> borders;
  for (int i = 0; i <= n_; ++i) borders.push_back(i == n_ ? n : block_of(n, n_, i).offset);
  return Extent(std::move(borders));
}

Block Network::mine(const Extent& whole) const {
  const uint64_t from = whole.at(pieces_.front().from);
  return {from, whole.at(pieces_.back().to) - from};
}

int Network::host_of(uint32_t rank) const {
  for (int h = 0; h < hosts_n_; ++h)
    if (std::ranges::find(hosts_[static_cast<size_t>(h)], rank) != hosts_[static_cast<size_t>(h)].end()) return h;
  throw Error(result::kInternal, "EI0007: rank {} is on no host", rank);
}

// A schedule for each piece, all in step. The working buffer begins where `whole` has this rank's part.
void Network::run_divided(Kind kind, const Operation& operation, const Extent& whole, char* buffer, int root) {
  const uint64_t start = mine(whole).offset;
  Schedule all;
  for (const Piece& piece : pieces_) {
    const uint64_t from = whole.at(piece.from), n = whole.at(piece.to) - from;
    append(all, between_hosts(kind, operation, {0, n}, root), piece, from - start);
  }
  run(all, buffer, operation);
}

// The same for blocks of each rank: a piece has its part of the blocks of each host, one after another.
void Network::run_blocks(Kind kind, const Operation& operation, char* buffer, int root) {
  Schedule all;
  uint64_t at = 0;
  for (const Piece& piece : pieces_) {
    std::vector<uint64_t> borders = {0};
    for (int h = 0; h < hosts_n_; ++h)
      borders.push_back(borders.back() + part_of(blocks_on(h, operation.request), piece).count);
    append(all, between_hosts(kind, operation, borders, root), piece, at);
    at += borders.back();
  }
  run(all, buffer, operation);
}

/// The blocks of a host's ranks, one after another.
Extent Network::blocks_on(int host, const Request& request) const {
  std::vector<uint64_t> borders = {0};
  for (const uint32_t rank : hosts_[static_cast<size_t>(host)])
    borders.push_back(borders.back() + block_of_rank(request, rank).count);
  return Extent(std::move(borders));
}

Block Network::part_of(const Extent& blocks, const Piece& piece) {
  const uint64_t from = blocks.at(piece.from);
  return {from, blocks.at(piece.to) - from};
}

// `visit(host, at, rank, offset, count)`: `count` elements at `at` of the working buffer of run_blocks() are those from
// `offset` on of the block of `rank`.
template <class Visit>
uint64_t Network::visit_blocks(const Request& request, Visit visit) const {
  uint64_t at = 0;
  for (const Piece& piece : pieces_)
    for (int h = 0; h < hosts_n_; ++h) {
      const Block part = part_of(blocks_on(h, request), piece);
      uint64_t start = 0;  // of the rank's block
      for (const uint32_t rank : hosts_[static_cast<size_t>(h)]) {
        const uint64_t end = start + block_of_rank(request, rank).count;
        const uint64_t from = std::max(start, part.offset), to = std::min(end, part.offset + part.count);
        if (from < to) {
          visit(h, at, rank, from - start, to - from);
          at += to - from;
        }
        start = end;
      }
    }
  return at;
}

void Network::append(Schedule& all, Schedule one, const Piece& piece, uint64_t offset) const {
  if (all.size() < one.size()) all.resize(one.size());
  for (size_t k = 0; k < one.size(); ++k) {
    all[k].combine |= one[k].combine;
    for (auto [from, to] : {std::pair(&one[k].sends, &all[k].sends), std::pair(&one[k].receives, &all[k].receives)})
      for (const Transfer& t : *from) {
        const auto host = static_cast<size_t>(t.peer);
        to->push_back({static_cast<int>(rank_at(t.peer, piece.owners[host])), t.offset + offset, t.count});
      }
  }
}

// One level, or two where there are several super pods, some of them of several hosts.
Schedule Network::between_hosts(Kind kind, const Operation& operation, const std::vector<uint64_t>& borders, int root) {
  const Request& r = operation.request;
  const bool divided = borders.size() == 2, alike = alike_ && !of_any_sizes(r.kind);
  // All must choose the same: hosts of one size by what the piece has, else by what a rank has at most.
  double bytes =
      static_cast<double>((divided ? borders.back() : borders[1] * static_cast<uint64_t>(hosts_n_)) * r.element());
  if (!alike) {
    uint64_t elements = divided ? r.count : 0;
    for (uint32_t rank = 0; !divided && rank < communicator_.size(); ++rank) elements += block_of_rank(r, rank).count;
    bytes = static_cast<double>(elements * r.element()) / most_;
  }
  const auto pods = static_cast<int>(pods_.size());
  const bool two = pods > 1 && pods < hosts_n_;
  const int largest = *std::ranges::max_element(pods_);
  const Algorithm inside = pods == hosts_n_ && pods > 1 ? choose_level(kind, operation, 2, pods, bytes)
                                                        : choose_level(kind, operation, 1, largest, bytes);
  if (two) {
    LevelAlgorithms levels = {inside, choose_level(kind, operation, 2, pods, bytes / largest)};
    if (levels.inside == Algorithm::AHC || levels.between == Algorithm::AHC) levels = {Algorithm::NB, Algorithm::NB};
    return make_hierarchical_schedule(kind, levels, host_, pods_, borders, root);
  }
  if (divided || alike)
    return make_schedule(kind, inside, host_, hosts_n_, divided ? borders.back() : borders[1], root);
  std::vector<int> groups = {hosts_n_};
  if (inside == Algorithm::AHC) groups = default_groups(inside, hosts_n_);
  return make_hierarchical_schedule(kind, {inside, inside}, host_, groups, borders, root);
}

Algorithm Network::choose_level(Kind kind, const Operation& operation, int level, int members, double bytes) {
  const Algorithm wish = communicator_.options().algorithms.algorithm(operation.request.kind, level);
  if (wish != Algorithm::Auto && has_schedule(kind, wish)) return wish;
  const Algorithm instead = choose(kind, members, bytes, kLink);
  if (wish != Algorithm::Auto && unheard_.insert({operation.request.kind, level}).second)
    UPDRAFT_LOG(
        kWarning, "HCCL",
        "communicator {}: {} by {}, chosen by cost: {} of HCCL_ALGO's level{} has no form of it (AHC and pipeline "
        "have none with a root, pairwise is for all-to-all)",
        communicator_.name(), name_of(operation.request.kind), name_of(instead), name_of(wish), level);
  return instead;
}

void Network::barrier(const Operation& operation) {
  std::vector<int64_t> nothing(pieces_.size());
  Operation beat;
  beat.request.kind = Kind::AllReduce;
  beat.request.type = Type::Int64;
  beat.request.count = 1;
  beat.ticket = operation.ticket;
  beat.since = operation.since;
  Schedule all;
  for (size_t k = 0; k < pieces_.size(); ++k)
    append(all, between_hosts(Kind::AllReduce, beat, {0, 1}, 0), pieces_[k], k);
  run(all, reinterpret_cast<char*>(nothing.data()), beat);
}

void Network::all_reduce(Operation& operation) {
  const Request& r = operation.request;
  const Extent whole = divide(r.count);
  const Block mine = this->mine(whole);
  char* work = received_by(operation, me_) + mine.offset * r.element();
  std::vector<const void*> in;
  for (int i = 0; i < n_; ++i) in.push_back(sent_by(operation, i) + mine.offset * r.element());
  combine_blocks(r, in, work, mine.count);
  run_divided(r.kind, operation, whole, work, 0);
  spread(operation, work, mine.count, mine.offset, me_);
}

void Network::reduce(Operation& operation) {
  const Request& r = operation.request;
  const Extent whole = divide(r.count);
  const Block mine = this->mine(whole);
  char* work = work_.take(mine.count * r.element());
  std::vector<const void*> in;
  for (int i = 0; i < n_; ++i) in.push_back(sent_by(operation, i) + mine.offset * r.element());
  combine_blocks(r, in, work, mine.count);
  const int host = host_of(r.root);
  run_divided(r.kind, operation, whole, work, host);
  if (host == host_ && mine.count)
    std::memcpy(received_by(operation, communicator_.local_index_[r.root]) + mine.offset * r.element(), work,
                mine.count * r.element());
}

void Network::broadcast(Operation& operation) {
  const Request& r = operation.request;
  const Extent whole = divide(r.count);
  const Block mine = this->mine(whole);
  char* work = received_by(operation, me_) + mine.offset * r.element();
  const int host = host_of(r.root), root = communicator_.local_index_[r.root];
  if (host == host_ && root != me_ && mine.count)
    std::memcpy(work, sent_by(operation, root) + mine.offset * r.element(), mine.count * r.element());
  run_divided(r.kind, operation, whole, work, host);
  spread(operation, work, mine.count, mine.offset, host == host_ ? root : -1);
}

// The working buffer of the operations below: what this rank's pieces have of the blocks of all ranks.
char* Network::take_blocks(const Request& r) {
  const uint64_t elements = visit_blocks(r, [](int, uint64_t, uint32_t, uint64_t, uint64_t) {});
  return work_.take(elements * r.element());
}

// The pieces of this host's blocks are, one after another, this rank's own.
void Network::take_own(const Request& r, const char* work, char* to) const {
  visit_blocks(r, [&](int host, uint64_t at, uint32_t, uint64_t offset, uint64_t count) {
    if (host == host_) std::memcpy(to + offset * r.element(), work + at * r.element(), count * r.element());
  });
}

void Network::reduce_scatter(Operation& operation) {
  const Request& r = operation.request;
  const size_t element = r.element();
  char* work = take_blocks(r);
  visit_blocks(r, [&](int, uint64_t at, uint32_t rank, uint64_t offset, uint64_t count) {
    const uint64_t from = block_of_rank(r, rank).offset + offset;
    std::vector<const void*> in;
    for (int i = 0; i < n_; ++i) in.push_back(sent_by(operation, i) + from * element);
    combine_blocks(r, in, work + at * element, count);
  });
  run_blocks(Kind::ReduceScatter, operation, work, 0);
  take_own(r, work, received_by(operation, me_));
}

void Network::all_gather(Operation& operation) {
  const Request& r = operation.request;
  const size_t element = r.element();
  // With one rank a host the result may have the order of the hosts.
  const bool in_place = most_ == 1 && std::ranges::is_sorted(hosts_) && !of_any_sizes(r.kind);
  char* work = in_place ? received_by(operation, me_) : take_blocks(r);
  visit_blocks(r, [&](int host, uint64_t at, uint32_t, uint64_t offset, uint64_t count) {
    const char* from = sent_by(operation, me_) + offset * element;
    if (host == host_ && work + at * element != from) std::memcpy(work + at * element, from, count * element);
  });
  run_blocks(Kind::AllGather, operation, work, 0);
  visit_blocks(r, [&](int, uint64_t at, uint32_t rank, uint64_t offset, uint64_t count) {
    spread(operation, work + at * element, count, block_of_rank(r, rank).offset + offset, -1);
  });
}

void Network::scatter(Operation& operation) {
  const Request& r = operation.request;
  const size_t element = r.element();
  char* work = take_blocks(r);
  const int host = host_of(r.root), root = communicator_.local_index_[r.root];
  if (host == host_)
    visit_blocks(r, [&](int, uint64_t at, uint32_t rank, uint64_t offset, uint64_t count) {
      std::memcpy(work + at * element, sent_by(operation, root) + (rank * r.count + offset) * element, count * element);
    });
  run_blocks(r.kind, operation, work, host);
  take_own(r, work, received_by(operation, me_));
}

// AllToAll, AllToAllV, AllToAllVC: what is for ranks of this host goes through memory.
void Network::exchange(Operation& operation) {
  const Request& r = operation.request;
  const size_t element = r.element();
  const char* from = sent_by(operation, me_);
  char* to = received_by(operation, me_);
  const bool uneven = r.kind != Kind::AllToAll;
  const auto out = [&](uint32_t rank) {
    return uneven ? Block{r.send_offsets[rank], r.send_counts[rank]} : Block{rank * r.count, r.count};
  };
  const auto in = [&](uint32_t rank) {
    return uneven ? Block{r.receive_offsets[rank], r.receive_counts[rank]} : Block{rank * r.count, r.count};
  };
  Flight flight;
  const uint32_t me = communicator_.rank();
  size_t number = 0;  // of the step
  for (const Exchange& step : pairwise_peers(static_cast<int>(me), static_cast<int>(communicator_.size()))) {
    const auto source = static_cast<uint32_t>(step.from), target = static_cast<uint32_t>(step.to);
    if (peers_[source]) receive(flight, source, kData, to + in(source).offset * element, in(source).count * element);
    if (peers_[target]) {
      send(flight, target, kData, from + out(target).offset * element, out(target).count * element);
      if (trace_) trace_->sent(communicator_, operation, number, target, out(target).count * element);
    }
    ++number;
  }
  work_in_place(*communicator_.group_, r, operation.ticket);
  land(flight, operation);
}

}  // namespace updraft::collective
