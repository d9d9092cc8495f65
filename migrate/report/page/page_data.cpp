#include "migrate/report/page/page_data.h"

#include <nlohmann/json.hpp>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "migrate/report/diff/lines.h"
#include "migrate/report/guide/products.h"
#include "migrate/report/page/excerpt.h"
#include "migrate/report/page/highlight.h"
#include "migrate/report/utf8.h"

namespace updraft::migrate::report {
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
