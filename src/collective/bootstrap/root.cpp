#include "collective/bootstrap/root.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/log.h"
#include "collective/bootstrap/address.h"
#include "collective/bootstrap/protocol.h"

namespace updraft::collective {
namespace {

constexpr size_t kStrangers = 256;  // connections that have not proven themselves yet
constexpr auto kPatience = std::chrono::seconds(10);
constexpr auto kShortPatience = std::chrono::milliseconds(500);  // of a stranger whose place another one wants
constexpr uint32_t kMostRanks = 1 << 16;
constexpr uint32_t kLongestFrame = 64u << 20;

// Loop's thread, by port. Never destroyed: that thread outlives the statics.
auto& g_lingering = *new std::map<uint16_t, std::weak_ptr<Root>>;

std::string list_of(const std::vector<uint32_t>& ranks) {
  std::string text;
  for (size_t i = 0; i < ranks.size() && i < 16; ++i) text += fmt::format("{}{}", i ? ", " : "", ranks[i]);
  if (ranks.size() > 16) text += fmt::format(" and {} more", ranks.size() - 16);
  return text;
}

}  // namespace

std::shared_ptr<Root> Root::open(const RootOptions& options) {
  std::shared_ptr<Root> root(new Root(options));
  root->ranks_ = options.ranks;
  root->listener_ = listen_on(options.ip, options.port, &root->port_);
  if (root->listener_ < 0 && errno == EADDRINUSE && options.port && reclaim(options.port))
    root->listener_ = listen_on(options.ip, options.port, &root->port_);
  if (root->listener_ < 0)
    throw Error(result::kTcpConnect,
                "EI0019: {}:{} cannot be listened on: {}. Another job may use the port (HCCL_IF_BASE_PORT chooses the "
                "first of ours), or the address is not this host's (HCCL_IF_IP, HCCL_SOCKET_IFNAME)",
                options.ip, options.port, std::strerror(errno));
  UPDRAFT_LOG(kInfo, "HCCL", "the root listens on {}:{}", options.ip, root->port_);
  EventLoop::get().run([&] {
    root->self_ = root;
    EventLoop::get().add(root->listener_, EPOLLIN, [weak = root->weak_from_this()](uint32_t) {
      if (auto self = weak.lock()) self->accept_all();
    });
  });
  return root;
}

Root::~Root() {
  if (listener_ >= 0) ::close(listener_);
}

void Root::close() {
  EventLoop::get().post([self = shared_from_this()] {
    if (self->joined_ == 0) self->release();
  });
}

void Root::stop_listening() {
  if (listener_ < 0) return;
  EventLoop::get().remove(listener_);
  ::close(std::exchange(listener_, -1));
  if (deadline_) EventLoop::get().cancel(std::exchange(deadline_, 0));
  if (pause_) EventLoop::get().cancel(std::exchange(pause_, 0));
  for (auto& [pointer, guest] : std::map<Guest*, GuestPointer>(guests_))
    refuse(guest, result::kPara, "EI0015: all ranks have joined already");
}

void Root::release() {
  stop_listening();
  members_.clear();
  guests_.clear();
  waiting_.clear();
  // Not in the middle of one of our own functions.
  EventLoop::get().post([self = std::move(self_)] {});
}

// Who comes later must not be kept out by strangers who say nothing: the oldest of them goes.
bool Root::make_room() {
  if (guests_.size() < kStrangers) return true;
  const auto oldest = std::ranges::min_element(guests_, {}, [](const auto& entry) { return entry.second->since; });
  if (EventLoop::Clock::now() - oldest->second->since < kShortPatience) return false;
  refuse(GuestPointer(oldest->second), result::kTimeout, "EI0015: no proof of the key, and others wait");
  return true;
}

void Root::accept_all() {
  while (listener_ >= 0) {
    Endpoint from;
    int fd = accept4(listener_, from.raw(), &from.bytes, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (errno == EAGAIN || errno == EWOULDBLOCK) return;
      // No descriptors, no memory: who waits would wake this thread again and again.
      UPDRAFT_LOG(kError, "HCCL", "the root at {}:{} cannot take a connection: {}", options_.ip, port_,
                  std::strerror(errno));
      EventLoop::get().modify(listener_, 0);
      pause_ = EventLoop::get().at(EventLoop::Clock::now() + std::chrono::milliseconds(100), [weak = weak_from_this()] {
        auto self = weak.lock();
        if (!self || self->listener_ < 0) return;
        self->pause_ = 0;
        EventLoop::get().modify(self->listener_, EPOLLIN);
      });
      return;
    }
    const std::string ip = from.ip();
    if (options_.whitelist && std::ranges::find(options_.allowed, ip) == options_.allowed.end()) {
      UPDRAFT_LOG(kWarning, "HCCL", "EI0015: {} is not in HCCL_WHITELIST_FILE: refused", ip);
      ::close(fd);
      continue;
    }
    if (!make_room()) {
      UPDRAFT_LOG(kWarning, "HCCL", "EI0015: {} refused: {} connections have not proven themselves yet", ip,
                  kStrangers);
      ::close(fd);
      continue;
    }
    set_rendezvous_options(fd);
    auto guest = std::make_shared<Guest>();
    guest->connection = std::make_shared<Connection>(fd);
    guest->nonce = random_bytes(32);
    guest->ip = ip;
    guest->since = EventLoop::Clock::now();
    guests_[guest.get()] = guest;
    std::weak_ptr<Root> weak = weak_from_this();
    std::weak_ptr<Guest> weak_guest = guest;
    guest->connection->start(
        [weak, weak_guest](uint8_t type, const std::string& payload) {
          auto self = weak.lock();
          auto g = weak_guest.lock();
          if (!self || !g) return;
          try {
            self->on_frame(g, type, payload);
          } catch (const Error& e) { self->refuse(g, e.code(), e.text()); } catch (const std::exception& e) {
            self->refuse(g, result::kInternal, fmt::format("EI0015: {}", e.what()));
          }
        },
        [weak, weak_guest](const std::string& why) {
          auto self = weak.lock();
          auto g = weak_guest.lock();
          if (self && g) self->on_end(g, why);
        });
    guest->timer = EventLoop::get().at(EventLoop::Clock::now() + kPatience, [weak, weak_guest] {
      auto self = weak.lock();
      auto g = weak_guest.lock();
      if (self && g && g->rank < 0) self->refuse(g, result::kTimeout, "EI0015: no proof of the key within 10 s");
    });
    guest->connection->send(kChallenge, guest->nonce);
  }
}

void Root::refuse(const GuestPointer& guest, int code, const std::string& text) {
  UPDRAFT_LOG(kWarning, "HCCL", "{} is refused at the root: {}", guest->ip, text);
  guest->connection->send(kRefused, Writer().u32(static_cast<uint32_t>(code)).bytes(text).text());
  guest->proven ? guest->connection->finish() : guest->connection->close();  // strangers keep no descriptor here
  EventLoop::get().cancel(guest->timer);
  guests_.erase(guest.get());
  if (guest->rank >= 0) on_end(guest, "its messages make no sense");
}

void Root::on_hello(const GuestPointer& guest, const std::string& payload) {
  Reader reader(payload);
  const uint32_t rank = reader.u32(), ranks = reader.u32();
  const std::string nonce(reader.bytes(32)), proof(reader.bytes(32));
  const std::string want = proof_of(options_.key, "member", guest->nonce, nonce, rank, ranks);
  if (!equal_in_constant_time(proof.data(), want.data(), want.size())) {
    refuse(guest, result::kPara,
           "EI0015: it does not know the key of this communicator (an old root info, another rank table or "
           "UPDRAFT_HCCL_SECRET, or a stranger)");
    return;
  }
  guest->proven = true;
  if (ranks_ == 0 && ranks <= kMostRanks) ranks_ = ranks;
  if (ranks != ranks_ || rank >= ranks_) {
    refuse(
        guest, result::kPara,
        fmt::format("EI0015: it says rank {} of {}, the communicator has {} ranks: all ranks must pass the same number "
                    "and a rank below it",
                    rank, ranks, ranks_));
    return;
  }
  if (verdict_) {
    told_.insert(rank);
    refuse(guest, verdict_->code(), verdict_->text());
    if (told_.size() >= ranks_) release();
    return;
  }
  if (members_.contains(rank) || gone_.contains(rank)) {
    refuse(guest, result::kPara,
           fmt::format("EI0015: rank {} has joined already: two processes have the same rank", rank));
    return;
  }
  if (joined_ == 0 && ranks_ > 1)
    deadline_ = EventLoop::get().at(EventLoop::Clock::now() + seconds(options_.timeout), [weak = weak_from_this()] {
      if (auto self = weak.lock()) self->out_of_time();
    });
  guest->rank = static_cast<int>(rank);
  EventLoop::get().cancel(guest->timer);
  guests_.erase(guest.get());
  members_[rank] = guest;
  ++joined_;
  ++present_;
  guest->connection->set_limit(kLongestFrame);
  guest->connection->send(kWelcome, proof_of(options_.key, "root", nonce, guest->nonce, rank, ranks));
  if (joined_ == ranks_) stop_listening();
}

void Root::out_of_time() {
  deadline_ = 0;
  std::vector<uint32_t> missing;
  for (uint32_t r = 0; r < ranks_; ++r)
    if (!members_.contains(r)) missing.push_back(r);
  const std::string text = fmt::format(
      "EI0015: {} of {} ranks did not join within {} s: rank {}. See whether these processes run and reach {}:{} "
      "(HCCL_CONNECT_TIMEOUT sets the time, HCCL_IF_IP and HCCL_SOCKET_IFNAME the address)",
      missing.size(), ranks_, options_.timeout, list_of(missing), options_.ip, port_);
  UPDRAFT_LOG(kError, "HCCL", "{}", text);
  give_up(Error(result::kTimeout, "{}", text));
}

// Says why to all who have joined; those who come later are told, too, instead of waiting for a root that is gone.
void Root::give_up(const Error& verdict) {
  verdict_ = verdict;
  each_member([&](uint32_t rank, const GuestPointer& guest) {
    guest->connection->send(kRefused, Writer().u32(static_cast<uint32_t>(verdict.code())).bytes(verdict.text()).text());
    guest->connection->finish();
    told_.insert(rank);
  });
  for (auto [rank, left] : gone_) told_.insert(rank);
  members_.clear();
  waiting_.clear();
  gathers_.clear();
  if (told_.size() >= ranks_) return release();
  g_lingering[port_] = weak_from_this();
  if (deadline_) EventLoop::get().cancel(deadline_);
  deadline_ = EventLoop::get().at(EventLoop::Clock::now() + seconds(options_.timeout), [weak = weak_from_this()] {
    auto self = weak.lock();
    if (!self) return;
    self->deadline_ = 0;
    self->release();
  });
}

// A new root takes over the port of one that only tells late ones of its failure.
bool Root::reclaim(uint16_t port) {
  bool found = false;
  EventLoop::get().run([&] {
    const auto it = g_lingering.find(port);
    if (it == g_lingering.end()) return;
    if (auto root = it->second.lock()) {
      root->release();
      found = true;
    }
    g_lingering.erase(port);
  });
  return found;
}

void Root::on_frame(const GuestPointer& guest, uint8_t type, const std::string& payload) {
  if (guest->rank < 0) {
    if (type != kHello) throw Error(result::kPara, "EI0015: frame {} comes before the proof of the key", type);
    on_hello(guest, payload);
    return;
  }
  const auto rank = static_cast<uint32_t>(guest->rank);
  Reader reader(payload);
  switch (type) {
    case kExchange: {
      const uint32_t id = reader.u32();
      Gather& gather = gathers_[id];
      gather.blobs.resize(ranks_);
      gather.from.resize(ranks_);
      if (gather.from[rank]) throw Error(result::kPara, "EI0015: rank {} sent its part of exchange {} twice", rank, id);
      gather.from[rank] = true;
      gather.blobs[rank] = reader.rest();
      if (++gather.arrived < ranks_) break;
      Writer all;
      all.u32(id);
      for (const std::string& blob : gather.blobs) all.sized(blob);
      gathers_.erase(id);
      each_member([&](uint32_t, const GuestPointer& member) { member->connection->send(kGathered, all.text()); });
      break;
    }
    case kPut: {
      const std::string key(reader.sized()), value(reader.rest());
      values_[key] = value;
      for (const Waiting& waiter : waiting_[key])
        waiter.guest->connection->send(kValue, Writer().sized(key).bytes(value).text());
      waiting_.erase(key);
      break;
    }
    case kGet: {
      const uint32_t source = reader.u32();
      const std::string key(reader.rest());
      if (auto it = values_.find(key); it != values_.end()) {
        guest->connection->send(kValue, Writer().sized(key).bytes(it->second).text());
      } else if (gone_.contains(source)) {
        guest->connection->send(kNone, key);
      } else {
        waiting_[key].push_back({guest, source});
      }
      break;
    }
    case kFault: {
      const std::string text = Writer().u32(rank).bytes(payload).text();
      each_member([&](uint32_t other, const GuestPointer& member) {
        if (other != rank) member->connection->send(kFault, text);
      });
      break;
    }
    case kLeave: guest->left = true; break;
    default: throw Error(result::kPara, "EI0015: frame {} is unknown", type);
  }
}

void Root::on_end(const GuestPointer& guest, const std::string& why) {
  if (guest->rank < 0) {
    UPDRAFT_LOG(kWarning, "HCCL", "{} went away before it proved to know the key: {}", guest->ip, why);
    EventLoop::get().cancel(guest->timer);
    guests_.erase(guest.get());
    return;
  }
  const auto rank = static_cast<uint32_t>(guest->rank);
  if (!members_.erase(rank)) return;
  gone_[rank] = guest->left;
  --present_;
  for (auto& [key, waiters] : waiting_)
    std::erase_if(waiters, [&, &name = key](const Waiting& waiter) {
      if (waiter.source == rank && waiter.guest != guest) waiter.guest->connection->send(kNone, name);
      return waiter.source == rank || waiter.guest == guest;
    });
  if (!guest->left) UPDRAFT_LOG(kWarning, "HCCL", "rank {} ({}) has gone: {}", rank, guest->ip, why);
  const std::string text = Writer().u32(rank).u32(guest->left ? 1 : 0).text();
  each_member([&](uint32_t, const GuestPointer& member) { member->connection->send(kGone, text); });
  if (joined_ < ranks_) {
    // The others wait for all: say at once who is missing.
    const std::string refusal = fmt::format("EI0015: rank {} ended while the communicator was set up", rank);
    give_up(Error(result::kRemote, "{}", refusal));
    return;
  }
  if (present_ == 0) release();
}

}  // namespace updraft::collective
