// -s: which card a script runs on is said by the environment, as `DEVICE_ID=3 python train.py`. The runtime then shows
// the process that card alone, as card 0, so that whatever the script says ("npu", "npu:0") is right.
#include "migrate/rewrite/insert_import.h"
#include "migrate/rewrite/options/options.h"

namespace updraft::migrate::rewrite {
namespace {

/// Started as a program: asks for __main__, or does its work at module level.
bool starts(const Sites& s) {
  if (is_entry(s.tree())) return true;
  for (NodeId id : s.tree().children(0)) {
    const Kind kind = s.tree().kind(id);
    if (kind == Kind::For || kind == Kind::While || kind == Kind::With) return true;
  }
  return false;
}

}  // namespace

void specify_device(Sites& s) {
  const syntax::Tree& tree = s.tree();
  if (!s.about_torch || tree.text().find("DEVICE_ID") != std::string_view::npos || !starts(s)) return;
  const NodeId torch = first_import(s, "torch");
  const NodeId chosen = torch != kNone ? torch : first_statement(tree);
  if (chosen == kNone || s.kept(chosen)) return;
  static const rules::Rule rule = [] {
    rules::Rule r;
    r.id = "PT801";
    r.message = {"the device is chosen by the variable DEVICE_ID (-s): the process sees that card alone, as npu:0",
                 "由环境变量 DEVICE_ID 选择设备（-s）：进程只看到该卡，编号为 npu:0"};
    return r;
  }();
  // a torch import in a function comes too late to be the place, unless it is the only one
  Finding& f = s.add(rule, chosen, Confidence::Certain, "DEVICE_ID");
  f.edits.push_back(insert_line(tree, chosen,
                                "import os\nos.environ.setdefault(\"ASCEND_RT_VISIBLE_DEVICES\", "
                                "os.environ.get(\"DEVICE_ID\", \"0\"))",
                                true));
}

}  // namespace updraft::migrate::rewrite
