#include "collective/bootstrap/job_key.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "base/log.h"
#include "base/sha256.h"
#include "collective/bootstrap/event_loop.h"
#include "collective/bootstrap/protocol.h"
#include "collective/error.h"
#include "collective/shared/local_socket.h"

namespace updraft::collective {
namespace {

constexpr size_t kBytes = 32;

std::string text_of(const Digest& digest) {
  return std::string(reinterpret_cast<const char*>(digest.data()), digest.size());
}

std::string key_of_table(const std::string& digest) {
  const std::string seed = "updraft rank table " + digest;
  return text_of(sha256(seed.data(), seed.size()));
}

/// The same each time that a process is asked: one that comes back at once may meet who handed out the last one.
std::string own_key(const std::string& digest) {
  static std::mutex mutex;
  static auto* keys = new std::map<std::string, std::string>;
  std::lock_guard lock(mutex);
  std::string& key = (*keys)[digest];
  if (key.empty()) key = random_bytes(kBytes);
  return key;
}

/// What rank 0 sends: which table it has, and the key.
struct Word {
  Digest table;
  uint8_t key[kBytes];
};

std::string ask_rank_0(const std::string& name, const Digest& table, const std::string& origin, SocketTime deadline) {
  const Check nothing = [] {};
  const OwnedFd connection = connect_locally(name, "rank 0 of " + origin, deadline, nothing);
  Word word{};
  if (!wait_for(connection.get(), POLLIN, deadline, nothing) ||
      recv(connection.get(), &word, sizeof word, 0) != static_cast<ssize_t>(sizeof word))
    throw Error(result::kRemote, "EI0015: rank 0 of {} ended while it was asked for the job's key", origin);
  if (word.table != table)
    throw Error(
        result::kPara,
        "EI0015: rank 0 has another rank table than {}: give all processes of a job the same one, and jobs that "
        "run at the same time different values of HCCL_IF_BASE_PORT",
        origin);
  return std::string(reinterpret_cast<const char*>(word.key), kBytes);
}

}  // namespace

std::string derived_key(const std::string& secret, const std::string& purpose) {
  return text_of(hmac_sha256(secret.data(), secret.size(), purpose.data(), purpose.size()));
}

JobKey::JobKey(const Job& job, const Environment& environment, SocketTime deadline) {
  if (!environment.secret.empty()) {
    bytes_ = derived_key(environment.secret, "updraft rank table " + job.digest);
  } else if (job.ranks == 1) {
    bytes_ = random_bytes(kBytes);
  } else if (job.servers == 1) {
    // Where rank 0 is met as well, which no two jobs share.
    const std::string name = fmt::format("updraft-hccl-job-{}-{}", geteuid(), job.port);
    const Digest table = sha256(job.digest.data(), job.digest.size());
    bytes_ = job.rank == 0 ? own_key(job.digest) : ask_rank_0(name, table, job.origin, deadline);
    if (job.rank == 0) hand_out(name, table);
  } else if (environment.trust_network) {
    bytes_ = key_of_table(job.digest);
    UPDRAFT_LOG(kInfo, "HCCL", "UPDRAFT_HCCL_TRUST_NETWORK=1: who knows {} may join the job", job.origin);
  } else {
    throw Error(
        result::kPara,
        "EI0001: {} has {} servers, and their processes share no secret: whoever knows the table could join the job "
        "and change its data. Set UPDRAFT_HCCL_SECRET_FILE in all processes to a file that only you can read, with "
        "the same content everywhere (openssl rand -hex 32 > FILE; chmod 600 FILE), or UPDRAFT_HCCL_SECRET to the "
        "content itself; or UPDRAFT_HCCL_TRUST_NETWORK=1 if nobody else reaches these servers",
        job.origin, job.servers);
  }
}

void JobKey::hand_out(const std::string& name, const Digest& table) {
  listener_ = listen_locally(name);
  Word word{table, {}};
  std::copy_n(bytes_.begin(), kBytes, word.key);
  EventLoop::get().run([&] {
    EventLoop::get().add(listener_.get(), EPOLLIN, [fd = listener_.get(), word](uint32_t) {
      const OwnedFd guest = accept_locally(fd);
      if (guest.get() >= 0) send(guest.get(), &word, sizeof word, MSG_NOSIGNAL | MSG_DONTWAIT);
    });
  });
}

JobKey::~JobKey() {
  if (listener_.get() < 0) return;
  if (!EventLoop::get().usable()) {  // a forked child has closed it already
    listener_.release();
    return;
  }
  EventLoop::get().run([&] { EventLoop::get().remove(listener_.get()); });
}

}  // namespace updraft::collective
