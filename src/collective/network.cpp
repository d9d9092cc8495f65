#include "collective/network.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>
#include <thread>

#include "base/log.h"
#include "collective/algorithm/landing.h"
#include "collective/error.h"
#include "collective/flight.h"
#include "collective/message_trace.h"
#include "collective/topology/environment.h"

namespace updraft::collective {
namespace {

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

// 0: the ranks' counts are their own.
uint64_t digest_of_counts(const Request& r) {
  switch (r.kind) {
    case Kind::AllGatherV: return digest_of(r.receive_counts);
    case Kind::ReduceScatterV: return digest_of(r.send_counts);
    default: return r.matrix;
  }
}

std::vector<std::vector<int>> numbers(const std::vector<std::vector<uint32_t>>& hosts) {
  std::vector<std::vector<int>> result;
  for (const auto& host : hosts) result.emplace_back(host.begin(), host.end());
  return result;
}

int index_in(const std::vector<int>& ranks, uint32_t rank) {
  return static_cast<int>(std::ranges::find(ranks, static_cast<int>(rank)) - ranks.begin());
}

// By the transport alone, which is the same for all ranks: whether there is RDMA is a host's own matter, and all must
// choose the same algorithms.
LinkCost link_of(const Transport& transport) { return std::string_view(transport.name()) == "ucx" ? kRdma : kTcp; }

}  // namespace

Network::Network(Communicator& communicator, const std::vector<std::vector<uint32_t>>& hosts,
                 const std::vector<int>& pods)
    : communicator_(communicator),
      between_(numbers(hosts), pods, link_of(transport(communicator.member().local_ip()))),
      host_(host_of(communicator.rank())),
      me_(index_in(ranks_of(host_), communicator.rank())),
      carrier_(between_, host_, me_),
      hosts_n_(between_.hosts()),
      n_(static_cast<int>(ranks_of(host_).size())),
      work_(static_cast<size_t>(Environment::get().buffer_bytes)),
      arrived_(static_cast<size_t>(Environment::get().buffer_bytes)),
      trace_(MessageTrace::get()) {
  peers_.resize(communicator.size());
  said_.resize(communicator.size());
  heard_.resize(communicator.size());
}

// What was under way was given up with its operation; what was sent in full is still to arrive, so nothing is aborted.
Network::~Network() = default;

std::string Network::address() const { return transport(communicator_.member().local_ip()).address(); }

void Network::connect(const std::vector<std::string>& addresses) {
  for (uint32_t r = 0; r < communicator_.size(); ++r)
    if (communicator_.local_index_[r] < 0) peers_[r] = transport("").peer(addresses[r], communicator_.options().key);
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
  throw Error(state.error->code(), "{}: {}: rank {}: {}", fault_of(*state.error), communicator_.describe(operation),
              state.rank, state.error->text());
}

std::shared_ptr<RemoteMessage> Network::message(const Message& message, uint64_t) {
  auto remote = std::make_shared<RemoteMessage>();
  Doorbell& bell = communicator_.group_->region().bell(communicator_.group_->me());
  Completion done = [remote, &bell](const Error* error) {
    if (error) {
      UPDRAFT_LOG(kError, "HCCL", "{}", error->text());
      remote->error = *error;
    }
    remote->state.store(error ? 2 : 1, std::memory_order_release);
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
  return remote;
}

// Neighbouring hosts compare what they are about to do: a difference anywhere is seen by somebody, who tells all. Every
// rank hears from one of the host before; where that one has fewer ranks they speak to several. Where each pair of
// ranks has a count of its own, both of it say theirs at the same time: nobody has sent data by then, so that no rank
// is through with an operation that others cannot do.
void Network::agree(const Operation& operation) {
  const Request& r = operation.request;
  const bool counts = r.send_counts.empty() && r.receive_counts.empty();
  mine_ = {operation.ticket, counts ? r.count : 0, digest_of_counts(r), r.root, r.kind, r.type, r.op, 0};
  const auto& after = ranks_of((host_ + 1) % hosts_n_);
  const auto& previous = ranks_of((host_ + hosts_n_ - 1) % hosts_n_);
  const auto speaker = [](size_t listener, size_t listeners, size_t speakers) {
    return listener * speakers / listeners;
  };
  const auto before =
      static_cast<uint32_t>(previous[speaker(static_cast<size_t>(me_), static_cast<size_t>(n_), previous.size())]);
  Flight flight, pairs;
  receive(flight, before, kHeader, &theirs_, sizeof theirs_);
  for (size_t i = 0; i < after.size(); ++i)
    if (speaker(i, after.size(), static_cast<size_t>(n_)) == static_cast<size_t>(me_))
      send(flight, static_cast<uint32_t>(after[i]), kHeader, &mine_, sizeof mine_);
  const bool by_pairs = r.kind == Kind::AllToAllV || r.kind == Kind::AllToAllVC;
  if (by_pairs) exchange_pairs(pairs, r);
  land(flight, operation);
  const auto expect_same = [&](const Header& theirs) {
    if (std::memcmp(&mine_, &theirs, sizeof mine_) == 0) return;
    throw Error(result::kPara,
                "EI0005: operation number {} of {} differs between ranks: rank {} called {}; rank {} called {}{}. All "
                "ranks must call the same operations in the same order with the same arguments",
                mine_.ticket, communicator_.name(), communicator_.rank(),
                describe_call(mine_.kind, mine_.count, mine_.type, mine_.op, mine_.root), before,
                describe_call(theirs.kind, theirs.count, theirs.type, theirs.op, theirs.root),
                theirs.ticket != mine_.ticket   ? fmt::format(" as its number {}", theirs.ticket)
                : theirs.counts != mine_.counts ? " with other counts of the ranks"
                                                : "");
  };
  // a pair that disagrees is named first, before matrices that differ somewhere
  Header theirs = theirs_;
  if (by_pairs) theirs.counts = mine_.counts;
  expect_same(theirs);
  if (!by_pairs) return;
  land(pairs, operation);
  const uint32_t me = communicator_.rank();
  for (uint32_t rank = 0; rank < communicator_.size(); ++rank) {
    if (!peers_[rank]) continue;
    communicator_.check_pair(operation, me, said_[rank].sent, rank, heard_[rank].expected);
    communicator_.check_pair(operation, rank, heard_[rank].sent, me, said_[rank].expected);
  }
  expect_same(theirs_);
}

void Network::exchange_pairs(Flight& flight, const Request& r) {
  for (uint32_t rank = 0; rank < communicator_.size(); ++rank) {
    if (!peers_[rank]) continue;
    said_[rank] = {r.send_counts[rank] * r.element(), r.receive_counts[rank] * r.element()};
    receive(flight, rank, kPairs, &heard_[rank], sizeof(Pair));
    send(flight, rank, kPairs, &said_[rank], sizeof(Pair));
  }
}

namespace {

bool overlap(const Transfer& a, const Transfer& b) {
  return a.offset < b.offset + b.count && b.offset < a.offset + a.count;
}

/// Elements that arrive in pieces, each of which is combined as soon as all who send it have.
struct Landing {
  Block elements;
  std::vector<Flight> flights;
};

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
  combine_blocks(request, in, buffer + begin * element, end - begin);
}

}  // namespace

void Network::run(const Schedule& schedule, char* buffer, const Operation& operation) {
  for (size_t number = 0; number < schedule.size(); ++number) run_round(schedule[number], number, buffer, operation);
}

void Network::run_round(const Round& round, size_t number, char* buffer, const Operation& operation) {
  const size_t element = operation.request.element();
  const uint64_t piece = std::max<uint64_t>(1, kPieceBytes / element);
  // What is combined, or would overwrite what is being sent, waits beside the buffer.
  std::vector<bool> beside;
  size_t bytes = 0;
  for (const Transfer& t : round.receives) {
    bool hold = round.combine;
    for (const Transfer& s : round.sends) hold = hold || overlap(s, t);
    beside.push_back(hold);
    if (hold) bytes += t.count * element;
  }
  char* place = arrived_.take(bytes);
  Arrivals arrived;
  std::vector<char*> targets;
  for (size_t i = 0; i < round.receives.size(); ++i) {
    const Transfer& t = round.receives[i];
    targets.push_back(beside[i] ? place : buffer + t.offset * element);
    if (!beside[i]) continue;
    arrived.transfers.push_back(&t);
    arrived.data.push_back(place);
    place += t.count * element;
  }
  // What is combined while more of it is on its way.
  std::vector<Landing> landings;
  for (const Block& elements : landings_of(round))
    landings.push_back({elements, std::vector<Flight>((elements.count + piece - 1) / piece)});
  Flight rest;
  for (size_t i = 0; i < round.receives.size(); ++i) {
    const Transfer& t = round.receives[i];
    const auto mine = std::ranges::find(landings, t.offset, [](const Landing& l) { return l.elements.offset; });
    for (uint64_t k = 0, at = 0; at < t.count; ++k, at += piece)
      receive(mine == landings.end() ? rest : mine->flights[k], static_cast<uint32_t>(t.peer), kData,
              targets[i] + at * element, std::min(piece, t.count - at) * element);
  }
  for (const Transfer& s : round.sends) {
    const auto to = static_cast<uint32_t>(s.peer);
    for (uint64_t at = 0; at < s.count; at += piece)
      send(rest, to, kData, buffer + (s.offset + at) * element, std::min(piece, s.count - at) * element);
    if (trace_) trace_->sent(communicator_, operation, number, to, s.count * element);
  }
  const auto me = static_cast<int>(communicator_.rank());
  for (Landing& l : landings)
    for (uint64_t k = 0; k < l.flights.size(); ++k) {
      land(l.flights[k], operation);
      combine_range(operation.request, arrived, me, buffer, l.elements.offset + k * piece,
                    l.elements.offset + std::min(l.elements.count, (k + 1) * piece));
    }
  land(rest, operation);
  if (!landings.empty()) return;
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
      combine_range(operation.request, arrived, static_cast<int>(communicator_.rank()), buffer, borders[b],
                    borders[b + 1]);
}

}  // namespace updraft::collective
