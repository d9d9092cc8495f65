// The collective operations: arguments are checked here, the communicator does the rest.
#include <vector>

#include "base/config.h"
#include "collective/topology/card_limits.h"
#include "device/context.h"
#include "device/streams.h"
#include "hccl/api.h"

using namespace updraft;
using namespace updraft::collective;

namespace {

Type checked_type(int32_t type, const char* name) {
  if (type >= 0 && type < kTypes) return static_cast<Type>(type);
  throw Error(result::kPara,
              "EI0003: {} is {}: want int8, int16, int32, int64, uint8, uint16, uint32, uint64, fp16, fp32, fp64 or "
              "bfp16 (0 to 11)",
              name, type);
}

Op checked_op(int32_t op) {
  if (op >= 0 && op <= 3) return static_cast<Op>(op);
  throw Error(result::kPara, "EI0003: op is {}, want sum, prod, max or min (0 to 3)", op);
}

void check_root(const Communicator& comm, uint32_t root) {
  if (root >= comm.size()) throw Error(result::kPara, "EI0003: root is {}, want a rank below {}", root, comm.size());
}

constexpr uint64_t kMostBytes = uint64_t{1} << 46;  // of a buffer; more than any machine has

void check_count(uint64_t count, uint64_t blocks, size_t element) {
  uint64_t bytes;
  if (__builtin_mul_overflow(count, blocks, &bytes) || __builtin_mul_overflow(bytes, element, &bytes) ||
      bytes > kMostBytes)
    throw Error(result::kPara, "EI0003: a count of {} is absurd", count);
}

/// That no part ends beyond all memory: sums and products of these numbers do not wrap later. Where a part is empty its
/// place does not matter.
void check_parts(const std::vector<uint64_t>& counts, const std::vector<uint64_t>& offsets, size_t element,
                 const char* count_name, const char* offset_name) {
  for (size_t i = 0; i < counts.size(); ++i) {
    uint64_t end;
    if (counts[i] && (__builtin_add_overflow(counts[i], offsets[i], &end) || end > kMostBytes / element))
      throw Error(result::kPara,
                  "EI0003: {}[{}] is {} and {}[{}] is {}: want a part that ends within {} elements of {} bytes",
                  count_name, i, counts[i], offset_name, i, offsets[i], kMostBytes / element, element);
  }
}

void enqueue(const CommunicatorPointer& comm, Request request, void* stream) {
  const int rank = static_cast<int>(comm->rank()), ranks = static_cast<int>(comm->size());
  check_count(request.count, comm->size(), request.element());
  if (Config::get().card_fidelity) check_operation(request, rank, ranks, soc());
  check_buffer(*comm, request.send, request.send_bytes(rank, ranks), "sendBuf");
  check_buffer(*comm, request.receive, request.receive_bytes(rank, ranks), "recvBuf");
  comm->enqueue(std::move(request), stream_of(stream));
}

std::vector<uint64_t> array_of(const void* values, size_t n, const char* name) {
  need_pointer(values, name);
  const auto* p = static_cast<const uint64_t*>(values);
  return std::vector<uint64_t>(p, p + n);
}

Request request_of(Kind kind, uint64_t count, int32_t type, const void* send, const void* receive) {
  Request request;
  request.kind = kind;
  request.count = count;
  request.type = checked_type(type, "dataType");
  request.send = send;
  request.receive = const_cast<void*>(receive);
  return request;
}

}  // namespace

HCCL_API HcclAllReduce(void* send, void* receive, uint64_t count, int32_t type, int32_t op, void* comm, void* stream) {
  return hccl_guard("HcclAllReduce", [&] {
    CommunicatorPointer communicator = communicator_of(comm);
    Request request = request_of(Kind::AllReduce, count, type, send, receive);
    request.op = checked_op(op);
    enqueue(communicator, std::move(request), stream);
  });
}

HCCL_API HcclReduceScatter(void* send, void* receive, uint64_t count, int32_t type, int32_t op, void* comm,
                           void* stream) {
  return hccl_guard("HcclReduceScatter", [&] {
    CommunicatorPointer communicator = communicator_of(comm);
    Request request = request_of(Kind::ReduceScatter, count, type, send, receive);
    request.op = checked_op(op);
    enqueue(communicator, std::move(request), stream);
  });
}

HCCL_API HcclReduceScatterV(void* send, const void* counts, const void* offsets, void* receive, uint64_t count,
                            int32_t type, int32_t op, void* comm, void* stream) {
  return hccl_guard("HcclReduceScatterV", [&] {
    CommunicatorPointer communicator = communicator_of(comm);
    Request request = request_of(Kind::ReduceScatterV, count, type, send, receive);
    request.op = checked_op(op);
    request.send_counts = array_of(counts, communicator->size(), "sendCounts");
    request.send_offsets = array_of(offsets, communicator->size(), "sendDispls");
    check_parts(request.send_counts, request.send_offsets, request.element(), "sendCounts", "sendDispls");
    if (request.send_counts[communicator->rank()] != count)
      throw Error(result::kPara, "EI0003: recvCount is {}, sendCounts[{}] is {}: want the same", count,
                  communicator->rank(), request.send_counts[communicator->rank()]);
    enqueue(communicator, std::move(request), stream);
  });
}

HCCL_API HcclAllGather(void* send, void* receive, uint64_t count, int32_t type, void* comm, void* stream) {
  return hccl_guard("HcclAllGather", [&] {
    CommunicatorPointer communicator = communicator_of(comm);
    enqueue(communicator, request_of(Kind::AllGather, count, type, send, receive), stream);
  });
}

HCCL_API HcclAllGatherV(void* send, uint64_t count, void* receive, const void* counts, const void* offsets,
                        int32_t type, void* comm, void* stream) {
  return hccl_guard("HcclAllGatherV", [&] {
    CommunicatorPointer communicator = communicator_of(comm);
    Request request = request_of(Kind::AllGatherV, count, type, send, receive);
    request.receive_counts = array_of(counts, communicator->size(), "recvCounts");
    request.receive_offsets = array_of(offsets, communicator->size(), "recvDispls");
    check_parts(request.receive_counts, request.receive_offsets, request.element(), "recvCounts", "recvDispls");
    if (request.receive_counts[communicator->rank()] != count)
      throw Error(result::kPara, "EI0003: sendCount is {}, recvCounts[{}] is {}: want the same", count,
                  communicator->rank(), request.receive_counts[communicator->rank()]);
    enqueue(communicator, std::move(request), stream);
  });
}

HCCL_API HcclBroadcast(void* buffer, uint64_t count, int32_t type, uint32_t root, void* comm, void* stream) {
  return hccl_guard("HcclBroadcast", [&] {
    CommunicatorPointer communicator = communicator_of(comm);
    check_root(*communicator, root);
    Request request = request_of(Kind::Broadcast, count, type, buffer, buffer);
    request.root = root;
    enqueue(communicator, std::move(request), stream);
  });
}

HCCL_API HcclReduce(void* send, void* receive, uint64_t count, int32_t type, int32_t op, uint32_t root, void* comm,
                    void* stream) {
  return hccl_guard("HcclReduce", [&] {
    CommunicatorPointer communicator = communicator_of(comm);
    check_root(*communicator, root);
    Request request = request_of(Kind::Reduce, count, type, send, receive);
    request.op = checked_op(op);
    request.root = root;
    enqueue(communicator, std::move(request), stream);
  });
}

HCCL_API HcclScatter(void* send, void* receive, uint64_t count, int32_t type, uint32_t root, void* comm, void* stream) {
  return hccl_guard("HcclScatter", [&] {
    CommunicatorPointer communicator = communicator_of(comm);
    check_root(*communicator, root);
    Request request = request_of(Kind::Scatter, count, type, send, receive);
    request.root = root;
    enqueue(communicator, std::move(request), stream);
  });
}

HCCL_API HcclAlltoAll(const void* send, uint64_t send_count, int32_t send_type, const void* receive,
                      uint64_t receive_count, int32_t receive_type, void* comm, void* stream) {
  return hccl_guard("HcclAlltoAll", [&] {
    CommunicatorPointer communicator = communicator_of(comm);
    if (send_type != receive_type || send_count != receive_count)
      throw Error(result::kPara, "EI0003: sendCount {} of type {} and recvCount {} of type {}: want the same",
                  send_count, send_type, receive_count, receive_type);
    enqueue(communicator, request_of(Kind::AllToAll, send_count, send_type, send, receive), stream);
  });
}

HCCL_API HcclAlltoAllV(const void* send, const void* send_counts, const void* send_offsets, int32_t send_type,
                       const void* receive, const void* receive_counts, const void* receive_offsets,
                       int32_t receive_type, void* comm, void* stream) {
  return hccl_guard("HcclAlltoAllV", [&] {
    CommunicatorPointer communicator = communicator_of(comm);
    if (send_type != receive_type)
      throw Error(result::kPara, "EI0003: sendType {} and recvType {}: want the same", send_type, receive_type);
    Request request = request_of(Kind::AllToAllV, 0, send_type, send, receive);
    const size_t n = communicator->size();
    request.send_counts = array_of(send_counts, n, "sendCounts");
    request.send_offsets = array_of(send_offsets, n, "sdispls");
    request.receive_counts = array_of(receive_counts, n, "recvCounts");
    request.receive_offsets = array_of(receive_offsets, n, "rdispls");
    check_parts(request.send_counts, request.send_offsets, request.element(), "sendCounts", "sdispls");
    check_parts(request.receive_counts, request.receive_offsets, request.element(), "recvCounts", "rdispls");
    enqueue(communicator, std::move(request), stream);
  });
}

/// sendCountMatrix[i * ranks + j]: elements from rank i to rank j; blocks lie one behind the other.
HCCL_API HcclAlltoAllVC(const void* send, const void* matrix, int32_t send_type, const void* receive,
                        int32_t receive_type, void* comm, void* stream) {
  return hccl_guard("HcclAlltoAllVC", [&] {
    CommunicatorPointer communicator = communicator_of(comm);
    if (send_type != receive_type)
      throw Error(result::kPara, "EI0003: sendType {} and recvType {}: want the same", send_type, receive_type);
    Request request = request_of(Kind::AllToAllVC, 0, send_type, send, receive);
    const size_t n = communicator->size(), me = communicator->rank();
    const std::vector<uint64_t> counts = array_of(matrix, n * n, "sendCountMatrix");
    request.matrix = digest_of(counts);
    uint64_t sent = 0, received = 0;
    const auto add = [&](uint64_t& sum, size_t from, size_t to) {
      const uint64_t count = counts[from * n + to];
      if (__builtin_add_overflow(sum, count, &sum) || sum > kMostBytes / request.element())
        throw Error(result::kPara,
                    "EI0003: sendCountMatrix[{}] is {} (rank {} to rank {}): want parts that fit {} elements of {} "
                    "bytes together",
                    from * n + to, count, from, to, kMostBytes / request.element(), request.element());
    };
    for (size_t i = 0; i < n; ++i) {
      request.send_counts.push_back(counts[me * n + i]);
      request.send_offsets.push_back(sent);
      request.receive_counts.push_back(counts[i * n + me]);
      request.receive_offsets.push_back(received);
      add(sent, me, i);
      add(received, i, me);
    }
    enqueue(communicator, std::move(request), stream);
  });
}

HCCL_API HcclBarrier(void* comm, void* stream) {
  return hccl_guard("HcclBarrier", [&] {
    CommunicatorPointer communicator = communicator_of(comm);
    enqueue(communicator, Request{}, stream);
  });
}

// --- messages
// ----------------------------------------------------------------------------------------------------------

namespace {

// Between HcclGroupStart and HcclGroupEnd messages are collected and begin together.
struct Group {
  int depth = 0;
  struct Batch {
    CommunicatorPointer communicator;
    Stream* stream;
    std::vector<Message> messages;
  };
  std::vector<Batch> batches;
};
thread_local Group t_group;

Message message_of(const Communicator& comm, bool send, void* data, uint64_t count, int32_t type, uint32_t peer) {
  const Message message{send, checked_type(type, "dataType"), peer, count, data};
  if (peer >= comm.size())
    throw Error(result::kPara, "EI0003: {} is {}, want a rank below {}", send ? "destRank" : "srcRank", peer,
                comm.size());
  check_count(count, 1, size_of(message.type));
  check_buffer(comm, data, count * size_of(message.type), send ? "sendBuf" : "recvBuf");
  return message;
}

void enqueue_messages(const CommunicatorPointer& comm, Kind kind, std::vector<Message> messages, Stream& stream) {
  if (t_group.depth > 0) {
    for (Group::Batch& batch : t_group.batches)
      if (batch.communicator == comm && batch.stream == &stream) {
        batch.messages.insert(batch.messages.end(), messages.begin(), messages.end());
        return;
      }
    t_group.batches.push_back({comm, &stream, std::move(messages)});
    return;
  }
  Request request;
  request.kind = kind;
  request.messages = std::move(messages);
  if (Config::get().card_fidelity)
    check_operation(request, static_cast<int>(comm->rank()), static_cast<int>(comm->size()), soc());
  comm->enqueue(std::move(request), stream);
}

}  // namespace

HCCL_API HcclSend(void* send, uint64_t count, int32_t type, uint32_t to, void* comm, void* stream) {
  return hccl_guard("HcclSend", [&] {
    CommunicatorPointer communicator = communicator_of(comm);
    enqueue_messages(communicator, Kind::Send, {message_of(*communicator, true, send, count, type, to)},
                     stream_of(stream));
  });
}

HCCL_API HcclRecv(void* receive, uint64_t count, int32_t type, uint32_t from, void* comm, void* stream) {
  return hccl_guard("HcclRecv", [&] {
    CommunicatorPointer communicator = communicator_of(comm);
    enqueue_messages(communicator, Kind::Receive, {message_of(*communicator, false, receive, count, type, from)},
                     stream_of(stream));
  });
}

namespace {
// HcclSendRecvItemDef (abi/structs.toml).
struct Item {
  int32_t type;
  void* buffer;
  uint64_t count;
  int32_t data_type;
  uint32_t peer;
};
static_assert(sizeof(Item) == 32);
}  // namespace

HCCL_API HcclBatchSendRecv(const void* items, uint32_t count, void* comm, void* stream) {
  return hccl_guard("HcclBatchSendRecv", [&] {
    CommunicatorPointer communicator = communicator_of(comm);
    if (count == 0) throw Error(result::kPara, "EI0003: itemNum is 0, want at least one item");
    need_pointer(items, "sendRecvInfo");
    std::vector<Message> messages;
    for (uint32_t i = 0; i < count; ++i) {
      const Item& item = static_cast<const Item*>(items)[i];
      if (item.type != 0 && item.type != 1)
        throw Error(result::kPara, "EI0003: sendRecvInfo[{}].sendRecvType is {}, want 0 (send) or 1 (receive)", i,
                    item.type);
      messages.push_back(message_of(*communicator, item.type == 0, item.buffer, item.count, item.data_type, item.peer));
    }
    enqueue_messages(communicator, Kind::BatchSendReceive, std::move(messages), stream_of(stream));
  });
}

HCCL_API HcclGroupStart() {
  return hccl_guard("HcclGroupStart", [&] { ++t_group.depth; });
}

HCCL_API HcclGroupEnd() {
  return hccl_guard("HcclGroupEnd", [&] {
    if (t_group.depth == 0) throw Error(result::kPara, "EI0003: HcclGroupEnd without HcclGroupStart");
    if (--t_group.depth > 0) return;
    auto batches = std::move(t_group.batches);
    t_group.batches.clear();
    for (Group::Batch& batch : batches)
      enqueue_messages(batch.communicator, Kind::BatchSendReceive, std::move(batch.messages), stream_of(batch.stream));
  });
}
