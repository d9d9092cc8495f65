#include "migrate/text/file.h"

#include <algorithm>
#include <array>
#include <string>

#include "migrate/text/config/config.h"
#include "migrate/text/notebook/notebook.h"
#include "migrate/text/readers.h"
#include "migrate/text/shell/rules.h"

namespace updraft::migrate::text {
namespace {

/// Of repositories, caches, environments, editors, builds and records of runs; a leading * stands for any characters.
constexpr std::array<std::string_view, 24> kSkipped = {".git",
                                                       ".hg",
                                                       ".svn",
                                                       ".bzr",
                                                       "__pycache__",
                                                       ".venv",
                                                       "venv",
                                                       ".env",
                                                       "site-packages",
                                                       "node_modules",
                                                       ".tox",
                                                       ".nox",
                                                       ".eggs",
                                                       "*.egg-info",
                                                       "*.dist-info",
                                                       ".mypy_cache",
                                                       ".pytest_cache",
                                                       ".ruff_cache",
                                                       ".ipynb_checkpoints",
                                                       ".idea",
                                                       ".cache",
                                                       "CMakeFiles",
                                                       "wandb",
                                                       "mlruns"};

bool ends(std::string_view name, auto... suffixes) { return (name.ends_with(suffixes) || ...); }

std::string lower_name(std::string_view path) {
  std::string name(path.substr(path.find_last_of("/\\") + 1));
  for (char& c : name)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return name;
}

/// python of "#!/usr/bin/env -S python3 -u"
std::string_view interpreter(std::string_view head) {
  if (head.starts_with("\xef\xbb\xbf")) head.remove_prefix(3);
  if (!head.starts_with("#!")) return {};
  std::string_view line = head.substr(2, head.find('\n') == std::string_view::npos ? head.size() : head.find('\n') - 2);
  const auto word = [&] {
    line.remove_prefix(std::min(line.find_first_not_of(" \t\r"), line.size()));
    const std::string_view w = line.substr(0, line.find_first_of(" \t\r"));
    line.remove_prefix(w.size());
    return w.substr(w.rfind('/') + 1);
  };
  std::string_view w = word();
  if (w != "env") return w;
  for (w = word(); w.starts_with('-') || w.find('=') != std::string_view::npos; w = word())
    if (w.empty()) break;
  return w;
}

}  // namespace

bool is_skipped_folder(std::string_view name) noexcept {
  return std::any_of(kSkipped.begin(), kSkipped.end(), [&](std::string_view folder) {
    return folder[0] == '*' ? name.ends_with(folder.substr(1)) && name.size() >= folder.size() : name == folder;
  });
}

bool is_binary(std::string_view head) noexcept {
  head = head.substr(0, 4096);
  if (head.starts_with("\xff\xfe") || head.starts_with("\xfe\xff")) return true;
  for (const std::string_view magic :
       {std::string_view("\x7f"
                         "ELF"),
        std::string_view("PK\x03\x04"), std::string_view("\x1f\x8b"), std::string_view("\x89PNG"),
        std::string_view("%PDF-"), std::string_view("\xff\xd8\xff"), std::string_view("\x93NUMPY"),
        std::string_view("GIF8")})
    if (head.starts_with(magic)) return true;
  return head.find('\0') != std::string_view::npos;
}

bool is_makefile(std::string_view path) noexcept {
  const std::string name = lower_name(path);
  return name == "makefile" || name == "gnumakefile" || name.starts_with("makefile.") ||
         ends(std::string_view(name), ".mk", ".mak");
}

bool is_cmake(std::string_view path) noexcept {
  const std::string name = lower_name(path);
  return name == "cmakelists.txt" || ends(std::string_view(name), ".cmake");
}

FileKind kind_of(std::string_view path, std::string_view head) noexcept {
  const std::string owned = lower_name(path);
  const std::string_view name = owned;
  if (is_binary(head)) {
    // A source with a stray NUL is still one; the parsers live with it. Formats that only share an ending are not.
    if (!ends(name, ".py", ".pyw", ".pyi", ".sh", ".ipynb")) return FileKind::Other;
    if (head.starts_with("PK") || head.starts_with("\x7f") || head.starts_with("\xff\xfe") ||
        head.starts_with("\xfe\xff"))
      return FileKind::Other;
  }
  if (ends(name, ".py", ".pyw", ".pyi", ".pyx", ".pxd")) return FileKind::Python;
  if (ends(name, ".ipynb")) return FileKind::Notebook;
  if (ends(name, ".cu", ".cuh", ".cpp", ".cc", ".cxx", ".c", ".h", ".hpp", ".hxx", ".hh", ".inl") || is_cmake(name))
    return FileKind::CudaSource;
  if (ends(name, ".sh", ".bash", ".zsh", ".ksh", ".slurm", ".sbatch", ".pbs", ".lsf", ".command", ".env", ".envrc") ||
      is_makefile(name) || name == ".env" || name.starts_with(".env."))
    return FileKind::Shell;
  if (config_form(name) != ConfigForm::None) return FileKind::Config;
  const std::string_view program = interpreter(head);
  if (program.starts_with("python") || program.starts_with("pypy")) return FileKind::Python;
  if (program == "sh" || program == "bash" || program == "zsh" || program == "ksh" || program == "dash")
    return FileKind::Shell;
  if (program == "make") return FileKind::Shell;
  return FileKind::Other;
}

std::vector<Finding> file_findings(std::string_view path, std::string_view text, const PythonFindings& python,
                                   int depth) {
  if (depth > kDeepest) return {};
  switch (kind_of(path, text.substr(0, 4096))) {
    case FileKind::Python: return python ? python(text) : std::vector<Finding>();
    case FileKind::Notebook: return notebook(text, python, depth);
    case FileKind::Config: return config(path, text, python, depth);
    case FileKind::Shell: {
      ShellOptions options;
      options.makefile = is_makefile(path);
      options.depth = depth;
      return shell(text, python, options);
    }
    case FileKind::CudaSource: return is_cmake(path) ? cmake(text) : cuda_source(text);
    case FileKind::Other: break;
  }
  return {};
}

}  // namespace updraft::migrate::text
