// The rendezvous at CM_CHIEF_IP: who gets which rank, and what happens to those who do not fit.
#include "collective/bootstrap/chief.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <future>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "collective/bootstrap/address.h"

namespace updraft::collective {
namespace {

constexpr const char* kChief = "127.0.0.1";

uint16_t free_port() {
  uint16_t port = 0;
  const int fd = listen_on(kChief, 0, &port);
  close(fd);
  return port;
}

struct Process {
  const char* ip;
  int device;
  uint32_t size;
  uint16_t port;
  double timeout = 60;
  std::string secret{};

  World meet() const {
    Launch launch;
    launch.device = device;
    return meet_at_chief({kChief, port, 2, size, ip, secret}, launch, timeout);
  }
  std::future<World> start() const {
    return std::async(std::launch::async, [p = *this] { return p.meet(); });
  }
};

std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& e) { return e.text(); }
  return "no error";
}

/// A connection to the chief, once it listens.
int call_chief(uint16_t port) {
  const Endpoint chief = make_endpoint(kChief, port);
  for (int i = 0; i < 3000; ++i) {
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, chief.raw(), chief.bytes) == 0) return fd;
    close(fd);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return -1;
}

void say(int fd, const std::string& text) { send(fd, text.data(), text.size(), MSG_NOSIGNAL); }

TEST(ChiefTest, RanksFollowServersAndDevices) {
  const uint16_t port = free_port();
  // the chief is device 2 of its server
  std::vector<Process> processes = {{"127.0.0.3", 0, 6, port}, {"127.0.0.1", 5, 6, port}, {"127.0.0.2", 1, 6, port},
                                    {"127.0.0.1", 2, 6, port}, {"127.0.0.2", 0, 6, port}, {"127.0.0.1", 0, 6, port}};
  const uint32_t wanted[] = {5, 2, 4, 0, 3, 1};
  std::vector<std::future<World>> worlds;
  for (const Process& p : processes) worlds.push_back(p.start());
  std::string key;
  for (size_t i = 0; i < processes.size(); ++i) {
    const World world = worlds[i].get();
    EXPECT_EQ(world.rank, wanted[i]);
    ASSERT_EQ(world.ranks.size(), 6u);
    EXPECT_EQ(world.ranks[world.rank].server, processes[i].ip);
    EXPECT_EQ(world.ranks[world.rank].device, processes[i].device);
    for (uint32_t r = 0; r < 6; ++r) EXPECT_EQ(world.ranks[r].rank, r);
    EXPECT_EQ(world.key.size(), 32u);
    if (key.empty()) key = world.key;
    EXPECT_EQ(world.key, key);
  }
}

TEST(ChiefTest, StrangersAndMistakesDoNotDisturb) {
  const uint16_t port = free_port();
  auto chief = Process{"127.0.0.1", 2, 3, port}.start();
  const int silent = call_chief(port), rude = call_chief(port), endless = call_chief(port), odd = call_chief(port);
  ASSERT_GE(silent, 0);
  say(rude, "GET / HTTP/1.1\r\n\r\n");
  say(endless, std::string(10000, 'x'));
  say(odd, "{\"updraft\": 2, \"ip\": [1], \"device\": -1, \"size\": {}}\n");

  EXPECT_TRUE(error_of([&] { Process{"127.0.0.1", 0, 4, port}.meet(); }).starts_with("EI0001: CM_WORKER_SIZE=4"));
  // a worker that leaves makes room for its next attempt
  const int leaving = call_chief(port);
  say(leaving, "{\"updraft\": 2, \"ip\": \"127.0.0.1\", \"device\": 7, \"size\": 3}\n");
  close(leaving);
  auto first = Process{"127.0.0.1", 0, 3, port}.start();
  // of two processes with the same place one is told; which, is a matter of who comes first
  auto again = Process{"127.0.0.1", 0, 3, port}.start();
  while (first.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready &&
         again.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready) {}
  const bool second_refused = again.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  const std::string text = error_of([&] { (second_refused ? again : first).get(); });
  EXPECT_TRUE(text.starts_with("EI0001: two processes have CM_WORKER_IP=127.0.0.1 and ASCEND_DEVICE_ID=0")) << text;

  EXPECT_EQ((Process{"127.0.0.2", 0, 3, port}.meet().rank), 2u);
  EXPECT_EQ(chief.get().rank, 0u);
  EXPECT_EQ((second_refused ? first : again).get().rank, 1u);
  for (int fd : {silent, rude, endless, odd}) close(fd);
}

TEST(ChiefTest, TooFewComeInTime) {
  const uint16_t port = free_port();
  auto chief = Process{"127.0.0.1", 2, 3, port, 0.3}.start();
  const std::string worker = error_of([&] { Process{"127.0.0.1", 1, 3, port, 60}.meet(); });
  const std::string text = error_of([&] { chief.get(); });
  EXPECT_TRUE(text.starts_with("EI0015: 2 of CM_WORKER_SIZE=3 processes came")) << text;
  EXPECT_NE(text.find("127.0.0.1 device 1"), std::string::npos) << text;
  EXPECT_EQ(worker, text) << "those who came are told at once";
}

TEST(ChiefTest, NobodyIsThere) {
  const std::string text = error_of([] { Process{"127.0.0.1", 1, 2, free_port(), 0.2}.meet(); });
  EXPECT_TRUE(text.starts_with("EI0015: no answer of the chief")) << text;
  EXPECT_NE(text.find("Connection refused"), std::string::npos) << text;
}

TEST(ChiefTest, AddressesOfOthers) {
  EXPECT_TRUE(error_of([] {
                Process{"192.0.2.77", 1, 2, free_port(), 1}.meet();
              }).starts_with("EI0001: CM_WORKER_IP=192.0.2.77"));
  uint16_t port = 0;
  const int taken = listen_on(kChief, 0, &port);
  EXPECT_TRUE(error_of([&] {
                Process{"127.0.0.1", 2, 2, port, 1}.meet();
              }).starts_with("EI0019: the chief cannot listen"));
  close(taken);
}

TEST(ChiefTest, SomethingElseListens) {
  uint16_t port = 0;
  const int listener = listen_on(kChief, 0, &port);
  auto worker = Process{"127.0.0.1", 1, 2, port}.start();
  int fd = -1;
  while ((fd = accept(listener, nullptr, nullptr)) < 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  say(fd, "220 mail.example.org ESMTP\r\n");
  EXPECT_TRUE(error_of([&] { worker.get(); }).ends_with("is no chief of Updraft. Choose a port that nobody uses"));
  close(fd);
  close(listener);
}

const std::string kSecret = "a secret of at least sixteen bytes";

/// What the chief says to one who says this; "" when it says nothing.
std::string answer_to(uint16_t port, const std::string& hello) {
  const int fd = call_chief(port);
  std::string all;
  char byte;
  while (recv(fd, &byte, 1, 0) == 1 && byte != '\n') {}  // its nonce
  say(fd, hello + "\n");
  while (recv(fd, &byte, 1, 0) == 1 && byte != '\n') all += byte;
  close(fd);
  return all;
}

TEST(ChiefTest, WithASecretTheKeyDoesNotTravel) {
  const uint16_t port = free_port();
  auto chief = Process{"127.0.0.1", 2, 2, port, 60, kSecret}.start();
  const std::string text = answer_to(port, R"({"updraft": 2, "ip": "127.0.0.1", "device": 1, "size": 2})");
  EXPECT_NE(text.find("EI0015: 127.0.0.1 device 1 does not know the secret"), std::string::npos) << text;
  EXPECT_NE(text.find("UPDRAFT_HCCL_SECRET_FILE"), std::string::npos) << text;
  for (const char* secret : {"", "another secret of sixteen bytes"})
    EXPECT_NE(error_of([&] { Process{"127.0.0.1", 1, 2, port, 60, secret}.meet(); }).find("does not know the secret"),
              std::string::npos);
  const World worker = Process{"127.0.0.1", 1, 2, port, 60, kSecret}.meet(), first = chief.get();
  EXPECT_EQ(worker.key, first.key);
  EXPECT_EQ(worker.key.size(), 32u);
}

// Somebody sits on the port before the chief does: what it says is not believed.
TEST(ChiefTest, AChiefThatDoesNotKnowTheSecretIsNotBelieved) {
  for (const char* answer :
       {R"({"rank": 1, "ranks": [["127.0.0.1", 2], ["127.0.0.1", 1]], "key": "00"})",
        R"({"rank": 1, "ranks": [["127.0.0.1", 2], ["127.0.0.1", 1]], "salt": "0", "proof": "0"})"}) {
    uint16_t port = 0;
    const int listener = listen_on(kChief, 0, &port);
    auto worker = Process{"127.0.0.1", 1, 2, port, 60, kSecret}.start();
    int fd = -1;
    while ((fd = accept(listener, nullptr, nullptr)) < 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    say(fd, "{\"updraft\": 2, \"nonce\": \"00\"}\n" + std::string(answer) + "\n");
    const std::string text = error_of([&] { worker.get(); });
    EXPECT_TRUE(text.starts_with("EI0015: the chief at CM_CHIEF_IP=127.0.0.1")) << text;
    EXPECT_NE(text.find("does not know the secret of this process"), std::string::npos) << text;
    close(fd);
    close(listener);
  }
}

TEST(ChiefTest, WithoutASecretTheAddressMustBeTheConnections) {
  const uint16_t port = free_port();
  auto chief = Process{"127.0.0.1", 2, 2, port}.start();
  const std::string text = answer_to(port, R"({"updraft": 2, "ip": "127.0.0.2", "device": 1, "size": 2})");
  EXPECT_NE(text.find("EI0015: CM_WORKER_IP=127.0.0.2 of device 1 comes from the address 127.0.0.1"), std::string::npos)
      << text;
  // What is no address never gets into texts and logs.
  EXPECT_EQ(answer_to(port, R"({"updraft": 2, "ip": "\u001b[2J10.0.0.1", "device": 1, "size": 2})"), "");
  EXPECT_EQ((Process{"127.0.0.2", 1, 2, port}.meet().rank), 1u);
  EXPECT_EQ(chief.get().rank, 0u);
}

// As many as the chief looks at, and all of them silent.
TEST(ChiefTest, TheSilentMakeRoom) {
  const uint16_t port = free_port();
  auto chief = Process{"127.0.0.1", 2, 2, port}.start();
  std::vector<int> silent;
  for (int i = 0; i < 300; ++i) silent.push_back(call_chief(port));
  EXPECT_EQ((Process{"127.0.0.1", 1, 2, port}.meet().rank), 1u);
  EXPECT_EQ(chief.get().rank, 0u);
  for (const int fd : silent) close(fd);
}

}  // namespace
}  // namespace updraft::collective
