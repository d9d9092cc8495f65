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
Block block_of_rank(const Request& r, int rank) {
  const auto at = static_cast<size_t>(rank);
  if (r.kind == Kind::AllGatherV) return {r.receive_offsets[at], r.receive_counts[at]};
  if (r.kind == Kind::ReduceScatterV) return {r.send_offsets[at], r.send_counts[at]};
  return {at * r.count, r.count};
}

}  // namespace

int Network::host_of(uint32_t rank) const {
  for (int h = 0; h < between_.hosts(); ++h)
    if (std::ranges::find(ranks_of(h), static_cast<int>(rank)) != ranks_of(h).end()) return h;
  throw Error(result::kInternal, "EI0007: rank {} is on no host", rank);
}

/// What is carried between the hosts for a request.
Between::Operation Network::call_of(const Request& r) {
  const Algorithms& wished = communicator_.options().algorithms;
  // a barrier is an AllReduce of nothing much
  const Kind kind = r.kind == Kind::Barrier ? Kind::AllReduce : r.kind;
  Between::Operation call{r.kind, r.count, static_cast<double>(r.element())};
  call.wishes = {wished.algorithm(kind, 1), wished.algorithm(kind, 2)};
  if (has_root(r.kind)) call.root_host = host_of(r.root);
  if (r.kind == Kind::AllGatherV) call.counts = r.receive_counts;
  if (r.kind == Kind::ReduceScatterV) call.counts = r.send_counts;
  tell_of_unheard(call);
  return call;
}

// Wishes that have no form of the operation, each once.
void Network::tell_of_unheard(const Between::Operation& call) {
  if (call.wishes.hosts == Algorithm::Auto && call.wishes.pods == Algorithm::Auto) return;
  const double bytes = static_cast<double>(call.count) * call.element_bytes;
  for (const auto& [level, wish, instead] : between_.levels(call.kind, call.wishes, bytes).unheard)
    if (unheard_.insert({call.kind, level}).second)
      UPDRAFT_LOG(
          kWarning, "HCCL",
          "communicator {}: {} by {}, chosen by cost: {} of HCCL_ALGO's level{} has no form of it (AHC and pipeline "
          "have none with a root, pairwise is for all-to-all)",
          communicator_.name(), name_of(call.kind), name_of(instead), name_of(wish), level);
}

void Network::barrier(const Operation& operation) {
  std::vector<int64_t> nothing(carrier_.pieces());
  Operation beat;
  beat.request.kind = Kind::Barrier;
  beat.request.type = Type::Int64;
  beat.request.count = 1;
  beat.ticket = operation.ticket;
  beat.since = operation.since;
  run(carrier_.schedule(call_of(beat.request)), reinterpret_cast<char*>(nothing.data()), beat);
}

void Network::all_reduce(Operation& operation) {
  const Request& r = operation.request;
  const Block mine = carrier_.share(r.count);
  char* work = received_by(operation, me_) + mine.offset * r.element();
  std::vector<const void*> in;
  for (int i = 0; i < n_; ++i) in.push_back(sent_by(operation, i) + mine.offset * r.element());
  combine_blocks(r, in, work, mine.count);
  run(carrier_.schedule(call_of(r)), work, operation);
  spread(operation, work, mine.count, mine.offset, me_);
}

void Network::reduce(Operation& operation) {
  const Request& r = operation.request;
  const Block mine = carrier_.share(r.count);
  char* work = work_.take(mine.count * r.element());
  std::vector<const void*> in;
  for (int i = 0; i < n_; ++i) in.push_back(sent_by(operation, i) + mine.offset * r.element());
  combine_blocks(r, in, work, mine.count);
  const Between::Operation call = call_of(r);
  run(carrier_.schedule(call), work, operation);
  if (call.root_host == host_ && mine.count)
    std::memcpy(received_by(operation, communicator_.local_index_[r.root]) + mine.offset * r.element(), work,
                mine.count * r.element());
}

void Network::broadcast(Operation& operation) {
  const Request& r = operation.request;
  const Block mine = carrier_.share(r.count);
  char* work = received_by(operation, me_) + mine.offset * r.element();
  const Between::Operation call = call_of(r);
  const bool here = call.root_host == host_;
  const int root = communicator_.local_index_[r.root];
  if (here && root != me_ && mine.count)
    std::memcpy(work, sent_by(operation, root) + mine.offset * r.element(), mine.count * r.element());
  run(carrier_.schedule(call), work, operation);
  spread(operation, work, mine.count, mine.offset, here ? root : -1);
}

// The working buffer of the operations below: what this rank's pieces have of the blocks of all ranks.
char* Network::take_blocks(const Between::Operation& call, size_t element) {
  return work_.take(carrier_.visit(call, [](int, uint64_t, int, uint64_t, uint64_t) {}) * element);
}

// The pieces of this host's blocks are, one after another, this rank's own.
void Network::take_own(const Between::Operation& call, size_t element, const char* work, char* to) const {
  carrier_.visit(call, [&](int host, uint64_t at, int, uint64_t offset, uint64_t count) {
    if (host == host_) std::memcpy(to + offset * element, work + at * element, count * element);
  });
}

void Network::reduce_scatter(Operation& operation) {
  const Request& r = operation.request;
  const size_t element = r.element();
  const Between::Operation call = call_of(r);
  char* work = take_blocks(call, element);
  carrier_.visit(call, [&](int, uint64_t at, int rank, uint64_t offset, uint64_t count) {
    const uint64_t from = block_of_rank(r, rank).offset + offset;
    std::vector<const void*> in;
    for (int i = 0; i < n_; ++i) in.push_back(sent_by(operation, i) + from * element);
    combine_blocks(r, in, work + at * element, count);
  });
  run(carrier_.schedule(call), work, operation);
  take_own(call, element, work, received_by(operation, me_));
}

void Network::all_gather(Operation& operation) {
  const Request& r = operation.request;
  const size_t element = r.element();
  const Between::Operation call = call_of(r);
  // With one rank a host the result may have the order of the hosts.
  const bool in_place = between_.most() == 1 && std::ranges::is_sorted(between_.ranks()) && call.counts.empty();
  char* work = in_place ? received_by(operation, me_) : take_blocks(call, element);
  carrier_.visit(call, [&](int host, uint64_t at, int, uint64_t offset, uint64_t count) {
    const char* from = sent_by(operation, me_) + offset * element;
    if (host == host_ && work + at * element != from) std::memcpy(work + at * element, from, count * element);
  });
  run(carrier_.schedule(call), work, operation);
  carrier_.visit(call, [&](int, uint64_t at, int rank, uint64_t offset, uint64_t count) {
    spread(operation, work + at * element, count, block_of_rank(r, rank).offset + offset, -1);
  });
}

void Network::scatter(Operation& operation) {
  const Request& r = operation.request;
  const size_t element = r.element();
  const Between::Operation call = call_of(r);
  char* work = take_blocks(call, element);
  const int root = communicator_.local_index_[r.root];
  if (call.root_host == host_)
    carrier_.visit(call, [&](int, uint64_t at, int rank, uint64_t offset, uint64_t count) {
      const uint64_t from = static_cast<uint64_t>(rank) * r.count + offset;
      std::memcpy(work + at * element, sent_by(operation, root) + from * element, count * element);
    });
  run(carrier_.schedule(call), work, operation);
  take_own(call, element, work, received_by(operation, me_));
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
