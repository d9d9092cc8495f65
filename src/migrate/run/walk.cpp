#include "migrate/run/walk.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <string_view>

#include "base/error.h"

namespace updraft::migrate::run {
namespace fs = std::filesystem;
namespace {

constexpr std::array<std::string_view, 12> kSkipped = {
    ".git",         ".hg",   ".svn", "__pycache__",        ".mypy_cache", ".pytest_cache",
    "node_modules", ".venv", ".tox", ".ipynb_checkpoints", ".ruff_cache", ".eggs"};

bool has_suffix(std::string_view name, std::initializer_list<std::string_view> suffixes) {
  return std::any_of(suffixes.begin(), suffixes.end(),
                     [&](std::string_view s) { return name.size() > s.size() && name.ends_with(s); });
}

Finding problem(const std::string& path, const std::string& why) {
  Finding f;
  f.rule = "IO001";
  f.category = Category::Failure;
  f.api = path;
  f.message = {path + ": " + why + "; nothing of it is migrated", path + "：" + why + "；未迁移"};
  return f;
}

}  // namespace

FileKind classify(const fs::path& file) {
  const std::string name = file.filename().string();
  if (has_suffix(name, {".py", ".pyw", ".pyi"})) return FileKind::Python;
  if (has_suffix(name, {".ipynb"})) return FileKind::Notebook;
  if (has_suffix(name, {".yaml", ".yml", ".json", ".jsonc", ".toml", ".cfg", ".ini"})) return FileKind::Config;
  if (has_suffix(name, {".sh", ".bash", ".slurm", ".sbatch", ".zsh"})) return FileKind::Shell;
  if (has_suffix(name, {".cu", ".cuh", ".cpp", ".cc", ".cxx", ".h", ".hpp"})) return FileKind::CudaSource;
  if (name.find('.') != std::string::npos) return FileKind::Other;
  std::ifstream in(file, std::ios::binary);
  std::array<char, 64> head{};
  in.read(head.data(), head.size());
  const std::string_view first(head.data(), static_cast<std::size_t>(in.gcount()));
  if (!first.starts_with("#!")) return FileKind::Other;
  const std::string_view line = first.substr(0, first.find('\n'));
  if (line.find("python") != std::string_view::npos) return FileKind::Python;
  return line.find("sh") != std::string_view::npos ? FileKind::Shell : FileKind::Other;
}

Tree walk(const fs::path& input) {
  Tree tree;
  std::error_code error;
  const fs::file_status status = fs::status(input, error);
  if (!fs::exists(status)) throw Error(code::kAclInvalidFile, "{}: there is no such file or folder", input.string());
  if (fs::is_regular_file(status)) {
    tree.root = input.parent_path().empty() ? fs::path(".") : input.parent_path();
    tree.entries.push_back({input.filename().string(), classify(input), false, fs::file_size(input, error)});
    return tree;
  }
  if (!fs::is_directory(status))
    throw Error(code::kAclInvalidFile, "{} is neither a file nor a folder", input.string());
  tree.root = input;
  std::vector<fs::path> open = {fs::path()};
  while (!open.empty()) {
    const fs::path folder = std::move(open.back());
    open.pop_back();
    fs::directory_iterator items(tree.root / folder, error);
    if (error) {
      tree.problems.push_back(problem(folder.generic_string(), error.message()));
      continue;
    }
    for (const fs::directory_entry& item : items) {
      const fs::path relative = folder / item.path().filename();
      const std::string path = relative.generic_string();
      if (item.is_symlink(error)) {
        tree.entries.push_back({path, FileKind::Other, true, 0});
      } else if (item.is_directory(error)) {
        const std::string name = item.path().filename().string();
        if (std::find(kSkipped.begin(), kSkipped.end(), name) != kSkipped.end()) continue;
        tree.folders.push_back(path);
        open.push_back(relative);
      } else if (item.is_regular_file(error)) {
        tree.entries.push_back({path, classify(item.path()), false, item.file_size(error)});
      }
    }
  }
  std::sort(tree.entries.begin(), tree.entries.end(), [](const Entry& a, const Entry& b) { return a.path < b.path; });
  std::sort(tree.folders.begin(), tree.folders.end());
  return tree;
}

}  // namespace updraft::migrate::run
