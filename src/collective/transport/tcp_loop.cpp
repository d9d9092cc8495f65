#include "collective/transport/tcp_loop.h"

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "base/log.h"
#include "base/signals_blocked.h"
#include "collective/error.h"

namespace updraft::collective {
namespace {

using namespace std::chrono_literals;
constexpr size_t kScratch = 256 << 10;
constexpr auto kLeave = 2s;  // for the last bytes to arrive
constexpr auto kPart = 5s;   // between the ends of a peer's two connections

}  // namespace

Endpoint parse_tcp_address(const std::string& address) {
  const auto wrong = [&] {
    return Error(result::kPara, "\"{}\" is not the address of a TCP transport (wanted: tcp IP PORT NUMBER)",
                 address.substr(0, kAddressBytes));
  };
  const size_t ip = 4, port = address.find(' ', ip),
               number = port == std::string::npos ? port : address.find(' ', port + 1);
  if (address.compare(0, ip, "tcp ") != 0 || number == std::string::npos || address.size() >= kAddressBytes ||
      address.find('\0') != std::string::npos)
    throw wrong();
  uint16_t value = 0;
  const char* end = address.data() + number;
  const auto parsed = std::from_chars(address.data() + port + 1, end, value);
  if (parsed.ec != std::errc() || parsed.ptr != end || value == 0) throw wrong();
  return make_endpoint(address.substr(ip, port - ip), value);
}

TcpLoop::TcpLoop(const TransportOptions& options) : options_(options), scratch_(new char[kScratch]) {
  here_ = make_endpoint(options.bind_ip, 0);
  if (here_.any())
    throw Error(result::kPara, "{} is not an address that peers can reach; name one of this host's", options.bind_ip);
  for (const std::string& ip : options.allowed_ips) allowed_.push_back(make_endpoint(ip, 0).ip());
  listener_ = listen_at(here_, options.first_port, options.ports);
  const Nonce nonce = make_nonce();
  address_ = fmt::format("tcp {} {} ", here_.ip(), here_.port());
  for (size_t i = 0; i < 8; ++i) address_ += fmt::format("{:02x}", nonce[i]);

  epoll_ = Descriptor::from([] { return epoll_create1(EPOLL_CLOEXEC); });
  wake_ = Descriptor::from([] { return eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC); });
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.ptr = &wake_;
  if (!epoll_ || !wake_ || epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, wake_.get(), &event) != 0)
    throw Error(result::kSyscall, "no epoll for the transport: {}", std::strerror(errno));
  event.data.ptr = &listener_;
  listening_ = epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, listener_.get(), &event) == 0;

  const SignalsBlocked blocked;
  thread_ = std::thread([this] { loop(); });
  pthread_setname_np(thread_.native_handle(), "updraft-net");
}

TcpLoop::~TcpLoop() { stop(); }

bool TcpLoop::post(std::function<void()> call) {
  {
    std::lock_guard lock(mutex_);
    if (ended_) return false;
    calls_.push_back(std::move(call));
  }
  if (asleep_.exchange(false)) {
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t n = ::write(wake_.get(), &one, sizeof one);
  }
  return true;
}

void TcpLoop::stop() {
  if (!thread_.joinable()) return;
  post([this] {
    stopping_ = true;
    const Error error(result::kUnavail, "the transport was closed");
    const auto all = peers_;
    for (const auto& [name, peer] : all) fail(peer, error, Tell::Leave);
    while (!strangers_.empty()) close(*strangers_.front());
  });
  thread_.join();
}

void TcpLoop::run_calls() {
  std::vector<std::function<void()>> calls;
  {
    std::lock_guard lock(mutex_);
    calls.swap(calls_);
  }
  for (auto& call : calls) call();
}

void TcpLoop::loop() {
  next_tick_ = last_round_ = now_ = Clock::now();
  std::vector<epoll_event> events(64);
  while (!stopping_ || !links_.empty()) {
    asleep_ = true;
    bool calls;
    {
      std::lock_guard lock(mutex_);
      calls = !calls_.empty();
    }
    int wait = 0;
    if (!calls && next_tick_ == Clock::time_point::max()) wait = -1;
    else if (!calls)
      wait = static_cast<int>(std::clamp<int64_t>(
          std::chrono::ceil<std::chrono::milliseconds>(next_tick_ - Clock::now()).count(), 0, 60000));
    const int n = epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), wait);
    asleep_ = false;
    now_ = Clock::now();
    for (int i = 0; i < n; ++i) {
      if (void* const what = events[static_cast<size_t>(i)].data.ptr; what == &wake_) {
        uint64_t count;
        [[maybe_unused]] const ssize_t got = ::read(wake_.get(), &count, sizeof count);
      } else if (what == &listener_) {
        accept_all();
      } else {
        on_event(*static_cast<TcpLink*>(what), events[static_cast<size_t>(i)].events);
      }
    }
    run_calls();
    flush_dirty();
    if (now_ >= next_tick_) tick();
    flush_dirty();
    last_round_ = now_;
    closed_.clear();
  }
  std::vector<std::function<void()>> late;
  {
    std::lock_guard lock(mutex_);
    ended_ = true;
    late.swap(calls_);
  }
  for (auto& call : late) call();
  dirty_.clear();
  closed_.clear();
  while (!links_.empty()) close(*links_.begin()->second);
  closed_.clear();
}

std::shared_ptr<TcpPeer> TcpLoop::find_or_make(const std::string& address, const Endpoint& endpoint, const KeyId& key) {
  auto& peer = peers_[PeerName(key, address)];
  if (!peer) peer = std::make_shared<TcpPeer>(address, endpoint, key);
  return peer;
}

std::shared_ptr<TcpPeer> TcpLoop::adopt(const std::string& address, const Endpoint& endpoint, const std::string& key) {
  if (stopping_) throw Error(result::kUnavail, "the transport is being closed");
  const KeyId id = id_of(key);
  Key& known = keys_[id];
  if (known.handles == 0) known.key = key;
  ++known.handles;
  std::shared_ptr<TcpPeer> peer = find_or_make(address, endpoint, id);
  ++peer->handles;
  const std::vector<TcpLink*> waiting(strangers_.begin(), strangers_.end());
  for (TcpLink* link : waiting)
    if (link->phase == TcpLink::Phase::Parked && link->hello.key == id) challenge(*link, known);
  return peer;
}

void TcpLoop::release(const std::shared_ptr<TcpPeer>& peer) {
  const auto key = keys_.find(peer->key);
  if (--peer->handles == 0) {
    fail(peer, Error(result::kUnavail, "the connection was released"), Tell::Leave);
    const auto found = peers_.find(PeerName(peer->key, peer->address));
    if (found != peers_.end() && found->second == peer) peers_.erase(found);
  }
  if (key == keys_.end() || --key->second.handles > 0) return;
  keys_.erase(key);
  std::vector<std::shared_ptr<TcpPeer>> unused;
  for (const auto& [name, other] : peers_)
    if (name.first == peer->key) unused.push_back(other);
  for (const auto& other : unused) {
    fail(other, Error(result::kUnavail, "the connection was released"), Tell::Leave);
    peers_.erase(PeerName(other->key, other->address));
  }
}

void TcpLoop::send(const std::shared_ptr<TcpPeer>& peer, uint64_t tag, const void* data, size_t bytes,
                   Completion done) {
  if (peer->error) return done ? done(&*peer->error) : void();
  peer->sender.send(tag, data, bytes, std::move(done));
  ensure_connected(peer);
  mark_dirty(peer);
}

void TcpLoop::receive(const std::shared_ptr<TcpPeer>& peer, uint64_t tag, void* data, size_t bytes, Completion done) {
  if (peer->error) {
    if (!peer->receiver.take_arrived(tag, data, bytes, done) && done) done(&*peer->error);
    return;
  }
  try {
    peer->receiver.receive(tag, data, bytes, std::move(done));
    ensure_connected(peer);  // a receive alone must notice the peer's death as well
    mark_dirty(peer);
  } catch (const PeerFailure& failure) { fail(peer, failure); }
}

void TcpLoop::fail(const std::shared_ptr<TcpPeer>& peer, const Error& error, Tell tell, bool keep_arrived) {
  if (peer->error) return;
  const Error local(error.code(), "peer {}: {}", peer->where, error.text());
  peer->error.emplace(local);
  peer->wanted = false;
  peer->parting.reset();
  UPDRAFT_LOG(kInfo, "HCCL", "{}", local.text());
  const Error* const told = tell == Tell::Why ? &error : nullptr;
  peer->sender.fail(local, told);
  peer->receiver.fail(local, told, keep_arrived);
  // What is told leaves first: a connection that ends unsaid must not overtake it.
  for (TcpLink* link : {peer->out, peer->in})
    if (link && tell != Tell::Close && link->phase == TcpLink::Phase::Open) leave(*link);
  for (TcpLink* link : {peer->out, peer->in})
    if (link) close(*link);
}

void TcpLoop::mark_dirty(const std::shared_ptr<TcpPeer>& peer) {
  if (std::exchange(peer->dirty, true)) return;
  dirty_.push_back(peer);
}

void TcpLoop::flush_dirty() {
  while (!dirty_.empty()) {
    const std::shared_ptr<TcpPeer> peer = std::move(dirty_.back());
    dirty_.pop_back();
    peer->dirty = false;
    if (TcpLink* out = peer->out; out && out->phase == TcpLink::Phase::Open) flush(*out);
    if (TcpLink* in = peer->in; in && in->phase == TcpLink::Phase::Open) flush(*in);
  }
}

void TcpLoop::flush(TcpLink& link) {
  const std::shared_ptr<TcpPeer> peer = link.peer;
  if (!link.outbox().empty()) {
    link.last_write = now_;
    if (link.outbox().flush(link.socket.get()) == Outbox::Result::Broken) return on_broken(link, errno);
  }
  const bool more = !link.outbox().empty();
  if (link.phase == TcpLink::Phase::Leaving && !more && !std::exchange(link.shut, true))
    ::shutdown(link.socket.get(), SHUT_WR);
  watch(link, EPOLLIN | (more ? EPOLLOUT : 0u));
}

void TcpLoop::on_event(TcpLink& link, uint32_t events) {
  if (!link.socket) return;  // closed earlier in this round
  if (TcpLink::before_open(link.phase)) return on_handshake(link, events);
  if (link.phase == TcpLink::Phase::Open) return on_open(link, events);
  if (events & EPOLLOUT) flush(link);
  if (!link.socket || !(events & (EPOLLIN | EPOLLHUP | EPOLLERR))) return;
  const TcpLink::Read got = link.discard(scratch_.get(), kScratch);
  if (got == TcpLink::Read::End || got == TcpLink::Read::Broken) close(link);
}

void TcpLoop::on_open(TcpLink& link, uint32_t events) {
  if (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) {
    link.last_read = now_;
    try {
      const TcpLink::Read got = link.read_frames(scratch_.get(), kScratch);
      if (got == TcpLink::Read::End || got == TcpLink::Read::Broken)
        return on_end(link, got == TcpLink::Read::Broken, errno);
    } catch (const PeerFailure& failure) { return on_failure(link, failure); }
  }
  flush(link);
}

void TcpLoop::on_failure(TcpLink& link, const PeerFailure& failure) {
  const std::shared_ptr<TcpPeer> peer = link.peer;
  if (failure.tell || !link.initiator) return fail(peer, failure);
  close(link);  // it has given up, and its last messages may still be on their way on the other connection
  part(peer, failure.error);
}

/// Nothing can be written to the link any more. What the peer sent before it went may wait here unread.
void TcpLoop::on_broken(TcpLink& link, int error) {
  try {
    while (link.phase == TcpLink::Phase::Open && link.read_frames(scratch_.get(), kScratch) == TcpLink::Read::More) {}
  } catch (const PeerFailure& failure) { return on_failure(link, failure); }
  on_end(link, true, error);
}

/// `out` has ended. Its end must not overtake what comes on `in`, which ends soon.
void TcpLoop::part(const std::shared_ptr<TcpPeer>& peer, Error why) {
  if (!peer->in) return fail(peer, why, Tell::Close, true);
  peer->parting.emplace(std::move(why));
  peer->parting_over = now_ + kPart;
  due(peer->parting_over);
}

void TcpLoop::on_end(TcpLink& link, bool broken, int error) {
  const std::shared_ptr<TcpPeer> peer = link.peer;
  if (link.phase == TcpLink::Phase::Leaving) return close(link);
  const bool middle = link.in_frame() || (!link.initiator && peer->receiver.unfinished() > 0);
  const bool initiator = link.initiator;
  close(link);
  const Error why(result::kRemote, "{}{}: the process has ended or has given up",
                  broken ? std::strerror(error) : "it closed the connection",
                  middle ? " in the middle of a message" : "");
  if (initiator) return part(peer, why);
  if (TcpLink* const out = peer->out; !peer->parting && out && out->phase == TcpLink::Phase::Open) {
    try {  // it may have said why on the other connection
      out->read_frames(scratch_.get(), kScratch);
    } catch (const PeerFailure& failure) { return fail(peer, failure); }
  }
  const Error known = peer->parting.value_or(why);
  fail(peer, known, Tell::Close, true);
}

void TcpLoop::watch(TcpLink& link, uint32_t interest) {
  if (!link.socket || link.interest == interest) return;
  epoll_event event{};
  event.events = link.interest = interest;
  event.data.ptr = &link;
  epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, link.socket.get(), &event);
}

void TcpLoop::leave(TcpLink& link) {
  link.phase = TcpLink::Phase::Leaving;
  link.deadline = now_ + kLeave;
  due(link.deadline);
  TcpLink*& mine = link.initiator ? link.peer->out : link.peer->in;
  if (mine == &link) mine = nullptr;
  flush(link);
}

void TcpLoop::close(TcpLink& link) {
  if (!link.socket) return;
  // A forked child may hold the socket a moment longer, so closing alone would not end its events.
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, link.socket.get(), nullptr);
  link.socket.close();
  std::erase(strangers_, &link);
  if (link.peer) {
    if (link.peer->out == &link) link.peer->out = nullptr;
    if (link.peer->in == &link) link.peer->in = nullptr;
  }
  const auto found = links_.find(&link);
  closed_.push_back(std::move(found->second));
  links_.erase(found);
}

}  // namespace updraft::collective
