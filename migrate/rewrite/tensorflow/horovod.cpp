// Horovod: each of its names by what the NPU has for it; imports that nothing needs any more are removed, the others
// stay (the guide's FAQ).
#include <algorithm>
#include <array>

#include "migrate/rewrite/tensorflow/script.h"

namespace updraft::migrate::rewrite::tensorflow {
namespace {

struct Number {
  std::string_view name, eager, compat;
  Need need;
};
/// In TensorFlow 2 of hccl.manage.api, under compat.v1 of npu_device's.
constexpr std::array<Number, 4> kNumbers = {{
    {"rank", "get_rank_id", "get_npu_rank_id", NeedRankId},
    {"size", "get_rank_size", "get_npu_rank_size", NeedRankSize},
    {"local_rank", "get_local_rank_id", "get_npu_local_rank_id", NeedLocalRank},
    {"local_size", "get_local_rank_size", "get_npu_local_rank_size", NeedLocalSize},
}};

class Horovod {
 public:
  explicit Horovod(Script& script) : s_(script), tree_(script.tree()) {}

  void run() {
    // the start and the end last: what is left of Horovod needs them
    std::vector<NodeId> bounds;
    for (NodeId id = 0; id < tree_.size(); ++id) {
      if (!use(id)) continue;
      const std::string name = s_.horovod(id);
      if (name == "init" || name == "shutdown" || name == "is_initialized") bounds.push_back(id);
      else one(id);
    }
    for (NodeId id = 0; id < tree_.size() && left_.empty(); ++id) {
      if (tree_.call_of(id) == kNone || !use(id)) continue;  // constants such as hvd.Average need no start
      const std::string name = s_.horovod(id);
      if (!name.empty() && std::find(bounds.begin(), bounds.end(), id) == bounds.end()) left_ = "hvd." + name;
    }
    for (NodeId id : bounds) one(id);
    for (NodeId id = 0; id < tree_.size(); ++id)
      if (tree_.kind(id) == Kind::Import || tree_.kind(id) == Kind::ImportFrom) import(id);
  }

 private:
  /// The outermost node of a name of Horovod that is read.
  bool use(NodeId id) const {
    const Kind kind = tree_.kind(id);
    if (kind != Kind::Attribute && kind != Kind::Identifier) return false;
    const NodeId up = tree_.parent(id);
    if (tree_.kind(up) == Kind::Attribute && (kind == Kind::Attribute || kind == Kind::Identifier)) return false;
    if (kind == Kind::Identifier) {
      const Kind above = tree_.kind(up);
      if (above == Kind::DottedName || above == Kind::AliasedImport) return false;
      if (above == Kind::KeywordArgument && tree_[id].field == Field::Name) return false;
    }
    return !s_.converted.contains(kind == Kind::Identifier ? id : root(id));
  }

  NodeId root(NodeId chain) const {
    while (tree_.kind(chain) == Kind::Attribute) chain = tree_.child(chain, Field::Object);
    return chain;
  }

  static Confidence sure(const Value& v) noexcept { return v.sure ? Confidence::Certain : Confidence::Likely; }

  Finding& changed(std::string_view rule, NodeId node, Confidence confidence, const Value& v, NodeId gone,
                   unsigned needs = NeedNone) {
    Finding& f = s_.add(rule, node, confidence, v.name, needs);
    if (s_.will(f)) s_.convert(gone);
    return f;
  }

  void one(NodeId id) {
    const Value v = s_.value(id);
    const std::string name = s_.horovod(v);
    if (name.empty()) return;
    if (s_.options.strategy != Strategy::Horovod) return;
    const NodeId call = tree_.call_of(id);
    for (const Number& n : kNumbers)
      if (name == n.name) {
        Finding& f = changed("TF071", id, sure(v), v, id, s_.options.compat ? NeedCompat : n.need);
        f.edits.push_back(s_.replace(id, std::string(s_.options.compat ? n.compat : n.eager)));
        return;
      }
    if (call != kNone) {
      if (name == "init" || name == "shutdown") return start(call, v);
      if (name == "is_initialized") {
        changed("TF070", call, sure(v), v, call).edits.push_back(s_.replace(call, "True"));
        return;
      }
      if (name == "DistributedOptimizer") return optimizer(call, v);
      if (name == "DistributedGradientTape" && !s_.options.compat) return tape(call, v);
      if (name == "broadcast_variables" && !s_.options.compat) return broadcast(call, v);
      if (name == "BroadcastGlobalVariablesHook" && s_.options.compat) return hook(call, v);
      if (name == "callbacks.BroadcastGlobalVariablesCallback") return callback(call, v);
      if (name == "callbacks.MetricAverageCallback" && element(call)) return average(call, v);
    }
    unsupported(id, name, v);
  }

  void unsupported(NodeId id, const std::string& name, const Value& v) {
    Finding& f = s_.add("TF079", id, sure(v), v.name);
    if (name == "allreduce" || name == "allreduce_") {
      f.suggestion = "npu.distribute.all_reduce";
    } else if (name == "broadcast" || name == "broadcast_") {
      f.suggestion = "npu.distribute.broadcast";
    } else if (name == "BroadcastGlobalVariablesHook" || name == "broadcast_global_variables") {
      f.suggestion = s_.options.compat ? "NPUBroadcastGlobalVariablesHook" : "npu.distribute.broadcast";
      if (!s_.options.compat) f.message += rules::told("horovod.compat");
    }
  }

  /// hvd.init(), hvd.shutdown()
  void start(NodeId call, const Value& v) {
    if (!left_.empty()) {
      Finding& f = s_.add("TF077", call, Confidence::Certain, {});
      f.message = rules::told("TF077.left", {left_});
      return;
    }
    Finding& f = changed("TF070", call, sure(v), v, call);
    f.edits.push_back(s_.is_statement(call) ? s_.remove_statement(tree_.parent(call)) : s_.replace(call, "None"));
  }

  enum class Reduction : std::uint8_t { Mean, Sum, Other };

  Reduction reduction(const Call& c) const {
    Reduction found = Reduction::Mean;
    for (const Argument& a : c.arguments) {
      if (a.name == "op") {
        const std::string op = s_.horovod(a.value);
        found = op == "Sum"                                            ? Reduction::Sum
                : op == "Average" || tree_.kind(a.value) == Kind::None ? Reduction::Mean
                                                                       : Reduction::Other;
      }
      if (a.name == "average" && tree_.kind(a.value) == Kind::False) found = Reduction::Sum;
      if ((a.name == "backward_passes_per_step" && s_.text(a.value) != "1") || a.name == "process_set" ||
          a.name == "gradient_predivide_factor")
        return Reduction::Other;
    }
    return found;
  }

  /// hvd.DistributedOptimizer(opt, …)
  void optimizer(NodeId call, const Value& v) {
    const Call c = s_.call(call, {"optimizer", "name"});
    const Argument* inner = c.find("optimizer");
    const Reduction how = reduction(c);
    const bool clear = inner && !c.splat && how != Reduction::Other && !(s_.options.compat && how == Reduction::Sum);
    const std::string to = s_.options.compat ? "npu_distributed_optimizer_wrapper"
                                             : s_.npu() + ".distribute.npu_distributed_keras_optimizer_wrapper";
    Finding& f =
        s_.add("TF072", call, clear ? sure(v) : Confidence::Review, v.name, s_.options.compat ? NeedCompat : NeedNpu);
    f.edits.push_back(s_.replace(c.callee, to));
    if (!inner) return;
    std::vector<NodeId> gone;
    for (const Argument& a : c.arguments)
      if (a.node != inner->node) gone.push_back(a.node);
    for (Edit& e : s_.remove_arguments(c, gone)) f.edits.push_back(std::move(e));
    if (how == Reduction::Sum) f.edits.push_back(s_.insert(tree_[inner->node].end, ", \"sum\""));
    if (inner->node != inner->value) f.edits.push_back({tree_[inner->node].begin, tree_[inner->value].begin, ""});
    if (!s_.will(f)) return;
    s_.convert(c.callee);
    for (NodeId g : gone) s_.convert(g);
  }

  /// tape = hvd.DistributedGradientTape(tape); tape.gradient(…)
  void tape(NodeId call, const Value& v) {
    const Call c = s_.call(call, {"gradtape", "device_dense"});
    const Argument* inner = c.find("gradtape");
    const Reduction how = reduction(c);
    if (!inner || c.splat || how == Reduction::Other) {
      s_.add("TF073", call, Confidence::Review, v.name);
      return;
    }
    // the name of the new tape, and where it is asked
    std::string_view name;
    const NodeId up = tree_.parent(call);
    const bool assigned = tree_.kind(up) == Kind::Assignment && tree_[call].field == Field::Right;
    if (assigned) name = s_.text(tree_.child(up, Field::Left));
    else if (tree_.kind(up) == Kind::AsPattern) name = s_.text(tree_.child(up, Field::Alias));
    std::vector<NodeId> gradients;
    const NodeId function = enclosing_function(tree_, call);
    const NodeId last = function == kNone ? tree_.size() : tree_[function].last;
    for (NodeId n = call; n < last; ++n) {
      if (tree_.kind(n) != Kind::Call) continue;
      const NodeId callee = tree_.child(n, Field::Function);
      if (tree_.kind(callee) != Kind::Attribute || s_.text(tree_.child(callee, Field::Attribute)) != "gradient")
        continue;
      const NodeId object = tree_.child(callee, Field::Object);
      if ((!name.empty() && s_.text(object) == name) || object == call) gradients.push_back(n);
    }
    if (tree_.kind(up) == Kind::Attribute) {  // hvd.DistributedGradientTape(tape).gradient(…)
      const NodeId outer = tree_.parent(up);
      if (tree_.kind(outer) == Kind::Call && s_.text(tree_.child(up, Field::Attribute)) == "gradient")
        gradients.push_back(outer);
    }
    Finding& f = s_.add("TF073", call, gradients.empty() ? Confidence::Review : Confidence::Likely, v.name, NeedNpu);
    if (assigned && s_.text(inner->value) == name && s_.is_statement(up))
      f.edits.push_back(s_.remove_statement(tree_.parent(up)));
    else f.edits.push_back(s_.replace(call, std::string(s_.text(inner->value))));
    for (NodeId g : gradients) {
      f.edits.push_back(s_.insert(tree_[g].begin, s_.npu() + ".distribute.all_reduce("));
      f.edits.push_back(s_.insert(tree_[g].end, how == Reduction::Sum ? ", \"sum\")" : ", \"mean\")"));
    }
    if (s_.will(f)) s_.convert(call);
  }

  void broadcast(NodeId call, const Value& v) {
    const Call c = s_.call(call, {"variables", "root_rank"});
    std::vector<NodeId> gone;
    for (const Argument& a : c.arguments)
      if (a.name != "variables" && a.name != "root_rank") gone.push_back(a.node);
    Finding& f = s_.add("TF074", call, c.splat ? Confidence::Review : sure(v), v.name, NeedNpu);
    f.edits.push_back(s_.replace(c.callee, s_.npu() + ".distribute.broadcast"));
    if (const Argument* values = c.find("variables"); values && values->node != values->value)
      f.edits.push_back(s_.replace(tree_.child(values->node, Field::Name), "values"));
    for (Edit& e : s_.remove_arguments(c, gone)) f.edits.push_back(std::move(e));
    if (s_.will(f)) s_.convert(c.callee);
  }

  std::string root_rank(const Call& c) const {
    const Argument* root = c.find("root_rank");
    return root ? std::string(s_.text(root->value)) : "0";
  }

  void hook(NodeId call, const Value& v) {
    const Call c = s_.call(call, {"root_rank", "device"});
    Finding& f = s_.add("TF063", call, c.splat ? Confidence::Review : sure(v), v.name, NeedCompat | NeedOs);
    if (c.splat) return;
    f.edits.push_back(s_.replace(c.callee, "NPUBroadcastGlobalVariablesHook"));
    f.edits.push_back(s_.replace(c.list, "(" + root_rank(c) + ", int(os.getenv('RANK_ID', '0')))"));
    if (s_.will(f)) s_.convert(call);
  }

  void callback(NodeId call, const Value& v) {
    const Call c = s_.call(call, {"root_rank", "device"});
    if (s_.options.compat) {
      Finding& f = s_.add("TF066", call, c.splat ? Confidence::Review : sure(v), v.name, NeedCompat);
      f.edits.push_back(s_.replace(c.callee, "NPUBroadcastGlobalVariablesCallback"));
      f.edits.push_back(s_.replace(c.list, "(" + root_rank(c) + ")"));
      if (s_.will(f)) s_.convert(call);
      return;
    }
    const std::string model = fitted(call);
    if (model.empty() || c.splat) {
      unsupported(tree_.child(call, Field::Function), "broadcast", v);
      return;
    }
    Finding& f = s_.add("TF075", call, Confidence::Likely, v.name, NeedNpu | (s_.has_tf() ? 0U : unsigned{NeedTf}));
    f.edits.push_back(s_.replace(
        call, s_.tf("keras.callbacks.LambdaCallback") + "(on_batch_end=lambda batch, logs: batch or " + s_.npu() +
                  ".distribute.broadcast(" + model + ".variables, root_rank=" + root_rank(c) + "))"));
    if (s_.will(f)) s_.convert(call);
  }

  /// The one object of this file that is fitted: `model` of model.fit(…). Empty where there are several.
  std::string fitted(NodeId call) const {
    std::string found;
    const NodeId function = enclosing_function(tree_, call);
    const NodeId from = function == kNone ? 0 : function;
    for (NodeId n = from; n < tree_[from].last; ++n) {
      if (tree_.kind(n) != Kind::Call) continue;
      const NodeId callee = tree_.child(n, Field::Function);
      if (tree_.kind(callee) != Kind::Attribute) continue;
      const std::string_view method = s_.text(tree_.child(callee, Field::Attribute));
      if (method != "fit" && method != "fit_generator") continue;
      const std::string object(s_.text(tree_.child(callee, Field::Object)));
      if (object.find_first_of("(\n") != std::string::npos) return {};
      if (!found.empty() && found != object) return {};
      found = object;
    }
    return found;
  }

  bool element(NodeId call) const {
    const Kind above = tree_.kind(tree_.parent(call));
    return above == Kind::List || above == Kind::Tuple;
  }

  void average(NodeId call, const Value& v) {
    const NodeId list = tree_.parent(call);
    Finding& f = changed("TF070", call, Confidence::Likely, v, call);
    f.message = rules::told("TF070.average");
    NodeId before = kNone, after = kNone;
    bool passed = false;
    for (NodeId e : tree_.children(list)) {
      if (e == call) passed = true;
      else if (!passed) before = e;
      else if (after == kNone) after = e;
    }
    const syntax::Node& node = tree_[call];
    if (const Edit line = own_line(call); line.end > line.begin) f.edits.push_back(line);
    else if (after != kNone) f.edits.push_back({node.begin, tree_[after].begin, ""});
    else if (before != kNone) f.edits.push_back({tree_[before].end, node.end, ""});
    else f.edits.push_back({tree_[list].begin + 1, tree_[list].end - 1, ""});
  }

  /// The lines that an element has for itself, with its comma: comments around it stay. Empty where it shares them.
  Edit own_line(NodeId element) const {
    const std::string_view source = tree_.text();
    const std::uint32_t begin = tree_[element].begin, end = tree_[element].end;
    const std::size_t start = begin == 0 ? 0 : source.rfind('\n', begin - 1) + 1;
    const std::size_t stop = source.find('\n', end);
    if (stop == std::string_view::npos ||
        source.substr(start, begin - start).find_first_not_of(" \t") != std::string_view::npos ||
        source.substr(end, stop - end).find_first_not_of(" \t\r,") != std::string_view::npos)
      return {};
    return {static_cast<std::uint32_t>(start), static_cast<std::uint32_t>(stop + 1), ""};
  }

  void import(NodeId statement) {
    const bool from = tree_.kind(statement) == Kind::ImportFrom;
    std::vector<NodeId> items, ours, needed;
    bool tensorflow = false, star = false;
    for (NodeId item : tree_.children(statement)) {
      star = star || tree_.kind(item) == Kind::WildcardImport;
      if (tree_[item].field != Field::Name) continue;
      items.push_back(item);
      const bool aliased = tree_.kind(item) == Kind::AliasedImport;
      const NodeId dotted = aliased ? tree_.child(item, Field::Name) : item;
      std::string module(s_.text(dotted));
      if (from) module = std::string(s_.text(tree_.child(statement, Field::ModuleName))) + "." + module;
      if (!rules::under(module, "horovod")) continue;
      if (own("horovod")) return;
      const bool replaced = rules::under(module, "horovod.tensorflow") || rules::under(module, "horovod.keras");
      tensorflow = tensorflow || replaced;
      ours.push_back(item);
      const NodeId bound = aliased ? tree_.child(item, Field::Alias) : tree_.child(dotted, std::size_t{0});
      if (!replaced || used(bound, item)) needed.push_back(item);
    }
    if (star && rules::under(s_.text(tree_.child(statement, Field::ModuleName)), "horovod")) {
      tensorflow = true;
      ours.push_back(statement);
      needed.push_back(statement);
    }
    if (ours.empty()) return;
    if (s_.options.strategy != Strategy::Horovod) {
      if (tensorflow) s_.add("TF078", statement, Confidence::Certain, {});
      return;
    }
    const bool package = s_.sites.module.path().ends_with("__init__.py");  // others may take the names from here
    if (!needed.empty() || package) {
      s_.add("TF077", statement, Confidence::Certain, {});
      if (package) return;
    }
    if (needed.size() == ours.size()) return;
    Finding& f = s_.add("TF076", statement, Confidence::Certain, {});
    if (items.size() == ours.size() && needed.empty()) {
      f.edits.push_back(s_.remove_statement(statement));
      return;
    }
    std::vector<NodeId> gone;
    for (NodeId item : ours)
      if (std::find(needed.begin(), needed.end(), item) == needed.end()) gone.push_back(item);
    Call list;  // items are separated as arguments are
    for (NodeId item : items) list.arguments.push_back({{}, item, item});
    f.edits = s_.remove_arguments(list, gone);
  }

  bool own(std::string_view module) const {
    const names::Project* project = s_.sites.module.project();
    return project && !project->file_of(module, s_.sites.module.path()).empty();
  }

  /// Whether a name that an import binds is still read.
  bool used(NodeId bound, NodeId item) const {
    const names::Scopes& scopes = s_.sites.module.scopes();
    const std::string_view name = s_.text(bound);
    for (NodeId id = 0; id < tree_.size(); ++id) {
      if (tree_.kind(id) != Kind::Identifier || id == bound || s_.text(id) != name || s_.converted.contains(id))
        continue;
      const Kind above = tree_.kind(tree_.parent(id));
      if (!tree_.is_reference(id)) continue;
      if (above == Kind::Assignment && tree_[id].field == Field::Left) continue;
      const auto* bindings = scopes.lookup(name, scopes.of(id));
      if (bindings &&
          std::any_of(bindings->begin(), bindings->end(), [&](const names::Binding& b) { return b.node == item; }))
        return true;
    }
    return false;
  }

  Script& s_;
  const syntax::Tree& tree_;
  std::string left_;  ///< the first part of Horovod that is called and stays
};

}  // namespace

void horovod(Script& script) { Horovod(script).run(); }

}  // namespace updraft::migrate::rewrite::tensorflow
