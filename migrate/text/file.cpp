#include "migrate/text/file.h"

#include "migrate/text/classify.h"
#include "migrate/text/config/config.h"
#include "migrate/text/cuda_source.h"
#include "migrate/text/notebook/notebook.h"
#include "migrate/text/shell/shell.h"

namespace updraft::migrate::text {

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
