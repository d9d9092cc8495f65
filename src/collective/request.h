// One call of the HCCL interface, checked.
#pragma once
#include <cstdint>
#include <vector>

#include "collective/types.h"

namespace updraft::collective {

/// A message of HcclSend, HcclRecv or HcclBatchSendRecv.
struct Message {
  bool send;
  Type type;
  uint32_t peer;
  uint64_t count;  ///< elements
  void* data;
};

struct Request {
  Kind kind = Kind::Barrier;
  Type type = Type::Int8;
  Op op = Op::Sum;
  uint32_t root = 0;
  uint64_t count = 0;          ///< as the interface has it: of the whole, or of one rank's block
  const void* send = nullptr;  ///< client addresses
  void* receive = nullptr;
  /// By rank, elements: what goes from here to each rank, and what comes.
  std::vector<uint64_t> send_counts, send_offsets, receive_counts, receive_offsets;
  uint64_t matrix = 0;            ///< of AllToAllVC: a digest of all counts, which all ranks must have alike
  std::vector<Message> messages;  ///< point to point

  size_t element() const { return size_of(type); }
  /// Bytes of the buffers from their first to behind their last element.
  size_t send_bytes(int rank, int ranks) const;
  size_t receive_bytes(int rank, int ranks) const;
};

/// FNV-1a.
uint64_t digest_of(const std::vector<uint64_t>& counts);

}  // namespace updraft::collective
