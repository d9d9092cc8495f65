#include "npu_device/loop_form.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace updraft::npu_device {
namespace {

using tensorflow::NodeDef;

const Item& item_of(const Body& body, Ref ref) { return body.items[static_cast<size_t>(ref.item)]; }

/// What a tensor is behind operators that hand it on.
Ref origin(const Body& body, Ref ref) {
  while (item_of(body, ref).type() == "Identity") ref = item_of(body, ref).inputs.at(0);
  return ref;
}

/// The argument that this is, -1 for something else.
int argument_of(const Body& body, Ref ref) { return item_of(body, origin(body, ref)).argument; }

/// Every step gives the argument on as it got it.
bool stays(const Body& body, int argument) {
  const auto at = static_cast<size_t>(argument);
  return at < body.results.size() && argument_of(body, body.results[at]) == argument;
}

std::optional<int64_t> number_of(const NodeDef& def) {
  const auto found = def.attributes.find("value");
  if (found == def.attributes.end() || !found->second.tensor) return std::nullopt;
  const tensorflow::TensorValue& tensor = *found->second.tensor;
  const auto& data = tensor.value.data;
  if (tensor.type == ElementType::Int32 && data.size() == sizeof(int32_t)) {
    int32_t number;
    std::memcpy(&number, data.data(), sizeof number);
    return number;
  }
  if (tensor.type != ElementType::Int64 || data.size() != sizeof(int64_t)) return std::nullopt;
  int64_t number;
  std::memcpy(&number, data.data(), sizeof number);
  return number;
}

std::string_view text_of(const NodeDef& def, std::string_view name) {
  const auto found = def.attributes.find(name);
  return found == def.attributes.end() ? std::string_view() : found->second.text;
}

/// Both give the same resource.
bool same_maker(const NodeDef& a, const NodeDef& b) {
  return &a == &b || (a.type == b.type && a.name == b.name && text_of(a, "container") == text_of(b, "container") &&
                      !text_of(a, "shared_name").empty() && text_of(a, "shared_name") == text_of(b, "shared_name"));
}

/// What conditions of loops that count have in them: nothing with an effect.
constexpr std::string_view kCounting[] = {"Const", "Greater",   "GreaterEqual", "Identity",
                                          "Less",  "LessEqual", "LogicalAnd",   "NoOp"};
constexpr std::string_view kMakers[] = {"Iterator", "IteratorFromStringHandle", "IteratorFromStringHandleV2",
                                        "IteratorV2", "OneShotIterator"};

}  // namespace

std::optional<int64_t> LoopForm::Number::of(const std::vector<Value>& arguments) const {
  if (argument < 0) return value;
  const Value& given = arguments.at(static_cast<size_t>(argument));
  if (given.kind != Value::Kind::Tensor || graph::count_of(given.dims) != 1 ||
      (given.type != ElementType::Int32 && given.type != ElementType::Int64))
    return std::nullopt;
  return given.integer("a number of a loop");
}

std::optional<int64_t> LoopForm::Term::steps(const std::vector<Value>& arguments) const {
  const auto from = counter.of(arguments), by = step.of(arguments), to = limit.of(arguments);
  if (!from || !by || !to) return std::nullopt;
  __int128 first = *from, size = *by, last = *to;
  if (!below) first = -first, size = -size, last = -last;
  last += equal;
  if (first >= last) return 0;
  if (size <= 0) return std::nullopt;  // the condition never ends it
  const __int128 count = (last - first + size - 1) / size;
  return count > std::numeric_limits<int64_t>::max() ? std::nullopt : std::optional(static_cast<int64_t>(count));
}

std::optional<int64_t> LoopForm::steps(const std::vector<Value>& arguments) const {
  if (!counts_) return std::nullopt;
  std::optional<int64_t> least;
  for (const Term& term : terms_) {
    const auto count = term.steps(arguments);
    if (!count) return std::nullopt;
    least = std::min(least.value_or(*count), *count);
  }
  return least;
}

/// False where the condition is something else.
bool LoopForm::add_terms(const Body& condition, const Body& body, Ref ref) {
  const Item& item = item_of(condition, origin(condition, ref));
  const std::string_view type = item.type();
  if (type == "LogicalAnd")
    return add_terms(condition, body, item.inputs.at(0)) && add_terms(condition, body, item.inputs.at(1));
  Term term;
  term.equal = type == "LessEqual" || type == "GreaterEqual";
  const bool less = type == "Less" || type == "LessEqual";
  if (!less && type != "Greater" && type != "GreaterEqual") return false;
  auto number = [](const Body& of, Ref r, Number& to) {
    const Item& read = item_of(of, origin(of, r));
    to.argument = read.argument;
    if (read.argument >= 0) return true;
    const auto value = read.type() == "Const" ? number_of(*read.def) : std::nullopt;
    to.value = value.value_or(0);
    return value.has_value();
  };
  auto constant = [&](const Number& n) { return n.argument < 0 || stays(body, n.argument); };
  Number left, right;
  if (!number(condition, item.inputs.at(0), left) || !number(condition, item.inputs.at(1), right)) return false;
  const bool turned = constant(left);
  term.below = less != turned;
  term.counter = turned ? right : left;
  term.limit = turned ? left : right;
  if (constant(term.counter) || !constant(term.limit)) return false;
  const Item& next = item_of(body, origin(body, body.results.at(static_cast<size_t>(term.counter.argument))));
  if (next.type() != "AddV2" && next.type() != "Add") return false;
  Number a, b;
  if (!number(body, next.inputs.at(0), a) || !number(body, next.inputs.at(1), b)) return false;
  if (a.argument != term.counter.argument) std::swap(a, b);
  if (a.argument != term.counter.argument || !constant(b)) return false;
  term.step = b;
  terms_.push_back(term);
  return true;
}

/// Which iterators the steps take batches of, and how many the caller takes of the same behind the loop.
void LoopForm::find_sources(const Body& body, const Body& caller, int loop) {
  auto source_at = [](const Body& of, Ref ref) {
    Source source;
    const Item& item = item_of(of, ref);
    source.argument = item.argument;
    if (item.argument >= 0 || std::ranges::find(kMakers, item.type()) == std::end(kMakers)) return source;
    if (item.inputs.size() > 1) return source;
    if (!item.inputs.empty() && (source.maker_argument = argument_of(of, item.inputs[0])) < 0) return source;
    source.maker = item.def;
    return source;
  };
  auto same = [](const Source& a, const Source& b) {
    return a.argument == b.argument && a.maker_argument == b.maker_argument && !a.maker == !b.maker &&
           (!a.maker || a.maker_argument >= 0 || same_maker(*a.maker, *b.maker));
  };
  std::vector<Source> spoiled;
  auto known = [&](const Source& source) { return source.argument >= 0 || source.maker; };
  for (const Item& item : body.items) {
    const bool takes = item.type() == "IteratorGetNext" || item.type() == "IteratorGetNextSync";
    if (item.type() == "Identity" || item.argument >= 0) continue;
    for (const Ref input : item.inputs) {
      if (body.type_of(input) != ElementType::Resource) continue;
      const Source source = source_at(body, origin(body, input));
      if (!known(source)) continue;
      const int must_stay = source.maker ? source.maker_argument : source.argument;
      if (!takes || (must_stay >= 0 && !stays(body, must_stay))) {
        spoiled.push_back(source);
        continue;
      }
      auto found = std::ranges::find_if(sources_, [&](const Source& s) { return same(s, source); });
      if (found == sources_.end()) found = sources_.insert(found, source);
      found->batch = item.def;
      found->tensors = item.outputs.size();
      ++found->each;
    }
  }
  std::erase_if(sources_, [&](const Source& s) {
    return std::ranges::any_of(spoiled, [&](const Source& other) { return same(s, other); });
  });
  std::vector<bool> behind(caller.items.size(), false);
  behind[static_cast<size_t>(loop)] = true;
  const Item& call = caller.items[static_cast<size_t>(loop)];
  for (size_t i = static_cast<size_t>(loop) + 1; i < caller.items.size(); ++i) {
    const Item& item = caller.items[i];
    behind[i] = std::ranges::any_of(item.inputs, [&](Ref r) { return behind[static_cast<size_t>(r.item)]; }) ||
                std::ranges::any_of(item.after, [&](int a) { return behind[static_cast<size_t>(a)]; });
    if (!behind[i] || item.type() != "IteratorGetNext") continue;
    const Source taken = source_at(caller, origin(caller, item.inputs.at(0)));
    for (Source& source : sources_) {
      auto given = [&](int argument) {  // to the loop
        return argument < 0 ? -1 : argument_of(caller, call.inputs.at(static_cast<size_t>(argument)));
      };
      if (source.maker ? taken.maker && same_maker(*source.maker, *taken.maker) &&
                             given(source.maker_argument) == taken.maker_argument
                       : taken.argument >= 0 && given(source.argument) == taken.argument)
        ++source.behind;
    }
  }
  sources_.insert(sources_.end(), spoiled.begin(), spoiled.end());
}

LoopForm::LoopForm(const Body& condition, const Body& body, const Body& caller, int item) {
  const bool pure = std::ranges::all_of(condition.items, [](const Item& i) {
    return i.argument >= 0 || std::ranges::find(kCounting, i.type()) != std::end(kCounting);
  });
  counts_ =
      pure && condition.results.size() == 1 && add_terms(condition, body, condition.results[0]) && !terms_.empty();
  if (counts_) find_sources(body, caller, item);
}

}  // namespace updraft::npu_device
