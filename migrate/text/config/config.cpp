#include "migrate/text/config/config.h"

#include <algorithm>
#include <cctype>
#include <string>

#include "migrate/text/config/reader.h"
#include "migrate/text/config/rules.h"
#include "migrate/text/dockerfile.h"
#include "migrate/text/file.h"
#include "migrate/text/packages.h"
#include "migrate/text/sheet.h"

namespace updraft::migrate::text {
namespace {

void requirements(std::string_view text, Sheet& sheet) {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  std::size_t at = text.starts_with("\xef\xbb\xbf") ? 3 : 0;
  while (at < text.size()) {
    std::size_t begin = at;
    std::size_t end = std::min(text.find('\n', at), text.size());
    at = std::min(end + 1, text.size());
    while (begin < end && is_blank(text[begin])) ++begin;
    while (end > begin && (is_blank(text[end - 1]) || text[end - 1] == '\\')) --end;
    std::string_view line = text.substr(begin, end - begin);
    if (line.empty() || line[0] == '#' || line.size() > 4000) continue;
    const bool editable = line.starts_with("-e ") || line.starts_with("--editable ");
    if (line[0] == '-' && !editable) {
      const std::size_t stop = line.find_first_of(" =\t");
      const std::string_view option = line.substr(0, stop);
      if (stop == std::string_view::npos || (option != "-i" && option != "-f" && option != "--index-url" &&
                                             option != "--extra-index-url" && option != "--find-links"))
        continue;
      std::size_t first = stop + 1;
      while (first < line.size() && is_blank(line[first])) ++first;
      const std::string_view url = line.substr(first, line.substr(first).find_first_of(" \t#"));
      package_index(sheet, url, begin + first);
      continue;
    }
    if (editable) {
      const std::size_t first = line.find_first_not_of(" \t", line.find(' '));
      if (first == std::string_view::npos) continue;
      begin += first;
      line.remove_prefix(first);
    }
    if (const std::size_t hash = line.find(" --hash"); hash != std::string_view::npos) line = line.substr(0, hash);
    if (const std::size_t comment = line.find(" #"); comment != std::string_view::npos) line = line.substr(0, comment);
    requirement(sheet, line, begin);
  }
}

std::string lower_name(std::string_view path) {
  std::string name(path.substr(path.find_last_of("/\\") + 1));
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name;
}

}  // namespace

ConfigForm config_form(std::string_view path) {
  const std::string name = lower_name(path);
  const auto ends = [&](std::string_view end) { return std::string_view(name).ends_with(end); };
  const auto starts = [&](std::string_view start) { return std::string_view(name).starts_with(start); };
  if (ends(".yaml") || ends(".yml")) return ConfigForm::Yaml;
  if (ends(".jsonc") || ends(".json5") || starts("tsconfig") || name == "launch.json" || name == "tasks.json" ||
      name == "settings.json" || name == "devcontainer.json")
    return ends(".json") || ends(".jsonc") || ends(".json5") ? ConfigForm::JsonWithComments : ConfigForm::None;
  if (ends(".json")) return ConfigForm::Json;
  if (ends(".toml") || name == "pipfile") return ConfigForm::Toml;
  if (ends(".cfg") || ends(".ini") || ends(".conf") || ends(".properties")) return ConfigForm::Ini;
  if ((starts("requirements") || starts("constraints") || ends("requirements.txt") || ends("-requirements.in") ||
       starts("environment")) &&
      (ends(".txt") || ends(".in")))
    return ConfigForm::Requirements;
  if (name == "dockerfile" || name == "containerfile" || starts("dockerfile.") || ends(".dockerfile"))
    return ConfigForm::Dockerfile;
  return ConfigForm::None;
}

std::vector<Finding> config(std::string_view path, std::string_view text, const PythonFindings& python, int depth) {
  // A workflow's matrix says device: cuda and means a build, not a tensor's place.
  const bool workflow = path.find(".github/") != std::string_view::npos || path.ends_with(".gitlab-ci.yml");
  return config(config_form(path), text, python, depth, workflow ? Confidence::Review : Confidence::Certain);
}

std::vector<Finding> config(ConfigForm form, std::string_view text, const PythonFindings& python, int depth,
                            Confidence most) {
  if (auto failure = too_large(text, "TX200"); !failure.empty()) return failure;
  if (form == ConfigForm::None || depth > kDeepest) return {};
  if (form == ConfigForm::Dockerfile) return dockerfile(text, python, depth);
  Sheet sheet(text);
  if (form == ConfigForm::Requirements) {
    requirements(text, sheet);
    return sheet.take();
  }
  ConfigRules rules(sheet, python, depth, most);
  std::optional<ConfigError> error;
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) return {};
  switch (form) {
    case ConfigForm::Json: error = read_json(text, false, rules); break;
    case ConfigForm::JsonWithComments: error = read_json(text, true, rules); break;
    case ConfigForm::Yaml: error = read_yaml(text, rules); break;
    case ConfigForm::Toml: error = read_toml(text, rules); break;
    default: read_ini(text, rules);
  }
  if (error)
    sheet.add("TX200", Category::Failure, Confidence::Certain, error->at, std::min(error->at + 1, text.size()),
              {"not understood from here on: " + error->message.en, "从此处起无法解析：" + error->message.zh});
  return sheet.take();
}

}  // namespace updraft::migrate::text
