// JSON against its documented schema; SARIF against what its own schema and text demand, written down here.
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "migrate/report/files.h"
#include "migrate/report/json.h"
#include "report_sample.h"

namespace updraft::migrate::report {
namespace {

using Json = nlohmann::json;

/// As much of JSON Schema as docs/use/migrate-report.schema.json takes; a keyword that it does not know is an error.
class Schema {
 public:
  explicit Schema(Json root) : root_(std::move(root)) {}
  std::vector<std::string> check(const Json& value) {
    errors_.clear();
    check(value, root_, "");
    return errors_;
  }

 private:
  void say(const std::string& where, const std::string& what) { errors_.push_back(where + ": " + what); }

  void check(const Json& value, const Json& schema, const std::string& where) {
    for (const auto& [key, told] : schema.items()) {
      if (key == "$ref") {
        check(value, root_.at(Json::json_pointer(told.get<std::string>().substr(1))), where);
      } else if (key == "type") {
        const std::string type = told;
        const bool right = type == "object"    ? value.is_object()
                           : type == "array"   ? value.is_array()
                           : type == "string"  ? value.is_string()
                           : type == "boolean" ? value.is_boolean()
                           : type == "integer" ? value.is_number_integer()
                                               : type == "number" && value.is_number();
        if (!right) say(where, "wanted " + type + ", got " + value.dump());
      } else if (key == "const") {
        if (value != told) say(where, "wanted " + told.dump());
      } else if (key == "enum") {
        if (std::find(told.begin(), told.end(), value) == told.end())
          say(where, value.dump() + " is not in " + told.dump());
      } else if (key == "minimum") {
        if (value < told) say(where, value.dump() + " is below " + told.dump());
      } else if (key == "required") {
        for (const std::string name : told)
          if (!value.contains(name)) say(where, "lacks " + name);
      } else if (key == "items") {
        for (std::size_t i = 0; i < value.size(); ++i) check(value[i], told, where + "/" + std::to_string(i));
      } else if (key == "properties" || key == "additionalProperties") {
        if (key == "additionalProperties" && !value.is_object()) continue;
        for (const auto& [name, member] : value.items()) {
          const bool listed = schema.contains("properties") && schema["properties"].contains(name);
          if (key == "properties" && listed) check(member, told[name], where + "/" + name);
          if (key == "additionalProperties" && !listed) {
            if (told.is_object()) check(member, told, where + "/" + name);
            else say(where, "has " + name);
          }
        }
      } else if (key != "$schema" && key != "title" && key != "description" && key != "$defs") {
        say(where, "this reader does not know the keyword " + key);
      }
    }
  }

  Json root_;
  std::vector<std::string> errors_;
};

Json schema() {
  std::ifstream in(UPDRAFT_REPORT_SCHEMA);
  EXPECT_TRUE(in.good()) << UPDRAFT_REPORT_SCHEMA;
  return Json::parse(in);
}

ProjectResult latin1() {
  ProjectResult result = sample();
  result.files.push_back(
      Build("caf\xE9.py", "# caf\xE9\nx.cuda('\xE9')\n").replace("cuda('\xE9')", "npu('\xE9')").done());
  return result;
}

TEST(MigrateReportJson, FollowsItsSchema) {
  Schema checker(schema());
  for (const ProjectResult& result : {sample(), latin1(), ProjectResult{}}) {
    const Json document = Json::parse(json(result));
    EXPECT_EQ(checker.check(document), std::vector<std::string>());
    EXPECT_EQ(document["files"].size(), result.files.size());
  }
  Json wrong = Json::parse(json(sample()));  // the checker itself
  wrong["files"][0]["findings"][0]["confidence"] = "sure";
  wrong["files"][0]["extra"] = 1;
  wrong["summary"].erase("next");
  wrong["seconds"] = -1;
  EXPECT_EQ(checker.check(wrong).size(), 4U);
}

TEST(MigrateReportJson, HoldsWhatTheResultHolds) {
  const ProjectResult result = sample();
  const Json document = Json::parse(json(result));
  EXPECT_EQ(json(result), json(result));
  for (std::size_t i = 0; i < result.files.size(); ++i) {
    const FileResult& file = result.files[i];
    ASSERT_EQ(document["files"][i]["path"], file.path);
    std::string made;
    std::size_t read = 0;
    for (const Json& finding : document["files"][i]["findings"])
      for (const Json& edit : finding["edits"]) {
        if (!finding["applied"]) continue;
        made += file.before.substr(read, edit["begin"].get<std::size_t>() - read) + edit["text"].get<std::string>();
        read = edit["end"];
      }
    EXPECT_EQ(made + file.before.substr(read), file.after);
  }
  EXPECT_EQ(document["summary"]["subjects"][0]["category"], "unsupported");
}

TEST(MigrateReportJson, BytesThatAreNoUtf8AreKept) {
  const Json document = Json::parse(json(latin1()));
  const Json& file = document["files"].back();
  EXPECT_EQ(file["path"], "caf\xEF\xBF\xBD.py");
  EXPECT_EQ(file["path_base64"], base64("caf\xE9.py"));
  EXPECT_EQ(file["findings"][0]["edits"][0]["base64"], base64("npu('\xE9')"));
}

// ---- SARIF 2.1.0

struct Kind {
  std::set<std::string> required, allowed;
};
/// Members that the standard's schema demands and allows (of those that a report can sensibly have).
const std::map<std::string, Kind> kKinds = {
    {"log", {{"version", "runs"}, {"$schema", "version", "runs", "inlineExternalProperties", "properties"}}},
    {"run",
     {{"tool"}, {"tool", "columnKind", "originalUriBaseIds", "invocations", "artifacts", "results", "properties"}}},
    {"tool", {{"driver"}, {"driver", "extensions", "properties"}}},
    {"driver", {{"name"}, {"name", "fullName", "rules", "version", "semanticVersion", "informationUri", "properties"}}},
    {"rule",
     {{"id"},
      {"id", "name", "shortDescription", "fullDescription", "help", "helpUri", "defaultConfiguration", "properties"}}},
    {"configuration", {{}, {"enabled", "level", "rank", "parameters", "properties"}}},
    {"text", {{"text"}, {"text", "markdown", "properties"}}},
    {"invocation",
     {{"executionSuccessful"}, {"executionSuccessful", "commandLine", "toolExecutionNotifications", "properties"}}},
    {"notification", {{"message"}, {"message", "level", "locations", "properties"}}},
    {"artifact", {{}, {"location", "sourceLanguage", "length", "properties"}}},
    {"artifactLocation", {{}, {"uri", "uriBaseId", "index", "description", "properties"}}},
    {"result",
     {{"message"},
      {"ruleId", "ruleIndex", "level", "kind", "message", "locations", "partialFingerprints", "fixes", "properties"}}},
    {"location", {{}, {"id", "physicalLocation", "message", "properties"}}},
    {"physicalLocation", {{}, {"artifactLocation", "region", "contextRegion", "properties"}}},
    {"region",
     {{},
      {"startLine", "startColumn", "endLine", "endColumn", "byteOffset", "byteLength", "charOffset", "charLength",
       "snippet", "properties"}}},
    {"fix", {{"artifactChanges"}, {"description", "artifactChanges", "properties"}}},
    {"artifactChange", {{"artifactLocation", "replacements"}, {"artifactLocation", "replacements", "properties"}}},
    {"replacement", {{"deletedRegion"}, {"deletedRegion", "insertedContent", "properties"}}},
    {"artifactContent", {{}, {"text", "binary", "rendered", "properties"}}},
};

void expect_kind(const Json& value, const std::string& kind) {
  ASSERT_TRUE(value.is_object()) << kind << ": " << value;
  for (const std::string& name : kKinds.at(kind).required)
    EXPECT_TRUE(value.contains(name)) << kind << " lacks " << name;
  for (const auto& [name, member] : value.items())
    EXPECT_TRUE(kKinds.at(kind).allowed.count(name)) << kind << " has " << name;
}

bool is_uri_reference(const std::string& text) {
  for (const char c : text)
    if (!isalnum(static_cast<unsigned char>(c)) && std::string("-._~/%:").find(c) == std::string::npos) return false;
  return true;
}

void expect_region(const Json& region) {
  expect_kind(region, "region");
  for (const char* name : {"startLine", "endLine", "startColumn", "endColumn"})
    if (region.contains(name)) { EXPECT_GE(region[name], 1) << name; }
  for (const char* name : {"byteOffset", "byteLength"})
    if (region.contains(name)) { EXPECT_GE(region[name], 0) << name; }
  EXPECT_EQ(region.contains("startColumn"), region.contains("endColumn"));
  EXPECT_TRUE(region.contains("startLine") || region.contains("byteOffset"));
  if (region.contains("startLine")) { EXPECT_LE(region["startLine"], region["endLine"]); }
}

void expect_artifact(const Json& location, const Json& run) {
  expect_kind(location, "artifactLocation");
  const Json& artifact = run["artifacts"].at(location["index"].get<std::size_t>());
  EXPECT_EQ(artifact["location"]["uri"], location["uri"]);
  EXPECT_TRUE(run["originalUriBaseIds"].contains(location["uriBaseId"].get<std::string>()));
  EXPECT_TRUE(is_uri_reference(location["uri"])) << location["uri"];
}

const std::set<std::string> kLevels = {"none", "note", "warning", "error"};

void expect_result(const Json& result, const Json& run) {
  expect_kind(result, "result");
  expect_kind(result["message"], "text");
  EXPECT_FALSE(result["message"]["text"].get<std::string>().empty());
  EXPECT_TRUE(kLevels.count(result["level"]));
  EXPECT_EQ(run["tool"]["driver"]["rules"].at(result["ruleIndex"].get<std::size_t>())["id"], result["ruleId"]);
  ASSERT_EQ(result["locations"].size(), 1U);
  for (const Json& location : result["locations"]) {
    expect_kind(location, "location");
    expect_kind(location["physicalLocation"], "physicalLocation");
    expect_artifact(location["physicalLocation"]["artifactLocation"], run);
    expect_region(location["physicalLocation"]["region"]);
  }
  for (const auto& [name, value] : result["partialFingerprints"].items()) EXPECT_TRUE(value.is_string()) << name;
  for (const Json& fix : result.value("fixes", Json::array())) {
    expect_kind(fix, "fix");
    ASSERT_GE(fix["artifactChanges"].size(), 1U);
    for (const Json& change : fix["artifactChanges"]) {
      expect_kind(change, "artifactChange");
      expect_artifact(change["artifactLocation"], run);
      ASSERT_GE(change["replacements"].size(), 1U);
      for (const Json& replacement : change["replacements"]) {
        expect_kind(replacement, "replacement");
        expect_region(replacement["deletedRegion"]);
        // a region of text is replaced by text, one of bytes by bytes
        const bool text = replacement["deletedRegion"].contains("startLine");
        EXPECT_NE(text, replacement["deletedRegion"].contains("byteOffset"));
        if (!replacement.contains("insertedContent")) continue;
        expect_kind(replacement["insertedContent"], "artifactContent");
        EXPECT_TRUE(replacement["insertedContent"].contains(text ? "text" : "binary"));
      }
    }
  }
}

Json expect_log(const std::string& text) {
  const Json log = Json::parse(text);
  expect_kind(log, "log");
  EXPECT_EQ(log["version"], "2.1.0");
  EXPECT_EQ(log["runs"].size(), 1U);
  const Json& run = log["runs"][0];
  expect_kind(run, "run");
  EXPECT_EQ(run["columnKind"], "utf16CodeUnits");
  expect_kind(run["tool"], "tool");
  expect_kind(run["tool"]["driver"], "driver");
  std::set<std::string> ids;
  for (const Json& rule : run["tool"]["driver"]["rules"]) {
    expect_kind(rule, "rule");
    expect_kind(rule["shortDescription"], "text");
    expect_kind(rule["fullDescription"], "text");
    expect_kind(rule["help"], "text");
    expect_kind(rule["defaultConfiguration"], "configuration");
    EXPECT_TRUE(ids.insert(rule["id"]).second) << rule["id"];
  }
  for (const auto& [name, base] : run["originalUriBaseIds"].items()) {
    expect_kind(base, "artifactLocation");
    if (base.contains("uri")) { EXPECT_TRUE(base["uri"].get<std::string>().ends_with('/')) << name; }
  }
  for (const Json& invocation : run["invocations"]) {
    expect_kind(invocation, "invocation");
    for (const Json& notification : invocation.value("toolExecutionNotifications", Json::array())) {
      expect_kind(notification, "notification");
      expect_kind(notification["message"], "text");
    }
  }
  for (const Json& artifact : run["artifacts"]) {
    expect_kind(artifact, "artifact");
    expect_kind(artifact["location"], "artifactLocation");
  }
  for (const Json& result : run["results"]) expect_result(result, run);
  return log;
}

TEST(MigrateReportSarif, FollowsTheStandard) {
  for (const ProjectResult& result : {sample(), latin1(), ProjectResult{}}) {
    const Json log = expect_log(sarif(result));
    std::size_t findings = 0;
    for (const FileResult& file : result.files) findings += file.findings.size();
    EXPECT_EQ(log["runs"][0]["results"].size(), findings);
  }
}

TEST(MigrateReportSarif, LevelsSayHowUrgentItIs) {
  const Json log = Json::parse(sarif(sample()));
  std::map<std::string, std::set<std::string>> levels;
  for (const Json& result : log["runs"][0]["results"]) levels[result["ruleId"]].insert(result["level"]);
  EXPECT_EQ(levels["PT001"], std::set<std::string>{"note"});               // made
  EXPECT_EQ(levels["PT110"], (std::set<std::string>{"note", "warning"}));  // made; left for review
  EXPECT_EQ(levels["PT401"], std::set<std::string>{"error"});
  EXPECT_EQ(levels["PT402"], std::set<std::string>{"warning"});
  EXPECT_EQ(levels["PT000"], std::set<std::string>{"error"});
  EXPECT_EQ(log["runs"][0]["invocations"][0]["toolExecutionNotifications"].size(), 1U);
  EXPECT_EQ(log["runs"][0]["originalUriBaseIds"]["SRCROOT"]["uri"], "file:///data/train/");
}

/// The byte of a line (from 1) and a column in UTF-16 code units (from 1): a reader apart from the writer.
std::size_t byte_at(const std::string& text, std::size_t line, std::size_t column) {
  std::size_t at = 0;
  for (; line > 1; --line) at = text.find('\n', at) + 1;
  for (; column > 1; --column) {
    const auto lead = static_cast<unsigned char>(text.at(at));
    if (lead >= 0xF0) --column;  // two units
    at += lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  }
  return at;
}

TEST(MigrateReportSarif, FixesMakeTheOutput) {
  ProjectResult result;
  result.files.push_back(
      Build("a.py", "s = '🚀中é'; x.cuda()  # 中\r\ny = '''\n🚀''' if z.cuda() else None\nlast.cuda()")
          .insert(0, "import torch_npu\n")
          .replace("cuda", "npu")
          .replace("'''\n🚀''' if z.cuda", "'中' if z.npu")
          .replace("cuda()", "npu()")
          .done());
  const Json log = expect_log(sarif(result));
  const std::string& before = result.files[0].before;
  std::string made;
  std::size_t read = 0;
  for (const Json& one : log["runs"][0]["results"])
    for (const Json& replacement : one["fixes"][0]["artifactChanges"][0]["replacements"]) {
      const Json& region = replacement["deletedRegion"];
      made += before.substr(read, byte_at(before, region["startLine"], region["startColumn"]) - read);
      made += replacement["insertedContent"]["text"];
      read = byte_at(before, region["endLine"], region["endColumn"]);
    }
  EXPECT_EQ(made + before.substr(read), result.files[0].after);
  EXPECT_EQ(log["runs"][0]["results"][1]["locations"][0]["physicalLocation"]["region"]["startColumn"], 15);
}

TEST(MigrateReportSarif, ColumnsStandBehindAByteOrderMark) {
  ProjectResult result;
  result.files.push_back(Build("a.py", "\xEF\xBB\xBFx.cuda()\n").replace("cuda", "npu").done());
  const Json log = expect_log(sarif(result));
  const Json& region = log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["region"];
  EXPECT_EQ(region["startColumn"], 3);
  EXPECT_EQ(region["byteOffset"], 5);
}

TEST(MigrateReportSarif, FingerprintsOutliveLinesAbove) {
  auto prints = [](const std::string& head) {
    ProjectResult result;
    result.files.push_back(
        Build("a.py", head + "x.cuda()\ny.cuda()\n").replace("cuda", "npu").replace("cuda", "npu").done());
    std::vector<std::string> list;
    const Json log = Json::parse(sarif(result));
    for (const Json& one : log["runs"][0]["results"]) list.push_back(one["partialFingerprints"]["updraftSite/v1"]);
    return list;
  };
  EXPECT_EQ(prints(""), prints("import os\n\n\n"));
  EXPECT_NE(prints("")[0], prints("")[1]);
}

TEST(MigrateReportSarif, RulesSayWhatTheyAreToldTo) {
  ProjectResult result = sample();
  result.rules = {{"PT401", {"`torch.cuda` is *torch.npu*", "改为 torch.npu"}}};
  const Json log = expect_log(sarif(result));
  bool seen = false;
  for (const Json& rule : log["runs"][0]["tool"]["driver"]["rules"]) {
    if (rule["id"] != "PT401") continue;
    seen = true;
    EXPECT_EQ(rule["shortDescription"]["text"], "`torch.cuda` is *torch.npu*");
    EXPECT_EQ(rule["help"]["markdown"].get<std::string>().find("**\\`torch.cuda\\` is \\*torch.npu\\***"), 0U)
        << rule["help"];
    EXPECT_NE(rule["help"]["markdown"].get<std::string>().find("改为 torch.npu"), std::string::npos);
  }
  EXPECT_TRUE(seen);
}

/// What GitHub's code scanning asks for beyond the standard: without these it refuses a file or shows nothing.
TEST(MigrateReportSarif, HasWhatGitHubNeeds) {
  const Json run = Json::parse(sarif(sample()))["runs"][0];
  const Json& rules = run["tool"]["driver"]["rules"];
  ASSERT_FALSE(rules.empty());
  for (const Json& rule : rules)
    for (const char* part : {"/id", "/shortDescription/text", "/fullDescription/text", "/help/text", "/help/markdown",
                             "/defaultConfiguration/level", "/properties/tags/0"})
      EXPECT_FALSE(rule.value(Json::json_pointer(part), std::string()).empty()) << rule["id"] << part;
  std::set<std::string> prints;
  for (const Json& result : run["results"]) {
    ASSERT_LT(result.at("ruleIndex").get<std::size_t>(), rules.size());
    EXPECT_EQ(rules[result["ruleIndex"].get<std::size_t>()]["id"], result["ruleId"]);
    EXPECT_TRUE(std::set<std::string>({"error", "warning", "note"}).contains(result.at("level")));
    const Json& place = result.at("locations").at(0).at("physicalLocation");
    EXPECT_NE(place.at("artifactLocation").at("uri").get<std::string>().at(0), '/');  // relative to the base
    EXPECT_TRUE(run.at("originalUriBaseIds").contains(place["artifactLocation"].at("uriBaseId").get<std::string>()));
    EXPECT_GE(place.at("region").at("startLine").get<int>(), 1);
    EXPECT_TRUE(prints.insert(result.at("partialFingerprints").at("primaryLocationLineHash")).second) << result;
  }
}

}  // namespace
}  // namespace updraft::migrate::report
