#include "observe/compare/comparison.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <mutex>
#include <set>
#include <thread>

#include "base/error.h"
#include "observe/compare/formats.h"
#include "observe/dump/names.h"

namespace updraft::compare {
namespace {

/// A tensor of so many elements is worth all threads by itself.
constexpr int64_t kLarge = 4 << 20;

/// Of casts and views in a row: a damaged graph may have a circle.
constexpr int kDeepest = 64;

bool is_view(const std::string& type) {
  for (const char* one : {"Reshape", "Flatten", "FlattenV2", "Squeeze", "SqueezeV2", "SqueezeV3", "Unsqueeze",
                          "UnsqueezeV2", "UnsqueezeV3", "ExpandDims", "Identity", "ReFormat"})
    if (type == one) return true;
  return false;
}

std::string joined(const std::vector<std::string>& all) {
  std::string text;
  for (const std::string& one : all) text += (text.empty() ? "" : ",") + one;
  return text;
}

std::string address_text(const Array& array) { return array.address ? std::to_string(array.address) : "NaN"; }

/// YES, NO or (of other types) NaN: msaccucmp's words for a float16 tensor with 65504 in it.
std::string overflow_of(const Array& array) {
  if (array.type != 2) return "NaN";
  bool found = false;
  const int64_t count = array.count();
  const auto* words = reinterpret_cast<const uint16_t*>(array.data.data());
  bool nan = false;
  for (int64_t i = 0; i < count; ++i) {
    const uint16_t magnitude = words[i] & 0x7fff;
    found |= magnitude >= 0x7bff && magnitude <= 0x7c00;
    nan |= magnitude > 0x7c00;
  }
  return found && !nan ? "YES" : "NO";  // with NaN the greatest is NaN, which is not >= 65504
}

int number_of(std::string_view text, const char* option) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size())
    throw Error(code::kAclInvalidParam, "{} has \"{}\", want a number", option, text);
  return value;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    std::string part = text.substr(begin, end - begin);
    std::erase(part, ' ');
    parts.push_back(part);
    begin = end + 1;
  }
  return parts;
}

/// The sequence numbers that -r and -s ask for.
std::function<bool(int)> chosen(const Options& options, int last) {
  if (!options.range.empty()) {
    const auto parts = split(options.range);
    if (parts.size() != 3) throw Error(code::kAclInvalidParam, "-r is \"{}\", want start,end,step", options.range);
    const int start = parts[0].empty() ? 1 : number_of(parts[0], "-r");
    int end = parts[1].empty() || parts[1] == "-1" ? last : number_of(parts[1], "-r");
    const int step = parts[2].empty() ? 1 : number_of(parts[2], "-r");
    if (start < 1 || start > last) throw Error(code::kAclInvalidParam, "-r: start is {}, want 1 to {}", start, last);
    if (end < start || end > last)
      throw Error(code::kAclInvalidParam, "-r: end is {}, want {} to {}", end, start, last);
    if (step < 1 || step >= last) throw Error(code::kAclInvalidParam, "-r: step is {}, want 1 to {}", step, last - 1);
    return [=](int s) { return s >= start && s <= end && (s == end || (s - start) % step == 0); };
  }
  if (!options.select.empty()) {
    std::set<int> numbers;
    for (const std::string& part : split(options.select)) {
      const int n = number_of(part, "-s");
      if (n < 1 || n > last) throw Error(code::kAclInvalidParam, "-s has {}, want 1 to {}", n, last);
      numbers.insert(n);
    }
    return [=](int s) { return numbers.contains(s); };
  }
  return [](int) { return true; };
}

/// Both in the layout that people read, where one is in blocks.
void same_layout(Array& mine, Array& golden) {
  if (is_blocked(mine.format) && mine.format != golden.format) {
    const int32_t plain = golden.format == 2 || is_blocked(golden.format) ? 0 : golden.format;
    mine = to_format(mine, mine.format == 29 ? 2 : plain);
  } else if (is_blocked(golden.format) && mine.format != golden.format) {
    golden = to_format(golden, golden.format == 29 ? 2 : mine.format == 2 ? 0 : mine.format);
  }
}

}  // namespace

std::string shape_text(const std::vector<int64_t>& dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i) text += (i ? "," : "") + std::to_string(dims[i]);
  return text + "]";
}

Comparison::Comparison(Options options) : options_(std::move(options)), mine_(options_.mine), golden_(options_.golden) {
  if (options_.threads <= 0) options_.threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  const std::string& rule = options_.rule.empty() ? options_.quantised_rule : options_.rule;
  if (!rule.empty()) rule_.emplace(rule);
  if (!options_.unfused_rule.empty()) {
    if (!rule_) throw Error(code::kAclInvalidParam, "-cf wants -f, the graph with fusion, beside it");
    unfused_.emplace(options_.unfused_rule);
    match_rules();
  }
  if (has_sequence() && !rule_) throw Error(code::kAclInvalidParam, "-r and -s want -f, which numbers the operators");
  if (!options_.range.empty() && !options_.select.empty())
    throw Error(code::kAclInvalidParam, "-r and -s were both given, want one of them");
  if (!mine_.is_npu() && options_.overflow) notes_.push_back("-overflow_detection wants dump files on the side of -m");
}

/// Each graph goes to the side whose path has its name, or, where both or none have it, whose operators it has,
/// whatever the order in which they were given.
void Comparison::match_rules() {
  const auto named = [](const Side& side, const GraphRule& rule) {
    return !rule.graph().empty() &&
           ("/" + side.folder() + "/").find("/" + dump::clean(rule.graph()) + "/") != std::string::npos;
  };
  const auto held = [](const Side& side, const GraphRule& rule) {
    return std::ranges::count_if(rule.operators(), [&](const RuleOperator& op) { return side.find(op.name); });
  };
  const auto fits = [&](const auto& measure, const GraphRule& of_mine, const GraphRule& of_golden) {
    return static_cast<int64_t>(measure(mine_, of_mine)) + static_cast<int64_t>(measure(golden_, of_golden));
  };
  const int64_t by_name = fits(named, *unfused_, *rule_) - fits(named, *rule_, *unfused_);
  const int64_t by_operators = fits(held, *unfused_, *rule_) - fits(held, *rule_, *unfused_);
  if (by_name < 0 || (by_name == 0 && by_operators <= 0)) return;
  std::swap(rule_, unfused_);
  notes_.push_back(by_name > 0 ? "-f and -cf were exchanged: the dump of -m is of the graph " + rule_->graph()
                               : "-f and -cf were exchanged: the dump of -m has the operators of the graph of -cf");
}

std::vector<Comparison::Unit> Comparison::units() const {
  std::vector<Unit> all;
  if (!rule_) {
    std::set<std::string> seen;
    for (const Side* side : {&mine_, &golden_})
      for (const std::string& name : side->in_order())
        if (seen.insert(name).second) all.push_back({static_cast<int>(all.size()), nullptr, name});
    return all;
  }
  int last = 1;
  for (const RuleOperator& op : rule_->operators()) last = std::max(last, op.sequence);
  const auto wanted = chosen(options_, std::max(last, static_cast<int>(rule_->operators().size())));
  for (const RuleOperator& op : rule_->operators())
    if (wanted(op.sequence)) all.push_back({op.group, &op, op.name});
  std::ranges::stable_sort(all, {}, &Unit::index);
  return all;
}

Pair Comparison::missing(const Unit& unit, const std::string& reason) const {
  Pair pair;
  pair.line.index = unit.index;
  pair.line.type = unit.op ? unit.op->type : "NaN";
  pair.line.sequence = unit.op ? unit.op->sequence : 0;
  pair.line.mine = unit.name;
  pair.line.golden = unit.op ? golden_names(*unit.op) : unit.name;
  pair.refusal = reason;
  return pair;
}

std::vector<Pair> Comparison::plain_pairs(const Unit& unit) const {
  const OperatorFiles *mine = mine_.find(unit.name), *golden = golden_.find(unit.name);
  if (!mine || !golden) {
    Pair pair = missing(
        unit, fmt::format("[{}] There is no {} dump file for the operator.", unit.name, mine ? "golden" : "my"));
    (mine ? pair.line.golden : pair.line.mine) = "*";
    pair.line.type = (mine ? mine : golden)->type;
    return {pair};
  }
  const Tensors x = mine_.load(*mine), y = golden_.load(*golden);
  std::vector<Pair> all;
  std::string refusal;
  for (const bool output : {false, true}) {
    const auto &a = output ? x.outputs : x.inputs, &b = output ? y.outputs : y.inputs;
    const char* side = output ? "output" : "input";
    if (a.empty() && b.empty()) continue;
    if (a.empty() || b.empty()) continue;  // one of the dumps was of one side alone
    if (a.size() != b.size()) {
      refusal = fmt::format("[{}] The number of {}s is {} and that of the golden data {}.", unit.name, side, a.size(),
                            b.size());
      continue;
    }
    for (const auto& [index, array] : a) {
      const auto other = b.find(index);
      if (other == b.end()) continue;
      Pair pair = missing(unit, {});
      pair.line.type = mine->type;
      pair.line.tensor = fmt::format("{}:{}:{}", unit.name, side, index);
      pair.line.is_output = output;
      pair.line.mine_path = x.path;
      pair.line.golden_path = y.path;
      pair.mine = array;
      pair.golden = other->second;
      if (array.dims != other->second.dims && !is_blocked(array.format) && !is_blocked(other->second.format) &&
          array.count() != other->second.count())
        pair.refusal = fmt::format("[{}] The shape of {}:{} is {} and that of the golden data {}.", unit.name, side,
                                   index, shape_text(array.dims), shape_text(other->second.dims));
      all.push_back(std::move(pair));
    }
  }
  if (all.empty())
    all.push_back(missing(unit, refusal.empty()
                                    ? fmt::format("[{}] There are no inputs and no outputs that both have.", unit.name)
                                    : refusal));
  return all;
}

std::string Comparison::golden_names(const RuleOperator& op) const {
  std::vector<std::string> names;
  for (const std::string& original : op.originals) {
    if (original.empty()) continue;
    std::string name = original;
    if (unfused_)
      for (const RuleOperator& other : unfused_->operators())
        if (std::ranges::find(other.originals, original) != other.originals.end()) name = other.name;
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  return names.empty() ? "*" : joined(names);
}

std::pair<std::string, int> Comparison::golden_of(const RuleOperator& op, int output, int depth) const {
  if ((op.type == "Cast" || op.type == "TransData") && depth < kDeepest && output < static_cast<int>(op.inputs.size()))
    if (const RuleOperator* before = rule_->find(op.inputs[static_cast<size_t>(output)].first))
      return golden_of(*before, op.inputs[static_cast<size_t>(output)].second, depth + 1);
  if (output < 0 || output >= static_cast<int>(op.outputs.size())) return {"", 0};
  const RuleOutput& from = op.outputs[static_cast<size_t>(output)];
  if (!unfused_) return {from.origin, from.origin_index};
  const auto there = unfused_->standing_for(from.origin, from.origin_index);
  return there.first.empty() ? std::pair{from.origin, from.origin_index} : there;
}

/// What an operator reads: from there, or through operators that only give another shape and leave no file.
std::pair<std::string, int> Comparison::golden_input_of(const RuleOperator& op, int input) const {
  const RuleOperator* reader = &op;
  auto at = static_cast<size_t>(input);
  for (int depth = 0; depth < kDeepest && at < reader->inputs.size(); ++depth) {
    const auto& [name, output] = reader->inputs[at];
    const RuleOperator* before = rule_->find(name);
    if (!before) break;
    const auto from = golden_of(*before, output);
    if ((!from.first.empty() && golden_.find(from.first)) || !is_view(before->type)) return from;
    reader = before;
    at = 0;
  }
  return {"", 0};
}

std::vector<Pair> Comparison::ruled_pairs(const Unit& unit) const {
  const RuleOperator& op = *unit.op;
  const OperatorFiles* mine = mine_.find(op.name);
  if (!mine)
    return {missing(unit, fmt::format("[{}] There is no my dump file for the operator of type {}.", op.name, op.type))};
  const Tensors x = mine_.load(*mine);
  std::vector<Pair> all;
  for (const bool output : {false, true})
    for (const auto& [index, array] : output ? x.outputs : x.inputs) {
      Pair pair = missing(unit, {});
      pair.line.tensor = fmt::format("{}:{}:{}", op.name, output ? "output" : "input", index);
      pair.line.is_output = output;
      pair.line.mine_path = x.path;
      pair.mine = array;
      std::pair<std::string, int> from{"", 0};
      if (output) from = golden_of(op, index);
      else from = golden_input_of(op, index);
      const OperatorFiles* golden = from.first.empty() ? nullptr : golden_.find(from.first);
      if (!golden) {
        pair.refusal = fmt::format("[{}] There is no golden dump file for {}{}.", op.name, pair.line.tensor,
                                   from.first.empty() ? "" : fmt::format(" ({} output {})", from.first, from.second));
      } else {
        const Tensors y = golden_.load(*golden);
        const auto found = y.outputs.find(from.second);
        pair.line.golden_path = y.path;
        if (found == y.outputs.end())
          pair.refusal = fmt::format("[{}] {} has no output {} in the golden data.", op.name, from.first, from.second);
        else pair.golden = found->second;
      }
      all.push_back(std::move(pair));
    }
  if (all.empty()) all.push_back(missing(unit, fmt::format("[{}] There are no inputs and no outputs.", op.name)));
  return all;
}

std::vector<Pair> Comparison::pairs(const Unit& unit) const {
  try {
    return unit.op ? ruled_pairs(unit) : plain_pairs(unit);
  } catch (const Error& e) { return {missing(unit, e.text())}; }
}

std::vector<std::string> Options::measure_names() const {
  std::vector<std::string> names;
  for (Measure one : measures) names.push_back(name_of(one));
  names.insert(names.end(), custom_names.begin(), custom_names.end());
  return names;
}

void add_custom(Row& row, const Options& options, const Array& x, const Array& y, const std::string& mine,
                const std::string& golden) {
  if (options.custom_names.empty()) return;
  for (Cell& cell : options.custom->measure(x, y, options.custom_names, mine, golden, options.most)) {
    if (!cell.reason.empty()) row.reasons.push_back(cell.reason);
    row.cells.push_back(std::move(cell));
  }
}

Line Comparison::finish(Pair pair, int threads) const {
  Line line = std::move(pair.line);
  if (pair.mine.owner) {
    line.mine_type = dump::type_name(pair.mine.type);
    line.mine_address = address_text(pair.mine);
    line.shape = shape_text(pair.mine.dims);
    if (options_.overflow && mine_.is_npu()) line.overflow = overflow_of(pair.mine);
  }
  if (pair.golden.owner) {
    line.golden_type = dump::type_name(pair.golden.type);
    line.golden_address = golden_.is_npu() ? address_text(pair.golden) : "NaN";
  }
  Row row;
  if (pair.refusal.empty()) {
    try {
      same_layout(pair.mine, pair.golden);
      row =
          measure(pair.mine, pair.golden, options_.measures, line.mine_path, line.golden_path, threads, options_.most);
      add_custom(row, options_, pair.mine, pair.golden, line.mine_path, line.golden_path);
    } catch (const Error& e) { pair.refusal = e.text(); }
  }
  if (!pair.refusal.empty()) {
    row.cells.assign(options_.measures.size() + options_.custom_names.size(),
                     Cell{"NaN", {}, std::numeric_limits<double>::quiet_NaN()});
    row.reasons = {pair.refusal};
  }
  line.cells = std::move(row.cells);
  line.reason = joined(row.reasons);
  return line;
}

std::vector<Line> Comparison::run(const std::function<void(size_t, size_t)>& progress) {
  const std::vector<Unit> all = units();
  std::vector<std::vector<Line>> lines(all.size());
  std::vector<std::vector<std::pair<size_t, Pair>>> large(all.size());
  std::atomic<size_t> next{0}, done{0};
  std::atomic<bool> matched{false};
  std::mutex mutex;
  auto work = [&] {
    for (size_t i; (i = next++) < all.size();) {
      std::vector<Pair> found = pairs(all[i]);
      for (Pair& pair : found) {
        if (pair.refusal.empty()) matched = true;
        if (pair.mine.count() >= kLarge && pair.refusal.empty()) {
          large[i].emplace_back(lines[i].size(), std::move(pair));
          lines[i].emplace_back();
        } else {
          lines[i].push_back(finish(std::move(pair), 1));
        }
      }
      if (progress) {
        std::lock_guard lock(mutex);
        progress(++done, all.size());
      }
    }
  };
  std::vector<std::thread> team;
  for (int t = 1; t < std::min(options_.threads, static_cast<int>(all.size())); ++t) team.emplace_back(work);
  work();
  for (std::thread& one : team) one.join();
  for (size_t i = 0; i < all.size(); ++i)
    for (auto& [at, pair] : large[i]) lines[i][at] = finish(std::move(pair), options_.threads);
  matched_ = matched;
  std::vector<Line> result;
  for (auto& some : lines)
    for (Line& line : some) result.push_back(std::move(line));
  return result;
}

std::vector<Pair> Comparison::pairs_of(const std::string& op) {
  for (const Unit& unit : units())
    if (unit.name == op || dump::clean(unit.name) == dump::clean(op)) {
      std::vector<Pair> found = pairs(unit);
      for (Pair& pair : found)
        if (pair.refusal.empty()) try {
            same_layout(pair.mine, pair.golden);
          } catch (const Error& e) { pair.refusal = e.text(); }
      return found;
    }
  throw Error(code::kAclInvalidParam, "-op is {}: there is no such operator {}", op,
              rule_ ? "in the graph of -f" : "on either side");
}

}  // namespace updraft::compare
