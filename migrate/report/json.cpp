#include "migrate/report/json.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "migrate/report/guide/products.h"
#include "migrate/report/summary.h"
#include "migrate/report/utf8.h"

namespace updraft::migrate::report {
namespace {

using Json = nlohmann::ordered_json;

std::string dump(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

Json text(const Text& text) { return {{"en", text.en}, {"zh", text.zh}}; }
Json position(const Position& position) { return {{"line", position.line}, {"column", position.column}}; }

Json edit(const Edit& edit) {
  Json out = {{"begin", edit.begin}, {"end", edit.end}, {"text", edit.text}};
  if (!is_utf8(edit.text)) out["base64"] = base64(edit.text);
  return out;
}

Json finding(const Finding& finding) {
  Json out = {{"rule", finding.rule},
              {"category", name(finding.category)},
              {"confidence", name(finding.confidence)},
              {"begin", finding.begin},
              {"end", finding.end},
              {"from", position(finding.from)},
              {"to", position(finding.to)}};
  if (!finding.api.empty()) out["api"] = finding.api;
  if (!finding.suggestion.empty()) out["suggestion"] = finding.suggestion;
  out["message"] = text(finding.message);
  out["applied"] = finding.applied;
  out["edits"] = Json::array();
  for (const Edit& one : finding.edits) out["edits"].push_back(edit(one));
  return out;
}

Json file(const FileResult& file) {
  Json out = {{"path", file.path}};
  if (!is_utf8(file.path)) out["path_base64"] = base64(file.path);
  out["kind"] = name(file.kind);
  out["readiness"] = name(readiness(file));
  out["changed"] = file.changed;
  out["failed"] = file.failed;
  out["findings"] = Json::array();
  for (const Finding& one : file.findings) out["findings"].push_back(finding(one));
  return out;
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
  for (const FileResult& one : result.files) {  // one at a time: the document of a large project would take much memory
    if (out.back() != '[') out += ',';
    out += '\n' + dump(file(one));
  }
  return out + "\n]}\n";
}

}  // namespace updraft::migrate::report
