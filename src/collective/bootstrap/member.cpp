#include "collective/bootstrap/member.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include "base/log.h"
#include "collective/bootstrap/address.h"
#include "collective/bootstrap/protocol.h"

namespace updraft::collective {
namespace {

constexpr uint32_t kLongestFrame = 256u << 20;
constexpr auto kLook = std::chrono::milliseconds(100);  // between two checks

// A failure stays one, whatever number somebody else gave it.
int code_of(uint32_t sent) {
  return sent >= 1 && sent <= result::kOutOfMemory ? static_cast<int>(sent) : result::kInternal;
}

// A connected nonblocking socket, or -1 with errno.
int connect_once(const Endpoint& root, EventLoop::Clock::time_point deadline) {
  int fd = socket(root.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  int failure = 0;
  if (connect(fd, root.raw(), root.bytes) != 0) failure = errno;
  if (failure == EINPROGRESS) {
    auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - EventLoop::Clock::now()).count();
    pollfd wait{fd, POLLOUT, 0};
    int ready;
    while ((ready = poll(&wait, 1, static_cast<int>(std::clamp<int64_t>(left, 0, 60'000)))) < 0 && errno == EINTR) {}
    if (ready <= 0) {
      failure = ETIMEDOUT;
    } else {
      socklen_t size = sizeof failure;
      getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &size);
    }
  }
  if (!failure && meets_itself(fd, root)) failure = ECONNREFUSED;  // the root could not listen there then
  if (failure) {
    close(fd);
    errno = failure;
    return -1;
  }
  set_rendezvous_options(fd);
  return fd;
}

}  // namespace

std::shared_ptr<Member> Member::join(const std::string& ip, uint16_t port, const std::string& key, uint32_t rank,
                                     uint32_t ranks, Clock::time_point deadline, std::function<void()> check) {
  EventLoop::get().run([] {});  // refuses forked children before there is a socket
  const auto root = find_endpoint(ip, port);
  if (!root) throw Error(result::kPara, "EI0015: the root's address {} is neither IPv4 nor IPv6", ip);
  auto pause = std::chrono::milliseconds(5);
  const auto wait_a_little = [&] {
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::milliseconds(200));
  };
  for (std::optional<Error> before;; wait_a_little()) {
    if (check) check();
    const int fd = connect_once(*root, deadline);
    const bool in_time = Clock::now() + pause < deadline;
    if (fd < 0) {
      const int why = errno;
      if (before && (why == ECONNREFUSED || !in_time)) throw *before;
      if (in_time) continue;
      throw Error(result::kTimeout,
                  "EI0015: rank {} cannot reach the root at {}:{}: {}. See whether rank 0 runs, and which interface is "
                  "chosen (HCCL_IF_IP, HCCL_SOCKET_IFNAME; HCCL_CONNECT_TIMEOUT sets the time)",
                  rank, ip, port, std::strerror(why));
    }
    std::shared_ptr<Member> member(new Member);
    member->check_ = check;
    member->key_ = key;
    member->rank_ = rank;
    member->ranks_ = ranks;
    member->nonce_ = random_bytes(32);
    member->root_name_ = root->text();
    member->start(fd);
    try {
      member->wait<bool>(deadline, "an answer", [&] { return member->welcome_ ? std::optional(true) : std::nullopt; });
      return member;
    } catch (const Error& e) {
      // Shown out without a word: too many strangers stood before the root.
      std::lock_guard lock(member->mutex_);
      if (!member->shown_out_ || !in_time) throw;
      before = e;
    }
  }
}

void Member::start(int fd) {
  local_ip_ = own_endpoint(fd).ip();
  auto connection = std::make_shared<Connection>(fd);
  EventLoop::get().run([&] {
    connection_ = connection;
    std::weak_ptr<Member> weak = weak_from_this();
    connection_->start(
        [weak](uint8_t type, const std::string& payload) {
          auto self = weak.lock();
          if (!self) return;
          try {
            self->on_frame(type, payload);
          } catch (const std::exception& e) {
            self->connection_->close();
            self->on_end(e.what(), true);
          }
        },
        [weak](const std::string& why) {
          if (auto self = weak.lock()) self->on_end(why, false);
        });
  });
}

Member::~Member() {
  if (connection_) EventLoop::get().post([connection = std::move(connection_)] { connection->close(); });
}

template <class T>
T Member::wait(Clock::time_point deadline, const std::string& what, const std::function<std::optional<T>()>& ready) {
  std::unique_lock lock(mutex_);
  std::optional<T> value;
  // The root knows better who is missing: give it a moment to say so.
  const auto end = deadline + std::chrono::seconds(2);
  const auto over = [&] {
    value = ready();
    return value || failure_ || left_;
  };
  bool in_time;
  while (!(in_time = changed_.wait_until(lock, check_ ? std::min(end, Clock::now() + kLook) : end, over)) &&
         Clock::now() < end) {
    if (!check_) continue;
    lock.unlock();
    check_();
    lock.lock();
  }
  if (value) return std::move(*value);
  if (failure_) throw *failure_;
  if (in_time) throw Error(result::kUnavail, "EI0015: the communicator was destroyed");
  throw Error(result::kTimeout, "EI0015: rank {} got no {} from the root at {} in time (HCCL_CONNECT_TIMEOUT)", rank_,
              what, root_name_);
}

// With the lock. Who reports why it gives up leaves next: the report says more.
void Member::throw_if_gone() const {
  for (const auto& [rank, error] : faults_) throw Error(error.code(), "{} (reported by rank {})", error.text(), rank);
  if (failure_) throw *failure_;
  for (auto [rank, left] : gone_)
    throw Error(result::kRemote, "EI0015: rank {} {} while the communicator was set up", rank, how_gone(left));
}

void Member::check() {
  if (check_) check_();
  std::lock_guard lock(mutex_);
  throw_if_gone();
}

std::vector<std::string> Member::exchange(const std::string& blob, Clock::time_point deadline) {
  uint32_t id;
  {
    std::lock_guard lock(mutex_);
    id = next_exchange_++;
  }
  EventLoop::get().post([self = shared_from_this(), text = Writer().u32(id).bytes(blob).text()] {
    if (self->connection_) self->connection_->send(kExchange, text);
  });
  return wait<std::vector<std::string>>(deadline, "data of all ranks",
                                        [&]() -> std::optional<std::vector<std::string>> {
                                          auto it = gathered_.find(id);
                                          if (it == gathered_.end()) {
                                            throw_if_gone();
                                            return std::nullopt;
                                          }
                                          auto all = std::move(it->second);
                                          gathered_.erase(it);
                                          return all;
                                        });
}

void Member::put(const std::string& key, const std::string& value) {
  EventLoop::get().post([self = shared_from_this(), text = Writer().sized(key).bytes(value).text()] {
    if (self->connection_) self->connection_->send(kPut, text);
  });
}

std::string Member::get(const std::string& key, uint32_t source, Clock::time_point deadline) {
  EventLoop::get().post([self = shared_from_this(), text = Writer().u32(source).bytes(key).text()] {
    if (self->connection_) self->connection_->send(kGet, text);
  });
  return wait<std::string>(deadline, fmt::format("word of rank {}", source), [&]() -> std::optional<std::string> {
    auto it = values_.find(key);
    if (it == values_.end()) return std::nullopt;
    if (!it->second)
      throw Error(result::kRemote, "EI0015: rank {} has gone, from which rank {} wanted to hear of a communicator",
                  source, rank_);
    return it->second;
  });
}

void Member::watch(Events events) {
  check_ = nullptr;
  EventLoop::get().run([&] {
    Departed gone;
    std::vector<std::pair<uint32_t, Error>> faults;
    std::optional<Error> failure;
    {
      std::lock_guard lock(mutex_);
      events_ = std::move(events);
      gone = gone_;
      faults = faults_;
      failure = failure_;
    }
    for (auto [rank, left] : gone)
      if (events_.gone) events_.gone(rank, left);
    for (auto& [rank, error] : faults)
      if (events_.fault) events_.fault(rank, error);
    if (failure && events_.root_lost) events_.root_lost(failure->text());
  });
}

void Member::report(const Error& fault) {
  if (!EventLoop::get().usable()) return;  // a forked child has no connection
  // Returns when it is sent: the client hears of the fault next, and its process may end at once.
  const std::string text = Writer().u32(static_cast<uint32_t>(fault.code())).bytes(fault.text()).text();
  EventLoop::get().run([&] {
    if (connection_) connection_->send(kFault, text);
  });
}

void Member::leave() {
  {
    std::lock_guard lock(mutex_);
    if (std::exchange(left_, true)) return;
  }
  EventLoop::get().run([this] {
    events_ = {};
    if (!connection_) return;
    connection_->send(kLeave, "");
    connection_->finish();
    connection_ = nullptr;
  });
  changed_.notify_all();
}

void Member::on_frame(uint8_t type, const std::string& payload) {
  Reader reader(payload);
  std::unique_lock lock(mutex_);
  if (!welcome_ && type != kRefused && type != (root_nonce_.empty() ? kChallenge : kWelcome))
    throw Error(result::kTcpConnect, "EI0015: what listens at {} is not the root of a communicator", root_name_);
  switch (type) {
    case kChallenge:
      if (welcome_) throw Error(result::kInternal, "EI0015: the root at {} challenges a member again", root_name_);
      root_nonce_ = reader.bytes(32);
      connection_->send(kHello, Writer()
                                    .u32(rank_)
                                    .u32(ranks_)
                                    .bytes(nonce_)
                                    .bytes(proof_of(key_, "member", root_nonce_, nonce_, rank_, ranks_))
                                    .text());
      break;
    case kWelcome: {
      const std::string want = proof_of(key_, "root", nonce_, root_nonce_, rank_, ranks_), got(reader.bytes(32));
      if (!equal_in_constant_time(want.data(), got.data(), want.size()))
        throw Error(result::kPara, "EI0015: what listens at {} does not know the key of this communicator", root_name_);
      welcome_ = true;
      connection_->set_limit(kLongestFrame);
      break;
    }
    case kGathered: {
      const uint32_t id = reader.u32();
      std::vector<std::string> all;
      for (uint32_t r = 0; r < ranks_; ++r) all.emplace_back(reader.sized());
      gathered_[id] = std::move(all);
      break;
    }
    case kValue: {
      std::string key(reader.sized());
      values_[key] = std::string(reader.rest());
      break;
    }
    case kNone: values_[std::string(reader.rest())] = std::nullopt; break;
    case kGone: {
      const uint32_t rank = reader.u32();
      const bool left = reader.u32() != 0;
      gone_.add(rank, left);
      auto handler = events_.gone;
      lock.unlock();
      if (handler) handler(rank, left);
      break;
    }
    case kFault: {
      const uint32_t rank = reader.u32();
      const int code = code_of(reader.u32());
      Error error(code, std::string(reader.rest()));
      faults_.emplace_back(rank, error);
      auto handler = events_.fault;
      lock.unlock();
      if (handler) handler(rank, error);
      break;
    }
    case kRefused: {
      const int code = code_of(reader.u32());
      failure_ = Error(code, std::string(reader.rest()));
      break;
    }
    default: throw Error(result::kInternal, "EI0015: frame {} of the root is unknown", type);
  }
  changed_.notify_all();
}

void Member::on_end(const std::string& why, bool broken) {
  std::unique_lock lock(mutex_);
  if (left_) return;
  shown_out_ = !broken && !welcome_ && !failure_;
  if (!failure_)
    failure_ = Error(result::kRemote, "EI0015: the connection to the root of rank 0 at {} ended: {}", root_name_, why);
  auto handler = events_.root_lost;
  lock.unlock();
  changed_.notify_all();
  if (handler) handler(why);
}

}  // namespace updraft::collective
