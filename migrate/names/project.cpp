#include "migrate/names/project.h"

#include <algorithm>

#include "migrate/names/module.h"
#include "migrate/source/words.h"
#include "migrate/support/torch_api.h"

namespace updraft::migrate::names {
namespace {

bool is_blank(char c) noexcept { return c == ' ' || c == '\t' || c == '\r'; }

std::string_view word(std::string_view text, std::size_t& at) {
  while (at < text.size() && (is_blank(text[at]) || text[at] == '\n' || text[at] == ',' || text[at] == '\\')) ++at;
  const std::size_t start = at;
  while (at < text.size() && (source::is_name_byte(text[at]) || text[at] == '.')) ++at;
  return text.substr(start, at - start);
}

/// The names of an import list that ends with its line, or with its parenthesis.
template <class Visit>
void items(std::string_view text, std::size_t at, Visit visit) {
  while (at < text.size() && is_blank(text[at])) ++at;
  const bool open = at < text.size() && text[at] == '(';
  std::size_t end = open ? text.find(')', at) : text.find('\n', at);
  end = std::min({end, text.size(), at + 20000});
  std::string_view list = text.substr(at + open, end - at - open);
  for (std::size_t i = 0; i < list.size();) {
    if (list[i] == '#') {
      i = std::min(list.find('\n', i), list.size());
      continue;
    }
    const std::size_t before = i;
    const std::string_view name = word(list, i);
    if (name == "as") {
      word(list, i);
    } else if (!name.empty()) {
      visit(name);
    }
    if (i == before) ++i;
  }
}

}  // namespace

std::vector<std::string> imported_modules(std::string_view text) {
  std::vector<std::string> modules;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t start = at;
    while (start < text.size() && is_blank(text[start])) ++start;
    const std::string_view line = text.substr(start);
    at = std::min(text.find('\n', at), text.size() - 1) + 1;
    if (line.starts_with("import ")) {
      items(text, start + 7, [&](std::string_view name) { modules.emplace_back(name); });
    } else if (line.starts_with("from ")) {
      std::size_t i = start + 5;
      const std::string module(word(text, i));
      if (module.empty() || word(text, i) != "import") continue;
      modules.push_back(module);
      const std::string stem = module.ends_with('.') ? module : module + ".";
      items(text, i, [&](std::string_view name) { modules.push_back(stem + std::string(name)); });
    }
  }
  return modules;
}

bool registers_nccl(std::string_view text) noexcept {
  for (std::size_t at = text.find("nccl", 1); at != std::string_view::npos; at = text.find("nccl", at + 4)) {
    const char quote = text[at - 1];
    if ((quote != '"' && quote != '\'') || at + 5 > text.size() || text[at + 4] != quote) continue;
    std::size_t next = at + 5;
    while (next < text.size() && is_blank(text[next])) ++next;
    if (next < text.size() && text[next] == ':') {
      do ++next;
      while (next < text.size() && is_blank(text[next]));
      // a class of the project's: its name begins with a capital, and True and None are no classes
      const std::string_view rest = text.substr(std::min(next, text.size()));
      if (!rest.empty() && rest[0] >= 'A' && rest[0] <= 'Z' && !rest.starts_with("True") && !rest.starts_with("None") &&
          !rest.starts_with("False"))
        return true;
      continue;
    }
    const std::size_t line = text.rfind('\n', at) + 1;  // npos + 1 is 0
    if (text.substr(line, at - line).find("register") != std::string_view::npos) return true;
  }
  return false;
}

namespace {

std::string folder_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string() : std::string(path.substr(0, slash));
}

/// a/b/__init__.py and a/b.py are the module a.b
std::string dotted(std::string_view path) {
  std::string name(path.substr(0, path.size() - 3));
  if (name.ends_with("/__init__")) name.resize(name.size() - 9);
  for (char& c : name)
    if (c == '/') c = '.';
  return name;
}

constexpr int kDeepest = 8;                  // of re-exports and base classes
constexpr std::size_t kMostKept = 4U << 20;  // bytes of sources that are kept; their trees have ten times as many

}  // namespace

Project::Project(Reader read, const std::vector<std::string>& python, std::string package)
    : read_(std::move(read)), package_(std::move(package)) {
  for (const std::string& path : python)
    if (path.ends_with(".py")) files_.emplace(path, true);
  for (const auto& [path, _] : files_) {
    // from the root, and from above the topmost package that the file is in (src/ layouts)
    modules_.emplace(dotted(path), path);
    if (!package_.empty()) modules_.emplace(path == "__init__.py" ? package_ : package_ + "." + dotted(path), path);
    std::string top = folder_of(path);
    if (!files_.contains((top.empty() ? "" : top + "/") + "__init__.py")) continue;
    while (!top.empty() && files_.contains(folder_of(top).empty() ? "__init__.py" : folder_of(top) + "/__init__.py"))
      top = folder_of(top);
    const std::string above = folder_of(top);
    if (!above.empty()) modules_.emplace(dotted(path.substr(above.size() + 1)), path);
  }
}

std::string Project::file_of(std::string_view module, std::string_view from) const {
  std::string here = folder_of(from);
  const auto at = [&](std::string base, std::string_view rest) -> std::string {
    for (char c : rest) base += c == '.' ? '/' : c;
    if (files_.contains(base + ".py")) return base + ".py";
    if (base.ends_with('/')) base.pop_back();
    const std::string package = base.empty() ? "__init__.py" : base + "/__init__.py";
    return files_.contains(package) ? package : std::string();
  };
  if (module.starts_with('.')) {
    module.remove_prefix(1);
    while (module.starts_with('.')) {
      if (here.empty()) return {};  // above the root
      here = folder_of(here);
      module.remove_prefix(1);
    }
    return at(here.empty() ? "" : here + "/", module);
  }
  if (std::string beside = at(here.empty() ? "" : here + "/", module); !beside.empty()) return beside;
  const auto found = modules_.find(std::string(module));
  return found == modules_.end() ? std::string() : found->second;
}

bool Project::around(std::string_view module, std::string_view from) const {
  if (package_.empty()) return false;
  if (module.starts_with('.')) {
    const auto depth = std::count(from.begin(), from.end(), '/');
    return static_cast<std::ptrdiff_t>(std::min(module.find_first_not_of('.'), module.size())) > depth + 1;
  }
  const std::string_view top = std::string_view(package_).substr(0, package_.find('.'));
  return module.starts_with(top) && (module.size() == top.size() || module[top.size()] == '.') &&
         !(module.starts_with(package_) && (module.size() == package_.size() || module[package_.size()] == '.'));
}

std::shared_ptr<const Summary> Project::summary(const std::string& path) const {
  const std::lock_guard lock(mutex_);
  auto& slot = summaries_[path];
  if (!slot) {
    slot = std::make_shared<Summary>();  // modules may import each other
    auto source = std::make_unique<Source>(read_(path));
    summaries_[path] = std::make_shared<Summary>(Module(path, source->tree, this).summarise());
    if (wanted_ && kept_bytes_ + source->text.size() <= kMostKept && wanted_(path)) {
      kept_bytes_ += source->text.size();
      kept_sources_[path] = std::move(source);
    }
  }
  return summaries_[path];
}

std::unique_ptr<Source> Project::take(const std::string& path) const {
  const std::lock_guard lock(mutex_);
  const auto found = kept_sources_.find(path);
  if (found == kept_sources_.end()) return nullptr;
  std::unique_ptr<Source> source = std::move(found->second);
  kept_sources_.erase(found);
  kept_bytes_ -= source->text.size();
  return source;
}

void Project::note(const Module& module) const {
  {
    const std::lock_guard lock(mutex_);
    if (summaries_.contains(module.path())) return;
  }
  auto made = std::make_shared<Summary>(module.summarise());
  const std::lock_guard lock(mutex_);
  summaries_.try_emplace(module.path(), std::move(made));
}

Value Project::member(const std::string& path, const std::string& name, int depth) const {
  if (depth > kDeepest) return {};
  const auto s = summary(path);
  if (const auto found = s->names.find(name); found != s->names.end()) return found->second;
  if (const auto found = s->imports.find(name); found != s->imports.end())
    return imported(path, found->second.module, found->second.name, depth + 1);
  for (const std::string& module : s->wildcards)
    if (const std::string file = file_of(module, path); !file.empty())
      if (Value v = member(file, name, depth + 1)) return v;
  return {};
}

Value Project::imported(const std::string& from, const std::string& module, const std::string& name, int depth) const {
  // a folder called torch in the project does not hide the framework
  const std::string file = is_framework(module) ? std::string() : file_of(module, from);
  if (file.empty()) {
    if (module.starts_with('.')) {
      // from . import sibling, where the package has no __init__.py
      const std::string sibling =
          name.empty() ? std::string() : file_of(module + (module.back() == '.' ? "" : ".") + name, from);
      return sibling.empty() ? Value{} : Value{What::Module, sibling, true};
    }
    return {What::Api, name.empty() ? module : module + "." + name};
  }
  if (name.empty()) return {What::Module, file, true};
  if (Value v = member(file, name, depth + 1)) return v;
  std::string sub = file_of(module + (module.back() == '.' ? "" : ".") + name, from);
  return sub.empty() ? Value{} : Value{What::Module, std::move(sub), true};
}

bool Project::asks_for_npu(const std::string& from, const std::string& module, const std::string& name,
                           int depth) const {
  if (depth > kDeepest || module == "torch") return false;
  std::string file = file_of(module, from);
  if (!name.empty())
    if (std::string sub = file_of(module + (module.ends_with('.') ? "" : ".") + name, from); !sub.empty())
      file = std::move(sub);
  if (file.empty()) return false;
  const auto s = summary(file);
  if (s->asks_for_npu) return true;
  const auto found = s->imports.find(name);
  return found != s->imports.end() && asks_for_npu(file, found->second.module, found->second.name, depth + 1);
}

Value Project::attribute(const Value& base, const std::string& name, int depth) const {
  switch (base.what) {
    case What::Api: return {What::Api, base.name + "." + name, false, base.sure};
    case What::Module: {
      Value v = member(base.name, name, depth + 1);
      if (!v && base.name.ends_with("__init__.py"))
        if (std::string file = file_of("." + name, base.name); !file.empty()) v = {What::Module, std::move(file), true};
      v.sure = v.sure && base.sure;
      return v;
    }
    default: return {};
  }
}

Value Project::resolve(const std::string& path, const std::string& dotted, int depth) const {
  if (depth > kDeepest) return {};
  std::size_t dot = dotted.find('.');
  Value v = member(path, dotted.substr(0, dot), depth + 1);
  while (v && dot != std::string::npos) {
    const std::size_t next = dotted.find('.', dot + 1);
    v = attribute(v, dotted.substr(dot + 1, next - dot - 1), depth + 1);
    dot = next;
  }
  return v;
}

const ClassInfo* Project::class_info(const std::string& id) const {
  const std::size_t hash = id.find('#');
  if (hash == std::string::npos) return nullptr;
  const auto s = summary(id.substr(0, hash));  // summaries are kept as long as the project
  const auto found = s->classes.find(id.substr(hash + 1));
  return found == s->classes.end() ? nullptr : &found->second;
}

const FunctionInfo* Project::function_info(const std::string& id) const {
  const std::size_t hash = id.find('#');
  if (hash == std::string::npos) return nullptr;
  const auto s = summary(id.substr(0, hash));
  const auto found = s->functions.find(id.substr(hash + 1));
  return found == s->functions.end() ? nullptr : &found->second;
}

bool Project::derives(const std::string& id, const std::function<bool(std::string_view)>& from, int depth) const {
  const ClassInfo* info = depth > kDeepest ? nullptr : class_info(id);
  if (!info) return false;
  for (const std::string& written : info->bases) {
    const Value base = resolve(id.substr(0, id.find('#')), written, depth);
    if (base.what == What::Api && from(base.name)) return true;
    if (base.what == What::Class && derives(base.name, from, depth + 1)) return true;
  }
  return false;
}

std::string Project::defines(const std::string& id, const std::string& method, int depth) const {
  const ClassInfo* info = depth > kDeepest ? nullptr : class_info(id);
  if (!info) return {};
  if (info->methods.contains(method)) return id;
  for (const std::string& written : info->bases) {
    const Value base = resolve(id.substr(0, id.find('#')), written, depth);
    if (base.what != What::Class) continue;
    if (std::string found = defines(base.name, method, depth + 1); !found.empty()) return found;
  }
  return {};
}

bool Project::doubtful(std::string_view method) const { return doubtful_.contains(std::string(method)); }
bool Project::has_flag(std::string_view name) const { return flags_.contains(std::string(name)); }
bool Project::has(std::string_view method) const { return methods_.contains(std::string(method)); }
void Project::note_method(std::string_view method) { methods_.emplace(std::string(method), true); }
void Project::note_doubtful(std::string_view method) { doubtful_.emplace(std::string(method), true); }
void Project::note_flag(std::string_view name) { flags_.emplace(std::string(name), true); }

bool Project::follows(const std::string& id, const std::string& method) const {
  if (derives(id, is_module_or_tensor)) return true;
  const ClassInfo* info = class_info(id);
  return info && std::find(info->forwarding.begin(), info->forwarding.end(), method) != info->forwarding.end();
}

}  // namespace updraft::migrate::names
