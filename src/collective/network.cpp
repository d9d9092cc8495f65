#include "collective/network.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <thread>

#include "base/log.h"
#include "collective/error.h"
#include "collective/message_trace.h"
#include "collective/reduce.h"
#include "collective/topology/environment.h"

namespace updraft::collective {
namespace {

// α, β, γ of TCP between hosts: what chooses an algorithm when HCCL_ALGO does not.
constexpr LinkCost kLink = {50e-6, 1e-9, 0.2e-9};
enum Channel : uint8_t { kData, kHeader, kMessages };

bool has_rdma() {
  std::error_code error;
  return !std::filesystem::is_empty("/sys/class/infiniband", error) && !error;
}

Transport& transport(const std::string& default_ip) {
  static Transport* transport = [&] {
    const Environment& environment = Environment::get();
    TransportOptions options;
    const bool chosen = !environment.if_ip.empty() || !environment.socket_ifname.empty();
    options.bind_ip = chosen ? choose_interface(environment, interfaces()).ip : default_ip;
    for (const Interface& one : interfaces())  // RDMA has names of its own
      if (one.ip == options.bind_ip && !has_rdma()) options.interface = one.name;
    options.connect_timeout = std::chrono::milliseconds(static_cast<int64_t>(environment.connect_timeout * 1000));
    if (environment.whitelist) options.allowed_ips = environment.host_ips;
    // UCX pays where there is RDMA; between Ethernet ports our own TCP is as fast and needs nothing installed.
    std::string why;
    const char* wish = std::getenv("UPDRAFT_HCCL_TRANSPORT");
    const std::string kind = wish && *wish ? wish : has_rdma() ? "ucx" : "tcp";
    if (kind != "ucx" && kind != "tcp")
      throw Error(result::kPara, "EI0001: UPDRAFT_HCCL_TRANSPORT is {}, want tcp or ucx", kind);
    std::unique_ptr<Transport> made;
    if (kind == "ucx") made = make_ucx_transport(options, &why);
    if (!made && wish && kind == "ucx") throw Error(result::kUnavail, "EI0001: UPDRAFT_HCCL_TRANSPORT is ucx: {}", why);
    if (!made) {
      if (!why.empty()) UPDRAFT_LOG(kInfo, "HCCL", "TCP between hosts: {}", why);
      made = make_tcp_transport(options);
    }
    UPDRAFT_LOG(kInfo, "HCCL", "{} between hosts, by {}", made->name(), options.bind_ip);
    return made.release();  // lives as long as the process: communicators come and go
  }();
  return *transport;
}

// Transfers go in pieces: while one is combined, out of the caches, the next ones are on their way.
constexpr uint64_t kPiece = 1 << 20;

struct Header {
  uint64_t ticket, count;
  uint32_t root;
  Kind kind;
  Type type;
  Op op;
  uint8_t unused;
};

}  // namespace

/// Messages that are waited for together.
struct Network::Flight {
  struct State {
    std::atomic<int> open{0};
    std::atomic<bool> failed{false};
    std::mutex mutex;
    std::optional<Error> error;
    uint32_t rank = 0;  ///< whose message failed
  };
  std::shared_ptr<State> state = std::make_shared<State>();

  Completion completion(Doorbell& bell, uint32_t rank) {
    state->open.fetch_add(1, std::memory_order_relaxed);
    return [state = state, &bell, rank](const Error* error) {
      if (error) {
        std::lock_guard lock(state->mutex);
        if (!state->error) {
          state->error = *error;
          state->rank = rank;
        }
        state->failed = true;
      }
      if (state->open.fetch_sub(1, std::memory_order_acq_rel) == 1 || error) bell.ring();
    };
  }
};

Network::Network(Communicator& communicator, std::vector<std::vector<uint32_t>> hosts)
    : communicator_(communicator),
      hosts_(std::move(hosts)),
      work_(static_cast<size_t>(Environment::get().buffer_bytes)),
      arrived_(static_cast<size_t>(Environment::get().buffer_bytes)),
      trace_(MessageTrace::get()) {
  for (const auto& host : hosts_) flat_ |= host.size() != hosts_.front().size();
  if (flat_) {
    hosts_.clear();
    for (uint32_t r = 0; r < communicator.size(); ++r) hosts_.push_back({r});
  }
  hosts_n_ = static_cast<int>(hosts_.size());
  n_ = static_cast<int>(hosts_.front().size());
  for (int h = 0; h < hosts_n_; ++h)
    for (int i = 0; i < n_; ++i)
      if (rank_at(h, i) == communicator.rank()) {
        host_ = h;
        me_ = i;
      }
  peers_.resize(communicator.size());
}

// What was under way was given up with its operation; what was sent in full is still to arrive, so nothing is aborted.
Network::~Network() = default;

std::string Network::address() const { return transport(communicator_.member().local_ip()).address(); }

void Network::connect(const std::vector<std::string>& addresses) {
  for (uint32_t r = 0; r < communicator_.size(); ++r)
    if (r != communicator_.rank() && (flat_ || communicator_.local_index_[r] < 0))
      peers_[r] = transport("").peer(addresses[r], communicator_.options().key);
}

void Network::abort(const Error& why) {
  for (auto& peer : peers_)
    if (peer) transport("").cancel(*peer, why);
}

// --- messages
// ----------------------------------------------------------------------------------------------------------

namespace {
uint64_t tag_of(uint32_t from, uint32_t to, uint8_t channel) {
  return uint64_t{channel} << 56 | uint64_t{from} << 28 | to;
}
}  // namespace

void Network::send(Flight& flight, uint32_t rank, uint8_t channel, const void* data, size_t bytes) {
  Doorbell& bell = communicator_.group_->region().bell(communicator_.group_->me());
  transport("").send(*peers_[rank], tag_of(communicator_.rank(), rank, channel), data, bytes,
                     flight.completion(bell, rank));
}

void Network::receive(Flight& flight, uint32_t rank, uint8_t channel, void* data, size_t bytes) {
  Doorbell& bell = communicator_.group_->region().bell(communicator_.group_->me());
  transport("").receive(*peers_[rank], tag_of(rank, communicator_.rank(), channel), data, bytes,
                        flight.completion(bell, rank));
}

void Network::land(Flight& flight, const Operation& operation) {
  auto& state = *flight.state;
  communicator_.wait_for([&] { return state.failed.load() || state.open.load(std::memory_order_acquire) == 0; },
                         operation);
  if (!state.failed.load()) return;
  // The peer may have given up because of another rank's death. The root says who died, mostly sooner than this.
  for (int waited = 0; waited < 500; ++waited) {
    communicator_.throw_if_hopeless(operation, true);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  std::lock_guard lock(state.mutex);
  throw Error(state.error->code(), "EI0006: {}: rank {}: {}", communicator_.describe(operation), state.rank,
              state.error->text());
}

std::shared_ptr<std::atomic<int>> Network::message(const Message& message, uint64_t) {
  auto state = std::make_shared<std::atomic<int>>(0);
  Doorbell& bell = communicator_.group_->region().bell(communicator_.group_->me());
  Completion done = [state, &bell](const Error* error) {
    if (error) UPDRAFT_LOG(kError, "HCCL", "{}", error->text());
    state->store(error ? 2 : 1, std::memory_order_release);
    bell.ring();
  };
  const size_t bytes = message.count * size_of(message.type);
  const uint32_t me = communicator_.rank();
  if (message.send) {
    transport("").send(*peers_[message.peer], tag_of(me, message.peer, kMessages), host_address(message.data), bytes,
                       done);
  } else {
    transport("").receive(*peers_[message.peer], tag_of(message.peer, me, kMessages), host_address(message.data), bytes,
                          done);
  }
  return state;
}

// Neighbouring hosts compare what they are about to do: a difference anywhere is seen by somebody, who tells all.
void Network::agree(const Operation& operation) {
  const Request& r = operation.request;
  const bool counts = r.send_counts.empty() && r.receive_counts.empty();
  const Header mine = {operation.ticket, counts ? r.count : 0, r.root, r.kind, r.type, r.op, 0};
  Header theirs{};
  const uint32_t next = rank_at((host_ + 1) % hosts_n_, me_), before = rank_at((host_ + hosts_n_ - 1) % hosts_n_, me_);
  Flight flight;
  receive(flight, before, kHeader, &theirs, sizeof theirs);
  send(flight, next, kHeader, &mine, sizeof mine);
  land(flight, operation);
  if (std::memcmp(&mine, &theirs, sizeof mine) == 0) return;
  throw Error(
      result::kPara,
      "EI0005: operation number {} of {} differs between ranks: rank {} called {}; rank {} called {}{}. All ranks must "
      "call the same operations in the same order with the same arguments",
      mine.ticket, communicator_.name(), communicator_.rank(),
      describe_call(mine.kind, mine.count, mine.type, mine.op, mine.root), before,
      describe_call(theirs.kind, theirs.count, theirs.type, theirs.op, theirs.root),
      theirs.ticket == mine.ticket ? "" : fmt::format(" as its number {}", theirs.ticket));
}

Schedule Network::schedule(Kind kind, const Operation& operation, uint64_t n, int root) const {
  const Request& r = operation.request;
  const size_t blocks = kind == Kind::AllReduce || kind == Kind::Broadcast || kind == Kind::Reduce ? 1 : hosts_.size();
  Algorithm algorithm = communicator_.options().algorithms.algorithm(r.kind, 1);
  if (algorithm == Algorithm::Auto || !has_schedule(kind, algorithm))
    algorithm = choose(kind, hosts_n_, static_cast<double>(n * blocks * r.element()), kLink);
  return make_schedule(kind, algorithm, host_, hosts_n_, n, root);
}

namespace {

void combine(const Request& request, const std::vector<const void*>& in, void* out, uint64_t count) {
  if (count)
    reduce_blocks(request.type, request.op, in.data(), static_cast<int>(in.size()), &out, 1,
                  static_cast<int64_t>(count));
}

bool overlap(const Transfer& a, const Transfer& b) {
  return a.offset < b.offset + b.count && b.offset < a.offset + a.count;
}

/// Receives of one round that are combined, and where they wait for that.
struct Arrivals {
  std::vector<const Transfer*> transfers;
  std::vector<char*> data;
};

/// The parts of all ranks of elements [begin, end), in the order of the ranks, into the buffer's own.
void combine_range(const Request& request, const Arrivals& arrived, int me, char* buffer, uint64_t begin,
                   uint64_t end) {
  const size_t element = request.element();
  std::vector<std::pair<int, const void*>> parts;
  for (size_t i = 0; i < arrived.transfers.size(); ++i) {
    const Transfer& t = *arrived.transfers[i];
    if (t.offset <= begin && end <= t.offset + t.count)
      parts.emplace_back(t.peer, arrived.data[i] + (begin - t.offset) * element);
  }
  if (parts.empty()) return;
  parts.emplace_back(me, buffer + begin * element);
  std::ranges::stable_sort(parts, {}, &std::pair<int, const void*>::first);
  std::vector<const void*> in;
  for (auto& [peer, data] : parts) in.push_back(data);
  combine(request, in, buffer + begin * element, end - begin);
}

}  // namespace

void Network::run(const Schedule& schedule, char* buffer, const Operation& operation) {
  for (size_t number = 0; number < schedule.size(); ++number) run_round(schedule[number], number, buffer, operation);
}

void Network::run_round(const Round& round, size_t number, char* buffer, const Operation& operation) {
  const size_t element = operation.request.element();
  const uint64_t piece = std::max<uint64_t>(1, kPiece / element);
  // What is combined, or would overwrite what is being sent, waits beside the buffer.
  std::vector<bool> beside;
  size_t bytes = 0;
  bool sent_is_combined = false;
  for (const Transfer& t : round.receives) {
    bool hold = round.combine;
    for (const Transfer& s : round.sends) {
      hold |= overlap(s, t);
      sent_is_combined |= overlap(s, t);
    }
    beside.push_back(hold);
    if (hold) bytes += t.count * element;
  }
  char* place = arrived_.take(bytes);
  Arrivals arrived;
  std::vector<char*> targets;
  uint64_t pieces = 0;
  for (size_t i = 0; i < round.receives.size(); ++i) {
    const Transfer& t = round.receives[i];
    targets.push_back(beside[i] ? place : buffer + t.offset * element);
    if (!beside[i]) continue;
    arrived.transfers.push_back(&t);
    arrived.data.push_back(place);
    place += t.count * element;
    pieces = std::max(pieces, (t.count + piece - 1) / piece);
  }
  // Piece by piece only where all receives are of the same elements, which nobody still sends.
  bool alike = round.combine && !sent_is_combined;
  for (const Transfer* t : arrived.transfers)
    alike &= t->offset == round.receives[0].offset && t->count == round.receives[0].count;
  std::vector<Flight> flights(alike ? pieces : 0);
  Flight rest;
  for (size_t i = 0; i < round.receives.size(); ++i) {
    const Transfer& t = round.receives[i];
    for (uint64_t k = 0, at = 0; at < t.count; ++k, at += piece)
      receive(alike ? flights[k] : rest, rank_at(t.peer, me_), kData, targets[i] + at * element,
              std::min(piece, t.count - at) * element);
  }
  for (const Transfer& s : round.sends) {
    for (uint64_t at = 0; at < s.count; at += piece)
      send(rest, rank_at(s.peer, me_), kData, buffer + (s.offset + at) * element,
           std::min(piece, s.count - at) * element);
    if (trace_) trace_->sent(communicator_, operation, number, rank_at(s.peer, me_), s.count * element);
  }
  for (uint64_t k = 0; k < flights.size(); ++k) {
    land(flights[k], operation);
    const Transfer& t = round.receives[0];
    combine_range(operation.request, arrived, host_, buffer, t.offset + k * piece,
                  t.offset + std::min(t.count, (k + 1) * piece));
  }
  land(rest, operation);
  if (alike) return;
  if (!round.combine) {
    for (size_t i = 0; i < arrived.transfers.size(); ++i) {
      const Transfer& t = *arrived.transfers[i];
      std::memcpy(buffer + t.offset * element, arrived.data[i], t.count * element);
    }
    return;
  }
  // Pieces in which the same receives overlap.
  std::vector<uint64_t> borders;
  for (const Transfer& t : round.receives) {
    borders.push_back(t.offset);
    borders.push_back(t.offset + t.count);
  }
  std::ranges::sort(borders);
  for (size_t b = 0; b + 1 < borders.size(); ++b)
    if (borders[b] != borders[b + 1])
      combine_range(operation.request, arrived, host_, buffer, borders[b], borders[b + 1]);
}

// --- operations
// --------------------------------------------------------------------------------------------------------

const char* Network::sent_by(const Operation& operation, int index) const {
  const LocalGroup& group = *communicator_.group_;
  if (flat_ || index == me_)
    return static_cast<const char*>(
        host_address(operation.staged_send ? operation.staged_send : operation.request.send));
  return group.at(index, group.region().post(index, operation.ticket).send);
}

char* Network::received_by(const Operation& operation, int index) const {
  const LocalGroup& group = *communicator_.group_;
  if (flat_ || index == me_)
    return static_cast<char*>(
        host_address(operation.staged_receive ? operation.staged_receive : operation.request.receive));
  return group.at(index, group.region().post(index, operation.ticket).receive);
}

void Network::execute(Operation& operation) {
  if (flat_) {
    communicator_.stage(operation);
  } else {
    communicator_.gather_locally(operation);
  }
  agree(operation);
  communicator_.claim_peers(operation);
  switch (operation.request.kind) {
    case Kind::AllReduce: all_reduce(operation); break;
    case Kind::ReduceScatter: reduce_scatter(operation); break;
    case Kind::AllGather: all_gather(operation); break;
    case Kind::Broadcast: broadcast(operation); break;
    case Kind::Reduce: reduce(operation); break;
    case Kind::Scatter: scatter(operation); break;
    case Kind::Barrier: {
      int64_t nothing = 0;
      Operation beat;
      beat.request.kind = Kind::AllReduce;
      beat.request.type = Type::Int64;
      beat.ticket = operation.ticket;
      beat.since = operation.since;
      run(schedule(Kind::AllReduce, beat, 1), reinterpret_cast<char*>(&nothing), beat);
      break;
    }
    case Kind::ReduceScatterV: reduce_scatter_v(operation); break;
    default: exchange(operation); break;
  }
  communicator_.group_->region().busy(communicator_.group_->me()).store(0, std::memory_order_release);
  if (!flat_) communicator_.meet(operation);
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

void Network::all_reduce(Operation& operation) {
  const Request& r = operation.request;
  const Block mine = block_of(r.count, n_, me_);
  char* work = received_by(operation, me_) + mine.offset * r.element();
  std::vector<const void*> in;
  for (int i = 0; i < n_; ++i) in.push_back(sent_by(operation, i) + mine.offset * r.element());
  combine(r, in, work, mine.count);
  run(schedule(r.kind, operation, mine.count), work, operation);
  spread(operation, work, mine.count, mine.offset, me_);
}

void Network::reduce(Operation& operation) {
  const Request& r = operation.request;
  const Block mine = block_of(r.count, n_, me_);
  char* work = work_.take(mine.count * r.element());
  std::vector<const void*> in;
  for (int i = 0; i < n_; ++i) in.push_back(sent_by(operation, i) + mine.offset * r.element());
  combine(r, in, work, mine.count);
  for (int h = 0; h < hosts_n_; ++h)
    for (int i = 0; i < n_; ++i)
      if (rank_at(h, i) == r.root) {
        run(schedule(r.kind, operation, mine.count, h), work, operation);
        if (h == host_ && mine.count)
          std::memcpy(received_by(operation, i) + mine.offset * r.element(), work, mine.count * r.element());
      }
}

void Network::broadcast(Operation& operation) {
  const Request& r = operation.request;
  const Block mine = block_of(r.count, n_, me_);
  char* work = received_by(operation, me_) + mine.offset * r.element();
  for (int h = 0; h < hosts_n_; ++h)
    for (int i = 0; i < n_; ++i)
      if (rank_at(h, i) == r.root) {
        if (h == host_ && i != me_ && mine.count)
          std::memcpy(work, sent_by(operation, i) + mine.offset * r.element(), mine.count * r.element());
        run(schedule(r.kind, operation, mine.count, h), work, operation);
        spread(operation, work, mine.count, mine.offset, h == host_ ? i : -1);
      }
}

void Network::reduce_scatter(Operation& operation) {
  const Request& r = operation.request;
  const size_t block = r.count * r.element();
  char* work = work_.take(block * hosts_.size());
  for (int h = 0; h < hosts_n_; ++h) {
    std::vector<const void*> in;
    for (int i = 0; i < n_; ++i) in.push_back(sent_by(operation, i) + rank_at(h, me_) * block);
    combine(r, in, work + static_cast<size_t>(h) * block, r.count);
  }
  run(schedule(r.kind, operation, r.count), work, operation);
  if (block) std::memcpy(received_by(operation, me_), work + static_cast<size_t>(host_) * block, block);
}

void Network::all_gather(Operation& operation) {
  const Request& r = operation.request;
  const size_t block = r.count * r.element();
  // With one rank a host the result has the order of the hosts.
  char* work = n_ == 1 ? received_by(operation, me_) : work_.take(block * hosts_.size());
  char* own = work + static_cast<size_t>(host_) * block;
  if (block && own != sent_by(operation, me_)) std::memcpy(own, sent_by(operation, me_), block);
  run(schedule(r.kind, operation, r.count), work, operation);
  for (int h = 0; h < hosts_n_; ++h)
    spread(operation, work + static_cast<size_t>(h) * block, r.count, rank_at(h, me_) * r.count, -1);
}

void Network::scatter(Operation& operation) {
  const Request& r = operation.request;
  const size_t block = r.count * r.element();
  char* work = work_.take(block * hosts_.size());
  for (int h = 0; h < hosts_n_; ++h)
    for (int i = 0; i < n_; ++i)
      if (rank_at(h, i) == r.root) {
        for (int to = 0; h == host_ && to < hosts_n_; ++to)
          if (block)
            std::memcpy(work + static_cast<size_t>(to) * block, sent_by(operation, i) + rank_at(to, me_) * block,
                        block);
        run(schedule(r.kind, operation, r.count, h), work, operation);
      }
  if (block) std::memcpy(received_by(operation, me_), work + static_cast<size_t>(host_) * block, block);
}

// AllToAll, AllToAllV, AllToAllVC, AllGatherV: what is for ranks of this host goes through memory.
void Network::exchange(Operation& operation) {
  const Request& r = operation.request;
  const size_t element = r.element();
  const char* from = sent_by(operation, me_);
  char* to = received_by(operation, me_);
  const bool gather = r.kind == Kind::AllGatherV;
  auto out = [&](uint32_t rank) -> Block {
    if (r.kind == Kind::AllToAll) return {rank * r.count, r.count};
    return gather ? Block{0, r.count} : Block{r.send_offsets[rank], r.send_counts[rank]};
  };
  auto in = [&](uint32_t rank) -> Block {
    if (r.kind == Kind::AllToAll) return {rank * r.count, r.count};
    return {r.receive_offsets[rank], r.receive_counts[rank]};
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
  if (!flat_) {
    work_in_place(*communicator_.group_, r, operation.ticket);
  } else if (const size_t bytes = out(me).count * element) {
    if (char* own = to + in(me).offset * element; own != from + out(me).offset * element)
      std::memcpy(own, from + out(me).offset * element, bytes);
  }
  land(flight, operation);
}

void Network::reduce_scatter_v(Operation& operation) {
  const Request& r = operation.request;
  const size_t element = r.element(), block = r.count * element;
  const LocalGroup& group = *communicator_.group_;
  const uint32_t me = communicator_.rank();
  const char* from = sent_by(operation, me_);
  char* arrived = work_.take(block * communicator_.size());
  std::vector<const void*> parts(communicator_.size());
  Flight flight;
  for (uint32_t rank = 0; rank < communicator_.size(); ++rank) {
    const int local = communicator_.local_index_[rank];
    if (rank == me) {
      parts[rank] = from + r.send_offsets[me] * element;
    } else if (!peers_[rank]) {
      parts[rank] = group.at(local, group.region().part(local, operation.ticket, group.me()).place);
    } else {
      parts[rank] = arrived + rank * block;
      receive(flight, rank, kData, arrived + rank * block, block);
      send(flight, rank, kData, from + r.send_offsets[rank] * element, r.send_counts[rank] * element);
    }
  }
  land(flight, operation);
  // The result may lie in the own block of the send buffer, which nobody else reads.
  combine(r, parts, received_by(operation, me_), r.count);
}

}  // namespace updraft::collective
