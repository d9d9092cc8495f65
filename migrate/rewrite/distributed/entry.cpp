// The process group: joined before anything else happens, left when all is done.
#include <algorithm>

#include "migrate/rewrite/distributed/layout.h"
#include "migrate/rewrite/distributed/steps.h"
#include "migrate/rewrite/strings.h"

namespace updraft::migrate::rewrite::distributed {
namespace {

/// if __name__ == "__main__":
NodeId guard(const syntax::Tree& tree) {
  for (NodeId s : tree.children(0)) {
    if (tree.kind(s) != Kind::If) continue;
    const std::string_view condition = tree.text(tree.child(s, Field::Condition));
    if (condition.find("__name__") != std::string_view::npos && condition.find("__main__") != std::string_view::npos) {
      const NodeId block = tree.child(s, Field::Consequence);
      if (last_of(tree, block) != kNone) return block;
    }
  }
  return kNone;
}

bool binds(const Source& s, std::string_view name) {
  for (names::ScopeId scope = 0; scope < s.module->scopes().size(); ++scope)
    if (s.module->scopes()[scope].names.contains(name)) return true;
  return s.identifiers.contains(name);
}

/// Whether module-level code before an offset already builds the model.
bool built_before(const Source& main, const std::vector<Model>& models, std::uint32_t offset) {
  return std::any_of(models.begin(), models.end(), [&](const Model& m) {
    return m.source == &main && function_of(main, m.last) == kNone && main.tree()[m.last].begin < offset;
  });
}

/// Statements of the module up to the last of the leading imports, and the first import of torch.
NodeId after_imports(const syntax::Tree& tree) {
  NodeId last = kNone;
  bool leading = true;
  for (NodeId s : tree.children(0)) {
    bool imports =
        tree.kind(s) == Kind::Import || tree.kind(s) == Kind::ImportFrom || tree.kind(s) == Kind::FutureImport;
    if (tree.kind(s) == Kind::Try)
      for (NodeId id = s; id < tree[s].last; ++id)
        imports = imports || tree.kind(id) == Kind::Import || tree.kind(id) == Kind::ImportFrom;
    if (imports && (leading || (last != kNone && tree.text(s).find("import torch") != std::string_view::npos &&
                                tree.text().substr(0, tree[last].end).find("import torch") == std::string_view::npos)))
      last = s;
    leading = leading && (is_literal_statement(tree, s) || imports);
  }
  return last;
}

/// sys.exit(main()), raise SystemExit(main()): nothing after it runs, so the status is kept first.
bool leave_by_status(Source& s, NodeId last, const std::string& status, const Lines& end, Finding& f) {
  const syntax::Tree& tree = s.tree();
  const NodeId expression = tree.child(last, std::size_t{0});
  if (tree.kind(expression) != Kind::Call) return false;
  const std::string_view callee = tree.text(tree.child(expression, Field::Function));
  if (callee != "sys.exit" && callee != "exit" && callee != "SystemExit" && callee != "quit") return false;
  const NodeId argument = tree.child(tree.child(expression, Field::Arguments), std::size_t{0});
  if (argument == kNone) {
    f.edits.push_back(before(tree, last, end));
    return true;
  }
  if (!alone(tree, last)) return false;
  const std::string next = newline(tree.text()) + indent(tree, last);
  std::string text = status + " = ";
  const std::string call(tree.text().substr(tree[last].begin, tree[argument].begin - tree[last].begin));
  f.edits.push_back({tree[last].begin, tree[argument].begin, text});
  text.clear();
  for (const std::string& line : end) text += next + line;
  text += next + call + status;
  f.edits.push_back({tree[argument].end, tree[argument].end, text});
  return true;
}

}  // namespace

Entry entry(Program& program, const std::vector<Model>& models) {
  Source& s = program.main();
  const syntax::Tree& tree = s.tree();
  Entry e;
  e.local_rank = "local_rank";
  while (binds(s, e.local_rank)) e.local_rank = "npu_" + e.local_rank;
  std::string status = "status";
  while (binds(s, status)) status += "_";
  const std::string torch = s.name_of("torch", 0), os = s.name_of("os", 0);
  if (torch.empty() || os.empty()) return e;

  NodeId block = guard(tree);
  if (block != kNone && built_before(s, models, tree[block].begin)) block = kNone;
  const Lines begin = {
      "# One process for each NPU, as torchrun starts them; started alone, this is the only one.",
      e.local_rank + " = int(" + os + ".environ.get(\"LOCAL_RANK\", 0))",
      torch + ".npu.set_device(" + e.local_rank + ")",
      torch + ".distributed.init_process_group(backend=\"hccl\", init_method=\"env://\" if \"MASTER_ADDR\" in " + os +
          ".environ else \"tcp://127.0.0.1:0\", rank=int(" + os + ".environ.get(\"RANK\", 0)), world_size=int(" + os +
          ".environ.get(\"WORLD_SIZE\", 1)))"};
  const Lines end = {torch + ".distributed.barrier(device_ids=[" + e.local_rank + "])",
                     torch + ".distributed.destroy_process_group()"};

  NodeId where = block == kNone ? after_imports(tree) : tree.child(block, std::size_t{0});
  if (where == kNone) where = tree.child(0, std::size_t{0});
  if (where == kNone) return e;
  NodeId anchor = where;
  if (block == kNone)  // a finding's place decides among insertions at one offset: after `import torch_npu`
    for (NodeId next : tree.children(0))
      if (next > where) {
        anchor = next;
        break;
      }
  Finding& f = s.add("PT351", Category::Change, anchor,
                     {"the processes that torchrun starts take an NPU each and join a process group over HCCL",
                      "torchrun 启动的各进程各自绑定一个 NPU，并通过 HCCL 建立通信组"},
                     "torch.distributed.init_process_group");
  if (block == kNone) {
    const bool is_import = tree.kind(where) == Kind::Import || tree.kind(where) == Kind::ImportFrom ||
                           tree.kind(where) == Kind::FutureImport || tree.kind(where) == Kind::Try;
    f.edits.push_back(is_import ? after(tree, where, begin) : at_start(tree, 0, begin));
    e.block = 0;
    e.ready = f.edits.back().end;
  } else {
    f.edits.push_back(at_start(tree, block, begin));
    e.block = block;
    e.ready = f.edits.back().end;
  }

  NodeId guarded = guard(tree);
  const NodeId last = last_of(tree, guarded != kNone ? guarded : 0);
  Finding& g =
      s.add("PT351", Category::Change, last,
            {"every process waits for the others and leaves the process group", "训练结束后各进程同步并退出通信组"},
            "torch.distributed.destroy_process_group");
  if (!leave_by_status(s, last, status, end, g)) g.edits.push_back(after(tree, last, end));
  return e;
}

}  // namespace updraft::migrate::rewrite::distributed
