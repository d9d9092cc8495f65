#include "operations.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <stdexcept>

namespace hccl_test {
namespace {

struct Setting {
  const Options& o;
  int rank, ranks;
  uint64_t elements;  ///< of the larger buffer, at least 1

  HcclDataType type() const { return o.number.id; }
  bool is_root() const { return static_cast<uint32_t>(rank) == o.root; }
  uint64_t block() const { return (elements + static_cast<uint64_t>(ranks) - 1) / static_cast<uint64_t>(ranks); }
  uint64_t bytes_of(uint64_t count) const { return count * o.number.size; }
};

Plan all_reduce(const Setting& s) {
  Plan p;
  p.bytes = s.bytes_of(s.elements);
  p.send = p.receive = s.elements;
  p.one_buffer = s.o.in_place;
  p.wanted = {{0, s.elements, kReduced, 0}};
  p.run = [n = s.elements, type = s.type(), op = s.o.op](void* from, void* to, HcclComm comm, aclrtStream stream) {
    return HcclAllReduce(from, to, n, type, op, comm, stream);
  };
  return p;
}

Plan reduce(const Setting& s) {
  Plan p;
  p.bytes = s.bytes_of(s.elements);
  p.send = p.receive = s.elements;
  if (s.is_root()) p.wanted = {{0, s.elements, kReduced, 0}};
  p.run = [n = s.elements, type = s.type(), op = s.o.op, root = s.o.root](void* from, void* to, HcclComm comm,
                                                                          aclrtStream stream) {
    return HcclReduce(from, to, n, type, op, root, comm, stream);
  };
  return p;
}

Plan broadcast(const Setting& s) {
  Plan p;
  p.bytes = s.bytes_of(s.elements);
  p.receive = s.elements;
  p.one_buffer = true;
  p.wanted = {{0, s.elements, static_cast<int>(s.o.root), 0}};
  p.run = [n = s.elements, type = s.type(), root = s.o.root](void*, void* to, HcclComm comm, aclrtStream stream) {
    return HcclBroadcast(to, n, type, root, comm, stream);
  };
  return p;
}

Plan scatter(const Setting& s) {
  Plan p;
  const uint64_t n = s.block();
  p.send = n * static_cast<uint64_t>(s.ranks);
  p.receive = n;
  p.bytes = s.bytes_of(p.send);
  p.wanted = {{0, n, static_cast<int>(s.o.root), n * static_cast<uint64_t>(s.rank)}};
  p.run = [n, type = s.type(), root = s.o.root](void* from, void* to, HcclComm comm, aclrtStream stream) {
    return HcclScatter(from, to, n, type, root, comm, stream);
  };
  return p;
}

Plan all_gather(const Setting& s) {
  Plan p;
  const uint64_t n = s.block();
  p.send = n;
  p.receive = n * static_cast<uint64_t>(s.ranks);
  p.bytes = s.bytes_of(p.receive);
  for (int r = 0; r < s.ranks; ++r) p.wanted.push_back({n * static_cast<uint64_t>(r), n, r, 0});
  p.run = [n, type = s.type()](void* from, void* to, HcclComm comm, aclrtStream stream) {
    return HcclAllGather(from, to, n, type, comm, stream);
  };
  return p;
}

Plan reduce_scatter(const Setting& s) {
  Plan p;
  const uint64_t n = s.block();
  p.send = n * static_cast<uint64_t>(s.ranks);
  p.receive = n;
  p.bytes = s.bytes_of(p.send);
  p.wanted = {{0, n, kReduced, n * static_cast<uint64_t>(s.rank)}};
  p.run = [n, type = s.type(), op = s.o.op](void* from, void* to, HcclComm comm, aclrtStream stream) {
    return HcclReduceScatter(from, to, n, type, op, comm, stream);
  };
  return p;
}

Plan all_to_all(const Setting& s) {
  Plan p;
  const uint64_t n = s.block();
  p.send = p.receive = n * static_cast<uint64_t>(s.ranks);
  p.bytes = s.bytes_of(p.send);
  for (int r = 0; r < s.ranks; ++r)
    p.wanted.push_back({n * static_cast<uint64_t>(r), n, r, n * static_cast<uint64_t>(s.rank)});
  p.run = [n, type = s.type()](void* from, void* to, HcclComm comm, aclrtStream stream) {
    return HcclAlltoAll(from, n, type, to, n, type, comm, stream);
  };
  return p;
}

// Uneven parts of n elements, 1 : 2 : 3 in turn from `first` on; the small ones are empty when n is small.
std::vector<uint64_t> parts(uint64_t n, int ranks, int first) {
  auto weight = [&](int r) { return static_cast<uint64_t>((r + first) % 3 + 1); };
  uint64_t total = 0, before = 0;
  for (int r = 0; r < ranks; ++r) total += weight(r);
  std::vector<uint64_t> counts;
  for (int r = 0; r < ranks; ++r) {
    const uint64_t after = before + weight(r);
    counts.push_back(n * after / total - n * before / total);
    before = after;
  }
  return counts;
}

std::vector<uint64_t> places(const std::vector<uint64_t>& counts) {
  std::vector<uint64_t> at(counts.size());
  std::exclusive_scan(counts.begin(), counts.end(), at.begin(), uint64_t{0});
  return at;
}

Plan all_gather_v(const Setting& s) {
  Plan p;
  const std::vector<uint64_t> counts = parts(s.elements, s.ranks, 0), at = places(counts);
  const uint64_t n = counts[static_cast<size_t>(s.rank)];
  p.send = n;
  p.receive = s.elements;
  p.bytes = s.bytes_of(p.receive);
  for (size_t r = 0; r < counts.size(); ++r) p.wanted.push_back({at[r], counts[r], static_cast<int>(r), 0});
  p.run = [n, counts, at, type = s.type()](void* from, void* to, HcclComm comm, aclrtStream stream) {
    return HcclAllGatherV(from, n, to, counts.data(), at.data(), type, comm, stream);
  };
  return p;
}

Plan reduce_scatter_v(const Setting& s) {
  Plan p;
  const std::vector<uint64_t> counts = parts(s.elements, s.ranks, 0), at = places(counts);
  const uint64_t n = counts[static_cast<size_t>(s.rank)];
  p.send = s.elements;
  p.receive = n;
  p.bytes = s.bytes_of(p.send);
  p.wanted = {{0, n, kReduced, at[static_cast<size_t>(s.rank)]}};
  p.run = [n, counts, at, type = s.type(), op = s.o.op](void* from, void* to, HcclComm comm, aclrtStream stream) {
    return HcclReduceScatterV(from, counts.data(), at.data(), to, n, type, op, comm, stream);
  };
  return p;
}

// Who sends how much to whom: every rank sends all its elements, in parts that begin with another weight.
std::vector<std::vector<uint64_t>> matrix(const Setting& s) {
  std::vector<std::vector<uint64_t>> m;
  for (int r = 0; r < s.ranks; ++r) m.push_back(parts(s.elements, s.ranks, r));
  return m;
}

Plan all_to_all_uneven(const Setting& s, bool by_matrix) {
  Plan p;
  const std::vector<std::vector<uint64_t>> m = matrix(s);
  const size_t self = static_cast<size_t>(s.rank);
  std::vector<uint64_t> sent = m[self], received, flat;
  for (const auto& row : m) {
    received.push_back(row[self]);
    flat.insert(flat.end(), row.begin(), row.end());
  }
  const std::vector<uint64_t> sent_at = places(sent), received_at = places(received);
  p.send = s.elements;
  p.receive = std::accumulate(received.begin(), received.end(), uint64_t{0});
  p.bytes = s.bytes_of(p.send);
  for (size_t r = 0; r < m.size(); ++r)
    p.wanted.push_back({received_at[r], received[r], static_cast<int>(r), places(m[r])[self]});
  const HcclDataType type = s.type();
  if (by_matrix)
    p.run = [flat, type](void* from, void* to, HcclComm comm, aclrtStream stream) {
      return HcclAlltoAllVC(from, flat.data(), type, to, type, comm, stream);
    };
  else
    p.run = [sent, sent_at, received, received_at, type](void* from, void* to, HcclComm comm, aclrtStream stream) {
      return HcclAlltoAllV(from, sent.data(), sent_at.data(), type, to, received.data(), received_at.data(), type, comm,
                           stream);
    };
  return p;
}

// In a ring: to the next rank, from the one before. Even ranks send first, so that no cycle waits for itself.
Plan send_recv(const Setting& s, bool batch) {
  if (s.ranks < 2) throw std::invalid_argument(s.o.operation + " needs 2 ranks or more");
  Plan p;
  const uint64_t n = s.elements;
  const uint32_t next = static_cast<uint32_t>((s.rank + 1) % s.ranks);
  const uint32_t before = static_cast<uint32_t>((s.rank + s.ranks - 1) % s.ranks);
  p.send = p.receive = n;
  p.bytes = s.bytes_of(n);
  p.wanted = {{0, n, static_cast<int>(before), 0}};
  p.run = [n, next, before, batch, first = s.rank % 2 == 0, type = s.type()](void* from, void* to, HcclComm comm,
                                                                             aclrtStream stream) {
    if (batch) {
      HcclSendRecvItem items[] = {{HCCL_SEND, from, n, type, next}, {HCCL_RECV, to, n, type, before}};
      return HcclBatchSendRecv(items, 2, comm, stream);
    }
    HcclResult result = HCCL_SUCCESS;
    if (first) result = HcclSend(from, n, type, next, comm, stream);
    if (result == HCCL_SUCCESS) result = HcclRecv(to, n, type, before, comm, stream);
    if (result == HCCL_SUCCESS && !first) result = HcclSend(from, n, type, next, comm, stream);
    return result;
  };
  return p;
}

const std::map<std::string, Plan (*)(const Setting&)> kOperations = {
    {"all_reduce", all_reduce},
    {"all_gather", all_gather},
    {"all_gather_v", all_gather_v},
    {"reduce_scatter", reduce_scatter},
    {"reduce_scatter_v", reduce_scatter_v},
    {"broadcast", broadcast},
    {"reduce", reduce},
    {"scatter", scatter},
    {"alltoall", all_to_all},
    {"alltoallv", [](const Setting& s) { return all_to_all_uneven(s, false); }},
    {"alltoallvc", [](const Setting& s) { return all_to_all_uneven(s, true); }},
    {"send_recv", [](const Setting& s) { return send_recv(s, false); }},
    {"batch_send_recv", [](const Setting& s) { return send_recv(s, true); }},
};

}  // namespace

bool is_operation(const std::string& name) { return kOperations.contains(name); }

std::string operation_names() {
  std::string all;
  for (const auto& [name, make] : kOperations) all += (all.empty() ? "" : " ") + name;
  return all;
}

Plan plan(const Options& options, int rank, int ranks, uint64_t bytes) {
  if (options.root >= static_cast<uint32_t>(ranks))
    throw std::invalid_argument("-r is " + std::to_string(options.root) + ", want a rank below " +
                                std::to_string(ranks));
  return kOperations.at(options.operation)({options, rank, ranks, std::max<uint64_t>(1, bytes / options.number.size)});
}

}  // namespace hccl_test
