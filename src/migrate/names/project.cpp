#include "migrate/names/project.h"

#include <algorithm>

#include "migrate/names/module.h"

namespace updraft::migrate::names {
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

constexpr int kDeepest = 8;  // of re-exports and base classes

}  // namespace

Project::Project(Reader read, const std::vector<std::string>& python) : read_(std::move(read)) {
  for (const std::string& path : python)
    if (path.ends_with(".py")) files_.emplace(path, true);
  for (const auto& [path, _] : files_) {
    // from the root, and from above the topmost package that the file is in (src/ layouts)
    modules_.emplace(dotted(path), path);
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
      here = folder_of(here);
      module.remove_prefix(1);
    }
    return at(here.empty() ? "" : here + "/", module);
  }
  if (std::string beside = at(here.empty() ? "" : here + "/", module); !beside.empty()) return beside;
  const auto found = modules_.find(std::string(module));
  return found == modules_.end() ? std::string() : found->second;
}

std::shared_ptr<const Summary> Project::summary(const std::string& path) const {
  const std::lock_guard lock(mutex_);
  auto& slot = summaries_[path];
  if (!slot) {
    slot = std::make_shared<Summary>();  // modules may import each other
    const std::string text = read_(path);
    const Module module(path, text, this);
    auto made = std::make_shared<Summary>(module.summarise());
    summaries_[path] = std::move(made);
  }
  return summaries_[path];
}

Value Project::member(const std::string& path, const std::string& name, int depth) const {
  if (depth > kDeepest) return {};
  const auto s = summary(path);
  if (const auto found = s->names.find(name); found != s->names.end()) return found->second;
  for (const std::string& other : s->wildcards)
    if (Value v = member(other, name, depth + 1)) return v;
  return {};
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
  for (const Value& base : info->bases) {
    if (base.what == What::Api && from(base.name)) return true;
    if (base.what == What::Class && derives(base.name, from, depth + 1)) return true;
  }
  return false;
}

std::string Project::defines(const std::string& id, const std::string& method, int depth) const {
  const ClassInfo* info = depth > kDeepest ? nullptr : class_info(id);
  if (!info) return {};
  if (info->methods.contains(method)) return id;
  for (const Value& base : info->bases)
    if (base.what == What::Class)
      if (std::string found = defines(base.name, method, depth + 1); !found.empty()) return found;
  return {};
}

bool Project::keeps(std::string_view method) const { return kept_.contains(std::string(method)); }
void Project::note_kept(std::string_view method) { kept_.emplace(std::string(method), true); }

bool Project::follows(const std::string& id, const std::string& method) const {
  if (derives(id, is_module_or_tensor)) return true;
  const ClassInfo* info = class_info(id);
  return info && std::find(info->forwarding.begin(), info->forwarding.end(), method) != info->forwarding.end();
}

}  // namespace updraft::migrate::names
