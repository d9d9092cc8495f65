// Whether all ranks of a host mean the same by an operation.
#include <algorithm>

#include "collective/communicator.h"
#include "collective/error.h"

namespace updraft::collective {

// All ranks compare all, so all come to the same answer, and say it in the same words.
void Communicator::check_agreement(const Operation& operation) const {
  const Region& region = group_->region();
  const Request& mine = operation.request;
  const bool counts = mine.receive_counts.empty() && mine.send_counts.empty();
  bool same = true;
  for (int i = 0; i < group_->size() && same; ++i) {
    const Post& other = region.post(i, operation.ticket);
    same = other.kind == mine.kind && other.type == mine.type && other.op == mine.op && other.root == mine.root &&
           (!counts || other.count == mine.count);
  }
  if (!same) throw_difference(operation);
  if (operation.inlined || counts) return;
  for (int from = 0; from < group_->size(); ++from)
    for (int to = 0; to < group_->size(); ++to)
      check_pair(operation, group_->rank(from), region.part(from, operation.ticket, to).bytes, group_->rank(to),
                 region.part(to, operation.ticket, from).expected);
  if (mine.kind != Kind::AllToAllVC) return;
  const uint64_t matrix = region.post(0, operation.ticket).count;
  for (int i = 1; i < group_->size(); ++i)
    if (region.post(i, operation.ticket).count != matrix)
      throw Error(
          result::kPara,
          "EI0005: {}: rank {} has another sendCountMatrix than rank {}. All ranks must give the same one, also "
          "the counts between others",
          describe(operation), group_->rank(i), group_->rank(0));
}

// Of one host or of two: the sentence is the same.
void Communicator::check_pair(const Operation& operation, uint32_t from, uint64_t sent, uint32_t to,
                              uint64_t expected) const {
  if (sent != expected)
    throw Error(result::kPara,
                "EI0005: {}: rank {} sends {} bytes to rank {}, which expects {} bytes of it. Give both the same "
                "count for this pair",
                describe(operation), from, sent, to, expected);
}

// Who called what.
void Communicator::throw_difference(const Operation& operation) const {
  std::vector<std::pair<std::string, std::string>> calls;  // what was called, by which ranks
  for (int i = 0; i < group_->size(); ++i) {
    const Post& post = group_->region().post(i, operation.ticket);
    const uint64_t count = post.kind == Kind::AllToAllVC ? 0 : post.count;
    const std::string call = describe_call(post.kind, count, post.type, post.op, post.root);
    const std::string rank = std::to_string(group_->rank(i));
    auto it = std::ranges::find(calls, call, &std::pair<std::string, std::string>::first);
    if (it == calls.end()) {
      calls.emplace_back(call, "rank " + rank);
    } else {
      it->second += ", rank " + rank;
    }
  }
  std::string text;
  for (auto& [call, ranks] : calls) text += fmt::format("{}{} called {}", text.empty() ? "" : "; ", ranks, call);
  throw Error(result::kPara,
              "EI0005: operation number {} of {} differs between ranks: {}. All ranks must call the same operations in "
              "the same order with the same arguments",
              operation.ticket, options_.name, text);
}

std::string describe_call(Kind kind, uint64_t count, Type type, Op op, uint32_t root) {
  std::string text = fmt::format("{}(count {}, {}", name_of(kind), count, name_of(type));
  if (reduces(kind)) text += fmt::format(", {}", name_of(op));
  if (has_root(kind)) text += fmt::format(", root {}", root);
  return text + ")";
}

}  // namespace updraft::collective
