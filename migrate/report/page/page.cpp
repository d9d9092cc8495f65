#include "migrate/report/page/page.h"

#include <fmt/format.h>
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/sha256.h"
#include "migrate/report/diff.h"
#include "migrate/report/files.h"
#include "migrate/report/guide/guide.h"
#include "migrate/report/summary.h"

namespace updraft::migrate::report {
namespace {

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : one_line(text)) {
    if (c == '<') out += "&lt;";
    else if (c == '>') out += "&gt;";
    else if (c == '&') out += "&amp;";
    else if (c == '"') out += "&quot;";
    else if (c == '\'') out += "&#39;";
    else out += c;
  }
  return out;
}

/// As a content security policy names an inline script or style.
std::string policy_hash(std::string_view text) {
  const Digest digest = sha256(text.data(), text.size());
  return "'sha256-" + base64({reinterpret_cast<const char*>(digest.data()), digest.size()}) + "'";
}

std::string both(const Text& text) {
  return "<span lang=\"en\">" + escaped(text.en) + "</span> <span lang=\"zh\">" + escaped(text.zh) + "</span>";
}

/// What stands there where scripts do not run: the same in short, in both languages.
std::string plain(const ProjectResult& result, const Summary& summary) {
  std::string out = "<h2>" + both({"What to do next", "下一步"}) + "</h2><ol>";
  for (const Step& step : summary.steps) out += "<li>" + both(step.what) + "</li>";
  out += "</ol><h2>" + both({"Files", "文件"}) + "</h2><table><tr><th>" + both({"File", "文件"}) + "</th><th>" +
         both({"State", "状态"}) + "</th><th>" + both({"Findings", "条目"}) + "</th></tr>\n";
  for (const FileResult& file : result.files)
    out += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td></tr>\n", escaped(file.path), name(readiness(file)),
                       file.findings.size());
  return out + "</table>";
}

}  // namespace

std::string html(const ProjectResult& result) {
  const Summary summary = summarize(result);
  const std::string_view style = embedded("page.css"), script = embedded("page.js");
  std::string out = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta "
      "http-equiv=\"Content-Security-Policy\" "
      "content=\"default-src 'none'; script-src {}; style-src {}; base-uri 'none'; form-action 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" "
      "content=\"light "
      "dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n<title>{} – "
      "Updraft</title>\n<style>{}</style>\n</head>\n"
      "<body>\n<main id=\"app\">\n",
      policy_hash(script), policy_hash(style),
      escaped(result.request.input.empty() ? "Migration report" : result.request.input), style);
  out += "<h1>Updraft</h1>" + plain(result, summary) + "</main>\n<script type=\"application/json\" id=\"data\">" +
         page_data(result, summary) + "</script>\n";
  for (std::size_t i = 0; i < result.files.size(); ++i)
    out +=
        fmt::format("<script type=\"application/json\" id=\"x{}\">", i) + page_excerpt(result.files[i]) + "</script>\n";
  return out + "<script>" + std::string(script) + "</script>\n</body>\n</html>\n";
}
namespace {

/// The table of the comparison grows with the product of the words.
constexpr std::size_t kMostWords = 400;

bool in_word(char c) noexcept {
  const auto byte = static_cast<unsigned char>(c);
  return ((byte | 0x20) >= 'a' && (byte | 0x20) <= 'z') || (c >= '0' && c <= '9') || c == '_' || byte >= 0x80;
}

/// Identifiers and numbers, runs of space, and other characters one by one. Code points stay whole.
Pieces words(std::string_view line) {
  Pieces list;
  for (std::size_t i = 0; i < line.size();) {
    std::size_t end = i + 1;
    if (in_word(line[i]))
      while (end < line.size() && in_word(line[end])) ++end;
    else if (line[i] == ' ')
      while (end < line.size() && line[end] == ' ') ++end;
    list.push_back(line.substr(i, end - i));
    i = end;
  }
  return list;
}

/// Joins words into alternating pieces; views of one line lie side by side.
Pieces join(std::string_view line, const Pieces& words, const std::vector<bool>& same) {
  Pieces pieces(1, line.substr(0, 0));
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool marked = pieces.size() % 2 == 0;
    const std::string_view last = pieces.back();
    if (same[i] != marked) pieces.back() = {last.data(), last.size() + words[i].size()};
    else pieces.push_back(words[i]);
  }
  return pieces;
}

/// Of long lines: all between what they begin and what they end with.
std::pair<Pieces, Pieces> ends_apart(std::string_view before, const Pieces& a, std::string_view after,
                                     const Pieces& b) {
  std::size_t first = 0, last = 0, head = 0, tail = 0;  // words, bytes
  const std::size_t most = std::min(a.size(), b.size());
  for (; first < most && a[first] == b[first]; ++first) head += a[first].size();
  for (; last < most - first && a[a.size() - 1 - last] == b[b.size() - 1 - last]; ++last)
    tail += a[a.size() - 1 - last].size();
  return {mark(before, head, before.size() - tail), mark(after, head, after.size() - tail)};
}

}  // namespace

std::pair<Pieces, Pieces> highlight(std::string_view before, std::string_view after) {
  const Pieces a = words(before), b = words(after);
  std::pair<Pieces, Pieces> plain{{before}, {after}};
  if (a.empty() || b.empty()) return plain;
  if (a.size() > kMostWords || b.size() > kMostWords) return ends_apart(before, a, after, b);
  // longest[i][j]: most words in common of a from i and b from j
  const std::size_t width = b.size() + 1;
  std::vector<std::uint16_t> longest((a.size() + 1) * width);
  for (std::size_t i = a.size(); i-- > 0;)
    for (std::size_t j = b.size(); j-- > 0;)
      longest[i * width + j] = a[i] == b[j] ? static_cast<std::uint16_t>(longest[(i + 1) * width + j + 1] + 1)
                                            : std::max(longest[(i + 1) * width + j], longest[i * width + j + 1]);
  std::vector<bool> same_a(a.size()), same_b(b.size());
  std::size_t common = 0;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (a[i] == b[j]) {
      common += a[i].find_first_not_of(" \t") == std::string_view::npos ? 0 : a[i].size();
      same_a[i++] = same_b[j++] = true;
    } else if (longest[(i + 1) * width + j] >= longest[i * width + j + 1]) {
      ++i;
    } else {
      ++j;
    }
  }
  if (common * 3 < std::min(before.size(), after.size())) return plain;
  return {join(before, a, same_a), join(after, b, same_b)};
}

Pieces mark(std::string_view line, std::size_t begin, std::size_t end) {
  begin = std::min(begin, line.size());
  end = std::clamp(end, begin, line.size());
  return {line.substr(0, begin), line.substr(begin, end - begin), line.substr(end)};
}
namespace {

/// Changes of n lines into n lines become n changes, so that each line stands by its reason.
std::vector<Passage> changed_passages(const std::vector<LineChange>& changes) {
  std::vector<Passage> list;
  for (const LineChange& c : changes) {
    if (c.old_end - c.old_begin != c.new_end - c.new_begin) {
      list.push_back({c, true, {}});
      continue;
    }
    for (std::uint32_t i = 0; i < c.old_end - c.old_begin; ++i)
      list.push_back({{c.old_begin + i, c.old_begin + i + 1, c.new_begin + i, c.new_begin + i + 1}, true, {}});
  }
  return list;
}

/// The changed passage that the old lines [first, last] touch, or an insertion right beside them; null where there is
/// none.
Passage* touched(std::vector<Passage>& changed, std::uint32_t first, std::uint32_t last) {
  auto it = std::lower_bound(changed.begin(), changed.end(), first, [](const Passage& passage, std::uint32_t line) {
    return passage.lines.old_end < line || (passage.lines.old_end == line && passage.lines.old_begin != line);
  });
  for (; it != changed.end() && it->lines.old_begin <= last + 1; ++it) {
    const bool inserted = it->lines.old_begin == it->lines.old_end;
    if (inserted || it->lines.old_begin <= last) return &*it;
  }
  return nullptr;
}

}  // namespace

std::vector<Block> excerpt(const FileResult& file, const Lines& before, const Lines& after, std::uint32_t context) {
  if (file.before.empty() && file.after.empty()) return {};
  const auto lines = static_cast<std::uint32_t>(before.size());
  std::vector<Passage> changed, marked;
  if (file.changed) changed = changed_passages(line_changes(before, after, applied_edits(file)));
  for (std::size_t i = 0; i < file.findings.size(); ++i) {
    const Finding& finding = file.findings[i];
    auto line_of = [&](std::uint32_t byte) { return static_cast<std::uint32_t>(before.line_of(byte)); };
    Passage* home = nullptr;
    if (finding.applied)
      for (const Edit& edit : finding.edits)
        if ((home = touched(changed, line_of(edit.begin), line_of(edit.end)))) break;
    const std::uint32_t line = std::min(line_of(finding.begin), lines ? lines - 1 : 0);
    if (!home) {  // maybe told about a line that changed for another reason
      auto it = std::partition_point(changed.begin(), changed.end(),
                                     [&](const Passage& passage) { return passage.lines.old_end <= line; });
      if (it != changed.end() && it->lines.old_begin <= line) home = &*it;
    }
    if (!home) home = &marked.emplace_back(Passage{{line, std::min(line + 1, lines), 0, 0}, false, {}});
    home->findings.push_back(i);
  }
  // one passage for all findings of a line
  std::stable_sort(marked.begin(), marked.end(),
                   [](const Passage& a, const Passage& b) { return a.lines.old_begin < b.lines.old_begin; });
  std::vector<Passage> all;
  for (Passage& passage : marked) {
    if (!all.empty() && all.back().lines.old_begin == passage.lines.old_begin)
      all.back().findings.insert(all.back().findings.end(), passage.findings.begin(), passage.findings.end());
    else all.push_back(std::move(passage));
  }
  std::move(changed.begin(), changed.end(), std::back_inserter(all));
  std::stable_sort(all.begin(), all.end(), [](const Passage& a, const Passage& b) {
    return std::pair(a.lines.old_begin, a.lines.old_end) < std::pair(b.lines.old_begin, b.lines.old_end);
  });

  std::vector<Block> blocks;
  std::uint32_t old_at = 0, new_at = 0;  // shown up to here
  auto show_context = [&](std::uint32_t from, std::uint32_t until) {
    if (from < until)
      blocks.back().push_back({{from, until, new_at + (from - old_at), new_at + (until - old_at)}, false, {}});
  };
  for (Passage& passage : all) {
    const std::uint32_t begin = passage.lines.old_begin, gap = begin - old_at;
    if (blocks.empty() || gap > 2 * context) {
      if (!blocks.empty()) show_context(old_at, old_at + context);
      blocks.emplace_back();
      show_context(begin - std::min(context, gap), begin);
    } else {
      show_context(old_at, begin);
    }
    new_at += gap;
    if (!passage.changed) {
      passage.lines.new_begin = new_at;
      passage.lines.new_end = new_at + (passage.lines.old_end - begin);
    }
    old_at = passage.lines.old_end;
    new_at = passage.lines.new_end;
    blocks.back().push_back(std::move(passage));
  }
  if (!blocks.empty()) show_context(old_at, std::min(old_at + context, lines));
  return blocks;
}
namespace {

using Json = nlohmann::ordered_json;

/// Longer pieces of a line are shown by their ends: notebooks hold pictures in a line.
constexpr std::size_t kLongestPiece = 800;

std::string dump(const Json& value) {
  const std::string json = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string out;
  out.reserve(json.size() + json.size() / 16);
  for (const char c : json) {  // these stand in strings only
    if (c == '<') out += "\\u003c";
    else if (c == '>') out += "\\u003e";
    else if (c == '&') out += "\\u0026";
    else out += c;
  }
  return out;
}

/// Strings that occur often are said once and then by number.
class Table {
 public:
  std::size_t operator()(const std::string& text) {
    auto [it, fresh] = numbers_.try_emplace(text, numbers_.size());
    if (fresh) list_.push_back(text);
    return it->second;
  }
  const Json& list() const noexcept { return list_; }

 private:
  std::unordered_map<std::string, std::size_t> numbers_;
  Json list_ = Json::array();
};

class Texts {
 public:
  std::size_t operator()(const Text& text) {
    auto [it, fresh] = numbers_.try_emplace(text.en + '\0' + text.zh, numbers_.size());
    if (fresh) list_.push_back({text.en.empty() ? text.zh : text.en, text.zh.empty() ? text.en : text.zh});
    return it->second;
  }
  const Json& list() const noexcept { return list_; }

 private:
  std::unordered_map<std::string, std::size_t> numbers_;
  Json list_ = Json::array();
};

Json request(const Request& r) {
  return {{"command", r.command}, {"framework", r.framework}, {"input", r.input},     {"output", r.output},
          {"version", r.version}, {"facts", r.facts},         {"product", r.product}, {"least", name(r.least)}};
}

Json summary_of(const ProjectResult& result, const Summary& summary) {
  return {{"seen", result.seen},
          {"python", result.python},
          {"bytes", result.bytes},
          {"seconds", result.seconds},
          {"changed", summary.changed},
          {"failed", summary.failed},
          {"ready", summary.files},
          {"category", summary.counts.category},
          {"applied", summary.counts.applied},
          {"left", summary.counts.left}};
}

std::string clipped(std::string_view piece) {
  if (piece.size() <= kLongestPiece) return std::string(piece);
  auto boundary = [&](std::size_t at) {
    while (at > 0 && (static_cast<unsigned char>(piece[at]) & 0xC0) == 0x80) --at;
    return at;
  };
  const std::size_t head = boundary(kLongestPiece / 2), tail = boundary(piece.size() - kLongestPiece / 4);
  return std::string(piece.substr(0, head)) + " … " + std::string(piece.substr(tail));
}

Json line(const char* mark, const Pieces& pieces) {
  Json out = Json::array({mark});
  for (const std::string_view piece : pieces) out.push_back(clipped(piece));
  return out;
}

/// The one passage's lines: [mark, same, other, same, …].
Json lines(const FileResult& file, const Passage& passage, const Lines& before, const Lines& after) {
  Json out = Json::array();
  const LineChange& at = passage.lines;
  if (!passage.changed) {
    for (std::uint32_t i = at.old_begin; i < at.old_end; ++i) {
      Pieces pieces{without_end(before[i])};
      if (!passage.findings.empty()) {
        const Finding& finding = file.findings[passage.findings.front()];
        const std::size_t start = before.start(i);
        if (finding.begin >= start)
          pieces = mark(pieces[0], finding.begin - start, std::max(finding.begin, finding.end) - start);
      }
      out.push_back(line(" ", pieces));
    }
    return out;
  }
  const std::uint32_t olds = at.old_end - at.old_begin, news = at.new_end - at.new_begin, pairs = std::min(olds, news);
  std::vector<Pieces> added;
  for (std::uint32_t i = 0; i < olds; ++i) {
    const std::string_view old = without_end(before[at.old_begin + i]);
    if (i < pairs) {
      auto [gone, come] = highlight(old, without_end(after[at.new_begin + i]));
      out.push_back(line("-", gone));
      added.push_back(std::move(come));
    } else {
      out.push_back(line("-", {old}));
    }
  }
  for (std::uint32_t i = 0; i < news; ++i)
    out.push_back(line("+", i < pairs ? added[i] : Pieces{without_end(after[at.new_begin + i])}));
  return out;
}

}  // namespace

std::string page_data(const ProjectResult& result, const Summary& summary) {
  Table names;
  Texts texts;
  std::string files;
  for (const FileResult& file : result.files) {
    std::size_t made = 0, open = 0;
    Json findings = Json::array();
    for (const Finding& f : file.findings) {
      made += f.applied;
      open += weight(f) != Weight::Nothing;
      findings.push_back({names(f.rule), f.category, f.confidence, f.from.line, names(f.api), names(f.suggestion),
                          texts(f.message), f.applied ? 1 : 0});
    }
    if (file.failed && open == 0) open = 1;
    const int flags = (file.changed ? 1 : 0) | (file.failed ? 2 : 0);
    files += (files.empty() ? "\n" : ",\n") +
             dump({repaired(file.path), name(file.kind), flags, readiness(file), made, open, findings});
  }
  Json subjects = Json::array(), steps = Json::array(), categories = Json::array(), product_names = Json::array();
  for (const Subject& s : summary.subjects) {
    const auto marks = products(s.name, s.category, result.request);
    subjects.push_back(
        {s.name, s.category, s.sites, s.files, s.suggestion, texts(s.message), marks ? Json(*marks) : Json()});
  }
  for (const Step& step : summary.steps) steps.push_back({texts(step.what), step.category, step.sites});
  for (std::size_t i = 0; i < kCategoryCount; ++i) categories.push_back(name(static_cast<Category>(i)));
  for (std::size_t i = 0; i < Products().size(); ++i) {
    const auto product = static_cast<Product>(i);
    product_names.push_back({name_of(product, Language::en), name_of(product, Language::zh)});
  }
  return "{\"request\":" + dump(request(result.request)) + ",\n\"summary\":" + dump(summary_of(result, summary)) +
         ",\n\"categories\":" + dump(categories) + ",\"products\":" + dump(product_names) +
         ",\n\"steps\":" + dump(steps) + ",\n\"subjects\":" + dump(subjects) + ",\n\"names\":" + dump(names.list()) +
         ",\n\"texts\":" + dump(texts.list()) + ",\n\"files\":[" + files + "]}";
}

std::string page_excerpt(const FileResult& file) {
  const Lines before(file.before), after(file.after);
  Json blocks = Json::array();
  for (const Block& block : excerpt(file, before, after)) {
    Json passages = Json::array();
    for (const Passage& passage : block)
      passages.push_back({passage.changed ? 1 : 0, passage.lines.old_begin + 1, passage.lines.new_begin + 1,
                          lines(file, passage, before, after), passage.findings});
    blocks.push_back(std::move(passages));
  }
  return dump(blocks);
}

}  // namespace updraft::migrate::report
