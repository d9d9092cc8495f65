#include "migrate/source/edit.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace updraft::migrate::source {
namespace {

bool before(const Edit& a, const Edit& b) noexcept { return std::tie(a.begin, a.end) < std::tie(b.begin, b.end); }

/// An insertion at the edge of a replacement does not meet it; two edits of the same place do.
bool meet(const Edit& a, const Edit& b) noexcept {
  if (a.begin == a.end && b.begin == b.end) return a.begin == b.begin && a.text == b.text;
  return a.begin < b.end && b.begin < a.end;
}

}  // namespace

std::string apply(std::string_view text, std::vector<Finding>& findings) {
  std::vector<Finding*> order;
  for (Finding& f : findings)
    if (f.applied) order.push_back(&f);
  std::stable_sort(order.begin(), order.end(), [](const Finding* a, const Finding* b) {
    return a->confidence != b->confidence ? a->confidence > b->confidence : a->begin < b->begin;
  });
  const auto less = [](const Edit* a, const Edit* b) { return before(*a, *b); };
  std::multiset<const Edit*, decltype(less)> taken(less);
  for (Finding* f : order) {
    const bool fits = std::all_of(f->edits.begin(), f->edits.end(), [&](const Edit& e) {
      if (e.begin > e.end || e.end > text.size()) return false;
      auto at = taken.lower_bound(&e);
      // neighbours are enough: what is taken does not overlap
      for (auto next = at; next != taken.end() && (*next)->begin <= e.end; ++next)
        if (meet(**next, e)) return false;
      for (auto last = at; last != taken.begin();) {
        --last;
        if (meet(**last, e)) return false;
        if ((*last)->end < e.begin) break;
      }
      return true;
    });
    f->applied = fits && !f->edits.empty();
    if (f->applied)
      for (const Edit& e : f->edits) taken.insert(&e);
  }
  std::string result;
  result.reserve(text.size() + 64);
  std::size_t at = 0;
  for (const Edit* e : taken) {
    result += text.substr(at, e->begin - at);
    result += e->text;
    at = e->end;
  }
  result += text.substr(at);
  return result;
}

}  // namespace updraft::migrate::source
