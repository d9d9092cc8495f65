// What the ranks of a rank table's job prove to know, with a secret and without.
#include "collective/bootstrap/job_key.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <future>
#include <string>

#include "collective/error.h"
#include "variables.h"

namespace updraft::collective {
namespace {

constexpr uid_t kNobody = 65534;

std::chrono::steady_clock::time_point soon(int seconds = 30) {
  return std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
}

/// A port that no other process of these tests uses as a name.
uint16_t port() { return static_cast<uint16_t>(20000 + getpid() % 30000); }

JobKey::Job job(uint32_t rank, size_t servers = 1, const std::string& digest = "table") {
  return {digest, servers, rank, 3, port(), "the rank table /x"};
}

std::string key_of(const JobKey::Job& job, const Environment& environment = {}) {
  return JobKey(job, environment, soon()).bytes();
}

Environment with_secret(const std::string& secret) {
  Environment environment;
  environment.secret = secret;
  return environment;
}

TEST(JobKey, RanksOfAServerAskRank0) {
  auto first = std::async(std::launch::async, [] { return key_of(job(1)); });  // may come before rank 0
  std::string key;
  {
    const JobKey root(job(0), {}, soon());
    key = root.bytes();
    EXPECT_EQ(key.size(), 32u);
    EXPECT_EQ(first.get(), key);
    EXPECT_EQ(key_of(job(2)), key);
    expect_error(result::kPara, {"EI0015", "another rank table than the rank table /x", "HCCL_IF_BASE_PORT"},
                 [] { key_of(job(1, 1, "another table")); });
  }
  // Nobody hands it out any more; the process itself keeps it for the same table.
  expect_error(result::kTimeout, {"EI0015: rank 0 of the rank table /x cannot be reached"},
               [] { JobKey(job(1), {}, soon(0)); });
  EXPECT_EQ(key_of(job(0)), key);
  EXPECT_NE(key_of(job(0, 1, "another table")), key);
}

TEST(JobKey, OtherUsersAreNotGivenIt) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to be two users";
  const JobKey root(job(0), {}, soon());
  const std::string name = "updraft-hccl-job-0-" + std::to_string(port());
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);
    if (setuid(kNobody) != 0) _exit(3);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, name.data(), name.size());
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    if (connect(fd, reinterpret_cast<sockaddr*>(&address), bytes) != 0) _exit(4);
    char all[64];
    _exit(recv(fd, all, sizeof all, 0) == 0 ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(JobKey, SeveralServersWantASecret) {
  expect_error(result::kPara,
               {"EI0001: the rank table /x has 2 servers", "UPDRAFT_HCCL_SECRET_FILE", "chmod 600",
                "UPDRAFT_HCCL_TRUST_NETWORK=1"},
               [] { key_of(job(0, 2)); });
  Environment trusting;
  trusting.trust_network = true;
  EXPECT_EQ(key_of(job(0, 2), trusting), key_of(job(1, 2), trusting));
  EXPECT_NE(key_of(job(0, 2), trusting), key_of(job(1, 2, "another"), trusting));
}

TEST(JobKey, FollowsFromTheSecretAndTheTable) {
  for (const size_t servers : {1, 2}) {
    const Environment one = with_secret("sixteen bytes are enough"), two = with_secret("another, as long as that");
    const std::string key = key_of(job(0, servers), one);
    EXPECT_EQ(key.size(), 32u);
    EXPECT_EQ(key_of(job(1, servers), one), key);
    EXPECT_NE(key_of(job(1, servers), two), key);
    EXPECT_NE(key_of(job(1, servers, "another"), one), key);
  }
}

}  // namespace
}  // namespace updraft::collective
