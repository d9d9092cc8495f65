#include "collective/bootstrap/chief.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <list>
#include <thread>
#include <utility>

#include "base/json_text.h"
#include "base/log.h"
#include "collective/bootstrap/address.h"
#include "collective/bootstrap/event_loop.h"
#include "collective/bootstrap/job_key.h"
#include "collective/bootstrap/protocol.h"
#include "collective/error.h"
#include "collective/topology/environment.h"
#include "collective/topology/variable.h"

namespace updraft::collective {
namespace {

using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;
constexpr int kVersion = 2;
constexpr size_t kLongestHello = 4096, kLongestAnswer = 4u << 20, kStrangers = 256;
constexpr auto kBetweenAttempts = std::chrono::milliseconds(50);
constexpr auto kPatience = std::chrono::seconds(10);             // with a connection that says nothing
constexpr auto kShortPatience = std::chrono::milliseconds(500);  // while another one wants its place
constexpr auto kPause = std::chrono::milliseconds(100);          // when there are no descriptors for newcomers
constexpr int kSendSeconds = 10;

struct Place {
  std::string ip;
  int device;
  bool operator==(const Place&) const = default;
};

std::string hex(const std::string& bytes) {
  std::string text;
  for (const char c : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return text;
}

/// The text of a field; "" where it is none.
std::string field(const Json& message, const char* name) {
  const auto it = message.is_object() ? message.find(name) : message.end();
  return message.is_object() && it != message.end() && it->is_string() ? it->get<std::string>() : "";
}

// What is signed begins with the role, so that nobody's proof serves as the other's.
std::string proof_of_worker(const std::string& secret, const std::string& chief_nonce, const std::string& nonce,
                            const Place& place, uint64_t size) {
  return hex(derived_key(secret, Writer()
                                     .sized("updraft worker")
                                     .sized(chief_nonce)
                                     .sized(nonce)
                                     .sized(place.ip)
                                     .sized(fmt::format("{} {}", place.device, size))
                                     .text()));
}
std::string proof_of_chief(const std::string& secret, const std::string& chief_nonce, const std::string& nonce,
                           const std::string& salt, const std::string& ranks, uint64_t rank) {
  return hex(derived_key(secret, Writer()
                                     .sized("updraft chief")
                                     .sized(chief_nonce)
                                     .sized(nonce)
                                     .sized(salt)
                                     .sized(ranks)
                                     .sized(std::to_string(rank))
                                     .text()));
}
std::string key_of(const std::string& secret, const std::string& salt) {
  return derived_key(secret, "updraft chief's job " + salt);
}
bool same(const std::string& a, const std::string& b) {
  return a.size() == b.size() && equal_in_constant_time(a.data(), b.data(), a.size());
}

int remaining_ms(Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, 1 << 30));
}

/// A socket and the line that is being read from it.
class Line {
 public:
  Line(int fd, size_t longest) : fd_(fd), longest_(longest) {}
  Line(Line&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)), longest_(other.longest_), in_(std::move(other.in_)) {}
  ~Line() {
    if (fd_ >= 0) ::close(fd_);
  }
  int fd() const { return fd_; }

  enum class State { Partial, Complete, Over };
  /// Takes what has come. Over: closed, or longer than a line may be.
  State read() {
    char buffer[4096];
    for (;;) {
      if (in_.find('\n') != std::string::npos) return State::Complete;
      if (in_.size() > longest_) return State::Over;
      const ssize_t n = recv(fd_, buffer, sizeof buffer, MSG_DONTWAIT);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return State::Partial;
      if (n <= 0) return State::Over;
      in_.append(buffer, static_cast<size_t>(n));
    }
  }
  /// The complete line, once; what follows it stays.
  Json message() {
    const size_t end = in_.find('\n');
    Json message = try_json(std::string_view(in_).substr(0, end));
    in_.erase(0, end + 1);
    return message;
  }

  bool write(const Json& message) {
    const std::string text = json_text(message) + "\n";
    const auto deadline = Clock::now() + std::chrono::seconds(kSendSeconds);
    for (size_t sent = 0; sent < text.size();) {
      const ssize_t n = send(fd_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n > 0) {
        sent += static_cast<size_t>(n);
        continue;
      }
      if (errno != EINTR && errno != EAGAIN && errno != EWOULDBLOCK) return false;
      pollfd p{fd_, POLLOUT, 0};
      if (poll(&p, 1, remaining_ms(deadline)) == 0) return false;
    }
    return true;
  }

 private:
  int fd_;
  size_t longest_;
  std::string in_;
};

class Chief {
 public:
  Chief(const ChiefSettings& settings, Clock::time_point deadline) : settings_(settings), deadline_(deadline) {
    uint16_t port = 0;
    listener_ = listen_on(settings.chief_ip, settings.chief_port, &port);
    if (listener_ < 0)
      throw Error(result::kTcpConnect,
                  "EI0019: the chief cannot listen on CM_CHIEF_IP={}, CM_CHIEF_PORT={}: {}. Choose a port that nobody "
                  "uses and an address of this host, the same for all processes",
                  settings.chief_ip, settings.chief_port, std::strerror(errno));
  }
  ~Chief() { ::close(listener_); }

  World collect() {
    if (settings_.secret.empty())
      UPDRAFT_LOG(kInfo, "HCCL",
                  "the chief takes whoever comes to {}:{} first: UPDRAFT_HCCL_SECRET_FILE keeps strangers out",
                  settings_.chief_ip, settings_.chief_port);
    for (;;) {
      if (present() == settings_.worker_size) {
        wait(0);  // some may have left since
        if (present() == settings_.worker_size) return answer_all();
      }
      if (Clock::now() >= deadline_) give_up();
      wait(remaining_ms(deadline_));
    }
  }

 private:
  struct Guest {
    Line line;
    std::string from;
    Clock::time_point since;
    std::string nonce;  ///< ours, for this guest
    bool placed = false;
    Place place{};
    std::string theirs{};  ///< the guest's nonce
  };

  Place own() const { return {settings_.chief_ip, settings_.chief_device}; }
  uint32_t present() const {
    return 1 + static_cast<uint32_t>(std::ranges::count_if(guests_, [](const Guest& g) { return g.placed; }));
  }

  void wait(int milliseconds) {
    const auto now = Clock::now();
    const bool paused = now < pause_;
    std::vector<pollfd> fds{{paused ? -1 : listener_, POLLIN, 0}};
    for (const Guest& g : guests_) fds.push_back({g.line.fd(), POLLIN, 0});
    // Those who are silent are looked at now and then.
    const auto most = paused ? kPause : guests_.size() + 1 > present() ? kShortPatience : std::chrono::hours(1);
    milliseconds = static_cast<int>(
        std::min<int64_t>(milliseconds, std::chrono::duration_cast<std::chrono::milliseconds>(most).count()));
    if (poll(fds.data(), fds.size(), milliseconds) < 0) return;  // a signal
    size_t i = 1;
    for (auto g = guests_.begin(); g != guests_.end(); ++i) {
      bool stays = fds[i].revents == 0 || take(*g);
      if (stays && !g->placed && Clock::now() > g->since + kPatience) {
        UPDRAFT_LOG(kWarning, "HCCL", "EI0015: {} said nothing to the chief for 10 s: refused", g->from);
        stays = false;
      }
      g = stays ? std::next(g) : guests_.erase(g);
    }
    if (fds[0].revents) accept_one();
  }

  void accept_one() {
    Endpoint from;
    const int fd = accept4(listener_, from.raw(), &from.bytes, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) {
      if (errno == EINTR || errno == ECONNABORTED || errno == EAGAIN || errno == EWOULDBLOCK) return;
      // Who waits would wake us again and again.
      UPDRAFT_LOG(kError, "HCCL", "the chief cannot take a connection: {}", std::strerror(errno));
      pause_ = Clock::now() + kPause;
      return;
    }
    Guest guest{Line(fd, kLongestHello), from.ip(), Clock::now(), random_bytes(32)};
    const Environment& environment = Environment::get();
    if (environment.whitelist && std::ranges::find(environment.host_ips, guest.from) == environment.host_ips.end()) {
      UPDRAFT_LOG(kWarning, "HCCL", "EI0015: {} is not in HCCL_WHITELIST_FILE: refused", guest.from);
      return;
    }
    if (!make_room()) {
      UPDRAFT_LOG(kWarning, "HCCL", "EI0015: {} refused: {} connections to the chief have not said who they are",
                  guest.from, kStrangers);
      return;
    }
    if (guest.line.write({{"updraft", kVersion}, {"nonce", hex(guest.nonce)}})) guests_.push_back(std::move(guest));
  }

  // Who comes later must not be kept out by those who say nothing: the oldest of them goes.
  bool make_room() {
    if (guests_.size() - (present() - 1) < kStrangers) return true;
    const auto oldest = std::ranges::find_if(guests_, [](const Guest& g) { return !g.placed; });
    if (oldest == guests_.end() || Clock::now() - oldest->since < kShortPatience) return false;
    guests_.erase(oldest);
    return true;
  }

  /// False when the guest is to go.
  bool take(Guest& guest) {
    const Line::State state = guest.line.read();
    if (state == Line::State::Partial) return true;
    if (state == Line::State::Over || guest.placed) {
      if (guest.placed)
        UPDRAFT_LOG(kWarning, "HCCL", "{} device {} left the chief", guest.place.ip, guest.place.device);
      return false;
    }
    const Json hello = guest.line.message();
    const auto address = parse_ip(field(hello, "ip"));
    if (!hello.is_object() || hello.value("updraft", Json()) != kVersion || !address ||
        !hello.value("device", Json()).is_number_unsigned() || !hello.value("size", Json()).is_number_unsigned()) {
      UPDRAFT_LOG(kWarning, "HCCL", "EI0015: {} sent the chief something that is no worker's hello: refused",
                  guest.from);
      return false;
    }
    const Place place{*address, static_cast<int>(hello["device"].get<uint16_t>())};
    guest.theirs = field(hello, "nonce");
    if (!settings_.secret.empty()) {
      const std::string want =
          proof_of_worker(settings_.secret, hex(guest.nonce), guest.theirs, place, hello["size"].get<uint64_t>());
      if (!same(field(hello, "proof"), want))
        return refuse(guest, fmt::format("EI0015: {} device {} does not know the secret of the job: give all processes "
                                         "the same UPDRAFT_HCCL_SECRET_FILE or UPDRAFT_HCCL_SECRET",
                                         place.ip, place.device));
    } else if (place.ip != guest.from) {
      return refuse(guest, fmt::format("EI0015: CM_WORKER_IP={} of device {} comes from the address {}: set it to the "
                                       "address that the chief sees, or give all processes UPDRAFT_HCCL_SECRET_FILE",
                                       place.ip, place.device, guest.from));
    }
    if (hello["size"].get<uint64_t>() != settings_.worker_size)
      return refuse(guest,
                    fmt::format("EI0001: CM_WORKER_SIZE={} at {} device {}, the chief has CM_WORKER_SIZE={}: set it "
                                "to the number of processes everywhere",
                                json_text(hello["size"]), place.ip, place.device, settings_.worker_size));
    const bool taken =
        place == own() || std::ranges::any_of(guests_, [&](const Guest& g) { return g.placed && g.place == place; });
    if (taken)
      return refuse(guest, fmt::format("EI0001: two processes have CM_WORKER_IP={} and ASCEND_DEVICE_ID={}: give each "
                                       "process of a server a device of its own",
                                       place.ip, place.device));
    guest.place = place;
    guest.placed = true;
    return true;
  }

  bool refuse(Guest& guest, const std::string& text) {
    UPDRAFT_LOG(kWarning, "HCCL", "{} (from {})", text, guest.from);
    guest.line.write({{"error", text}});
    return false;
  }

  [[noreturn]] void give_up() {
    std::string who = fmt::format("{} device {}", settings_.chief_ip, settings_.chief_device);
    size_t named = 1;
    for (const Guest& g : guests_)
      if (g.placed && ++named <= 16) who += fmt::format(", {} device {}", g.place.ip, g.place.device);
    if (named > 16) who += fmt::format(" and {} more", named - 16);
    const std::string text = fmt::format(
        "EI0015: {} of CM_WORKER_SIZE={} processes came to the chief at {}:{} in time ({}). Start the others, and look "
        "at their CM_CHIEF_IP, CM_CHIEF_PORT and logs; HCCL_CONNECT_TIMEOUT is the time they have",
        present(), settings_.worker_size, settings_.chief_ip, settings_.chief_port, who);
    for (Guest& g : guests_) g.line.write({{"error", text}});
    throw Error(result::kTimeout, text);
  }

  World answer_all() {
    // the chief, its server, then the other servers by address
    const auto order = [&](const Place& p) {
      const Endpoint at = find_endpoint(p.ip, 0).value_or(Endpoint());
      return std::tuple(p != own(), p.ip != settings_.chief_ip,
                        std::string(reinterpret_cast<const char*>(&at.storage), sizeof at.storage), p.device);
    };
    std::vector<Place> places{own()};
    for (const Guest& g : guests_)
      if (g.placed) places.push_back(g.place);
    std::ranges::sort(places, [&](const Place& a, const Place& b) { return order(a) < order(b); });
    const std::string salt = random_bytes(32), &secret = settings_.secret;
    World world{0, {}, "CM_CHIEF_IP=" + settings_.chief_ip, secret.empty() ? salt : key_of(secret, hex(salt))};
    Json ranks = Json::array();
    for (const Place& p : places) {
      world.ranks.push_back({static_cast<uint32_t>(ranks.size()), p.ip, "", p.device, "", "", ""});
      ranks.push_back({p.ip, p.device});
    }
    const std::string list = json_text(ranks);
    Json answer{{"ranks", ranks}, {secret.empty() ? "key" : "salt", hex(salt)}};
    for (Guest& g : guests_) {
      if (!g.placed) continue;
      const auto rank = static_cast<uint64_t>(std::ranges::find(places, g.place) - places.begin());
      answer["rank"] = rank;
      if (!secret.empty()) answer["proof"] = proof_of_chief(secret, hex(g.nonce), g.theirs, hex(salt), list, rank);
      if (!g.line.write(answer))
        UPDRAFT_LOG(kWarning, "HCCL", "{} device {} left the chief", g.place.ip, g.place.device);
    }
    return world;
  }

  const ChiefSettings& settings_;
  const Clock::time_point deadline_;
  int listener_;
  std::list<Guest> guests_;
  Clock::time_point pause_;  // until then nobody is let in
};

class Worker {
 public:
  Worker(const ChiefSettings& settings, int device, Clock::time_point deadline)
      : settings_(settings), device_(device), deadline_(deadline) {}

  /// Until the deadline: the chief may start later than we do.
  World ask() {
    for (;;) {
      if (int fd = connect_once(); fd >= 0) {
        Line line(fd, kLongestAnswer);
        if (auto world = talk(line)) return *world;
      }
      if (Clock::now() >= deadline_)
        throw Error(
            result::kTimeout,
            "EI0015: no answer of the chief at CM_CHIEF_IP={}, CM_CHIEF_PORT={} to {} device {} in time: {}. Was the "
            "process with CM_WORKER_IP={} and ASCEND_DEVICE_ID={} started, and can its host be reached?",
            settings_.chief_ip, settings_.chief_port, settings_.worker_ip, device_, why_, settings_.chief_ip,
            settings_.chief_device);
      std::this_thread::sleep_for(kBetweenAttempts);
    }
  }

 private:
  int connect_once() {
    const auto from = find_endpoint(settings_.worker_ip, 0),
               to = find_endpoint(settings_.chief_ip, settings_.chief_port);
    if (!from || !to)
      throw Error(result::kPara, "EI0001: CM_WORKER_IP={} or CM_CHIEF_IP={} is not a numeric address",
                  settings_.worker_ip, settings_.chief_ip);
    const int fd = socket(to->family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return failed(-1);
    if (bind(fd, from->raw(), from->bytes) != 0) {
      const int error = errno;
      ::close(fd);
      throw Error(result::kPara, "EI0001: CM_WORKER_IP={} cannot be used here: {}. Set it to an address of this host",
                  settings_.worker_ip, std::strerror(error));
    }
    if (connect(fd, to->raw(), to->bytes) != 0) {
      if (errno != EINPROGRESS) return failed(fd);
      pollfd p{fd, POLLOUT, 0};
      while (poll(&p, 1, remaining_ms(deadline_)) < 0 && errno == EINTR) {}
      int error = p.revents ? 0 : ETIMEDOUT;
      socklen_t length = sizeof error;
      if (p.revents) getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length);
      if (error) {
        errno = error;
        return failed(fd);
      }
    }
    if (meets_itself(fd, *to)) {
      errno = ECONNREFUSED;
      return failed(fd);
    }
    return fd;
  }

  int failed(int fd) {
    why_ = std::strerror(errno);
    if (fd >= 0) ::close(fd);
    return -1;
  }

  /// The chief's next line; nothing when it does not come.
  std::optional<Json> read(Line& line) {
    Line::State state;
    while ((state = line.read()) == Line::State::Partial) {
      pollfd p{line.fd(), POLLIN, 0};
      if (poll(&p, 1, remaining_ms(deadline_ + std::chrono::seconds(kSendSeconds))) == 0) {
        why_ = "it is there and does not answer";
        return {};
      }
    }
    why_ = "it closes the connection (is this host in its HCCL_WHITELIST_FILE?)";
    if (state == Line::State::Over) return {};
    Json message = line.message();
    if (const std::string error = field(message, "error"); !error.empty())
      throw Error(result::kPara, "{}", printable(error));
    return message;
  }

  std::optional<World> talk(Line& line) {
    const auto challenge = read(line);
    if (!challenge) return {};
    const std::string theirs = field(*challenge, "nonce"), mine = hex(random_bytes(32)), &secret = settings_.secret;
    if (theirs.empty() || challenge->value("updraft", Json()) != kVersion) no_chief();
    Json hello{{"updraft", kVersion},
               {"ip", settings_.worker_ip},
               {"device", device_},
               {"size", settings_.worker_size},
               {"nonce", mine}};
    if (!secret.empty())
      hello["proof"] = proof_of_worker(secret, theirs, mine, {settings_.worker_ip, device_}, settings_.worker_size);
    line.write(hello);
    const auto answer = read(line);
    if (!answer) return {};
    try {
      World world{answer->at("rank").get<uint32_t>(), {}, "CM_CHIEF_IP=" + settings_.chief_ip};
      if (secret.empty()) {
        if (answer->contains("salt")) unknown_secret();
        world.key = bytes_of(answer->at("key").get<std::string>());
      } else {
        const std::string salt = field(*answer, "salt");
        const std::string want = proof_of_chief(secret, theirs, mine, salt, json_text(answer->at("ranks")), world.rank);
        if (!same(field(*answer, "proof"), want)) unknown_secret();
        world.key = key_of(secret, salt);
      }
      for (const Json& place : answer->at("ranks"))
        world.ranks.push_back({static_cast<uint32_t>(world.ranks.size()), place.at(0).get<std::string>(), "",
                               place.at(1).get<int>(), "", "", ""});
      if (world.rank < world.ranks.size()) return world;
    } catch (const Json::exception&) {}
    no_chief();
  }

  std::string bytes_of(const std::string& hex) const {
    std::string bytes;
    for (size_t i = 0; i + 1 < hex.size(); i += 2) {
      uint8_t byte = 0;
      if (std::from_chars(&hex[i], &hex[i] + 2, byte, 16).ptr != &hex[i] + 2) no_chief();
      bytes += static_cast<char>(byte);
    }
    if (bytes.size() != 32) no_chief();
    return bytes;
  }

  [[noreturn]] void unknown_secret() const {
    throw Error(
        result::kPara,
        "EI0015: the chief at CM_CHIEF_IP={}, CM_CHIEF_PORT={} does not know the secret of this process, or has "
        "one that this process does not know: give all processes the same UPDRAFT_HCCL_SECRET_FILE or "
        "UPDRAFT_HCCL_SECRET",
        settings_.chief_ip, settings_.chief_port);
  }
  [[noreturn]] void no_chief() const {
    throw Error(result::kTcpTransfer,
                "EI0015: what listens on CM_CHIEF_IP={}, CM_CHIEF_PORT={} is no chief of Updraft. Choose a port that "
                "nobody uses",
                settings_.chief_ip, settings_.chief_port);
  }

  const ChiefSettings& settings_;
  const int device_;
  const Clock::time_point deadline_;
  std::string why_ = "nothing listens there";
};

}  // namespace

World meet_at_chief(const ChiefSettings& settings, const Launch& launch, double timeout_s) {
  if (!launch.device)
    throw Error(
        result::kPara,
        "EI0001: CM_WORKER_SIZE={} and the environment variable ASCEND_DEVICE_ID is not set: set it to the device of "
        "this process",
        settings.worker_size);
  const auto deadline = Clock::now() + seconds(timeout_s);
  if (settings.worker_ip == settings.chief_ip && *launch.device == settings.chief_device)
    return Chief(settings, deadline).collect();
  return Worker(settings, *launch.device, deadline).ask();
}

}  // namespace updraft::collective
