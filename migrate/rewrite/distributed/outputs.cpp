// What only the first process may do: write checkpoints, say how far the training is.
#include <algorithm>
#include <array>

#include "migrate/rewrite/distributed/layout.h"
#include "migrate/rewrite/distributed/steps.h"

namespace updraft::migrate::rewrite::distributed {
namespace {

/// Calls that change files; in a function that saves they belong to the saving.
bool changes_files(std::string_view api) noexcept {
  static constexpr std::array<std::string_view, 14> known = {
      "os.replace",      "os.rename",     "os.remove",       "os.unlink",    "os.symlink",
      "os.link",         "os.rmdir",      "shutil.copy",     "shutil.copy2", "shutil.move",
      "shutil.copyfile", "shutil.rmtree", "shutil.copytree", "os.renames"};
  return std::find(known.begin(), known.end(), api) != known.end();
}

/// The call that is a statement of its own; kNone for other statements.
NodeId called_by(const syntax::Tree& tree, NodeId statement) {
  if (tree.kind(statement) != Kind::ExpressionStatement) return kNone;
  const NodeId call = tree.child(statement, std::size_t{0});
  return tree.kind(call) == Kind::Call ? call : kNone;
}

class Outputs {
 public:
  Outputs(Program& program, const std::vector<Model>& models) : program_(program) {
    for (const Model& m : models) {
      Flow flow(program);
      flow.from(m.variable, {});
      for (const Place& p : flow.places()) {
        if (const NodeId f = function_of(*p.source, p.node); f != kNone) of_training_.insert({p.source, f});
        of_model_.insert({p.source, p.node});
      }
    }
  }

  void run() {
    for (const auto& s : program_.sources()) {
      for (NodeId call : s->calls) visit(*s, call);
      const syntax::Tree& tree = s->tree();
      for (NodeId id = 0; id < tree.size(); ++id)
        if (tree.kind(id) == Kind::Block || tree.kind(id) == Kind::Module) block(*s, id);
    }
  }

 private:
  /// os.makedirs in several processes at once; bars of progress.
  void visit(Source& s, NodeId call) {
    const syntax::Tree& tree = s.tree();
    const NodeId callee = tree.child(call, Field::Function);
    const std::string_view last =
        tree.kind(callee) == Kind::Attribute ? tree.text(tree.child(callee, Field::Attribute)) : tree.text(callee);
    if (last == "makedirs" || last == "mkdir") {
      const std::string api = s.callee(call);
      if (api != "os.makedirs" && api != "os.mkdir") return;
      const Argument given = argument(tree, call, "exist_ok", 2);
      if (given || given.hidden) return;
      Finding& f = s.add("PT358", Category::Change, call,
                         {"several processes make this folder at once; whoever is late must not fail",
                          "多个进程会同时创建该目录，需允许目录已存在"},
                         api);
      if (api == "os.mkdir") {
        if (tree.kind(callee) != Kind::Attribute || argument(tree, call, "dir_fd", -1)) {
          f.category = Category::Note;
          return;
        }
        const NodeId name = tree.child(callee, Field::Attribute);
        f.edits.push_back({tree[name].begin, tree[name].end, "makedirs"});
      }
      f.edits.push_back(keyword(tree, call, "exist_ok=True"));
    } else if (last == "tqdm" || last == "trange") {
      const std::string api = s.callee(call);
      if (api != "tqdm.tqdm" && api != "tqdm.auto.tqdm" && api != "tqdm.trange" && api != "tqdm.auto.trange") return;
      const Argument given = argument(tree, call, "disable", -1);
      const std::string torch = s.name_of("torch", call);
      if (given || given.hidden || torch.empty() || !progress(s, call)) return;
      s.add("PT359", Category::Change, call, progress_text(), api)
          .edits.push_back(keyword(tree, call, "disable=" + torch + ".distributed.get_rank() != 0"));
    } else if (last == "SummaryWriter") {
      s.add("PT359", Category::Note, call,
            {"every process would write these logs: make the writer on rank 0 only",
             "每个进程都会写日志：请仅在 rank 0 上创建该对象"},
            s.callee(call));
    }
  }

  static Text progress_text() {
    return {"the progress is the same in every process: rank 0 tells it", "各进程的训练进度相同，仅由 rank 0 输出"};
  }

  /// Whether a node belongs to the training: in a loop, or in a function that gets the model.
  bool progress(Source& s, NodeId node) const {
    const syntax::Tree& tree = s.tree();
    const NodeId function = function_of(s, node);
    for (NodeId up = tree.parent(node); up != kNone && tree.kind(up) != Kind::Function; up = tree.parent(up))
      if (tree.kind(up) == Kind::For || tree.kind(up) == Kind::While) {
        if (function == kNone || of_training_.contains({&s, function})) return true;
      }
    if (function == kNone) return of_module(s, node);
    return of_training_.contains({&s, function});
  }

  /// Module-level code after the process group is there.
  bool of_module(const Source& s, NodeId node) const {
    return &s == &program_.main() && s.tree()[node].begin >= ready_;
  }

  /// Whether a statement runs the model, in which all processes must take part: print(evaluate(model)).
  bool computes(Source& s, NodeId statement) const {
    const syntax::Tree& tree = s.tree();
    for (NodeId id = statement; id < tree[statement].last; ++id) {
      if (of_model_.contains({&s, id}) && tree.kind(tree.parent(id)) != Kind::Attribute) return true;
      if (tree.kind(id) != Kind::Call) continue;
      const Place called = program_.definition(program_.callee(s, id));
      if (called.source && of_training_.contains({called.source, called.node}) &&
          called.node != function_of(s, statement))
        return true;
    }
    return false;
  }

  bool saves(Source& s, NodeId function) {
    const auto [at, fresh] = saving_.try_emplace({&s, function}, false);
    if (fresh) {
      const NodeId root = function == kNone ? 0 : function;
      for (NodeId call : s.calls)
        if (s.tree().inside(call, root) && s.callee(call) == "torch.save") at->second = true;
    }
    return at->second;
  }

  void block(Source& s, NodeId id) {
    const syntax::Tree& tree = s.tree();
    std::vector<NodeId> run;
    bool saving = false;
    const auto flush = [&] {
      if (!run.empty()) guard(s, run, saving);
      run.clear();
      saving = false;
    };
    for (NodeId statement : tree.children(id)) {
      const NodeId call = called_by(tree, statement);
      if (call == kNone) {
        flush();
        continue;
      }
      const NodeId callee = tree.child(call, Field::Function);
      bool save = false, tell = false;
      if (tree.kind(callee) == Kind::Identifier && tree.text(callee) == "print") {
        const auto* bound = s.module->scopes().lookup("print", s.module->scopes().of(callee));
        tell = !bound && progress(s, call) && !argument(tree, call, "file", -1);
      } else if (tree.kind(callee) == Kind::Attribute || tree.kind(callee) == Kind::Identifier) {
        const std::string api = s.callee(call);
        save = api == "torch.save" || (changes_files(api) && saves(s, function_of(s, call))) ||
               s.text_of(tree.child(callee, Field::Attribute)) == "savefig";
      }
      if ((save || tell) && computes(s, statement)) save = tell = false;
      if (!save && !tell) {
        flush();
        continue;
      }
      // statements on one line, or of another indentation, are not joined
      if (!run.empty() && (!alone(tree, statement) || !alone(tree, run.front()))) flush();
      run.push_back(statement);
      saving = saving || save;
    }
    flush();
  }

  void guard(Source& s, const std::vector<NodeId>& statements, bool saving) {
    const std::string torch = s.name_of("torch", statements.front());
    if (torch.empty()) return;
    Finding& f = s.add(
        saving ? "PT358" : "PT359", Category::Change, statements.front(),
        saving ? Text{"all processes have the same state: rank 0 saves it", "各进程的模型状态相同，仅由 rank 0 保存"}
               : progress_text(),
        saving ? "torch.save" : "print");
    f.edits = under(s.tree(), statements, torch + ".distributed.get_rank() == 0");
  }

  Program& program_;
  std::set<std::pair<Source*, NodeId>> of_training_, of_model_;
  std::map<std::pair<Source*, NodeId>, bool> saving_;

 public:
  std::uint32_t ready_ = 0;
};

}  // namespace

void outputs(Program& program, const std::vector<Model>& models, std::uint32_t ready) {
  Outputs o(program, models);
  o.ready_ = ready;
  o.run();
}

}  // namespace updraft::migrate::rewrite::distributed
