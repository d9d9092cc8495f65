// Any bytes as a training script, alone and beside a file that imports it: the conversion to several cards never
// crashes, ends, and its edits fit.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "migrate/names/module.h"
#include "migrate/rewrite/distributed/conversion.h"
#include "migrate/rewrite/passes.h"
#include "migrate/rules/rule.h"
#include "migrate/source/edit.h"

namespace {

using namespace updraft::migrate;

const std::string kCaller =
    "import torch\nfrom main import *\nfrom main import main, train\nmodel = main()\nfor epoch in range(3):\n    "
    "train(model)\n";

void convert(const std::string& text, const std::string& entry, const rules::RuleSet& rules) {
  const auto read = [&](const std::string& path) { return path == "main.py" ? text : kCaller; };
  const names::Project project(read, {"main.py", "caller.py"});
  const rewrite::Conversion conversion(project, read, {entry, "model"});
  for (const char* path : {"main.py", "caller.py"}) {
    const std::string source = read(path);
    const names::Module module(path, source, &project);
    auto findings = rewrite::python(module, rules, "pytorch", Confidence::Likely, {.conversion = &conversion});
    for (const Finding& f : findings) {
      if (f.begin > f.end || f.end > source.size()) std::abort();
      for (const Edit& e : f.edits)
        if (e.begin > e.end || e.end > source.size()) std::abort();
    }
    source::apply(source, findings);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const rules::RuleSet* const rules = [] {
    auto* r = new rules::RuleSet;
    rules::add_builtin(*r, "pytorch");
    return r;
  }();
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data), size);
  convert(text, "caller.py", *rules);
  convert(text, "main.py", *rules);
  return 0;
}
