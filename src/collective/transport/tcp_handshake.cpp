// How connections begin: ours, with new tries until the time-out, and those of others, who are strangers until they
// have proved that they have a key.
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/log.h"
#include "collective/error.h"
#include "collective/transport/tcp_loop.h"

namespace updraft::collective {
namespace {

using namespace std::chrono_literals;
using Phase = TcpLink::Phase;
constexpr size_t kStrangers = 256;  // at a time; the oldest has to go when there are more
constexpr int kLogged = 20;         // strangers a minute

size_t awaited(Phase phase) {
  switch (phase) {
    case Phase::AwaitHello: return sizeof(Hello);
    case Phase::AwaitChallenge: return sizeof(Challenge);
    case Phase::AwaitProof: return sizeof(Proof);
    default: return sizeof(Welcome);
  }
}

template <class Message>
Message read_as(const char* bytes) {
  Message message;
  std::memcpy(&message, bytes, sizeof message);
  return message;
}

}  // namespace

TcpLink& TcpLoop::add_link(Descriptor socket, Phase phase, std::string where, uint32_t interest) {
  auto link = std::make_unique<TcpLink>();
  link->socket = std::move(socket);
  link->phase = phase;
  link->where = std::move(where);
  link->last_read = link->last_write = now_;
  link->deadline = now_ + options_.handshake_timeout;
  link->interest = interest;
  due(link->deadline);
  epoll_event event{};
  event.events = interest;
  event.data.ptr = link.get();
  epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, link->socket.get(), &event);
  TcpLink& added = *link;
  links_.emplace(&added, std::move(link));
  return added;
}

void TcpLoop::ensure_connected(const std::shared_ptr<TcpPeer>& peer) {
  if (peer->wanted || peer->parting) return;
  peer->wanted = true;
  peer->give_up = now_ + options_.connect_timeout;
  due(peer->give_up);
  connect(peer);
}

void TcpLoop::connect(const std::shared_ptr<TcpPeer>& peer) {
  Endpoint to = peer->endpoint;
  if (to.link_local() && here_.link_local())  // the scope is ours: its number means nothing on another host
    reinterpret_cast<sockaddr_in6&>(to.storage).sin6_scope_id =
        reinterpret_cast<const sockaddr_in6&>(here_.storage).sin6_scope_id;
  Descriptor socket = open_stream_socket(to.family());
  const int fd = socket.get();
  TcpLink* link = nullptr;
  if (socket) {
    set_connection_options(fd);
    if (here_.family() == to.family() && !here_.loopback()) {
      // Peers know us by this address; another one of this host may not be routed or allowed.
      Endpoint from = here_;
      from.set_port(0);
      const int on = 1;
      setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
      [[maybe_unused]] const int code = ::bind(fd, from.raw(), from.bytes);
    }
    if (::connect(fd, to.raw(), to.bytes) == 0 || errno == EINPROGRESS) {
      link = &add_link(std::move(socket), Phase::Connecting, peer->where, EPOLLOUT);
      link->initiator = true;
      link->peer = peer;
      peer->out = link;
      return;
    }
  }
  peer->last_reason = std::strerror(errno);
  peer->pause = std::clamp<std::chrono::milliseconds>(peer->pause * 2, 20ms, 1000ms);
  peer->next_try = now_ + peer->pause;
  due(peer->next_try);
}

void TcpLoop::try_again(TcpLink& link, const std::string& reason) {
  const std::shared_ptr<TcpPeer> peer = link.peer;
  close(link);
  if (reason != peer->last_reason) UPDRAFT_LOG(kInfo, "HCCL", "no connection to {} yet: {}", peer->where, reason);
  peer->last_reason = reason;
  peer->pause = std::clamp<std::chrono::milliseconds>(peer->pause * 2, 20ms, 1000ms);
  peer->next_try = now_ + peer->pause;
  due(peer->next_try);
}

void TcpLoop::accept_all() {
  for (int i = 0; i < 64; ++i) {
    Endpoint from;
    Descriptor socket = Descriptor::from(
        [&] { return ::accept4(listener_.get(), from.raw(), &from.bytes, SOCK_NONBLOCK | SOCK_CLOEXEC); });
    if (socket) {
      admit(std::move(socket), from);
      continue;
    }
    if (errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM) return;
    log_stranger("somebody",
                 fmt::format("not accepted: {}; raise the limit of open files (ulimit -n)", std::strerror(errno)));
    if (!strangers_.empty()) refuse(*strangers_.front(), "another connection needs its place");
    // The listener would be ready again at once: let some time pass.
    epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, listener_.get(), nullptr);
    listening_ = false;
    listen_again_ = now_ + 100ms;
    return due(listen_again_);
  }
}

void TcpLoop::admit(Descriptor socket, const Endpoint& from) {
  if (stopping_) return;
  if (!allowed_.empty() && std::find(allowed_.begin(), allowed_.end(), from.ip()) == allowed_.end())
    return log_stranger(from.text(), "its address is not on the whitelist (HCCL_WHITELIST_FILE)");
  while (strangers_.size() >= kStrangers) refuse(*strangers_.front(), "another connection needs its place");
  set_connection_options(socket.get());
  strangers_.push_back(&add_link(std::move(socket), Phase::AwaitHello, from.text(), EPOLLIN));
}

void TcpLoop::log_stranger(const std::string& where, const std::string& why) {
  if (now_ - log_window_ > 60s) {
    if (logged_ > kLogged) UPDRAFT_LOG(kWarning, "HCCL", "{} more connections were refused", logged_ - kLogged);
    log_window_ = now_;
    logged_ = 0;
  }
  if (++logged_ <= kLogged)
    UPDRAFT_LOG(kWarning, "HCCL", "a connection from {} to {} was refused: {}", where, here_.text(), why);
}

void TcpLoop::refuse(TcpLink& link, const std::string& why) {
  log_stranger(link.where, why);
  close(link);
}

void TcpLoop::on_handshake(TcpLink& link, uint32_t events) {
  if (link.phase == Phase::Connecting) {
    int error = 0;
    socklen_t bytes = sizeof error;
    getsockopt(link.socket.get(), SOL_SOCKET, SO_ERROR, &error, &bytes);
    if (error != 0) return try_again(link, std::strerror(error));
    if (!(events & EPOLLOUT)) return;
    link.hello = {kMagic, link.peer->key, make_nonce()};
    link.phase = Phase::AwaitChallenge;
    watch(link, EPOLLIN);
    if (!link.write_small(&link.hello, sizeof link.hello)) try_again(link, "it closed the connection");
    return;
  }
  if (link.phase == Phase::Parked) {  // nothing is due from it: it has gone, or does not follow the protocol
    char extra;
    if (::recv(link.socket.get(), &extra, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN) return;
    return refuse(link, "it left, or sent more, before its key was known");
  }
  const TcpLink::Read got = link.read_small(awaited(link.phase));
  if (got == TcpLink::Read::Nothing) return;
  if (got != TcpLink::Read::More)
    return link.initiator ? try_again(link, "it closed the connection during the handshake (has it another key?)")
                          : refuse(link, "it left during the handshake");
  switch (link.phase) {
    case Phase::AwaitHello: return on_hello(link);
    case Phase::AwaitChallenge: return on_challenge(link);
    case Phase::AwaitProof: return on_proof(link);
    default: return on_welcome(link);
  }
}

void TcpLoop::on_hello(TcpLink& link) {
  link.hello = read_as<Hello>(link.small);
  if (link.hello.magic != kMagic) return refuse(link, "it does not speak our protocol");
  const auto key = keys_.find(link.hello.key);
  if (key != keys_.end()) return challenge(link, key->second);
  link.phase = Phase::Parked;  // a peer may be quicker than this process
}

void TcpLoop::challenge(TcpLink& link, const Key& key) {
  link.nonce = make_nonce();
  const Challenge message{kMagic, link.nonce, acceptor_proof(key.key, link.hello.nonce, link.nonce)};
  link.phase = Phase::AwaitProof;
  if (!link.write_small(&message, sizeof message)) refuse(link, "it left during the handshake");
}

void TcpLoop::on_challenge(TcpLink& link) {
  const auto message = read_as<Challenge>(link.small);
  const auto key = keys_.find(link.hello.key);
  if (key == keys_.end()) return close(link);  // released meanwhile
  const Digest wanted = acceptor_proof(key->second.key, link.hello.nonce, message.nonce);
  if (message.magic != kMagic || !equal_in_constant_time(wanted.data(), message.proof.data(), wanted.size()))
    return try_again(link, "it has not the key, or does not speak our protocol");
  Proof proof;
  proof.proof = initiator_proof(key->second.key, link.hello.nonce, message.nonce, address_, link.peer->address);
  std::copy(address_.begin(), address_.end(), proof.address.begin());
  link.phase = Phase::AwaitWelcome;
  if (!link.write_small(&proof, sizeof proof)) try_again(link, "it closed the connection");
}

void TcpLoop::on_proof(TcpLink& link) {
  const auto message = read_as<Proof>(link.small);
  const auto key = keys_.find(link.hello.key);
  const std::string address(message.address.data(), strnlen(message.address.data(), message.address.size()));
  if (key == keys_.end()) return refuse(link, "its key is no longer in use");
  const Digest wanted = initiator_proof(key->second.key, link.hello.nonce, link.nonce, address, address_);
  if (!equal_in_constant_time(wanted.data(), message.proof.data(), wanted.size()))
    return refuse(link, "it has not the key, or looks for another process");
  Endpoint endpoint;
  try {
    endpoint = parse_tcp_address(address);
  } catch (const Error& error) { return refuse(link, error.text()); }
  const std::shared_ptr<TcpPeer> peer = find_or_make(address, endpoint, link.hello.key);
  Welcome welcome;
  if (peer->error || (peer->in && !peer->receiver.untouched())) welcome.status = Welcome::kGivenUp;
  if (!link.write_small(&welcome, sizeof welcome)) return refuse(link, "it left during the handshake");
  if (welcome.status != Welcome::kGoOn) return refuse(link, "it has been given up before");
  if (peer->in) close(*peer->in);  // of an earlier try, which it has given up
  std::erase(strangers_, &link);
  link.peer = peer;
  peer->in = &link;
  open(link);
}

void TcpLoop::on_welcome(TcpLink& link) {
  const auto message = read_as<Welcome>(link.small);
  if (message.magic != kMagic) return try_again(link, "it does not speak our protocol");
  if (message.status != Welcome::kGoOn)
    return fail(std::shared_ptr(link.peer), Error(result::kRemote, "it has given up this process"), Tell::Close, true);
  open(link);
}

void TcpLoop::open(TcpLink& link) {
  link.phase = Phase::Open;
  link.last_read = link.last_write = now_;
  due(now_ + options_.heartbeat);
  UPDRAFT_LOG(kInfo, "HCCL", "connected {} {}", link.initiator ? "to" : "from", link.peer->where);
  mark_dirty(link.peer);
}

void TcpLoop::tick_peer(const std::shared_ptr<TcpPeer>& peer) {
  if (peer->error) return;
  if (peer->parting) {
    if (now_ < peer->parting_over) return due(peer->parting_over);
    const Error why = *peer->parting;
    return fail(peer, why, Tell::Close, true);
  }
  if (!peer->wanted || (peer->out && peer->out->phase == Phase::Open)) return;
  if (now_ >= peer->give_up)
    return fail(
        peer,
        Error(result::kTimeout,
              "EI0006: no connection within {} s: {}; see that the process runs, that the network lets it through, or "
              "raise HCCL_CONNECT_TIMEOUT",
              std::chrono::duration<double>(options_.connect_timeout).count(),
              peer->last_reason.empty() ? "no answer" : peer->last_reason),
        Tell::Why);
  if (!peer->out && now_ >= peer->next_try) connect(peer);
  due(peer->give_up);
  if (!peer->out) due(peer->next_try);
}

void TcpLoop::tick_link(TcpLink& link) {
  const std::shared_ptr<TcpPeer> peer = link.peer;
  if (link.phase == Phase::Open) {
    if (now_ - link.last_read >= options_.lost_after)
      return fail(peer,
                  Error(result::kRemote, "LOST: no sign of life for {} s; the process hangs or the network is down",
                        std::chrono::duration<double>(options_.lost_after).count()),
                  Tell::Why);
    if (now_ - link.last_write >= options_.heartbeat) {
      link.last_write = now_;
      if (link.outbox().empty()) link.outbox().push({Frame::Alive});
      mark_dirty(peer);
    }
    return due(std::min(link.last_write + options_.heartbeat, link.last_read + options_.lost_after));
  }
  if (now_ < link.deadline) return due(link.deadline);
  if (link.phase == Phase::Leaving) return close(link);
  if (link.initiator) return try_again(link, "no answer");
  refuse(link, link.phase == Phase::Parked ? "its key is not known here" : "its handshake took too long");
}

void TcpLoop::tick() {
  next_tick_ = Clock::time_point::max();
  if (now_ - last_round_ > options_.lost_after / 2)  // this process was stopped: the silence was ours
    for (auto& [pointer, link] : links_) link->last_read += now_ - last_round_;
  if (!listening_) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.ptr = &listener_;
    if (now_ >= listen_again_) listening_ = epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, listener_.get(), &event) == 0;
    if (!listening_) due(now_ + 100ms);
  }
  std::vector<TcpLink*> links;  // those that end are in closed_ until the round is over
  for (auto& [pointer, link] : links_) links.push_back(pointer);
  for (TcpLink* link : links)
    if (link->socket) tick_link(*link);
  std::vector<std::shared_ptr<TcpPeer>> peers;
  for (auto& [name, peer] : peers_) peers.push_back(peer);
  for (const auto& peer : peers) tick_peer(peer);
}

}  // namespace updraft::collective
