// The key of a job whose processes are given none: its rank table says who takes part, and is no secret.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>

#include "base/sha256.h"
#include "collective/shared/owned_fd.h"
#include "collective/topology/environment.h"

namespace updraft::collective {

/// 32 bytes that follow from the secret (Environment::secret) and from what they are for.
std::string derived_key(const std::string& secret, const std::string& purpose);

/// What the ranks prove to know when they meet:
///   - with a secret, bytes that follow from it and from the table;
///   - on one server without one, bytes that rank 0 makes up and hands to processes of its user, by a Unix socket;
///   - on several servers without one, with UPDRAFT_HCCL_TRUST_NETWORK=1, bytes that follow from the table: whoever
///     knows the table may join.
class JobKey {
 public:
  struct Job {
    std::string digest;  ///< of the rank table
    size_t servers;
    uint32_t rank, ranks;
    uint16_t port;       ///< jobs of the same table at the same time differ in it
    std::string origin;  ///< what the table is called in errors
  };
  /// Returns when the key is there; rank 0 hands it out while the object lives. Throws EI0001 where several servers
  /// have neither a secret nor that variable, EI0015 when rank 0 cannot be asked.
  JobKey(const Job& job, const Environment& environment, std::chrono::steady_clock::time_point deadline);
  ~JobKey();
  JobKey(const JobKey&) = delete;
  const std::string& bytes() const { return bytes_; }

 private:
  void hand_out(const std::string& name, const Digest& table);

  std::string bytes_;
  OwnedFd listener_;
};

}  // namespace updraft::collective
