// Sequences and optionals: they are known while importing, and the graph has only their tensors.
#include <algorithm>

#include "frontends/onnx/convert/families.h"

namespace updraft::onnx {
namespace {

const std::vector<Endpoint>& items(Conversion& c, size_t i) {
  const Value& v = c.value_in(i);
  c.require(v.sequence, "input {} is a tensor, want a sequence", i);
  return v.items;
}
Value sequence(std::vector<Endpoint> list) {
  Value v;
  v.sequence = true;
  v.items = std::move(list);
  return v;
}
/// A place in a sequence of n; `end`: one behind the last is one, too.
size_t place(Conversion& c, size_t i, size_t n, bool end) {
  const int64_t at = c.integers_in(i, "position").at(0), most = static_cast<int64_t>(n) + (end ? 1 : 0);
  const int64_t from = at < 0 ? at + static_cast<int64_t>(n) : at;
  c.require(from >= 0 && from < most, "position {} in a sequence of {}", at, n);
  return static_cast<size_t>(from);
}

void construct(Conversion& c) { c.give(0, sequence(c.all())); }
void empty(Conversion& c) {
  c.ignore("dtype");
  c.give(0, sequence({}));
}
void at(Conversion& c) {
  const auto& list = items(c, 0);
  c.give(0, list[place(c, 1, list.size(), false)]);
}
void length(Conversion& c) { c.give(0, c.integer_scalar(static_cast<int64_t>(items(c, 0).size()))); }
void insert(Conversion& c) {
  std::vector<Endpoint> list = items(c, 0);
  const size_t where = c.has(2) ? place(c, 2, list.size(), true) : list.size();
  list.insert(list.begin() + static_cast<std::ptrdiff_t>(where), c.in(1));
  c.give(0, sequence(std::move(list)));
}
void erase(Conversion& c) {
  std::vector<Endpoint> list = items(c, 0);
  c.require(!list.empty(), "the sequence is empty");
  const size_t where = c.has(1) ? place(c, 1, list.size(), false) : list.size() - 1;
  list.erase(list.begin() + static_cast<std::ptrdiff_t>(where));
  c.give(0, sequence(std::move(list)));
}
void concat(Conversion& c) {
  std::vector<Endpoint> list = items(c, 0);
  c.require(!list.empty(), "the sequence is empty");
  const int64_t axis = c.integer("axis");
  if (c.flag("new_axis"))
    for (Endpoint& e : list) e = c.unsqueeze(e, {c.axis(axis, c.rank(e) + 1)});
  c.give(0, c.concat(list, axis));
}
void split(Conversion& c) {
  const Endpoint x = c.in(0);
  const int64_t axis = c.axis(c.integer("axis", 0), c.rank(x)), n = c.few(c.size(x, axis, "the input"), "elements");
  bool keep = c.flag("keepdims", true);
  Dims sizes;
  if (!c.has(1)) {
    sizes.assign(static_cast<size_t>(n), 1);
  } else {
    keep = true;
    sizes = c.integers_in(1, "split");
    if (c.rank(c.in(1)) == 0) {
      const int64_t each = sizes.at(0);
      c.require(each > 0, "split is {}, want above 0", each);
      sizes.clear();
      for (int64_t done = 0; done < n; done += each) sizes.push_back(std::min(each, n - done));
    }
  }
  std::vector<Endpoint> list;
  int64_t from = 0;
  for (int64_t size : sizes) {
    const Endpoint part = c.slice(x, {from}, {from + size}, {axis});
    list.push_back(keep ? part : c.squeeze(part, {axis}));
    from += size;
  }
  c.give(0, sequence(std::move(list)));
}

void optional(Conversion& c) {
  c.ignore("type");
  Value none;
  none.nothing = true;
  c.give(0, c.has(0) ? c.value_in(0) : none);
}
void has_element(Conversion& c) {
  const bool there = c.has(0) && !c.value_in(0).nothing;
  c.give(0, c.constant(scalar_tensor(there, DType::Bool)));
}
void get_element(Conversion& c) {
  const Value& v = c.value_in(0);
  c.require(!v.nothing, "the optional has no value");
  c.give(0, v);
}

constexpr Row kRows[] = {
    {"ConcatFromSequence", 11, concat, "ConcatV2"},
    {"Optional", 15, optional, ""},
    {"OptionalGetElement", 15, get_element, ""},
    {"OptionalHasElement", 15, has_element, "Const"},
    {"SequenceAt", 11, at, "", "the position is known before the run", "位置须为已知值"},
    {"SequenceConstruct", 11, construct, ""},
    {"SequenceEmpty", 11, empty, ""},
    {"SequenceErase", 11, erase, "", "the position is known before the run", "位置须为已知值"},
    {"SequenceInsert", 11, insert, "", "the position is known before the run", "位置须为已知值"},
    {"SequenceLength", 11, length, "Const"},
    {"SplitToSequence", 11, split, "StridedSliceV2"},
};

}  // namespace

std::span<const Row> sequence_rows() { return kRows; }

}  // namespace updraft::onnx
