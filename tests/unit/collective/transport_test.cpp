// The transports: messages of all sizes and orders, failures, strangers. Every test runs over each transport and
// family.
#include "collective/transport/transport.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <map>
#include <numeric>
#include <random>
#include <thread>

#include "collective/error.h"

namespace updraft::collective {
namespace {

using namespace std::chrono_literals;
using Bytes = std::vector<uint8_t>;

Bytes pattern(size_t bytes, uint32_t seed) {
  Bytes data(bytes);
  uint32_t x = seed * 2654435761u + 1;
  for (uint8_t& b : data) b = static_cast<uint8_t>((x = x * 1664525 + 1013904223) >> 24);
  return data;
}

/// Over pipes between processes.
void tell(int fd, const std::string& text) {
  if (write(fd, text.data(), text.size()) != static_cast<ssize_t>(text.size())) std::abort();
}
std::string hear(int fd) {
  char text[4096];
  const ssize_t n = read(fd, text, sizeof text);
  return std::string(text, n > 0 ? static_cast<size_t>(n) : 0);
}

/// A message under way.
class Pending {
 public:
  Completion done() {
    return
        [state = state_](const Error* error) { state->set_value(error ? std::optional<Error>(*error) : std::nullopt); };
  }
  std::optional<Error> wait() {
    if (!result_) {
      auto future = state_->get_future();
      if (future.wait_for(60s) == std::future_status::ready) result_ = future.get();
      else result_ = Error(-1, "nothing in 60 s");
    }
    return *result_;
  }
  int code() {
    const auto error = wait();
    return error ? error->code() : 0;
  }
  std::string text() {
    const auto error = wait();
    return error ? error->text() : "";
  }

 private:
  std::shared_ptr<std::promise<std::optional<Error>>> state_ = std::make_shared<std::promise<std::optional<Error>>>();
  std::optional<std::optional<Error>> result_;
};

class TransportTest : public testing::TestWithParam<std::string> {
 protected:
  static TransportOptions options() {
    TransportOptions o;
    o.bind_ip = GetParam().ends_with("6") ? "::1" : "127.0.0.1";
    return o;
  }
  static std::unique_ptr<Transport> make(const TransportOptions& o = options()) {
    if (GetParam().starts_with("tcp")) return make_tcp_transport(o);
    std::string why;
    auto made = make_ucx_transport(o, &why);
    if (!made) ADD_FAILURE() << why;
    return made;
  }
  void SetUp() override {
#ifdef UPDRAFT_TEST_TREE
    setenv("UPDRAFT_CANN_HOME", UPDRAFT_TEST_TREE, 0);  // where the build puts libupdraft_net_ucx.so
#endif
    std::string why;
    if (GetParam().starts_with("ucx") && !make_ucx_transport(options(), &why)) GTEST_SKIP() << why;
  }

  /// Two transports that know each other.
  struct Pair {
    explicit Pair(const TransportOptions& o = options()) : a(make(o)), b(make(o)) { join(); }
    void join() {
      to_b = a->peer(b->address(), key);
      to_a = b->peer(a->address(), key);
    }
    /// Both have heard of each other: what ends from now on has been there.
    void greet() {
      Bytes x(1), y(1), got(2);
      Pending p[] = {send(*a, *to_b, 0, x), send(*b, *to_a, 0, y), {}, {}};
      a->receive(*to_b, 0, got.data(), 1, p[2].done());
      b->receive(*to_a, 0, got.data() + 1, 1, p[3].done());
      for (Pending& i : p) EXPECT_EQ(i.text(), "");
    }
    std::string key = std::string(32, 'k');
    std::unique_ptr<Transport> a, b;
    std::shared_ptr<Peer> to_b, to_a;
  };

  static Pending send(Transport& t, Peer& peer, uint64_t tag, const Bytes& data) {
    Pending p;
    t.send(peer, tag, data.data(), data.size(), p.done());
    return p;
  }
  static Pending receive(Transport& t, Peer& peer, uint64_t tag, Bytes& data) {
    Pending p;
    t.receive(peer, tag, data.data(), data.size(), p.done());
    return p;
  }
};

TEST_P(TransportTest, EverySize) {
  Pair pair;
  EXPECT_LE(pair.a->address().size(), 4096u);
  uint64_t tag = 0;
  for (const size_t bytes : {0ul, 1ul, 23ul, 24ul, 25ul, 4095ul, 65535ul, 65536ul, 65537ul, 1048575ul, 1048576ul,
                             1048577ul, (3ul << 20) + 1, 64ul << 20}) {
    for (const bool late : {false, true}) {
      const Bytes sent = pattern(bytes, static_cast<uint32_t>(bytes));
      Bytes got(bytes, 0xee);
      Pending s, r;
      if (!late) r = receive(*pair.b, *pair.to_a, ++tag, got);
      if (late) {
        s = send(*pair.a, *pair.to_b, ++tag, sent);
        std::this_thread::sleep_for(5ms);
        r = receive(*pair.b, *pair.to_a, tag, got);
      } else {
        s = send(*pair.a, *pair.to_b, tag, sent);
      }
      EXPECT_EQ(s.text(), "") << bytes;
      EXPECT_EQ(r.text(), "") << bytes;
      EXPECT_TRUE(got == sent) << bytes << " bytes, late: " << late;
    }
  }
}

TEST_P(TransportTest, TagsInAnyOrderAndOrderWithinATag) {
  Pair pair;
  std::mt19937 random(7);
  constexpr int kMessages = 400;
  struct Message {
    uint64_t tag;
    Bytes sent, got;
    Pending s, r;
  };
  std::vector<Message> all(kMessages);
  for (int i = 0; i < kMessages; ++i) {
    const size_t bytes = i % 3 == 0 ? random() % 300000 : random() % 200;
    // The tags use all 64 bits: they must not be cut.
    all[static_cast<size_t>(i)].tag = (uint64_t{random() % 5} << 61) | (random() % 2);
    all[static_cast<size_t>(i)].sent = pattern(bytes, static_cast<uint32_t>(i));
    all[static_cast<size_t>(i)].got.resize(bytes);
  }
  for (Message& m : all) m.s = send(*pair.a, *pair.to_b, m.tag, m.sent);
  std::map<uint64_t, std::vector<Message*>> by_tag;
  for (Message& m : all) by_tag[m.tag].push_back(&m);
  for (auto i = by_tag.rbegin(); i != by_tag.rend(); ++i)
    for (Message* m : i->second) m->r = receive(*pair.b, *pair.to_a, m->tag, m->got);
  for (Message& m : all) {
    EXPECT_EQ(m.s.text(), "");
    EXPECT_EQ(m.r.text(), "");
    EXPECT_TRUE(m.got == m.sent);
  }
}

TEST_P(TransportTest, BothDirectionsAtOnce) {
  Pair pair;
  constexpr size_t kCount = 6;
  const Bytes x = pattern(8 << 20, 1), y = pattern(8 << 20, 2);
  std::vector<Bytes> at_a(kCount, Bytes(x.size())), at_b(kCount, Bytes(x.size()));
  std::vector<Pending> pending;
  for (size_t i = 0; i < kCount; ++i) {
    pending.push_back(receive(*pair.a, *pair.to_b, i, at_a[i]));
    pending.push_back(receive(*pair.b, *pair.to_a, i, at_b[i]));
    pending.push_back(send(*pair.a, *pair.to_b, i, x));
    pending.push_back(send(*pair.b, *pair.to_a, i, y));
  }
  for (Pending& p : pending) EXPECT_EQ(p.text(), "");
  for (size_t i = 0; i < kCount; ++i) EXPECT_TRUE(at_a[i] == y && at_b[i] == x);
}

TEST_P(TransportTest, SimultaneousFirstMessages) {
  for (int round = 0; round < 10; ++round) {
    Pair pair;
    const Bytes x = pattern(100, 1);
    Bytes a(100), b(100);
    std::thread one([&] {
      Pending s = send(*pair.a, *pair.to_b, 1, x);
      EXPECT_EQ(receive(*pair.a, *pair.to_b, 1, a).text(), "");
      EXPECT_EQ(s.text(), "");
    });
    Pending s = send(*pair.b, *pair.to_a, 1, x);
    EXPECT_EQ(receive(*pair.b, *pair.to_a, 1, b).text(), "");
    EXPECT_EQ(s.text(), "");
    one.join();
    EXPECT_TRUE(a == x && b == x);
  }
}

TEST_P(TransportTest, MoreSmallMessagesThanTheWindowHolds) {
  Pair pair;
  constexpr size_t kCount = 300;  // 300 * 60000 > 4 MiB
  const Bytes x = pattern(60000, 3);
  std::vector<Bytes> got(kCount, Bytes(x.size()));
  std::vector<Pending> sends, receives;
  for (size_t i = 0; i < kCount; ++i) sends.push_back(send(*pair.a, *pair.to_b, i, x));
  std::this_thread::sleep_for(50ms);
  for (size_t i = kCount; i-- > 0;) receives.push_back(receive(*pair.b, *pair.to_a, i, got[i]));
  for (Pending& p : sends) EXPECT_EQ(p.text(), "");
  for (Pending& p : receives) EXPECT_EQ(p.text(), "");
  for (const Bytes& g : got) EXPECT_TRUE(g == x);
}

TEST_P(TransportTest, TheOtherSideComesLater) {
  auto a = make(), b = make();
  const std::string key(32, 'q');
  const auto to_b = a->peer(b->address(), key);
  const Bytes x = pattern(100000, 1);
  Bytes got(x.size());
  Pending s = send(*a, *to_b, 1, x);
  std::this_thread::sleep_for(100ms);
  const auto to_a = b->peer(a->address(), key);
  EXPECT_EQ(receive(*b, *to_a, 1, got).text(), "");
  EXPECT_EQ(s.text(), "");
  EXPECT_TRUE(got == x);
}

TEST_P(TransportTest, ToItself) {
  auto t = make();
  const auto self = t->peer(t->address(), std::string(32, 's'));
  for (const size_t bytes : {0ul, 100ul, 1000000ul}) {
    const Bytes x = pattern(bytes, 1);
    Bytes got(bytes);
    Pending s = send(*t, *self, 1, x);
    EXPECT_EQ(receive(*t, *self, 1, got).text(), "");
    EXPECT_EQ(s.text(), "");
    EXPECT_TRUE(got == x);
  }
}

TEST_P(TransportTest, KeysAreApart) {
  auto a = make(), b = make();
  const std::string one(32, '1'), two(32, '2');
  const auto b1 = a->peer(b->address(), one), b2 = a->peer(b->address(), two);
  const auto a1 = b->peer(a->address(), one), a2 = b->peer(a->address(), two);
  const Bytes x = pattern(50, 1), y = pattern(50, 2);
  Bytes gx(50), gy(50);
  Pending p[] = {send(*a, *b1, 9, x), send(*a, *b2, 9, y), receive(*b, *a2, 9, gy), receive(*b, *a1, 9, gx)};
  for (Pending& i : p) EXPECT_EQ(i.text(), "");
  EXPECT_TRUE(gx == x && gy == y);
  a->cancel(*b1, Error(result::kUnavail, "enough"));
  Pending q[] = {send(*a, *b2, 9, y), receive(*b, *a2, 9, gx)};
  for (Pending& i : q) EXPECT_EQ(i.text(), "");
  EXPECT_TRUE(gx == y);
}

TEST_P(TransportTest, EightPeersAtOnce) {
  constexpr size_t kPeers = 8;
  const std::string key(32, '8');
  std::vector<std::unique_ptr<Transport>> t;
  for (size_t i = 0; i < kPeers; ++i) t.push_back(make());
  std::vector<std::thread> threads;
  for (size_t me = 0; me < kPeers; ++me)
    threads.emplace_back([&, me] {
      std::vector<std::shared_ptr<Peer>> peers;
      for (size_t i = 0; i < kPeers; ++i) peers.push_back(t[me]->peer(t[i]->address(), key));
      for (const size_t bytes : {10ul, 300000ul}) {
        std::vector<Bytes> sent, got(kPeers, Bytes(bytes));
        for (size_t i = 0; i < kPeers; ++i) sent.push_back(pattern(bytes, static_cast<uint32_t>(me * 100 + i)));
        std::vector<Pending> pending;
        for (size_t i = 0; i < kPeers; ++i) {
          pending.push_back(receive(*t[me], *peers[i], 1, got[i]));
          pending.push_back(send(*t[me], *peers[i], 1, sent[i]));
        }
        for (Pending& p : pending) EXPECT_EQ(p.text(), "");
        for (size_t i = 0; i < kPeers; ++i) EXPECT_TRUE(got[i] == pattern(bytes, static_cast<uint32_t>(i * 100 + me)));
      }
    });
  for (std::thread& thread : threads) thread.join();
}

TEST_P(TransportTest, AnotherSizeFailsBothSides) {
  for (const auto& [sent, wanted] : std::initializer_list<std::pair<size_t, size_t>>{{100, 50},
                                                                                     {50, 100},
                                                                                     {0, 1},
                                                                                     {1, 0},
                                                                                     {1 << 20, 2 << 20},
                                                                                     {2 << 20, 1 << 20},
                                                                                     {100, 1 << 20},
                                                                                     {1 << 20, 100}}) {
    for (const bool late : {false, true}) {
      Pair pair;
      const Bytes x = pattern(sent, 1);
      Bytes got(wanted), other(10);
      Pending r, never = receive(*pair.a, *pair.to_b, 77, other);
      if (!late) r = receive(*pair.b, *pair.to_a, 1, got);
      Pending s = send(*pair.a, *pair.to_b, 1, x);
      if (late) std::this_thread::sleep_for(20ms);
      if (late) r = receive(*pair.b, *pair.to_a, 1, got);
      EXPECT_EQ(r.code(), result::kPara) << sent << " " << wanted;
      EXPECT_NE(r.text().find(std::to_string(sent)), std::string::npos) << r.text();
      EXPECT_EQ(never.code(), result::kPara) << never.text();
      if (sent > 65536 && GetParam().starts_with("tcp")) { EXPECT_EQ(s.code(), result::kPara) << s.text(); }
      EXPECT_EQ(send(*pair.a, *pair.to_b, 2, x).code(), result::kPara);
      EXPECT_EQ(receive(*pair.b, *pair.to_a, 2, got).code(), result::kPara);
    }
  }
}

TEST_P(TransportTest, CancelGivesTheMemoryBack) {
  Pair pair;
  Bytes got(8 << 20, 0);
  auto x = std::make_unique<Bytes>(pattern(64 << 20, 1));
  Bytes big(x->size());
  Pending s = send(*pair.a, *pair.to_b, 1, *x), r = receive(*pair.b, *pair.to_a, 1, big);
  Pending never = receive(*pair.a, *pair.to_b, 2, got), unmatched = send(*pair.a, *pair.to_b, 3, *x);
  pair.a->cancel(*pair.to_b, Error(result::kUnavail, "the communicator was destroyed"));
  x.reset();  // asan and valgrind see who still reads it
  EXPECT_NE(s.code(), -1);
  EXPECT_EQ(never.code(), result::kUnavail);
  EXPECT_EQ(unmatched.code(), result::kUnavail);
  EXPECT_NE(never.text().find("the communicator was destroyed"), std::string::npos) << never.text();
  EXPECT_TRUE(r.code() == 0 || r.code() == result::kRemote) << r.text();
  EXPECT_EQ(send(*pair.a, *pair.to_b, 1, got).code(), result::kUnavail);
  Pending late = receive(*pair.b, *pair.to_a, 5, got);
  EXPECT_EQ(late.code(), result::kRemote) << late.text();
  EXPECT_NE(late.text().find("127.0.0.1") == std::string::npos, late.text().find("::1") == std::string::npos)
      << late.text();
}

TEST_P(TransportTest, ManyAreCancelledWhileTheyConnect) {
  const Bytes x = pattern(32 << 20, 1);
  Bytes big(x.size()), got(8 << 20);
  for (int round = 0; round < 12; ++round) {
    Pair pair;
    Pending s = send(*pair.a, *pair.to_b, 1, x), r = receive(*pair.b, *pair.to_a, 1, big);
    Pending never = receive(*pair.a, *pair.to_b, 2, got), unmatched = send(*pair.a, *pair.to_b, 3, x);
    if (round % 3) std::this_thread::sleep_for(std::chrono::microseconds(300 * round));
    pair.a->cancel(*pair.to_b, Error(result::kUnavail, "stop"));
    EXPECT_NE(s.code(), -1);
    EXPECT_TRUE(r.code() == 0 || r.code() == result::kRemote) << r.text();
  }
}

TEST_P(TransportTest, CancelInTheMiddleOfTheStream) {
  for (int round = 0; round < 5; ++round) {
    Pair pair;
    auto x = std::make_unique<Bytes>(pattern(32 << 20, 1)), y = std::make_unique<Bytes>(x->size());
    Pending s = send(*pair.a, *pair.to_b, 1, *x), r = receive(*pair.b, *pair.to_a, 1, *y);
    std::this_thread::sleep_for(std::chrono::milliseconds(round));
    pair.b->cancel(*pair.to_a, Error(result::kUnavail, "stop"));
    y.reset();
    EXPECT_NE(r.code(), -1);
    EXPECT_TRUE(s.code() == 0 || s.code() == result::kRemote) << s.text();
  }
}

TEST_P(TransportTest, ThePeerIsDestroyedInTheMiddleOfAMessage) {
  Pair pair;
  pair.greet();
  const Bytes x = pattern(48 << 20, 1);
  Bytes got(x.size()), small(10);
  Pending r = receive(*pair.b, *pair.to_a, 1, got), never = receive(*pair.b, *pair.to_a, 2, small);
  Pending s = send(*pair.a, *pair.to_b, 1, x);
  std::this_thread::sleep_for(3ms);
  pair.to_b.reset();
  pair.a.reset();
  EXPECT_NE(s.code(), -1);
  EXPECT_TRUE(r.code() == 0 || r.code() == result::kRemote) << r.text();
  EXPECT_EQ(never.code(), result::kRemote) << never.text();
}

TEST_P(TransportTest, LastMessagesOutliveTheirSender) {
  Pair pair;
  const Bytes x = pattern(1000, 1), y = pattern(3 << 20, 2);
  Bytes gx(x.size()), gx2(x.size()), gy(y.size());
  Pending r = receive(*pair.b, *pair.to_a, 2, gy);
  EXPECT_EQ(send(*pair.a, *pair.to_b, 1, x).text(), "");
  EXPECT_EQ(send(*pair.a, *pair.to_b, 2, y).text(), "");
  EXPECT_EQ(send(*pair.a, *pair.to_b, 1, x).text(), "");
  pair.to_b.reset();
  pair.a.reset();
  EXPECT_EQ(r.text(), "");
  EXPECT_EQ(receive(*pair.b, *pair.to_a, 1, gx).text(), "");
  EXPECT_EQ(receive(*pair.b, *pair.to_a, 1, gx2).text(), "");
  EXPECT_TRUE(gx == x && gx2 == x && gy == y);
  EXPECT_EQ(receive(*pair.b, *pair.to_a, 1, gx).code(), result::kRemote);
}

/// Not a test by itself: the other process of the following two. A new program, since UCX does not survive a fork.
pid_t start_rank(const char* what, int address, int down, int up) {
  const std::string filter = fmt::format("--gtest_filter=*TransportTest.RankProcess/{}", TransportTest::GetParam());
  const std::string rank = fmt::format("{} {} {} {}", what, address, down, up);
  const pid_t pid = fork();
  if (pid != 0) return pid;
  setenv("TRANSPORT_TEST_RANK", rank.c_str(), 1);
  execl("/proc/self/exe", "rank", filter.c_str(), static_cast<char*>(nullptr));
  _exit(1);
}

TEST_P(TransportTest, RankProcess) {
  const char* const rank = std::getenv("TRANSPORT_TEST_RANK");
  if (!rank) GTEST_SKIP() << "only run by other tests";
  char what[16];
  int address, down, up;
  ASSERT_EQ(std::sscanf(rank, "%15s %d %d %d", what, &address, &down, &up), 4);
  TransportOptions o = options();
  if (what[0] == 's') {
    o.heartbeat = 50ms;
    o.lost_after = 1000ms;
  }
  auto t = make(o);
  tell(address, t->address());
  const auto peer = t->peer(hear(down), std::string(32, 'f'));
  const Bytes x = pattern(10, 1);
  send(*t, *peer, 1, x).wait();
  if (up >= 0 && fork() == 0) {
    // The connections are not this process's.
    const bool refused = send(*t, *peer, 1, x).code() == result::kNotSupport;
    tell(up, refused ? "y" : "n");
    sleep(20);
    _exit(0);
  }
  pause();
}

TEST_P(TransportTest, AKilledProcessIsNoticedThoughItsForkedChildLives) {
  int address[2], down[2], up[2];
  ASSERT_EQ(pipe(address), 0);
  ASSERT_EQ(pipe(down), 0);
  ASSERT_EQ(pipe(up), 0);
  const pid_t rank = start_rank("killed", address[1], down[0], up[1]);
  auto mine = make();
  tell(down[1], mine->address());
  const auto peer = mine->peer(hear(address[0]), std::string(32, 'f'));
  Bytes got(10);
  EXPECT_EQ(receive(*mine, *peer, 1, got).text(), "");
  EXPECT_EQ(hear(up[0]), "y");
  Pending never = receive(*mine, *peer, 2, got);
  kill(rank, SIGKILL);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(never.code(), result::kRemote) << never.text();
  EXPECT_LT(std::chrono::steady_clock::now() - start, 15s);
  waitpid(rank, nullptr, 0);
  for (const int fd : {address[0], address[1], down[0], down[1], up[0], up[1]}) close(fd);
}

TEST_P(TransportTest, ASilentPeerIsLost) {
  TransportOptions quick = options();
  quick.heartbeat = 50ms;
  quick.lost_after = 1000ms;
  int address[2], down[2];
  ASSERT_EQ(pipe(address), 0);
  ASSERT_EQ(pipe(down), 0);
  const pid_t rank = start_rank("silent", address[1], down[0], -1);
  auto mine = make(quick);
  tell(down[1], mine->address());
  const auto peer = mine->peer(hear(address[0]), std::string(32, 'f'));
  Bytes got(10);
  EXPECT_EQ(receive(*mine, *peer, 1, got).text(), "");
  Pending never = receive(*mine, *peer, 2, got);
  std::this_thread::sleep_for(2500ms);  // signs of life keep it
  kill(rank, SIGSTOP);
  EXPECT_EQ(never.code(), result::kRemote);
  EXPECT_NE(never.text().find("LOST"), std::string::npos) << never.text();
  kill(rank, SIGKILL);
  waitpid(rank, nullptr, 0);
  for (const int fd : {address[0], address[1], down[0], down[1]}) close(fd);
}

TEST_P(TransportTest, AnotherKeyIsRefused) {
  TransportOptions quick = options();
  quick.connect_timeout = 700ms;
  quick.handshake_timeout = 200ms;
  auto a = make(quick), b = make(quick);
  const auto to_b = a->peer(b->address(), std::string(32, 'x'));
  const auto to_a = b->peer(a->address(), std::string(32, 'y'));
  const Bytes x(10);
  Bytes got(10);
  Pending s = send(*a, *to_b, 1, x), r = receive(*b, *to_a, 1, got);
  EXPECT_EQ(s.code(), result::kTimeout);
  EXPECT_NE(s.text().find("EI0006"), std::string::npos) << s.text();
  EXPECT_EQ(r.code(), result::kTimeout);
}

TEST_P(TransportTest, NobodyThere) {
  TransportOptions quick = options();
  quick.connect_timeout = 300ms;
  auto a = make(quick);
  std::string gone;
  { gone = make(quick)->address(); }
  const auto peer = a->peer(gone, std::string(32, 'x'));
  Bytes got(10);
  EXPECT_EQ(receive(*a, *peer, 1, got).code(), result::kTimeout);
  EXPECT_EQ(receive(*a, *peer, 1, got).code(), result::kTimeout) << "failed peers stay failed";
}

TEST_P(TransportTest, WrongArgumentsAreToldAtOnce) {
  auto t = make();
  EXPECT_THROW(t->peer("", std::string(32, 'k')), Error);
  EXPECT_THROW(t->peer("tcp", std::string(32, 'k')), Error);
  EXPECT_THROW(t->peer("tcp localhost 80 0", std::string(32, 'k')), Error);
  EXPECT_THROW(t->peer("tcp 127.0.0.1 0 0", std::string(32, 'k')), Error);
  EXPECT_THROW(t->peer("tcp 127.0.0.1 99999 0", std::string(32, 'k')), Error);
  EXPECT_THROW(t->peer(std::string(5000, 'a'), std::string(32, 'k')), Error);
  EXPECT_THROW(t->peer(t->address(), "short"), Error);
  TransportOptions o = options();
  o.bind_ip = "nonsense";
  EXPECT_THROW(make_tcp_transport(o), Error);
  o.bind_ip = "0.0.0.0";
  EXPECT_THROW(make_tcp_transport(o), Error);
}

INSTANTIATE_TEST_SUITE_P(All, TransportTest, testing::Values("tcp4", "tcp6", "ucx4"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace updraft::collective
