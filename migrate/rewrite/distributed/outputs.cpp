// What only the first process may do: write checkpoints, say how far the training is.
#include <algorithm>
#include <array>

#include "migrate/rewrite/distributed/conversion.h"
#include "migrate/rewrite/distributed/program.h"

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

/// Functions of packages that write a file.
bool writes(std::string_view api) noexcept {
  static constexpr std::array<std::string_view, 12> known = {"torch.save",
                                                             "torch.jit.save",
                                                             "torch.onnx.export",
                                                             "numpy.save",
                                                             "numpy.savez",
                                                             "numpy.savez_compressed",
                                                             "numpy.savetxt",
                                                             "safetensors.torch.save_file",
                                                             "safetensors.torch.save_model",
                                                             "joblib.dump",
                                                             "torchvision.utils.save_image",
                                                             "torch.export.save"};
  return std::find(known.begin(), known.end(), api) != known.end();
}

/// Methods that write a file, whatever their object: figure.savefig(…), frame.to_csv(…).
bool writes_by_method(std::string_view name) noexcept {
  return name == "savefig" || name == "to_csv" || name == "to_pickle" || name == "save_pretrained";
}

/// Functions that take a model as it is and run nothing.
bool only_takes(std::string_view api) noexcept {
  return writes(api) || api == "torch.jit.script" || api == "torch.jit.trace" || api == "copy.deepcopy" ||
         api == "dict";
}

/// with open(path, "a") as f:
bool opens_to_write(const Source& s, NodeId with) {
  const syntax::Tree& tree = s.tree();
  for (NodeId call : s.calls) {
    if (!tree.inside(call, with) || tree.ancestor(call, Kind::WithItem) == kNone) continue;
    if (tree.text(tree.child(call, Field::Function)) != "open") continue;
    const Argument mode = argument(tree, call, "mode", 1);
    const std::string_view text = tree.text(mode.value);
    return mode && tree.kind(mode.value) == Kind::String && text.find_first_of("wax") != std::string_view::npos;
  }
  return false;
}

/// "# updraft: keep" stands on the statement's first line.
bool keeps(const syntax::Tree& tree, NodeId statement) {
  const std::string_view line = tree.text().substr(tree[statement].begin);
  return line.substr(0, line.find('\n')).find("updraft: keep") != std::string_view::npos;
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
      Flow wrapped(program);
      wrapped.from(m.variable, {m.source, m.last});
      for (const Place& p : wrapped.places())
        if (p.item == Place::kWhole && p.source->tree().kind(p.node) != Kind::Call)
          wrapped_.emplace(std::make_pair(p.source, p.node), wrapped.chosen(p));
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
      Finding& f = s.add("PT358", Category::Change, call, rules::told("PT358.folder"), api);
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
      s.add("PT359", Category::Note, call, rules::told("PT359.writer"), s.callee(call));
    }
  }

  static Text progress_text() { return rules::told("PT359"); }

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
      if (of_model_.contains({&s, id}) && tree.kind(tree.parent(id)) != Kind::Attribute && !handed_over(s, id))
        return true;
      if (tree.kind(id) != Kind::Call) continue;
      const Place called = program_.definition(program_.callee(s, id));
      if (called.source && of_training_.contains({called.source, called.node}) &&
          called.node != function_of(s, statement))
        return true;
    }
    return false;
  }

  /// torch.save(model, p), torch.save({"model": model}, p), torch.jit.script(model).save(p): nothing is run.
  bool handed_over(Source& s, NodeId mention) const {
    const syntax::Tree& tree = s.tree();
    for (NodeId mine = mention, up = tree.parent(mine); up != kNone; mine = up, up = tree.parent(up)) {
      switch (tree.kind(up)) {
        case Kind::Pair:
          if (tree.child(up, Field::Key) == mine) return false;
          continue;
        case Kind::Dictionary:
        case Kind::List:
        case Kind::Tuple:
        case Kind::KeywordArgument: continue;
        case Kind::ArgumentList:
          return only_takes(s.callee(tree.parent(up))) ||
                 tree.text(tree.child(tree.parent(up), Field::Function)) == "dict";
        default: return false;
      }
    }
    return false;
  }

  /// What is written is the model, not its wrapper.
  void unwrap(Source& s, NodeId statement, std::vector<Edit>& edits) const {
    const syntax::Tree& tree = s.tree();
    for (NodeId id = statement; id < tree[statement].last; ++id) {
      const auto found = wrapped_.find({&s, id});
      if (found == wrapped_.end() || tree.kind(tree.parent(id)) == Kind::Attribute || !handed_over(s, id)) continue;
      const std::string name(tree.text(id));
      if (found->second)
        edits.push_back({tree[id].begin, tree[id].end, "getattr(" + name + ", \"module\", " + name + ")"});
      else edits.push_back({tree[id].end, tree[id].end, ".module"});
    }
  }

  /// Whether a part of a source, or a function that it calls, writes (reads) checkpoints.
  bool does(Source& s, NodeId part, bool load, int depth = 0) {
    if (depth > 3) return false;
    const syntax::Tree& tree = s.tree();
    for (NodeId call : s.calls) {
      if (!tree.inside(call, part)) continue;
      const std::string api = s.callee(call);
      if (api == (load ? "torch.load" : "torch.save")) return true;
      const Place called = program_.definition(program_.callee(s, call));
      if (called.source && called.node != part && !(called.source == &s && tree.inside(part, called.node)) &&
          does(*called.source, called.node, load, depth + 1))
        return true;
    }
    return false;
  }

  /// All wait between rank 0's writing and everybody's reading.
  void meet(Source& s, NodeId id) {
    const syntax::Tree& tree = s.tree();
    const NodeId function = function_of(s, id);
    if (function == kNone ? !(&s == &program_.main()) : !of_training_.contains({&s, function})) return;
    if (!does(s, id, true) || !does(s, id, false)) return;
    bool saved = false;
    for (NodeId statement : tree.children(id)) {
      const Kind kind = tree.kind(statement);
      if (kind == Kind::Function || kind == Kind::Class || kind == Kind::Decorated) continue;
      if (function == kNone && !of_module(s, statement)) continue;
      if (saved && does(s, statement, true)) {
        saved = false;
        const std::string torch = s.name_of("torch", statement);
        if (torch.empty() || !alone(tree, statement)) continue;
        s.add("PT358", Category::Change, statement, rules::told("PT358.wait"), "torch.load")
            .edits.push_back(before(tree, statement, {torch + ".distributed.barrier()"}));
      }
      if (does(s, statement, false)) saved = true;
    }
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
    meet(s, id);
    for (NodeId statement : tree.children(id)) {
      const NodeId call = called_by(tree, statement);
      if (call == kNone) {
        flush();
        // a log that every process would write to
        if (tree.kind(statement) == Kind::With && progress(s, statement) && opens_to_write(s, statement) &&
            !computes(s, statement) && alone(tree, statement))
          guard(s, {statement}, true);
        continue;
      }
      const NodeId callee = tree.child(call, Field::Function);
      bool save = false, tell = false;
      if (tree.kind(callee) == Kind::Identifier && tree.text(callee) == "print") {
        const auto* bound = s.module->scopes().lookup("print", s.module->scopes().of(callee));
        tell = !bound && progress(s, call) && !argument(tree, call, "file", -1);
      } else if (tree.kind(callee) == Kind::Attribute || tree.kind(callee) == Kind::Identifier) {
        const std::string api = s.callee(call);
        const std::string_view method = s.text_of(tree.child(callee, Field::Attribute));
        save = (writes(api) && (api == "torch.save" || in_run(s, call))) ||
               (changes_files(api) && saves(s, function_of(s, call))) || writes_by_method(method) ||
               (method == "save" && of_script(s, callee));
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

  /// Whether a call belongs to the run of the training and not to what is defined before it.
  bool in_run(const Source& s, NodeId call) const {
    const NodeId function = function_of(s, call);
    return function == kNone ? of_module(s, call)
                             : of_training_.contains({const_cast<Source*>(&s), function}) || saving(s, function);
  }
  bool saving(const Source& s, NodeId function) const {
    return s.text_of(s.tree().child(function, Field::Name)).find("save") != std::string_view::npos;
  }

  /// torch.jit.script(model).save(path)
  bool of_script(Source& s, NodeId callee) const {
    const NodeId object = s.tree().child(callee, Field::Object);
    if (s.tree().kind(object) != Kind::Call) return false;
    const std::string api = s.callee(object);
    return api == "torch.jit.script" || api == "torch.jit.trace";
  }

  void guard(Source& s, const std::vector<NodeId>& statements, bool saving) {
    const std::string torch = s.name_of("torch", statements.front());
    if (torch.empty() || keeps(s.tree(), statements.front())) return;
    Finding& f = s.add(saving ? "PT358" : "PT359", Category::Change, statements.front(),
                       saving ? rules::told("PT358") : progress_text(), saving ? "torch.save" : "print");
    f.edits = under(s.tree(), statements, torch + ".distributed.get_rank() == 0");
    if (saving)
      for (NodeId statement : statements) unwrap(s, statement, f.edits);
  }

  Program& program_;
  std::set<std::pair<Source*, NodeId>> of_training_, of_model_;
  std::map<std::pair<Source*, NodeId>, bool> wrapped_;  // mentions behind the wrapping, and whether it may not be
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
