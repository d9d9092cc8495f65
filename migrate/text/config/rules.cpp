#include "migrate/text/config/config.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <utility>

#include "migrate/rules/rule.h"
#include "migrate/source/words.h"
#include "migrate/support/settings.h"
#include "migrate/support/torch_api.h"
#include "migrate/text/file.h"
#include "migrate/text/notebook/json.h"
#include "migrate/text/readers.h"
#include "migrate/text/sheet.h"
#include "migrate/text/shell/rules.h"
#include "migrate/text/values.h"

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
    sheet.add("TX200", error->at, std::min(error->at + 1, text.size()), rules::told("TX200", {error->message}));
  return sheet.take();
}
namespace {

using source::is_name_byte;

constexpr std::array<std::string_view, 22> kCommandKeys = {
    "run",           "script",       "scripts",         "command",
    "commands",      "cmd",          "entrypoint",      "setup",
    "before_script", "after_script", "launch",          "exec",
    "shell",         "launcher",     "train_command",   "postcreatecommand",
    "entry",         "launch_cmd",   "install_command", "test_command",
    "install",       "bash"};

using source::among;

}  // namespace

ConfigRules::ConfigRules(Sheet& sheet, const PythonFindings& python, int depth, Confidence most)
    : sheet_(sheet), python_(python), depth_(depth), most_(most) {
  const std::string_view head = sheet.text().substr(0, 100000);
  deepspeed_ = head.find("zero_optimization") != std::string_view::npos ||
               head.find("train_micro_batch_size_per_gpu") != std::string_view::npos;
}

/// The first `size` bytes of a scalar are the name of a variable.
bool ConfigRules::variable_name(const Scalar& scalar, std::size_t size, std::string_view value) {
  const std::string_view name = scalar.raw.substr(0, size);
  const std::optional<Variable> row = lookup_variable(name);
  if (!row) return false;
  if (std::any_of(name.begin(), name.end(), [](char c) { return !is_name_byte(c); })) return false;
  const std::string n(name.substr(0, 80));
  if (row->replacement.empty()) {
    sheet_.add("TX212", scalar.begin, scalar.begin + size, sentence(*row, n));
    return true;
  }
  const bool fits = value_fits(*row, value);
  Finding& f = sheet_.change("TX211", fits ? std::min(row->confidence, Confidence::Likely) : Confidence::Review,
                             scalar.begin, scalar.begin + size, std::string(row->replacement), sentence(*row, n));
  if (!fits) f.message += rules::told("variable.values", {n});
  f.api = n;
  f.suggestion = row->replacement;
  return true;
}

void ConfigRules::key(const KeyPath& path, const Scalar& key) {
  if (!key.direct || key.raw.size() > 200) return;
  if (variable_name(key, key.raw.size(), {})) return;
  if (key.raw == "nvidia.com/gpu" || key.raw == "nvidia.com/gpu.product") {
    sheet_.add("TX241", key.begin, key.end);
    return;
  }
  const bool poetry =
      path.depth() >= 4 && path.begins({"tool", "poetry"}) && path.keys()[path.keys().size() - 2] == "dependencies";
  const bool pipfile = path.is({"packages", "*"}) || path.is({"dev-packages", "*"});
  if (poetry || pipfile) requirement(sheet_, key.raw, {}, key.begin, key.end);
  if (deepspeed_ && key.raw == "sparse_attention") sheet_.add("TX223", key.begin, key.end);
}

namespace {

/// What stands behind a variable that may be missing: ${oc.env:DEVICE,cuda}, ${DEVICE:-cuda}. Empty where nothing does.
std::string_view instead(std::string_view raw) {
  for (std::string_view wraps : {"${oc.decode:", "${oc.select:"})  // of another one
    if (raw.starts_with(wraps) && raw.substr(wraps.size()).starts_with("${") && raw.ends_with('}'))
      return instead(raw.substr(wraps.size(), raw.size() - wraps.size() - 1));
  if (!raw.starts_with("${") || !raw.ends_with('}') || raw.find("${", 2) != std::string_view::npos) return {};
  const bool resolver = raw.starts_with("${oc.env:") || raw.starts_with("${env:");
  const std::size_t at = resolver ? raw.find(',') : raw.find(":-");
  if (at == std::string_view::npos) return {};
  raw.remove_prefix(at + (resolver ? 1 : 2));
  raw.remove_suffix(1);
  while (raw.starts_with(' ')) raw.remove_prefix(1);
  return raw;
}

}  // namespace

bool ConfigRules::device(std::string_view key, const Scalar& value, std::size_t offset) {
  std::string_view name = value.raw.substr(offset);
  std::size_t end = value.end;
  if (const std::string_view default_value = instead(name); !default_value.empty()) {
    offset = static_cast<std::size_t>(default_value.data() - value.raw.data());
    end = value.begin + offset + default_value.size();
    name = default_value;
  }
  const auto judgement = judge(key, name);
  if (!judgement || judgement->words.empty()) return false;
  Finding& f = sheet_.add(judgement->meaning == Meaning::Backend  ? "TX202"
                          : judgement->meaning == Meaning::Device ? "TX201"
                                                                  : "TX206",
                          value.begin + offset, end, reason(*judgement, key));
  f.confidence = std::min(judgement->confidence, most_);
  for (const Word& w : judgement->words)
    f.edits.push_back({static_cast<std::uint32_t>(value.begin + offset + w.begin),
                       static_cast<std::uint32_t>(value.begin + offset + w.end), std::string(w.replacement)});
  return true;
}

/// _target_: torch.cuda.amp.GradScaler
bool ConfigRules::object(std::string_view key, const Scalar& value) {
  const bool name_only =
      std::all_of(value.raw.begin(), value.raw.end(), [](char c) { return is_name_byte(c) || c == '.'; });
  if (!value.raw.starts_with("torch.cuda.") || !name_only) return false;
  const CudaTwin twin = cuda_twin(value.raw);
  if (!twin.known) return false;
  const std::string name(value.raw);
  if (twin.npu.empty()) {
    Finding& f = sheet_.add(
        "TX208", value.begin, value.end,
        twin.note.en.empty() ? rules::told("api.missing", {name}) : rules::told("api.missing_note", {name, twin.note}));
    f.category = Category::Unsupported;
    return true;
  }
  const bool imported =
      key == "_target_" || key == "class_path" || key == "target" || key == "_type_" || key == "_component_";
  sheet_
      .change("TX208", std::min(imported ? Confidence::Likely : Confidence::Review, most_), value.begin, value.end,
              std::string(twin.npu), rules::told("TX208", {twin.npu, name}))
      .suggestion = twin.npu;
  return true;
}

/// Lists of arguments: ["--device", "cuda"], ["--device=cuda", "NAME=value"].
bool ConfigRules::arguments(const KeyPath& path, const Scalar& value) {
  const bool element = path.depth() > 0 && !path.keys().empty() && path.keys().back() == "[]";
  const std::string_view before = element && option_depth_ == path.depth() ? option_ : std::string_view();
  option_ = {};
  if (!element) return false;
  const std::string_view raw = value.raw;
  const std::size_t equals = raw.substr(0, 100).find('=');
  if (raw.starts_with("--") && raw.size() < 100 && raw.find(' ') == std::string_view::npos) {
    if (equals != std::string_view::npos) return device(raw.substr(0, equals), value, equals + 1);
    option_ = raw;
    option_depth_ = path.depth();
    return true;
  }
  if (equals != std::string_view::npos && variable_name(value, equals, raw.substr(equals + 1))) return true;
  // environment: ["DEVICE=cuda"] of a container
  const std::string_view list = path.name();
  if (equals != std::string_view::npos && (list == "environment" || list == "env" || list == "args"))
    return device(raw.substr(0, equals), value, equals + 1);
  return !before.empty() && device(before, value, 0);
}

bool ConfigRules::packages(const KeyPath& path, const Scalar& value) {
  if (!value.direct) return false;
  const bool project = path.is({"project", "dependencies", "[]"}) ||
                       path.is({"project", "optional-dependencies", "*", "[]"}) ||
                       path.is({"build-system", "requires", "[]"}) || path.is({"dependency-groups", "*", "[]"}) ||
                       path.is({"tool", "uv", "dev-dependencies", "[]"});
  const bool conda = path.is({"dependencies", "[]"}) || path.is({"dependencies", "[]", "pip", "[]"});
  const bool setup = path.is({"options", "install_requires"}) || path.is({"options", "setup_requires"}) ||
                     path.begins({"options.extras_require", "*"});
  if (project || conda || setup) {
    std::string_view spec = value.raw;
    if (const std::size_t space = spec.find(' '); spec.starts_with("-") && space != std::string_view::npos) {
      while (spec.starts_with("-") && spec.find(' ') != std::string_view::npos) spec.remove_prefix(spec.find(' ') + 1);
      package_index(sheet_, spec, value.begin + (value.raw.size() - spec.size()));
    } else if (!spec.starts_with("-")) {
      requirement(sheet_, spec, value.begin);
    }
    return true;
  }
  if (value.raw.find("://") != std::string_view::npos && value.raw.size() < 400 &&
      value.raw.find(' ') == std::string_view::npos) {
    const std::string_view name = path.name();
    if (name == "url" || name == "find-links" || name.find("index") != std::string_view::npos)
      package_index(sheet_, value.raw, value.begin);
  }
  return false;
}

bool ConfigRules::command(const KeyPath& path, const Scalar& value) {
  if (depth_ >= kDeepest) return false;
  const std::string_view name = path.name();
  const bool text = value.style == Scalar::Style::Block || value.style == Scalar::Style::Folded;
  const std::string plain = plain_key(name);
  const bool pytest = plain == "addopts";  // options of a program that is not named
  const bool script = pytest || among(kCommandKeys, plain) || plain.ends_with("_command") || plain.ends_with("_cmd");
  const bool element = !path.keys().empty() && path.keys().back() == "[]";
  std::vector<Finding> found;
  Embedded embedded;
  if (pytest) embedded.filler("pytest ");
  if (value.style == Scalar::Style::Json && !value.direct) {
    if (!script) return false;
    embed_json(sheet_.text(), value.begin, value.end, embedded);
    embedded.encode_by(
        [](std::string_view t, std::uint32_t, std::uint32_t) { return std::optional(json_escaped(t, false)); });
  } else if (!value.direct && !text) {
    return false;
  } else {
    embedded.same(value.raw, value.begin);
    const bool quoted = value.style == Scalar::Style::Json || value.style == Scalar::Style::Quoted;
    embedded.encode_by([quoted](std::string_view t, std::uint32_t, std::uint32_t) -> std::optional<std::string> {
      if (t.find_first_of(quoted ? "\"'\\\n" : "\n") != std::string_view::npos) return std::nullopt;
      return std::string(t);
    });
    if (value.style == Scalar::Style::Folded)
      std::replace_if(
          embedded.text().begin(), embedded.text().end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  }
  if (value.raw.empty()) return false;
  ShellOptions options;
  options.depth = depth_ + 1;
  options.lines = !text;
  if (script && (!element || embedded.text().find(' ') != std::string::npos)) {
    found = shell(embedded.text(), python_, options);
  } else if (value.style == Scalar::Style::Block && name.find('.') != std::string_view::npos) {
    found = file_findings(name, embedded.text(), python_, depth_ + 1);  // a ConfigMap's file
  } else {
    return false;
  }
  sheet_.adopt(std::move(found), embedded);
  return true;
}

void ConfigRules::frameworks(const KeyPath& path, const Scalar& value) {
  const std::string key =
      plain_key(path.keys().empty() || path.keys().back() == "[]" ? path.name() : std::string_view(path.keys().back()));
  for (const Setting& setting : lookup_setting(key, value.raw)) {
    if (!stands(setting.where, path)) continue;
    if (setting.category == Category::Change)
      sheet_
          .change(setting.rule, Confidence::Certain, value.begin, value.end, std::string(setting.replacement),
                  sentence(setting, value.raw))
          .suggestion = setting.replacement;
    else
      sheet_.add(setting.rule, value.begin, value.end, sentence(setting, value.raw)).suggestion = setting.replacement;
    return;
  }
}

/// Whether a setting of the table means this place.
bool ConfigRules::stands(std::string_view where, const KeyPath& path) const {
  const auto& keys = path.keys();
  if (where.empty() || where == "config") return true;
  if (where == "accelerate") {
    const std::string_view head = sheet_.text().substr(0, 100000);
    return head.find("compute_environment") != std::string_view::npos ||
           head.find("distributed_type") != std::string_view::npos;
  }
  if (where == "parent:cudnn") return keys.size() > 1 && keys[keys.size() - 2] == "cudnn";
  if (where == "deepspeed:amp") return deepspeed_ && path.is({"amp", "enabled"});
  if (where == "deepspeed:optimizer") return deepspeed_ && path.depth() >= 2 && path.begins({"optimizer"});
  return where == "deepspeed:fp16" && deepspeed_ && path.is({"fp16", "enabled"});
}

void ConfigRules::containers(std::string_view name, const Scalar& value) {
  const std::string key = plain_key(name);
  const std::string_view v = value.raw;
  const auto note = [&](std::string_view rule, Text message = {}) -> Finding& {
    return sheet_.add(rule, value.begin, value.end, std::move(message));
  };
  if (key == "gres" && v.starts_with("gpu")) note("TX333");
  else if (key == "options" && v.find("--gpus") != std::string_view::npos) note("TX243", rules::told("container.gpus"));
  else if (key == "uses" && v.find("cuda") != std::string_view::npos) note("TX242", rules::told("TX242.brings"));
  if ((key == "image" || key.ends_with("_image") || key == "container" || key == "base") &&
      (v.starts_with("nvidia/") || v.find("nvcr.io/") != std::string_view::npos ||
       (v.find("cuda") != std::string_view::npos && v.find(':') != std::string_view::npos)))
    note("TX242", rules::told("container.image"));
  else if ((key == "runtime" || key == "driver" || key == "runtimeclassname") && v == "nvidia")
    note("TX243", rules::told("TX243.runtime")).suggestion = "ascend";
}

void ConfigRules::value(const KeyPath& path, const Scalar& value) {
  if (command(path, value)) {
    option_ = {};
    return;
  }
  if (!value.direct || value.raw.empty() || value.raw.size() > 500) {
    option_ = {};
    return;
  }
  if (packages(path, value) || arguments(path, value)) return;
  const std::string_view name = path.name();
  if (name == "name") {  // env: [{name: DEVICE, value: cuda}]
    if (variable_name(value, value.raw.size(), {})) return;
    named_ = value.raw;
    named_depth_ = path.depth();
  }
  if (name == "value" && named_depth_ == path.depth() && device(named_, value, 0)) return;
  // parameters: {device: {values: [cuda, cpu]}} of a sweep
  const auto& keys = path.keys();
  const auto own = std::find(keys.rbegin(), keys.rend(), name);
  if ((name == "value" || name == "values") && own != keys.rend() && own + 1 != keys.rend() &&
      device(*(own + 1), value, 0))
    return;
  if (device(name, value, 0) || object(name, value)) return;
  frameworks(path, value);
  containers(name, value);
}

}  // namespace updraft::migrate::text
