// Command lines that stand in strings, looked at as a shell script's: os.system(f"CUDA_VISIBLE_DEVICES={n} python
// train.py --device cuda"), subprocess.run("…", shell=True), shlex.split("…").
#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <utility>

#include "migrate/rewrite/sites.h"
#include "migrate/text/embedded.h"
#include "migrate/text/sheet.h"
#include "migrate/text/shell/shell.h"

namespace updraft::migrate::rewrite {
namespace {

bool takes_a_line(std::string_view api) noexcept {
  static constexpr std::array<std::string_view, 10> known = {"os.system",
                                                             "os.popen",
                                                             "subprocess.run",
                                                             "subprocess.call",
                                                             "subprocess.check_call",
                                                             "subprocess.Popen",
                                                             "subprocess.check_output",
                                                             "shlex.split",
                                                             "subprocess.getoutput",
                                                             "subprocess.getstatusoutput"};
  return std::find(known.begin(), known.end(), api) != known.end();
}

/// The call that a string, or the string that a name stands for, is the command line of.
bool is_line(const Sites& s, NodeId literal) {
  const syntax::Tree& tree = s.tree();
  const auto first_of_starter = [&](NodeId argument) {
    const NodeId list = tree.parent(argument);
    return tree.kind(list) == Kind::ArgumentList && tree.child(list, std::size_t{0}) == argument &&
           takes_a_line(s.module.local(tree.child(tree.parent(list), Field::Function)).name);
  };
  NodeId whole = literal;
  const NodeId up = tree.parent(literal);
  if (tree.kind(up) == Kind::Attribute) {  // "python train.py --device cuda".split(), .format(…)
    const std::string_view method = tree.text(tree.child(up, Field::Attribute));
    if (tree.call_of(up) == kNone || (method != "split" && method != "format")) return false;
    if (method == "split") {
      std::string_view text = tree.text(literal);
      for (std::string_view program : {"python", "torchrun", "accelerate", "deepspeed", "CUDA_VISIBLE_DEVICES"})
        if (text.substr(std::min<std::size_t>(text.find_first_of("\"'") + 1, text.size())).starts_with(program))
          return true;
      return false;
    }
    whole = tree.call_of(up);
  } else if (tree.kind(up) == Kind::Binary && tree[literal].field == Field::Left) {
    whole = up;
  }
  if (first_of_starter(whole)) return true;
  const NodeId assignment = tree.parent(whole);
  if (tree.kind(assignment) != Kind::Assignment || tree[whole].field != Field::Right) return false;
  const NodeId name = tree.child(assignment, Field::Left);
  if (tree.kind(name) != Kind::Identifier) return false;
  const names::ScopeId scope = s.module.scopes().of(name);
  for (NodeId n = assignment; n < tree.size(); ++n)
    if (tree.kind(n) == Kind::Identifier && tree.text(n) == tree.text(name) && s.module.scopes().of(n) == scope &&
        first_of_starter(n))
      return true;
  return false;
}

}  // namespace

void command_lines(Sites& s) {
  const syntax::Tree& tree = s.tree();
  const std::string_view all = tree.text();
  if (all.find("cuda") == std::string_view::npos && all.find("nccl") == std::string_view::npos &&
      all.find("CUDA_") == std::string_view::npos)
    return;
  for (NodeId id = 0; id < tree.size(); ++id) {
    if (tree.kind(id) != Kind::String || s.done[id]) continue;
    const std::string_view text = tree.text(id);
    if (text.size() < 8 || text.size() > 4000 || text.find(' ') == std::string_view::npos) continue;
    if (text.find("cuda") == std::string_view::npos && text.find("CUDA_") == std::string_view::npos &&
        text.find("nccl") == std::string_view::npos && text.find("NCCL") == std::string_view::npos)
      continue;
    if (!is_line(s, id) || s.kept(id)) continue;
    text::Embedded embedded;
    for (NodeId c : tree.children(id)) {
      if (tree.kind(c) == Kind::StringContent) embedded.same(tree.text(c), tree[c].begin);
      if (tree.kind(c) == Kind::Interpolation) embedded.filler("0");
    }
    embedded.encode_by([](std::string_view t, std::uint32_t, std::uint32_t) -> std::optional<std::string> {
      if (t.find_first_of("\"'\\\n{}%") != std::string_view::npos) return std::nullopt;
      return std::string(t);
    });
    text::ShellOptions options;
    options.lines = true;
    options.depth = 1;
    text::Sheet sheet(all);
    sheet.adopt(text::shell(embedded.text(), {}, options), embedded);
    std::vector<Finding> found = sheet.take();
    if (found.empty()) continue;
    s.done[id] = true;
    std::move(found.begin(), found.end(), std::back_inserter(s.findings));
  }
}

}  // namespace updraft::migrate::rewrite
