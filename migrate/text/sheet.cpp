#include "migrate/text/sheet.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "migrate/rules/rule.h"

namespace updraft::migrate::text {

void Embedded::same(std::string_view bytes, std::size_t outer) {
  if (bytes.empty()) return;
  const auto begin = static_cast<std::uint32_t>(outer), end = static_cast<std::uint32_t>(outer + bytes.size());
  if (!runs_.empty() && runs_.back().kind == Kind::Same && runs_.back().end == begin) runs_.back().end = end;
  else runs_.push_back({static_cast<std::uint32_t>(text_.size()), begin, end, Kind::Same});
  text_.append(bytes);
}

void Embedded::unit(std::string_view bytes, std::size_t begin, std::size_t end) {
  if (bytes.empty()) return;
  runs_.push_back({static_cast<std::uint32_t>(text_.size()), static_cast<std::uint32_t>(begin),
                   static_cast<std::uint32_t>(end), Kind::Unit});
  text_.append(bytes);
}

void Embedded::filler(std::string_view bytes) {
  if (bytes.empty()) return;
  const std::uint32_t at = runs_.empty() ? 0 : runs_.back().end;
  runs_.push_back({static_cast<std::uint32_t>(text_.size()), at, at, Kind::Filler});
  text_.append(bytes);
}

std::size_t Embedded::run_at(std::size_t inner) const {
  const auto after = std::upper_bound(runs_.begin(), runs_.end(), inner,
                                      [](std::size_t offset, const Run& run) { return offset < run.inner; });
  return after == runs_.begin() ? 0 : static_cast<std::size_t>(after - runs_.begin()) - 1;
}

std::size_t Embedded::length(std::size_t run) const {
  return (run + 1 < runs_.size() ? runs_[run + 1].inner : text_.size()) - runs_[run].inner;
}

std::pair<std::uint32_t, std::uint32_t> Embedded::outer(std::size_t begin, std::size_t end) const {
  if (runs_.empty()) return {0, 0};
  const auto first = [&](std::size_t inner) {
    const Run& run = runs_[run_at(inner)];
    if (inner >= text_.size()) return run.end;
    return run.kind == Kind::Same ? static_cast<std::uint32_t>(run.begin + (inner - run.inner)) : run.begin;
  };
  const auto last = [&](std::size_t inner) {  // the end of the byte before
    const Run& run = runs_[run_at(inner - 1)];
    return run.kind == Kind::Same ? static_cast<std::uint32_t>(run.begin + (inner - run.inner)) : run.end;
  };
  begin = std::min(begin, text_.size());
  end = std::min(std::max(begin, end), text_.size());
  const std::uint32_t from = first(begin);
  return {from, begin == end ? from : std::max(from, last(end))};
}

std::optional<std::uint32_t> Embedded::insertion(std::size_t inner) const {
  if (runs_.empty() || inner > text_.size()) return std::nullopt;
  if (inner < text_.size()) {
    const Run& run = runs_[run_at(inner)];
    if (run.kind == Kind::Same) return static_cast<std::uint32_t>(run.begin + (inner - run.inner));
    if (run.kind == Kind::Unit && run.inner == inner) return run.begin;
    if (run.kind == Kind::Unit) return std::nullopt;
  }
  if (inner == 0) return std::nullopt;
  const Run& before = runs_[run_at(inner - 1)];
  if (before.kind == Kind::Filler) return std::nullopt;
  return before.kind == Kind::Unit ? before.end : static_cast<std::uint32_t>(before.begin + (inner - before.inner));
}

std::optional<std::vector<Edit>> Embedded::place(const Edit& edit) const {
  const auto encoded = [&](std::string_view text, std::uint32_t begin, std::uint32_t end) {
    return encode_ ? encode_(text, begin, end) : std::optional<std::string>(text);
  };
  if (edit.end < edit.begin || edit.end > text_.size()) return std::nullopt;
  if (edit.begin == edit.end) {
    const auto at = insertion(edit.begin);
    if (!at) return std::nullopt;
    auto text = encoded(edit.text, *at, *at);
    if (!text) return std::nullopt;
    return std::vector<Edit>{{*at, *at, std::move(*text)}};
  }
  // The contiguous outer pieces that the edit covers.
  std::vector<Edit> pieces;
  for (std::size_t i = run_at(edit.begin), at = edit.begin; at < edit.end; ++i) {
    const Run& run = runs_[i];
    const std::size_t stop = std::min<std::size_t>(run.inner + length(i), edit.end);
    if (run.kind == Kind::Filler) return std::nullopt;
    std::uint32_t begin = run.begin, end = run.end;
    if (run.kind == Kind::Same) {
      begin += static_cast<std::uint32_t>(at - run.inner);
      end = static_cast<std::uint32_t>(run.begin + (stop - run.inner));
    } else if (at != run.inner || stop != run.inner + length(i)) {
      return std::nullopt;
    }
    if (!pieces.empty() && pieces.back().end == begin) pieces.back().end = end;
    else pieces.push_back({begin, end, {}});
    at = stop;
  }
  if (pieces.size() > 1 && !split_) return std::nullopt;
  // Lines are dealt out to the pieces, since pieces of notebooks are lines; the last one has what is left.
  std::string_view rest = edit.text;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const std::size_t newline = i + 1 < pieces.size() ? rest.find('\n') : std::string_view::npos;
    const std::string_view part = rest.substr(0, newline == std::string_view::npos ? newline : newline + 1);
    rest.remove_prefix(part.size());
    auto text = encoded(part, pieces[i].begin, pieces[i].end);
    if (!text) return std::nullopt;
    pieces[i].text = std::move(*text);
  }
  return pieces;
}
namespace {

/// Positions of offsets that come in ascending order.
class Counter {
 public:
  explicit Counter(std::string_view text) : text_(text) {}

  Position at(std::size_t offset) {
    offset = std::min(offset, text_.size());
    while (at_ < offset) {
      const void* newline = std::memchr(text_.data() + at_, '\n', offset - at_);
      if (!newline) break;
      at_ = static_cast<std::size_t>(static_cast<const char*>(newline) - text_.data()) + 1;
      begin_ = at_;
      ++line_;
    }
    at_ = std::max(at_, offset);
    return {line_, static_cast<std::uint32_t>(offset - begin_)};
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0, begin_ = 0;
  std::uint32_t line_ = 1;
};

void leave_for_review(Finding& finding) {
  finding.edits.clear();
  finding.confidence = Confidence::Review;
  finding.message += rules::told("text.by_hand");
}

/// Two edits collide where they share a byte or insert at the same place; a finding is changed whole or not at all.
void leave_collisions(std::vector<Finding>& findings) {
  struct Taken {
    std::uint32_t begin, end;
    std::size_t finding;
  };
  std::vector<Taken> all;
  for (std::size_t i = 0; i < findings.size(); ++i)
    for (const Edit& e : findings[i].edits) all.push_back({e.begin, e.end, i});
  std::stable_sort(all.begin(), all.end(), [](const Taken& a, const Taken& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  std::vector<bool> dropped(findings.size());
  std::uint32_t end = 0;
  bool any = false, insertion = false;
  for (const Taken& t : all) {
    if (dropped[t.finding]) continue;
    const bool collides = any && (t.begin < end || (t.begin == end && t.begin == t.end && insertion));
    if (collides) {
      dropped[t.finding] = true;
      leave_for_review(findings[t.finding]);
      continue;
    }
    any = true;
    insertion = t.begin == t.end;
    end = t.end;
  }
}

}  // namespace

Finding& Sheet::add(std::string_view id, std::size_t begin, std::size_t end, Text message) {
  const rules::Rule& rule = rules::coded(id);
  Finding& f = findings_.emplace_back();
  f.rule = rule.id;
  f.category = rule.category;
  f.suggestion = rule.suggestion;
  f.begin = static_cast<std::uint32_t>(begin);
  f.end = static_cast<std::uint32_t>(end);
  f.message = message.empty() ? rule.message : std::move(message);
  return f;
}

Finding& Sheet::change(std::string_view rule, Confidence confidence, std::size_t begin, std::size_t end,
                       std::string replacement, Text message) {
  Finding& f = add(rule, begin, end, std::move(message));
  f.confidence = confidence;
  f.edits.push_back({f.begin, f.end, std::move(replacement)});
  return f;
}

void Sheet::adopt(std::vector<Finding> inner, const Embedded& embedded) {
  for (Finding& f : inner) {
    std::vector<Edit> edits;
    bool placed = true;
    for (const Edit& e : f.edits) {
      auto outer = embedded.place(e);
      if (!outer) {
        placed = false;
        break;
      }
      edits.insert(edits.end(), outer->begin(), outer->end());
    }
    std::tie(f.begin, f.end) = embedded.outer(f.begin, f.end);
    if (placed) f.edits = std::move(edits);
    else leave_for_review(f);
    findings_.push_back(std::move(f));
  }
}

std::vector<Finding> Sheet::take() {
  std::stable_sort(findings_.begin(), findings_.end(), [](const Finding& a, const Finding& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  leave_collisions(findings_);
  std::vector<std::pair<std::uint32_t, Position*>> places;
  for (Finding& f : findings_) {
    places.emplace_back(f.begin, &f.from);
    places.emplace_back(f.end, &f.to);
  }
  std::stable_sort(places.begin(), places.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  Counter counter(text_);
  for (auto& [offset, position] : places) *position = counter.at(offset);
  return std::move(findings_);
}

std::vector<Finding> too_large(std::string_view text, std::string_view rule) {
  if (text.size() < kLargest) return {};
  Finding f;
  f.rule = rule;
  f.category = Category::Failure;
  f.message = rules::told("text.large");
  return {f};
}

std::string applied(std::string_view text, const std::vector<Finding>& findings, Confidence least) {
  std::vector<const Edit*> edits;
  for (const Finding& f : findings)
    if (f.confidence >= least)
      for (const Edit& e : f.edits) edits.push_back(&e);
  std::stable_sort(edits.begin(), edits.end(), [](const Edit* a, const Edit* b) {
    return std::pair(a->begin, a->end) < std::pair(b->begin, b->end);
  });
  std::string out;
  std::size_t at = 0;
  for (const Edit* e : edits) {
    out.append(text.substr(at, e->begin - at)).append(e->text);
    at = e->end;
  }
  return out.append(text.substr(at));
}

}  // namespace updraft::migrate::text
