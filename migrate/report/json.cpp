#include "migrate/report/json.h"

#include <fmt/format.h>
#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "migrate/report/diff.h"
#include "migrate/report/files.h"
#include "migrate/report/guide/guide.h"
#include "migrate/report/summary.h"
#include "migrate/report/writer.h"
#include "migrate/support/table.h"

namespace updraft::migrate::report {
namespace {

using Json = nlohmann::ordered_json;

std::string dump(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

Json text(const Text& text) { return {{"en", text.en}, {"zh", text.zh}}; }
void text(Writer& out, std::string_view key, const Text& text) {
  out.key(key).open('{').field("en", text.en).field("zh", text.zh).close('}');
}

void position(Writer& out, std::string_view key, const Position& position) {
  out.key(key).open('{').field("line", position.line).field("column", position.column).close('}');
}

void edit(Writer& out, const Edit& edit) {
  out.open('{').field("begin", edit.begin).field("end", edit.end).field("text", edit.text);
  if (!is_utf8(edit.text)) out.field("base64", base64(edit.text));
  out.close('}');
}

void finding(Writer& out, const Finding& finding) {
  out.open('{')
      .field("rule", finding.rule)
      .field("category", name(finding.category))
      .field("confidence", name(finding.confidence))
      .field("begin", finding.begin)
      .field("end", finding.end);
  position(out, "from", finding.from);
  position(out, "to", finding.to);
  if (!finding.api.empty()) out.field("api", finding.api);
  if (!finding.suggestion.empty()) out.field("suggestion", finding.suggestion);
  text(out, "message", finding.message);
  out.field("applied", finding.applied).key("edits").open('[');
  for (const Edit& one : finding.edits) edit(out, one);
  out.close(']').close('}');
}

void file(std::string& to, const FileResult& file) {
  Writer out(to);
  out.open('{').field("path", file.path);
  if (!is_utf8(file.path)) out.field("path_base64", base64(file.path));
  out.field("kind", name(file.kind))
      .field("readiness", name(readiness(file)))
      .field("changed", file.changed)
      .field("failed", file.failed)
      .key("findings")
      .open('[');
  for (const Finding& one : file.findings) finding(out, one);
  out.close(']').close('}');
}

Json by_confidence(const std::array<std::size_t, kConfidenceCount>& counts) {
  Json out = Json::object();
  for (std::size_t i = kConfidenceCount; i-- > 0;) out[std::string(name(static_cast<Confidence>(i)))] = counts[i];
  return out;
}

Json summary(const ProjectResult& result) {
  const Summary summary = summarize(result);
  Json categories = Json::object(), steps = Json::array(), subjects = Json::array();
  for (std::size_t i = 0; i < kCategoryCount; ++i)
    categories[std::string(name(static_cast<Category>(i)))] = summary.counts.category[i];
  for (const Step& step : summary.steps)
    steps.push_back({{"category", name(step.category)}, {"sites", step.sites}, {"what", text(step.what)}});
  for (const Subject& subject : summary.subjects) {
    Json one = {{"name", subject.name},   {"category", name(subject.category)}, {"sites", subject.sites},
                {"files", subject.files}, {"suggestion", subject.suggestion},   {"message", text(subject.message)}};
    if (const auto marks = products(subject.name, subject.category, result.request))
      for (std::size_t i = 0; i < marks->size(); ++i)
        one["products"][std::string(name_of(static_cast<Product>(i)))] = (*marks)[i] == Support::yes  ? "yes"
                                                                         : (*marks)[i] == Support::no ? "no"
                                                                                                      : "unknown";
    subjects.push_back(std::move(one));
  }
  return {
      {"files",
       {{"seen", result.seen},
        {"python", result.python},
        {"bytes", result.bytes},
        {"changed", summary.changed},
        {"failed", summary.failed},
        {"ready", summary.files[0]},
        {"attention", summary.files[1]},
        {"blocked", summary.files[2]}}},
      {"categories", categories},
      {"changes", {{"applied", by_confidence(summary.counts.applied)}, {"left", by_confidence(summary.counts.left)}}},
      {"subjects", subjects},
      {"next", steps}};
}

}  // namespace

std::string json(const ProjectResult& result) {
  const Request& r = result.request;
  const Json request = {{"command", r.command}, {"framework", r.framework},       {"input", r.input},
                        {"output", r.output},   {"version", r.version},           {"facts", r.facts},
                        {"product", r.product}, {"min_confidence", name(r.least)}};
  std::string out = "{\"tool\":\"updraft migrate\",\"schema\":" + std::to_string(kJsonVersion) +
                    ",\n\"request\":" + dump(request) + ",\n\"seconds\":" + dump(result.seconds) +
                    ",\n\"summary\":" + dump(summary(result)) + ",\n\"files\":[";
  for (const FileResult& one : result.files) {
    if (out.back() != '[') out += ',';
    out += '\n';
    file(out, one);
  }
  return out + "\n]}\n";
}
namespace {

using Json = nlohmann::ordered_json;

/// RFC 3986: bytes that are no unreserved character become %XX; / stays.
std::string uri(std::string_view path) {
  std::string out;
  for (const char c : path) {
    const bool plain = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                       std::string_view("-._~/").find(c) != std::string_view::npos;
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

const char* level(const Finding& finding) noexcept {
  switch (finding.category) {
    case Category::Failure: return "error";
    case Category::Change: return finding.applied ? "note" : "warning";
    case Category::Affinity:
    case Category::Performance:
    case Category::Note: return "note";
    default:
      return weight(finding) == Weight::Blocking ? "error" : weight(finding) == Weight::Attention ? "warning" : "note";
  }
}

/// What findings of a category mean, for the help of rules.
Bilingual help(Category category) noexcept {
  switch (category) {
    case Category::Change:
      return {"The source says CUDA or GPU where it has to say NPU. The fix holds the edits.",
              "此处为 CUDA 或 GPU 的写法，需改为 NPU 的写法；修改内容见 fixes。"};
    case Category::Unsupported:
      return {"The chosen product or torch_npu does not have this API: the program fails or must do without it.",
              "所选产品或 torch_npu 没有该 API：程序会失败，或需不使用它。"};
    case Category::Unknown:
      return {"Nothing is known about this API on an NPU: try it before you rely on it.",
              "没有该 API 在 NPU 上的资料：使用前请先试运行。"};
    case Category::ThirdParty:
      return {"The package does not work on an NPU, or works through another package.",
              "该软件包不支持 NPU，或需借助其他软件包。"};
    case Category::CudaSource:
      return {"CUDA source code is not translated: port it to Ascend C or use an operator that exists.",
              "CUDA 源码不会被翻译：请移植为 Ascend C，或使用已有算子。"};
    case Category::Affinity:
      return {"An API of torch_npu does the same faster on an NPU.", "torch_npu 有在 NPU 上更快的等价接口。"};
    case Category::Precision: return {"Numbers may differ from those of a GPU.", "计算结果可能与 GPU 不同。"};
    case Category::Performance: return {"This is slow on an NPU.", "此处在 NPU 上较慢。"};
    case Category::Note: return {"This has no effect on an NPU, or is to be known.", "在 NPU 上不起作用，或需了解。"};
    case Category::Failure:
      return {"The file, or a part of it, could not be read or understood and was left as it is.",
              "文件或其中一部分无法读取或解析，保持原样。"};
  }
  return {};
}

/// A file's text with the columns that SARIF wants.
class Columns {
 public:
  explicit Columns(const FileResult& file) {
    if (file.before.empty()) return;
    lines_.emplace(file.before);
    utf8_ = is_utf8(file.before);
    // readers take the text behind a byte order mark
    if (file.before.starts_with("\xEF\xBB\xBF")) mark_ = 3;
  }

  /// Of a finding: lines and columns, and bytes. Without the text, the lines that the finding names.
  void region(Writer& out, const Finding& finding) const {
    const std::size_t end = std::max(finding.begin, finding.end);
    out.open('{');
    if (lines_) text_region(out, finding.begin, end);
    else
      out.field("startLine", std::max(1U, finding.from.line))
          .field("endLine", std::max({1U, finding.from.line, finding.to.line}));
    out.field("byteOffset", finding.begin).field("byteLength", end - finding.begin).close('}');
  }

  /// A replacement is either of text by text or, where the source is not at hand or in another encoding, of bytes.
  void replacement(Writer& out, const Edit& edit) const {
    const bool text = utf8_ && is_utf8(edit.text);
    out.open('{').key("deletedRegion").open('{');
    if (text) text_region(out, edit.begin, edit.end);
    else out.field("byteOffset", edit.begin).field("byteLength", edit.end - edit.begin);
    out.close('}');
    if (!edit.text.empty()) {
      out.key("insertedContent").open('{');
      if (text) out.field("text", edit.text);
      else out.field("binary", base64(edit.text));
      out.close('}');
    }
    out.close('}');
  }

 private:
  void text_region(Writer& out, std::size_t begin, std::size_t end) const {
    const auto [first, first_column] = column(begin);
    const auto [last, last_column] = column(end);
    out.field("startLine", first)
        .field("startColumn", first_column)
        .field("endLine", last)
        .field("endColumn", last_column);
  }
  /// Both from 1.
  std::pair<std::size_t, std::size_t> column(std::size_t byte) const {
    const Position at = lines_->position_of(byte);
    std::size_t start = lines_->start(at.line - 1);
    const std::size_t end = start + at.column;
    if (at.line == 1) start = std::min(mark_, end);
    return {at.line, utf16_length(lines_->text().substr(start, end - start)) + 1};
  }

  std::optional<Lines> lines_;
  std::size_t mark_ = 0;
  bool utf8_ = false;  // the text is at hand and is UTF-8
};

void fix(Writer& out, const Finding& finding, const Columns& columns, const std::string& artifact) {
  out.open('{').key("description").open('{').field("text", finding.message.en).close('}');
  out.key("artifactChanges").open('[').open('{').key("artifactLocation").raw(artifact).key("replacements").open('[');
  for (const Edit& edit : finding.edits) columns.replacement(out, edit);
  out.close(']').close('}').close(']').close('}');
}

/// Keeps its value when lines above it come and go: the rule, the file, the API and the how-manieth of these it is.
std::string fingerprint(const FileResult& file, const Finding& finding, std::size_t number) {
  std::uint64_t hash = 14695981039346656037ULL;  // FNV-1a
  for (const std::string& part : {finding.rule, file.path, finding.api, std::to_string(number)})
    for (const char c : part + '\0') hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return fmt::format("{:016x}", hash);
}

std::string message(const Finding& finding) {
  std::string text = finding.message.en.empty() ? finding.message.zh : finding.message.en;
  if (text.empty()) text = finding.api.empty() ? finding.rule : finding.api;
  if (!finding.suggestion.empty() && text.find(finding.suggestion) == std::string::npos)
    text += (text.ends_with('.') ? " Take instead: " : ". Take instead: ") + finding.suggestion;
  return text;
}

/// In Markdown a message is words, whatever it quotes.
std::string markdown(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (std::string_view("\\`*_{}[]<>()#+-!|~&").find(c) != std::string_view::npos) out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

Json rule(const Finding& finding, const Text* told) {
  const auto text = [](std::string words) { return Json{{"text", std::move(words)}}; };
  const Bilingual about = help(finding.category);
  const std::string what = told && !told->en.empty() ? told->en : message(finding);
  const std::string zh = told && !told->zh.empty() ? told->zh : finding.message.zh;
  std::string both = "**" + markdown(what) + "**\n\n" + markdown(about.en);
  if (!zh.empty()) both += "\n\n**" + markdown(zh) + "**\n\n" + markdown(about.zh);
  return {{"id", finding.rule},
          {"shortDescription", text(what)},
          {"fullDescription", text(what + (what.ends_with('.') ? " " : ". ") + std::string(about.en))},
          {"help", {{"text", std::string(about.en)}, {"markdown", std::move(both)}}},
          {"defaultConfiguration", {{"level", level(finding)}}},
          {"properties", {{"tags", Json::array({name(finding.category)})}, {"category", name(finding.category)}}}};
}

}  // namespace

std::string sarif(const ProjectResult& result) {
  std::map<std::string_view, const Text*> told;
  for (const RuleText& text : result.rules) told.emplace(text.id, &text.what);
  std::map<std::string_view, std::size_t> index;
  Json rules = Json::array(), notifications = Json::array();
  std::string artifacts, results;
  for (std::size_t number = 0; number < result.files.size(); ++number) {
    const FileResult& file = result.files[number];
    const Json artifact = {{"uri", uri(file.path)}, {"uriBaseId", "SRCROOT"}, {"index", number}};
    Json about = {{"location", {{"uri", uri(file.path)}, {"uriBaseId", "SRCROOT"}}}};
    if (file.kind == FileKind::Python) about["sourceLanguage"] = "python";
    if (file.kind == FileKind::Shell) about["sourceLanguage"] = "shell";
    artifacts += (number ? ",\n" : "\n") + dump(about);
    if (file.failed)
      notifications.push_back({{"level", "error"},
                               {"message", {{"text", "The file could not be migrated and was left as it is."}}},
                               {"locations", Json::array({{{"physicalLocation", {{"artifactLocation", artifact}}}}})}});
    const std::string place = dump(artifact);
    const Columns columns(file);
    std::map<std::pair<std::string_view, std::string_view>, std::size_t> seen;
    for (const Finding& finding : file.findings) {
      auto [it, fresh] = index.try_emplace(finding.rule, index.size());
      if (fresh) {
        const auto text = told.find(finding.rule);
        rules.push_back(rule(finding, text == told.end() ? nullptr : text->second));
      }
      const std::string print = fingerprint(file, finding, seen[{finding.rule, finding.api}]++);
      results += results.empty() ? "\n" : ",\n";
      Writer out(results);
      out.open('{').field("ruleId", finding.rule).field("ruleIndex", it->second).field("level", level(finding));
      out.key("message").open('{').field("text", message(finding)).close('}');
      out.key("locations").open('[').open('{').key("physicalLocation").open('{');
      out.key("artifactLocation").raw(place).key("region");
      columns.region(out, finding);
      out.close('}').close('}').close(']');
      out.key("partialFingerprints").open('{').field("updraftSite/v1", print);
      out.field("primaryLocationLineHash", print + ":1").close('}');
      if (!finding.edits.empty()) {
        out.key("fixes").open('[');
        fix(out, finding, columns, place);
        out.close(']');
      }
      out.key("properties").open('{').field("confidence", name(finding.confidence)).field("applied", finding.applied);
      if (!finding.api.empty()) out.field("api", finding.api);
      if (!finding.message.zh.empty()) out.field("message.zh", finding.message.zh);
      out.close('}').close('}');
    }
  }
  Json base = {{"description", {{"text", "The folder that was migrated."}}}};
  const std::string& input = result.request.input;
  if (input.starts_with('/')) base["uri"] = "file://" + uri(input) + (input.ends_with('/') ? "" : "/");
  Json invocation = {{"executionSuccessful", true}};
  if (!result.request.command.empty()) invocation["commandLine"] = result.request.command;
  if (!notifications.empty()) invocation["toolExecutionNotifications"] = std::move(notifications);
  const Json driver = {{"name", "updraft migrate"},
                       {"fullName", "Updraft's migration of GPU training projects to the NPU"},
                       {"rules", std::move(rules)}};
  return "{\"$schema\":\"https://json.schemastore.org/sarif-2.1.0.json\",\"version\":\"2.1.0\",\"runs\":[{\n\"tool\":{"
         "\"driver\":" +
         dump(driver) + "},\n\"columnKind\":\"utf16CodeUnits\",\n\"originalUriBaseIds\":{\"SRCROOT\":" + dump(base) +
         "},\n\"invocations\":[" + dump(invocation) + "],\n\"artifacts\":[" + artifacts + "\n],\n\"results\":[" +
         results + "\n]}]}\n";
}

}  // namespace updraft::migrate::report
