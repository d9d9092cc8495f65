// The rendezvous of a communicator: strangers, ranks that contradict each other, and ranks that die on the way.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <chrono>
#include <functional>
#include <future>
#include <thread>
#include <vector>

#include "collective/bootstrap/member.h"
#include "collective/bootstrap/root.h"
#include "raw_member.h"

namespace updraft::collective {
namespace {

using namespace std::chrono_literals;
using Clock = EventLoop::Clock;
using Joined = std::shared_ptr<Member>;
const std::string kKey(32, 'k');

/// An error, or what came instead.
std::string error_of(const std::function<void()>& call, int* code = nullptr) {
  try {
    call();
  } catch (const Error& e) {
    if (code) *code = e.code();
    return e.text();
  }
  return "no error";
}

class BootstrapTest : public testing::Test {
 protected:
  void open(uint32_t ranks, double timeout = 60) {
    RootOptions options;
    options.ip = "127.0.0.1";
    options.key = kKey;
    options.ranks = ranks;
    options.timeout = timeout;
    root_ = Root::open(options);
  }
  Joined join(uint32_t rank, uint32_t ranks, Clock::duration within = 60s, const std::string& key = kKey) const {
    return Member::join("127.0.0.1", root_->port(), key, rank, ranks, Clock::now() + within);
  }
  std::future<Joined> start(uint32_t rank, uint32_t ranks) const {
    return std::async(std::launch::async, [=, this] { return join(rank, ranks); });
  }
  /// All ranks join and can exchange: whatever happened before left the root in order.
  void expect_meeting(uint32_t ranks) const {
    std::vector<std::future<std::vector<std::string>>> all;
    std::vector<Joined> members(ranks);
    for (uint32_t r = 0; r < ranks; ++r)
      all.push_back(std::async(std::launch::async, [&, r] {
        members[r] = join(r, ranks);
        return members[r]->exchange(std::string(r, 'x'), Clock::now() + 60s);
      }));
    for (auto& one : all) {
      const auto blobs = one.get();
      ASSERT_EQ(blobs.size(), ranks);
      for (uint32_t r = 0; r < ranks; ++r) EXPECT_EQ(blobs[r], std::string(r, 'x'));
    }
    for (auto& m : members) m->leave();
  }
  void TearDown() override {
    if (root_) root_->close();
  }
  std::shared_ptr<Root> root_;
};

/// What a member is told, in the order in which it comes.
struct Heard {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::string> words;
  Member::Events events() {
    return {[this](uint32_t rank, bool left) { add(fmt::format("{} {}", rank, left ? "left" : "died")); },
            [this](uint32_t rank, const Error& e) { add(fmt::format("{} says {} {}", rank, e.code(), e.text())); },
            [this](const std::string&) { add("root lost"); }};
  }
  void add(std::string word) {
    std::lock_guard lock(mutex);
    words.push_back(std::move(word));
    changed.notify_all();
  }
  std::vector<std::string> wait(size_t n) {
    std::unique_lock lock(mutex);
    changed.wait_for(lock, 20s, [&] { return words.size() >= n; });
    return words;
  }
};
using Words = std::vector<std::string>;

TEST_F(BootstrapTest, StrangersDoNotDisturb) {
  open(3);
  const uint16_t port = root_->port();
  RawMember silent(port), slow(port), half(port);
  ASSERT_TRUE(silent.connected());
  for (const std::string& text :
       {std::string("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), std::string(1 << 20, '\xff'), std::string(64, '\0'),
        RawMember::frame_of(kExchange, "early"), RawMember::frame_of(kHello, "short"),
        RawMember::frame_of(kHello, std::string(4000, 'x')),
        RawMember::frame_of(kHello, std::string(4096, 'x')),  // a byte too long
        Writer().u32(UINT32_MAX).text() + "x"}) {
    RawMember stranger(port);
    stranger.write(text);
    EXPECT_TRUE(stranger.closed()) << text.substr(0, 20);
  }
  half.write(Writer().u32(73).text() + std::string(1, kHello) + "half");
  slow.write(std::string(2, '\0'));
  for (int step = 0; step < 4; ++step) {  // ends at each step of the handshake
    RawMember leaver(port);
    if (step == 1) leaver.read();
    if (step == 2) leaver.write("x");
    if (step == 3) leaver.hello(std::string(32, 'x'), 0, 3);
  }
  expect_meeting(3);
  EXPECT_TRUE(silent.closed());
  EXPECT_TRUE(slow.closed());
  EXPECT_TRUE(half.closed());
}

TEST_F(BootstrapTest, ManyStrangersDoNotKeepRanksOut) {
  open(2);
  std::vector<std::unique_ptr<RawMember>> strangers;
  for (int i = 0; i < 400; ++i) strangers.push_back(std::make_unique<RawMember>(root_->port()));
  expect_meeting(2);
}

TEST_F(BootstrapTest, TheWrongKeyIsRefused) {
  open(2);
  int code = 0;
  const std::string text = error_of([&] { join(0, 2, 60s, std::string(32, 'x')); }, &code);
  EXPECT_NE(text.find("does not know the key"), std::string::npos) << text;
  EXPECT_EQ(code, result::kPara);
  expect_meeting(2);
}

TEST_F(BootstrapTest, RanksThatContradictEachOther) {
  open(0);
  const Joined first = join(0, 3);
  EXPECT_NE(error_of([&] { join(1, 4); }).find("says rank 1 of 4, the communicator has 3 ranks"), std::string::npos);
  EXPECT_NE(error_of([&] { join(3, 3); }).find("says rank 3 of 3"), std::string::npos);
  EXPECT_NE(error_of([&] { join(0, 3); }).find("rank 0 has joined already"), std::string::npos);
  const Joined second = join(1, 3), third = join(2, 3);
  // Who comes when all are there finds nobody, at once.
  EXPECT_NE(error_of([&] { join(1, 3, 100ms); }).find("EI0015"), std::string::npos);
  for (auto& m : {first, second, third}) m->leave();
}

TEST_F(BootstrapTest, AnAbsurdNumberOfRanks) {
  open(0);
  EXPECT_NE(error_of([&] { join(0, UINT32_MAX); }).find("4294967295"), std::string::npos);
  expect_meeting(2);
}

TEST_F(BootstrapTest, TimeOutsNameWhoIsMissing) {
  open(20, 0.3);
  auto first = start(0, 20), second = start(18, 20);
  for (auto* one : {&first, &second}) {
    int code = 0;
    const std::string text = error_of([&] { one->get()->exchange("", Clock::now() + 60s); }, &code);
    EXPECT_NE(text.find("EI0015: 18 of 20 ranks did not join within 0.3 s: rank 1, 2, 3"), std::string::npos) << text;
    EXPECT_NE(text.find("and 2 more"), std::string::npos) << text;
    EXPECT_EQ(code, result::kTimeout);
  }
}

// Who comes after the end is told why, not that nobody listens.
TEST_F(BootstrapTest, LateOnesAreToldWhy) {
  open(4);
  const Joined first = join(0, 4);
  RawMember second(root_->port());
  ASSERT_TRUE(second.join(kKey, 1, 4));
  second.close();
  EXPECT_NE(error_of([&] { first->exchange("", Clock::now() + 60s); }), "no error");
  for (uint32_t rank : {2u, 3u})
    EXPECT_NE(error_of([&] { join(rank, 4); }).find("rank 1 ended while"), std::string::npos);
  EXPECT_NE(error_of([&] { join(3, 4, 100ms); }).find("EI0015"), std::string::npos);  // now all are told
}

TEST_F(BootstrapTest, APortThatOnlyTellsOfFailureIsFree) {
  open(3);
  RootOptions options;
  options.ip = "127.0.0.1";
  options.port = root_->port();
  options.key = kKey;
  RawMember first(options.port);
  ASSERT_TRUE(first.join(kKey, 0, 3));
  EXPECT_TRUE(error_of([&] { Root::open(options); }).starts_with("EI0019"));
  RawMember second(options.port);
  ASSERT_TRUE(second.join(kKey, 1, 3));
  second.close();
  EXPECT_NE(first.refusal(), "");
  root_ = Root::open(options);
  expect_meeting(2);
}

TEST_F(BootstrapTest, NobodyListens) {
  RawRoot gone;
  const uint16_t port = gone.port();
  gone.close();
  const std::string text = error_of([&] { Member::join("127.0.0.1", port, kKey, 1, 2, Clock::now() + 200ms); });
  EXPECT_NE(text.find("EI0015: rank 1 cannot reach the root at 127.0.0.1:" + std::to_string(port)), std::string::npos);
  EXPECT_NE(error_of([&] { Member::join("nowhere", port, kKey, 1, 2, Clock::now()); }).find("neither IPv4 nor IPv6"),
            std::string::npos);
}

TEST_F(BootstrapTest, APortInUse) {
  const RawRoot taken;
  RootOptions options;
  options.ip = "127.0.0.1";
  options.port = taken.port();
  int code = 0;
  const std::string text = error_of([&] { Root::open(options); }, &code);
  EXPECT_TRUE(text.starts_with("EI0019: 127.0.0.1:" + std::to_string(taken.port()))) << text;
  EXPECT_EQ(code, result::kTcpConnect);
  options.ip = "192.0.2.1";
  options.port = 0;
  EXPECT_TRUE(error_of([&] { Root::open(options); }).starts_with("EI0019: 192.0.2.1"));
}

TEST_F(BootstrapTest, TheWhitelist) {
  RootOptions options;
  options.ip = "127.0.0.1";
  options.key = kKey;
  options.whitelist = true;
  options.allowed = {"10.1.2.3", "127.0.0.2"};
  root_ = Root::open(options);
  RawMember stranger(root_->port());
  EXPECT_TRUE(stranger.closed());
  EXPECT_NE(error_of([&] { join(0, 2, 300ms); }).find("the connection to the root"), std::string::npos);
  root_->close();
  options.allowed.push_back("127.0.0.1");
  root_ = Root::open(options);
  expect_meeting(2);
}

TEST_F(BootstrapTest, ARankThatDiesWhileOthersJoin) {
  open(3);
  const Joined first = join(0, 3);
  auto waits =
      std::async(std::launch::async, [&] { return error_of([&] { first->exchange("", Clock::now() + 60s); }); });
  RawMember second(root_->port());
  ASSERT_TRUE(second.join(kKey, 1, 3));
  second.close();
  ASSERT_EQ(waits.wait_for(20s), std::future_status::ready);
  const std::string text = waits.get();
  EXPECT_NE(text.find("rank 1 "), std::string::npos) << text;
}

// All have joined; one dies, or gives up, before it has said what the others wait for.
TEST_F(BootstrapTest, ARankThatGoesWhileOthersExchange) {
  for (const bool leaves : {false, true}) {
    open(3);
    const Joined first = join(0, 3), second = join(1, 3);
    RawMember third(root_->port());
    ASSERT_TRUE(third.join(kKey, 2, 3));
    std::vector<std::future<std::string>> waiting;
    for (auto& m : {first, second})
      waiting.push_back(
          std::async(std::launch::async, [m] { return error_of([&] { m->exchange("", Clock::now() + 60s); }); }));
    if (leaves) third.frame(kLeave);
    third.close();
    for (auto& one : waiting) {
      ASSERT_EQ(one.wait_for(20s), std::future_status::ready);
      const std::string text = one.get();
      EXPECT_NE(text.find(leaves ? "rank 2 has left" : "rank 2 has died"), std::string::npos) << text;
    }
    EXPECT_NE(error_of([&] { first->check(); }).find("rank 2"), std::string::npos);
    first->leave();
    second->leave();
  }
}

TEST_F(BootstrapTest, ExchangesKeepTheirOrder) {
  open(3);
  std::vector<std::future<void>> ranks;
  for (uint32_t r = 0; r < 3; ++r)
    ranks.push_back(std::async(std::launch::async, [&, r] {
      const Joined m = join(r, 3);
      for (uint32_t n = 0; n < 200; ++n) {
        const auto all =
            m->exchange(fmt::format("{} {}", r, n) + std::string(n == 100 ? 1 << 20 : 0, '.'), Clock::now() + 60s);
        ASSERT_EQ(all.size(), 3u);
        for (uint32_t k = 0; k < 3; ++k) ASSERT_TRUE(all[k].starts_with(fmt::format("{} {}", k, n))) << all[k];
      }
      m->leave();
    }));
  for (auto& r : ranks) r.get();
}

TEST_F(BootstrapTest, PutAndGet) {
  open(2);
  auto other = start(1, 2);
  const Joined first = join(0, 2), second = other.get();
  auto later = std::async(std::launch::async, [&] { return first->get("b", 1, Clock::now() + 60s); });
  second->put("a", "one");
  EXPECT_EQ(first->get("a", 1, Clock::now() + 60s), "one");
  EXPECT_EQ(later.wait_for(50ms), std::future_status::timeout);
  second->put("b", std::string(100000, 'x'));
  EXPECT_EQ(later.get().size(), 100000u);
  EXPECT_NE(error_of([&] { first->get("c", 1, Clock::now() - 2s); }).find("got no word of rank 1"), std::string::npos);
  // It has gone: what it put is there, what it did not put will never be.
  auto never =
      std::async(std::launch::async, [&] { return error_of([&] { first->get("d", 1, Clock::now() + 60s); }); });
  second->leave();
  ASSERT_EQ(never.wait_for(20s), std::future_status::ready);
  EXPECT_NE(never.get().find("rank 1 has gone"), std::string::npos);
  EXPECT_NE(error_of([&] { first->get("e", 1, Clock::now() + 60s); }).find("rank 1 has gone"), std::string::npos);
  EXPECT_EQ(first->get("a", 1, Clock::now() + 60s), "one");
  first->leave();
}

TEST_F(BootstrapTest, LeavingIsNotDying) {
  open(4);
  std::vector<std::future<Joined>> starting;
  for (uint32_t r = 0; r < 3; ++r) starting.push_back(start(r, 4));
  RawMember fourth(root_->port());
  ASSERT_TRUE(fourth.join(kKey, 3, 4));
  std::vector<Joined> members;
  for (auto& s : starting) members.push_back(s.get());
  Heard heard, late;
  members[0]->watch(heard.events());
  members[2]->report(Error(result::kTimeout, "a reason"));
  EXPECT_EQ(heard.wait(1), (Words{"2 says 9 a reason"}));
  members[1]->leave();
  members[1]->leave();
  EXPECT_EQ(heard.wait(2).back(), "1 left");
  fourth.close();
  EXPECT_EQ(heard.wait(3).back(), "3 died");
  // Who begins to listen late hears it all; its own report it does not hear.
  members[2]->watch(late.events());
  EXPECT_EQ(late.wait(2), (Words{"1 left", "3 died"}));
  members[0]->leave();
  members[2]->leave();
}

TEST_F(BootstrapTest, AMemberThatBreaksTheRules) {
  for (const auto& [type, payload] : std::vector<std::pair<uint8_t, std::string>>{
           {99, ""}, {kExchange, "x"}, {kPut, Writer().u32(1000).text()}, {kHello, ""}, {kGet, ""}}) {
    open(2);
    auto other = start(0, 2);
    RawMember broken(root_->port());
    ASSERT_TRUE(broken.join(kKey, 1, 2));
    const Joined first = other.get();
    Heard heard;
    first->watch(heard.events());
    broken.frame(type, payload);
    EXPECT_EQ(heard.wait(1), (Words{"1 died"})) << int{type};
    EXPECT_NE(broken.refusal(), "");
    EXPECT_TRUE(broken.closed());
    first->leave();
  }
}

TEST_F(BootstrapTest, AMemberThatSpeaksTwice) {
  open(2);
  auto other = start(0, 2);
  RawMember broken(root_->port());
  ASSERT_TRUE(broken.join(kKey, 1, 2));
  const Joined first = other.get();
  for (int i = 0; i < 2; ++i) broken.frame(kExchange, Writer().u32(1).bytes("x").text());
  EXPECT_NE(broken.refusal().find("twice"), std::string::npos);
  EXPECT_NE(error_of([&] { first->exchange("", Clock::now() + 60s); }).find("rank 1 has died"), std::string::npos);
  first->leave();
}

TEST_F(BootstrapTest, ARootWithoutTheKey) {
  RawRoot server;
  auto member = std::async(std::launch::async, [&] {
    return error_of([&] { Member::join("127.0.0.1", server.port(), kKey, 0, 2, Clock::now() + 60s); });
  });
  RawMember accepted(server.accept());
  accepted.welcome(std::string(32, 'x'));
  EXPECT_NE(member.get().find("does not know the key"), std::string::npos);
}

TEST_F(BootstrapTest, ARootThatIsNone) {
  for (const std::string& text :
       {std::string("220 mail.example.org ESMTP, glad to meet you\r\n"), RawMember::frame_of(kGathered, ""),
        RawMember::frame_of(kChallenge, "short"), RawMember::frame_of(kWelcome, std::string(32, 'x')),
        RawMember::frame_of(kRefused, ""), Writer().u32(100 << 20).text() + "x",
        RawMember::frame_of(kChallenge, std::string(32, 'x')) +
            RawMember::frame_of(kChallenge, std::string(32, 'y'))}) {
    RawRoot server;
    auto member = std::async(std::launch::async, [&] {
      return error_of([&] { Member::join("127.0.0.1", server.port(), kKey, 0, 2, Clock::now() + 60s); });
    });
    RawMember accepted(server.accept());
    server.close();
    accepted.write(text);
    ASSERT_EQ(member.wait_for(20s), std::future_status::ready) << text;
    EXPECT_NE(member.get().find("EI0015"), std::string::npos);
  }
}

// Found by fuzz_bootstrap: a failure with the code of a success.
TEST_F(BootstrapTest, AFailureIsNoSuccess) {
  for (const uint32_t sent : {0u, 9u, 999u, UINT32_MAX}) {
    RawRoot server;
    auto joining = std::async(std::launch::async, [&] {
      int code = -1;
      error_of([&] { Member::join("127.0.0.1", server.port(), kKey, 0, 2, Clock::now() + 60s); }, &code);
      return code;
    });
    RawMember accepted(server.accept());
    accepted.frame(kRefused, Writer().u32(sent).bytes("no").text());
    EXPECT_EQ(joining.get(), sent == 9 ? result::kTimeout : result::kInternal);
  }
}

TEST_F(BootstrapTest, TheRootIsLost) {
  RawRoot server;
  auto joining = std::async(std::launch::async,
                            [&] { return Member::join("127.0.0.1", server.port(), kKey, 1, 2, Clock::now() + 60s); });
  RawMember accepted(server.accept());
  ASSERT_TRUE(accepted.welcome(kKey));
  const Joined member = joining.get();
  auto waits =
      std::async(std::launch::async, [&] { return error_of([&] { member->exchange("", Clock::now() + 60s); }); });
  Heard heard;
  member->watch(heard.events());
  accepted.close();
  EXPECT_EQ(heard.wait(1), (Words{"root lost"}));
  EXPECT_NE(waits.get().find("the connection to the root of rank 0 at 127.0.0.1"), std::string::npos);
  EXPECT_NE(error_of([&] { member->get("a", 0, Clock::now() + 60s); }).find("the connection to the root"),
            std::string::npos);
  member->report(Error(1, "nobody hears it"));
  member->leave();
}

// The root process ended while a rank was at its door: it has not to wait for its own time-out.
TEST_F(BootstrapTest, TheRootIsLostAtTheDoor) {
  RawRoot server;
  auto joining = std::async(std::launch::async, [&] {
    return error_of([&] { Member::join("127.0.0.1", server.port(), kKey, 1, 2, Clock::now() + 600s); });
  });
  RawMember accepted(server.accept());
  server.close();
  accepted.close();
  ASSERT_EQ(joining.wait_for(20s), std::future_status::ready);
  EXPECT_NE(joining.get().find("EI0015"), std::string::npos);
}

TEST_F(BootstrapTest, WaitersLearnThatTheyLeft) {
  open(2);
  auto other = start(1, 2);
  const Joined first = join(0, 2), second = other.get();
  auto waits =
      std::async(std::launch::async, [&] { return error_of([&] { first->exchange("", Clock::now() + 60s); }); });
  std::this_thread::sleep_for(20ms);
  first->leave();
  ASSERT_EQ(waits.wait_for(20s), std::future_status::ready);
  EXPECT_NE(waits.get(), "no error");
  second->leave();
}

// A child has neither the thread nor the sockets; it is told, and what it closes are not others' descriptors.
TEST_F(BootstrapTest, AForkedChildIsTold) {
  open(1);
  const Joined only = join(0, 1);
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    int fds[2];
    bool good = pipe(fds) == 0;
    for (int i = 0; i < 200; ++i) good = dup(fds[1]) >= 0 && good;  // fills the numbers that the fork closed
    good = error_of([&] { join(0, 1); }).find("forked process") != std::string::npos && good;
    only->report(Error(1, "x"));
    only->put("a", "b");
    good = error_of([&] { only->leave(); }).find("forked process") != std::string::npos && good;
    for (int fd = fds[0]; fd < fds[0] + 100; ++fd) good = fcntl(fd, F_GETFD) >= 0 && good;
    pollfd nothing{fds[0], POLLIN, 0};
    good = poll(&nothing, 1, 0) == 0 && good;  // and nobody writes into them
    const pid_t grandchild = fork();           // has the child's descriptors
    if (grandchild == 0) {
      for (int fd = fds[0]; fd < fds[0] + 100; ++fd) good = fcntl(fd, F_GETFD) >= 0 && good;
      _exit(good ? 0 : 1);
    }
    int ended = -1;
    good = waitpid(grandchild, &ended, 0) == grandchild && ended == 0 && good;
    _exit(good ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(only->exchange("still here", Clock::now() + 60s), (Words{"still here"}));
  only->leave();
}

// All ranks leave at about the same time: what the root writes to one may find it gone, with its farewell unread.
TEST(ConnectionTest, AFarewellIsReadAlthoughNothingCanBeWritten) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
  RawMember member(ends[1]);
  const auto connection = std::make_shared<Connection>(ends[0]);
  std::vector<std::string> heard;
  std::promise<void> over;
  EventLoop::get().run([&] {  // nothing is read until this returns
    connection->start(
        [&](uint8_t type, const std::string& payload) { heard.push_back(fmt::format("{} {}", type, payload)); },
        [&](const std::string&) { over.set_value(); });
    EXPECT_TRUE(member.frame(kLeave, "bye"));
    member.close();
    connection->send(kGone, "somebody");
    connection->send(kGone, "somebody else");
  });
  ASSERT_EQ(over.get_future().wait_for(60s), std::future_status::ready) << "the end was not noticed";
  EXPECT_EQ(heard, (std::vector<std::string>{fmt::format("{} bye", static_cast<int>(kLeave))}));
}

size_t descriptors() {
  size_t n = 0;
  for (int fd = 0; fd < 4096; ++fd) n += fcntl(fd, F_GETFD) >= 0;
  return n;
}

TEST_F(BootstrapTest, NothingIsLeft) {
  open(2);
  expect_meeting(2);
  const size_t before = descriptors();
  for (int i = 0; i < 30; ++i) {
    open(2);
    expect_meeting(2);
  }
  // The last ones are closed by the loop's thread.
  for (int i = 0; i < 500 && descriptors() > before; ++i) std::this_thread::sleep_for(20ms);
  EXPECT_LE(descriptors(), before);
}

}  // namespace
}  // namespace updraft::collective
