// What the TCP transport does with those who should not be there, and with peers that do not keep to the protocol.
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <thread>
#include <vector>

#include "collective/error.h"
#include "collective/transport/transport.h"
#include "raw_client.h"

namespace updraft::collective {
namespace {

using namespace std::chrono_literals;
const std::string kKey(32, 'k');

TransportOptions quick() {
  TransportOptions o;
  o.bind_ip = "127.0.0.1";
  o.handshake_timeout = 300ms;
  return o;
}

/// The code with which a message ended; -1 after a minute.
struct Result {
  std::shared_ptr<std::promise<std::pair<int, std::string>>> over =
      std::make_shared<std::promise<std::pair<int, std::string>>>();
  Completion done() {
    return [over = over](const Error* e) { over->set_value({e ? e->code() : 0, e ? e->text() : ""}); };
  }
  std::pair<int, std::string> get() {
    auto future = over->get_future();
    if (future.wait_for(60s) != std::future_status::ready) return {-1, "nothing in 60 s"};
    return future.get();
  }
};

/// Two honest ones, who must be able to talk whatever happens beside them.
class StrangerTest : public testing::Test {
 protected:
  StrangerTest() : a(make_tcp_transport(quick())), b(make_tcp_transport(quick())) {
    to_b = a->peer(b->address(), kKey);
    to_a = b->peer(a->address(), kKey);
  }
  void expect_talk() {
    const std::string x(200000, 'x');
    std::string y(x.size(), ' ');
    Result s, r;
    a->send(*to_b, 1, x.data(), x.size(), s.done());
    b->receive(*to_a, 1, y.data(), y.size(), r.done());
    EXPECT_EQ(s.get().second, "");
    EXPECT_EQ(r.get().second, "");
    EXPECT_EQ(x, y);
  }
  std::unique_ptr<Transport> a, b;
  std::shared_ptr<Peer> to_b, to_a;
};

TEST_F(StrangerTest, GarbageIsRefused) {
  for (const std::string& text :
       {std::string("GET / HTTP/1.1\r\nHost: somebody\r\nUser-Agent: a scanner, maybe\r\n\r\n"),
        std::string(1 << 20, '\xff'), std::string(48, '\0')}) {
    RawClient stranger(a->address());
    ASSERT_TRUE(stranger.connected());
    stranger.write(text);
    EXPECT_TRUE(stranger.closed());
  }
  expect_talk();
}

TEST_F(StrangerTest, TheSilentAndTheSlowAreShownTheDoor) {
  RawClient silent(a->address()), slow(a->address()), unknown(a->address());
  const Hello hello{kMagic, id_of("another key"), make_nonce()};
  unknown.write(&hello, sizeof hello);
  std::thread drip([&] {
    for (size_t i = 0; i < sizeof hello && slow.write(reinterpret_cast<const char*>(&hello) + i, 1); ++i)
      std::this_thread::sleep_for(100ms);
  });
  expect_talk();
  EXPECT_TRUE(silent.closed());
  EXPECT_TRUE(slow.closed());
  EXPECT_TRUE(unknown.closed());
  drip.join();
}

TEST_F(StrangerTest, ManyDoNotKeepOthersOut) {
  std::vector<std::unique_ptr<RawClient>> strangers;
  for (int i = 0; i < 400; ++i) strangers.push_back(std::make_unique<RawClient>(a->address()));
  expect_talk();
}

TEST_F(StrangerTest, AProofWithAnotherKeyIsRefused) {
  RawServer mine;
  {
    RawClient stranger(a->address());
    EXPECT_FALSE(stranger.authenticate(kKey, std::string(32, 'x'), mine.address(), a->address()));
  }
  {
    RawClient lost(a->address());  // has the key, and looks for another process
    EXPECT_FALSE(lost.authenticate(kKey, kKey, mine.address(), b->address()));
  }
  {
    RawClient odd(a->address());  // an address that is none
    EXPECT_FALSE(odd.authenticate(kKey, kKey, "nowhere", a->address()));
  }
  {
    RawClient friendly(a->address());
    EXPECT_TRUE(friendly.authenticate(kKey, kKey, mine.address(), a->address()));
  }
  expect_talk();
}

TEST_F(StrangerTest, AnAcceptorWithoutTheKeyGetsNothing) {
  RawServer server;
  TransportOptions o = quick();
  o.connect_timeout = 500ms;
  const auto t = make_tcp_transport(o);
  const auto peer = t->peer(server.address(), kKey);
  Result s;
  t->send(*peer, 1, "secret", 6, s.done());
  RawClient accepted(server.accept());
  EXPECT_FALSE(accepted.welcome(std::string(32, 'x')));
  const auto [code, text] = s.get();
  EXPECT_EQ(code, result::kTimeout) << text;
}

TEST_F(StrangerTest, TheWhitelistIsChecked) {
  TransportOptions o = quick();
  o.allowed_ips = {"10.1.2.3", "::1"};
  const auto strict = make_tcp_transport(o);
  const auto peer = strict->peer(a->address(), kKey);
  RawServer mine;
  RawClient client(strict->address());
  EXPECT_FALSE(client.authenticate(kKey, kKey, mine.address(), strict->address()));
  o.allowed_ips.push_back("127.0.0.1");
  const auto open = make_tcp_transport(o);
  const auto other = open->peer(a->address(), kKey);
  RawClient allowed(open->address());
  EXPECT_TRUE(allowed.authenticate(kKey, kKey, mine.address(), open->address()));
}

TEST_F(StrangerTest, PortsAreTakenFromTheRangeAndTheirLackIsTold) {
  const std::string address = a->address();
  TransportOptions o = quick();
  o.first_port = static_cast<uint16_t>(std::stoi(address.substr(address.find(' ', 4) + 1)));
  o.ports = 1;
  try {
    make_tcp_transport(o);
    FAIL() << "the port is taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), result::kTcpConnect);
    EXPECT_NE(error.text().find(std::to_string(o.first_port)), std::string::npos) << error.text();
  }
}

/// Who is authenticated and then breaks the rules.
class BrokenPeerTest : public StrangerTest {
 protected:
  BrokenPeerTest() : client(a->address()), peer(a->peer(server.address(), kKey)) {
    EXPECT_TRUE(client.authenticate(kKey, kKey, server.address(), a->address()));
  }
  /// A receive of `bytes` with tag 1 from the broken one.
  Result receive(std::string& to) {
    Result r;
    a->receive(*peer, 1, to.data(), to.size(), r.done());
    return r;
  }
  void expect_broken(Result r) {
    const auto [code, text] = r.get();
    EXPECT_EQ(code, result::kRemote) << text;
    EXPECT_NE(text.find("it sent"), std::string::npos) << text;
    EXPECT_TRUE(client.closed());
    expect_talk();
  }
  RawServer server;
  RawClient client;
  std::shared_ptr<Peer> peer;
};

TEST_F(BrokenPeerTest, WhatIsRightWorks) {
  std::string small(3, ' '), empty, large(100000, ' ');
  Result r[] = {receive(small), receive(empty), receive(large)};
  client.frame(Frame::Alive, 0, 0);
  client.frame(Frame::Eager, 1, 0, "abc");
  client.frame(Frame::Eager, 1, 0);
  client.frame(Frame::Announce, 1, large.size());
  FrameHeader ready;
  ASSERT_TRUE(client.read(&ready, sizeof ready));
  EXPECT_TRUE(ready.type == Frame::Ready && ready.a == 0 && ready.length == 0);
  client.frame(Frame::Data, 0, 0, std::string(60000, 'y'));
  client.frame(Frame::Data, 0, 0, std::string(40000, 'z'));
  for (Result& i : r) EXPECT_EQ(i.get().second, "");
  EXPECT_EQ(small, "abc");
  EXPECT_EQ(large, std::string(60000, 'y') + std::string(40000, 'z'));
}

// A rank that is through with its last operation may end while an answer to an earlier message is on its way to it.
TEST_F(BrokenPeerTest, WhatCameBeforeItsEndIsReadAlthoughNothingCanBeWritten) {
  std::string announced(100000, ' '), last(4, ' ');
  std::promise<void> inside, go_on;
  Result wanted, farewell;
  char byte;
  a->receive(*peer, 1, &byte, 1, [&](const Error*) {  // in the transport's thread, which then answers tag 2
    inside.set_value();
    go_on.get_future().wait();
  });
  a->receive(*peer, 2, announced.data(), announced.size(), wanted.done());
  a->receive(*peer, 3, last.data(), last.size(), farewell.done());
  const FrameHeader eager{Frame::Eager, 1, 1, 0}, announce{Frame::Announce, 0, 2, announced.size()};
  std::string both(reinterpret_cast<const char*>(&eager), sizeof eager);
  both += 'x';
  both.append(reinterpret_cast<const char*>(&announce), sizeof announce);
  ASSERT_TRUE(client.write(both));
  inside.get_future().wait();
  ASSERT_TRUE(client.frame(Frame::Eager, 3, 0, "last"));
  client.reset();
  go_on.set_value();
  EXPECT_EQ(farewell.get().second, "");
  EXPECT_EQ(last, "last");
  EXPECT_EQ(wanted.get().first, result::kRemote);
  expect_talk();
}

TEST_F(BrokenPeerTest, UnknownFrame) {
  std::string x(3, ' ');
  Result r = receive(x);
  client.frame(static_cast<Frame>(99), 0, 0);
  expect_broken(r);
}
TEST_F(BrokenPeerTest, AnAnswerInsteadOfAMessage) {
  std::string x(3, ' ');
  Result r = receive(x);
  client.frame(Frame::Ready, 0, 0);
  expect_broken(r);
}
TEST_F(BrokenPeerTest, DataThatNobodyWants) {
  std::string x(3, ' ');
  Result r = receive(x);
  client.frame(Frame::Data, 5, 0, "xyz");
  expect_broken(r);
}
TEST_F(BrokenPeerTest, MoreDataThanAnnounced) {
  std::string x(100000, ' ');
  Result r = receive(x);
  client.frame(Frame::Announce, 1, x.size());
  client.frame(Frame::Data, 0, 0, std::string(99999, 'x'));
  client.frame(Frame::Data, 0, 0, "yy");
  expect_broken(r);
}
TEST_F(BrokenPeerTest, ALengthBeyondAllMemory) {
  std::string x(3, ' ');
  Result r = receive(x);
  const FrameHeader header{Frame::Eager, UINT32_MAX, 2, 0};
  client.write(&header, sizeof header);
  expect_broken(r);
}
TEST_F(BrokenPeerTest, MoreThanTheWindow) {
  std::string x(3, ' ');
  Result r = receive(x);
  for (int i = 0; i < 100 && client.frame(Frame::Eager, 2, 0, std::string(60000, 'x')); ++i) continue;
  expect_broken(r);
}
TEST_F(BrokenPeerTest, ALongTextOfFailure) {
  std::string x(3, ' ');
  Result r = receive(x);
  client.frame(Frame::Failed, 21, 0, std::string(kTextBytes + 1, 'x'));
  expect_broken(r);
}
TEST_F(BrokenPeerTest, TheEndInAFrame) {
  std::string x(1000, ' ');
  Result r = receive(x);
  const FrameHeader header{Frame::Eager, 1000, 1, 0};
  client.write(&header, sizeof header);
  client.write("half", 4);
  ::shutdown(client.fd(), SHUT_RDWR);
  const auto [code, text] = r.get();
  EXPECT_EQ(code, result::kRemote) << text;
  EXPECT_NE(text.find("in the middle of a message"), std::string::npos) << text;
}
TEST_F(BrokenPeerTest, ItsFailureIsHandedOn) {
  std::string x(1000, ' ');
  Result r = receive(x);
  client.frame(Frame::Failed, 9, 0, "the reason of a friend");
  const auto [code, text] = r.get();
  EXPECT_EQ(code, result::kRemote);
  EXPECT_NE(text.find("the reason of a friend"), std::string::npos) << text;
}

TEST_F(StrangerTest, AnAcceptorThatAnswersWrongly) {
  struct Wrong {
    Frame type;
    uint64_t a;
    std::string payload;
  };
  for (const Wrong& wrong :
       {Wrong{Frame::Ready, 7, ""}, Wrong{Frame::Credit, 1 << 30, ""}, Wrong{Frame::Eager, 1, "abc"},
        Wrong{Frame::Alive, 0, "x"}, Wrong{static_cast<Frame>(0), 0, ""}}) {
    RawServer server;
    const auto peer = a->peer(server.address(), kKey);
    const std::string large(100000, 'x');
    Result s;
    a->send(*peer, 1, large.data(), large.size(), s.done());
    RawClient accepted(server.accept());
    ASSERT_TRUE(accepted.welcome(kKey));
    accepted.frame(wrong.type, wrong.a, 0, wrong.payload);
    const auto [code, text] = s.get();
    EXPECT_EQ(code, result::kRemote);
    EXPECT_NE(text.find("it sent"), std::string::npos) << text;
  }
  expect_talk();
}

}  // namespace
}  // namespace updraft::collective
