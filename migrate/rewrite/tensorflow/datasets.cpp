// tf.data: batches of one shape, and data of which each worker has its part.
#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>

#include "migrate/rewrite/tensorflow/script.h"
#include "migrate/source/words.h"

namespace updraft::migrate::rewrite::tensorflow {
namespace {

/// How sure it is that an object is a tf.data.Dataset.
enum class Sure : std::uint8_t { No, Unknown, Likely, Yes };

constexpr std::array<std::string_view, 34> kMethods = {"apply",
                                                       "batch",
                                                       "bucket_by_sequence_length",
                                                       "cache",
                                                       "concatenate",
                                                       "enumerate",
                                                       "filter",
                                                       "flat_map",
                                                       "group_by_window",
                                                       "ignore_errors",
                                                       "interleave",
                                                       "map",
                                                       "padded_batch",
                                                       "prefetch",
                                                       "ragged_batch",
                                                       "rebatch",
                                                       "rejection_resample",
                                                       "repeat",
                                                       "scan",
                                                       "shard",
                                                       "shuffle",
                                                       "skip",
                                                       "snapshot",
                                                       "sparse_batch",
                                                       "take",
                                                       "take_while",
                                                       "unbatch",
                                                       "unique",
                                                       "window",
                                                       "with_options",
                                                       "zip",
                                                       "from_tensor_slices",
                                                       "from_generator",
                                                       "list_files"};

/// Methods that hardly anything else has.
constexpr std::array<std::string_view, 6> kTelling = {"prefetch",     "interleave",   "flat_map",
                                                      "padded_batch", "with_options", "shuffle"};

using source::among;

std::string lower(std::string_view name) {
  std::string low(name);
  for (char& c : low)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return low;
}

bool named_dataset(std::string_view name) {
  const std::string low = lower(name);
  return low == "ds" || low.ends_with("_ds") || low.starts_with("ds_") || low.find("dataset") != std::string::npos ||
         low.find("data_set") != std::string::npos;
}

/// A dataset by what makes it: tf.data.Dataset.range(…), tf.data.TFRecordDataset(…).
bool makes_dataset(std::string_view api) noexcept {
  if (rules::under(api, "data.Dataset")) return true;
  if (!rules::under(api, "data")) return false;
  const std::string_view last = api.substr(api.rfind('.') + 1);
  return last.ends_with("Dataset") || last.ends_with("DatasetV2") || last.ends_with("DatasetV1") || last == "Counter" ||
         last == "sample_from_datasets" || last == "choose_from_datasets" || last == "load" ||
         last == "make_csv_dataset" || last == "make_batched_features_dataset";
}

class Datasets {
 public:
  explicit Datasets(Script& script) : s_(script), tree_(script.tree()) {}

  void run() {
    NodeId first = kNone;
    bool divided = false;
    for (NodeId id = 0; id < tree_.size(); ++id) {
      if (tree_.kind(id) == Kind::Attribute &&
          s_.text(tree_.child(id, Field::Attribute)) == "shard_and_rebatch_dataset")
        divided = true;
      if (tree_.kind(id) != Kind::Call) continue;
      const NodeId callee = tree_.child(id, Field::Function);
      if (tree_.kind(callee) != Kind::Attribute) {
        transformation(id, callee);
        continue;
      }
      const std::string_view method = s_.text(tree_.child(callee, Field::Attribute));
      if (method == "batch" || method == "padded_batch" || method == "ragged_batch" ||
          method == "bucket_by_sequence_length") {
        if (batch(id, callee, method) && first == kNone) first = id;
      } else if (method == "shard") {
        divided = shard(id, callee) || divided;
      } else {
        transformation(id, callee);
      }
    }
    if (s_.options.strategy != Strategy::None && first != kNone && !divided)
      s_.add("TF012", first, Confidence::Review, {}).suggestion = "npu.distribute.shard_and_rebatch_dataset";
  }

 private:
  /// ds.batch(n)
  bool batch(NodeId id, NodeId callee, std::string_view method) {
    const NodeId object = tree_.child(callee, Field::Object);
    const Sure sure = dataset(object);
    if (sure == Sure::No) return false;
    Call c;
    if (method == "batch")
      c = s_.call(id, {"batch_size", "drop_remainder", "num_parallel_calls", "deterministic", "name"});
    else if (method == "padded_batch")
      c = s_.call(id, {"batch_size", "padded_shapes", "padding_values", "drop_remainder", "name"});
    else if (method == "ragged_batch") c = s_.call(id, {"batch_size", "drop_remainder", "row_splits_dtype", "name"});
    else
      c = s_.call(id, {"element_length_func", "bucket_boundaries", "bucket_batch_sizes", "padded_shapes",
                       "padding_values", "pad_to_bucket_boundary", "no_padding", "drop_remainder", "name"});
    if (c.arguments.empty() && !c.splat) return false;  // batch() of something else
    for (const Argument& a : c.arguments)
      if (a.name.empty() && a.value != kNone && !c.splat) return false;  // more arguments than a dataset's method has
    static constexpr std::array<std::string_view, 15> known = {"batch_size",
                                                               "drop_remainder",
                                                               "num_parallel_calls",
                                                               "deterministic",
                                                               "name",
                                                               "padded_shapes",
                                                               "padding_values",
                                                               "row_splits_dtype",
                                                               "element_length_func",
                                                               "bucket_boundaries",
                                                               "bucket_batch_sizes",
                                                               "pad_to_bucket_boundary",
                                                               "no_padding",
                                                               "",
                                                               "num_parallel_batches"};
    for (const Argument& a : c.arguments)
      if (!among(known, a.name)) return false;
    Confidence confidence = sure == Sure::Yes      ? Confidence::Certain
                            : sure == Sure::Likely ? Confidence::Likely
                                                   : Confidence::Review;
    if (const Argument* size = c.find("batch_size"); size && s_.text(size->value) == "1")
      return sure >= Sure::Likely;  // nothing remains
    const bool evaluates = predicts(id);
    if (evaluates || of_a_window(id)) confidence = Confidence::Review;
    drop(c, confidence, sure >= Sure::Likely ? "tensorflow.data.Dataset." + std::string(method) : std::string());
    return sure >= Sure::Likely;
  }

  /// dataset.apply(tf.data.experimental.map_and_batch(f, n))
  void transformation(NodeId id, NodeId callee) {
    const Value v = s_.value(callee);
    const std::string api = s_.api(v);
    if (api == "data.experimental.map_and_batch" || api == "contrib.data.map_and_batch")
      drop(s_.call(id, {"map_func", "batch_size", "num_parallel_batches", "drop_remainder", "num_parallel_calls"}),
           Confidence::Certain, v.name);
    else if (api == "data.experimental.dense_to_ragged_batch")
      drop(s_.call(id, {"batch_size", "drop_remainder", "row_splits_dtype"}), Confidence::Certain, v.name);
  }

  void drop(const Call& c, Confidence confidence, const std::string& api) {
    const Argument* given = c.find("drop_remainder");
    if (!given) {
      if (c.splat) confidence = Confidence::Review;
      Finding& f = s_.add("TF010", c.node, confidence, api);
      if (!c.splat) f.edits.push_back(s_.add_argument(c, "drop_remainder=True"));
      return;
    }
    if (tree_.kind(given->value) == Kind::True) return;
    // False, a name or a condition: somebody thought about it
    Finding& f = s_.add("TF010", c.node, Confidence::Review, api);
    f.edits.push_back(s_.replace(given->value, "True"));
  }

  /// Batches that a function makes of the window that it is given: group_by_window's reduce_func, whose windows end
  /// with each key's samples and whose shapes differ anyway, and flat_map's of .window().
  bool of_a_window(NodeId id) {
    for (NodeId up = tree_.parent(id); up != kNone; up = tree_.parent(up)) {
      if (tree_.kind(up) == Kind::Lambda && takes_windows(up)) return true;
      if (tree_.kind(up) != Kind::Function) continue;
      // by its name, wherever it is mentioned as an argument: functools.partial(f, n), lambda key, window: f(window)
      for (NodeId n : identifiers(s_.text(tree_.child(up, Field::Name)))) {
        if (tree_.inside(n, up)) continue;
        for (NodeId mine = n; mine != kNone && tree_.kind(mine) != Kind::Block; mine = tree_.parent(mine))
          if (takes_windows(mine)) return true;
      }
    }
    return false;
  }

  /// Whether an expression is the function of group_by_window or of flat_map on .window().
  bool takes_windows(NodeId value) const {
    const NodeId argument = tree_.kind(tree_.parent(value)) == Kind::KeywordArgument ? tree_.parent(value) : value;
    if (tree_.kind(tree_.parent(argument)) != Kind::ArgumentList) return false;
    const NodeId callee = tree_.child(tree_.parent(tree_.parent(argument)), Field::Function);
    const std::string_view called = s_.text(callee);
    const auto ends = [&](std::string_view name) {
      return called == name || called.ends_with("." + std::string(name));
    };
    if (ends("group_by_window")) {
      if (argument != value) return s_.text(tree_.child(argument, Field::Name)) == "reduce_func";
      return tree_.child(tree_.parent(argument), std::size_t{0}) != argument;  // the first gives the key
    }
    return (ends("flat_map") || ends("interleave")) && tree_.kind(callee) == Kind::Attribute &&
           s_.text(tree_.child(callee, Field::Object)).find(".window(") != std::string_view::npos;
  }

  /// A prediction needs a result for each sample, and an evaluation is one over all of them: by the function or the
  /// variable, by what the data are made of, or by what is done with them.
  bool predicts(NodeId id) {
    const NodeId function = enclosing_function(tree_, id);
    if (function != kNone && says_evaluation(s_.text(tree_.child(function, Field::Name)))) return true;
    NodeId chain = id;  // ds.map(f).batch(n).prefetch(1)
    while (tree_.kind(tree_.parent(chain)) == Kind::Attribute && tree_.call_of(tree_.parent(chain)) != kNone)
      chain = tree_.call_of(tree_.parent(chain));
    const NodeId up = tree_.parent(chain);
    if (tree_.kind(up) == Kind::Assignment && tree_[chain].field == Field::Right) {
      const std::string_view name = s_.text(tree_.child(up, Field::Left));
      if (says_evaluation(name) || evaluated(name)) return true;
    }
    if (takes_evaluation(chain)) return true;
    if (function != kNone && (evaluated_calls(function) || takes_split(function))) return true;
    return made_of_evaluation(id);
  }

  /// def load(path, split, batch_size): whoever calls it says whether the data are for an evaluation.
  bool takes_split(NodeId function) const {
    const NodeId parameters = tree_.child(function, Field::Parameters);
    for (NodeId p : tree_.children(parameters)) {
      const NodeId name = tree_.kind(p) == Kind::Identifier ? p : tree_.child(p, std::size_t{0});
      const NodeId named = tree_.child(p, Field::Name) != kNone ? tree_.child(p, Field::Name) : name;
      if (const std::string_view text = s_.text(named); text == "split" || text == "subset") return true;
    }
    return false;
  }

  /// test, val, eval, … as a word of a name.
  static bool says_evaluation(std::string_view written) {
    const std::string name = lower(written);
    for (std::string_view part : {"predict", "infer", "serving", "evaluat"})
      if (name.find(part) != std::string::npos) return true;
    for (std::size_t at = 0; at < name.size();) {
      const std::size_t end = std::min(name.find_first_of("_.[]\"' ", at), name.size());
      const std::string_view word = std::string_view(name).substr(at, end - at);
      static constexpr std::array<std::string_view, 11> words = {
          "test", "tests", "testing", "val", "valid", "validation", "eval", "evaluation", "dev", "holdout", "testset"};
      if (among(words, word)) return true;
      at = end + 1;
    }
    return false;
  }

  /// model.evaluate(data), model.fit(…, validation_data=data)
  bool takes_evaluation(NodeId value) const {
    const NodeId up = tree_.parent(value);
    if (tree_.kind(up) == Kind::KeywordArgument)
      return s_.text(tree_.child(up, Field::Name)) == "validation_data" && tree_[value].field == Field::Value;
    if (tree_.kind(up) != Kind::ArgumentList) return false;
    const NodeId callee = tree_.child(tree_.parent(up), Field::Function);
    if (tree_.kind(callee) != Kind::Attribute) return false;
    const std::string_view method = s_.text(tree_.child(callee, Field::Attribute));
    return method == "evaluate" || method == "predict";
  }

  /// Whether a variable is given to an evaluation anywhere in the source, and to no training.
  bool evaluated(std::string_view name) {
    bool found = false;
    for (NodeId n : identifiers(name)) {
      if (takes_evaluation(n)) found = true;
      const NodeId up = tree_.parent(n);
      if (tree_.kind(up) != Kind::ArgumentList || tree_.child(up, std::size_t{0}) != n) continue;
      const NodeId callee = tree_.child(tree_.parent(up), Field::Function);
      if (tree_.kind(callee) == Kind::Attribute && s_.text(tree_.child(callee, Field::Attribute)) == "fit")
        return false;
    }
    return found;
  }

  const std::vector<NodeId>& identifiers(std::string_view name) {
    if (!identifiers_) {
      identifiers_.emplace();
      for (NodeId n = 0; n < tree_.size(); ++n)
        if (tree_.kind(n) == Kind::Identifier) (*identifiers_)[tree_.text(n)].push_back(n);
    }
    return (*identifiers_)[name];
  }

  /// Whether an evaluation has what a function returns, alone or beside the training: model.evaluate(pipeline(x)),
  /// def eval_input(): return pipeline(x).
  bool evaluated_calls(NodeId function) {
    for (NodeId n : identifiers(s_.text(tree_.child(function, Field::Name)))) {
      const NodeId call = tree_.call_of(n);
      if (call == kNone || tree_.inside(n, function)) continue;
      if (takes_evaluation(call)) return true;
      const NodeId up = tree_.parent(call), caller = enclosing_function(tree_, call);
      if (caller != kNone && says_evaluation(s_.text(tree_.child(caller, Field::Name)))) return true;
      if (tree_.kind(up) == Kind::Assignment &&
          (says_evaluation(s_.text(tree_.child(up, Field::Left))) || evaluated(s_.text(tree_.child(up, Field::Left)))))
        return true;
    }
    return false;
  }

  /// from_tensor_slices((x_test, y_test)).batch(n), tfds.load(name, split="test").batch(n),
  /// splits["validation"].batch(n)
  bool made_of_evaluation(NodeId id) const {
    NodeId base = id;
    while (base != kNone) {
      if (tree_.kind(base) == Kind::Call) {
        const NodeId callee = tree_.child(base, Field::Function);
        for (NodeId a : tree_.children(tree_.child(base, Field::Arguments))) {
          const bool split = tree_.kind(a) == Kind::KeywordArgument && s_.text(tree_.child(a, Field::Name)) == "split";
          if (split && says_evaluation(s_.text(tree_.child(a, Field::Value)))) return true;
          if (base != id && (tree_.kind(a) == Kind::Tuple || tree_.kind(a) == Kind::Identifier) &&
              tree_.kind(callee) == Kind::Attribute &&
              s_.text(tree_.child(callee, Field::Attribute)).starts_with("from_"))
            for (NodeId n = a; n < tree_[a].last; ++n)
              if (tree_.kind(n) == Kind::Identifier && says_evaluation(tree_.text(n))) return true;
        }
        base = tree_.kind(callee) == Kind::Attribute ? tree_.child(callee, Field::Object) : kNone;
      } else {
        const Kind kind = tree_.kind(base);
        return (kind == Kind::Identifier || kind == Kind::Subscript || kind == Kind::Attribute) &&
               says_evaluation(s_.text(base));
      }
    }
    return false;
  }

  /// dataset.shard(n, i). True where the data are divided already.
  bool shard(NodeId id, NodeId callee) {
    const Sure sure = dataset(tree_.child(callee, Field::Object));
    if (sure < Sure::Likely || s_.options.strategy == Strategy::None) return false;
    const Call c = s_.call(id, {"num_shards", "index", "name"});
    const Argument* number = c.find("num_shards");
    const Argument* index = c.find("index");
    if (!number || !index) return false;
    const std::string size = s_.options.compat ? "get_npu_rank_size()" : "get_rank_size()";
    const std::string rank = s_.options.compat ? "get_npu_rank_id()" : "get_rank_id()";
    if (s_.text(number->value) == size) return true;
    // Horovod's own numbers are exchanged where they stand
    for (NodeId n = number->value; n < tree_[number->value].last; ++n)
      if (!s_.horovod(n).empty()) return true;
    Finding& f = s_.add("TF011", id, Confidence::Review, "tensorflow.data.Dataset.shard",
                        s_.options.compat ? NeedCompat : NeedRankId | NeedRankSize);
    f.edits = {s_.replace(number->value, size), s_.replace(index->value, rank)};
    return true;
  }

  Sure dataset(NodeId node, int depth = 0) {
    if (node == kNone || depth > 64) return Sure::Unknown;
    const auto [at, fresh] = known_.try_emplace(node, Sure::Unknown);  // dataset = dataset.map(f) asks for itself
    if (!fresh) return at->second;
    const Sure found = look(node, depth);
    known_[node] = found;
    return found;
  }

  Sure look(NodeId node, int depth) {
    switch (tree_.kind(node)) {
      case Kind::Parenthesized: return dataset(tree_.child(node, std::size_t{0}), depth + 1);
      case Kind::NamedExpression: return dataset(tree_.child(node, Field::Value), depth + 1);
      case Kind::Conditional:
        return std::max(dataset(tree_.child(node, std::size_t{0}), depth + 1),
                        dataset(tree_.child(node, std::size_t{2}), depth + 1));
      case Kind::Call: return call(node, depth);
      case Kind::Identifier: return name(node, depth);
      case Kind::Attribute: return attribute(node, depth);
      // what tfds.load gives is a dictionary of datasets
      case Kind::Subscript: return std::min(Sure::Likely, dataset(tree_.child(node, Field::Value), depth + 1));
      case Kind::String:
      case Kind::List:
      case Kind::Dictionary:
      case Kind::Set:
      case Kind::Integer:
      case Kind::None:
      case Kind::ListComprehension: return Sure::No;
      default: return Sure::Unknown;
    }
  }

  Sure call(NodeId node, int depth) {
    const NodeId callee = tree_.child(node, Field::Function);
    const Value v = s_.value(callee);
    if (v.what == What::Api) {
      if (const std::string api = s_.api(v); !api.empty())
        return makes_dataset(api)                                        ? (v.sure ? Sure::Yes : Sure::Likely)
               : api.find("dataset_from_directory") != std::string::npos ? Sure::Yes
                                                                         : Sure::No;
      // tensorflow_datasets gives datasets, or several of them
      if (rules::under(v.name, "tensorflow_datasets"))
        return v.name.ends_with(".load") || v.name.ends_with(".as_dataset") ? Sure::Likely : Sure::Unknown;
      return rules::under(v.name, "torch") || rules::under(v.name, "numpy") || rules::under(v.name, "pandas") ||
                     rules::under(v.name, "jax")
                 ? Sure::No
                 : Sure::Unknown;
    }
    if (v.what == What::Class) return own_class(v, {});
    if (v.what == What::Function) return own_function(v, depth);
    if (v.what == What::Member && v.own) return Sure::Unknown;
    if (tree_.kind(callee) != Kind::Attribute) return Sure::Unknown;
    const std::string_view method = s_.text(tree_.child(callee, Field::Attribute));
    if (!among(kMethods, method)) return Sure::Unknown;
    const Sure base = dataset(tree_.child(callee, Field::Object), depth + 1);
    return base == Sure::Unknown && among(kTelling, method) ? Sure::Likely : base;
  }

  Sure own_class(const Value& v, std::string_view method) const {
    const names::Project* project = s_.sites.module.project();
    if (!project) return Sure::No;
    if (!method.empty() && !project->defines(v.name, std::string(method)).empty()) return Sure::No;
    return project->derives(
               v.name,
               [](std::string_view base) { return base.find("tensorflow.data") == 0 && base.ends_with("Dataset"); })
               ? Sure::Likely
               : Sure::No;
  }

  Sure own_function(const Value& v, int depth) {
    const std::size_t hash = v.name.find('#');
    const std::string_view bare = std::string_view(v.name).substr(hash + 1);
    if (v.name.substr(0, hash) == s_.sites.module.path()) {
      for (NodeId id = 0; id < tree_.size(); ++id)
        if (tree_.kind(id) == Kind::Function && s_.text(tree_.child(id, Field::Name)) == bare) {
          Sure best = Sure::Unknown;
          for (NodeId r = id; r < tree_[id].last; ++r)
            if (tree_.kind(r) == Kind::Return && enclosing_function(tree_, r) == id)
              best = std::max(best, dataset(tree_.child(r, std::size_t{0}), depth + 1));
          if (best > Sure::Unknown) return best;
        }
    }
    return named_dataset(bare) || bare.ends_with("input_fn") ? Sure::Likely : Sure::Unknown;
  }

  Sure by_bindings(const std::vector<NodeId>& values, int depth) {
    Sure best = Sure::No;
    bool any = false;
    for (NodeId v : values) {
      if (v == kNone || tree_.kind(v) == Kind::None) continue;
      const Sure one = dataset(v, depth + 1);
      best = any ? std::max(best, one) : one;
      any = true;
      if (best == Sure::Yes) break;
    }
    return any ? best : Sure::Unknown;
  }

  Sure name(NodeId node, int depth) {
    const std::string_view written = s_.text(node);
    const Sure guess = named_dataset(written) ? Sure::Likely : Sure::Unknown;
    const Value v = s_.value(node);
    if (v.what == What::Instance) {
      if (v.own) return own_class(v, "batch");
      if (const std::string api = s_.api(Value{What::Api, v.name}); !api.empty())
        return makes_dataset(api) ? Sure::Yes : Sure::No;
      return Sure::No;
    }
    if (v.what == What::Api)  // tf.data.Dataset itself, a module
      return Sure::No;
    if (v.what == What::Module || v.what == What::Class || v.what == What::Function || v.what == What::String)
      return Sure::No;
    const auto* bindings = s_.sites.module.scopes().lookup(written, s_.sites.module.scopes().of(node));
    if (!bindings) return guess;
    std::vector<NodeId> values;
    bool open = false;
    for (const names::Binding& b : *bindings) {
      if (b.how == names::Bind::Assignment) values.push_back(b.value);
      else open = true;
      if (b.how == names::Bind::Loop && unpacked(b.node)) return Sure::Likely;
    }
    if (const Sure found = by_bindings(values, depth); found > Sure::Unknown) return found;
    else if (found == Sure::No && !values.empty() && !open) return Sure::No;
    return guess;
  }

  /// (train, test), info = tfds.load(…): the names of the pairs are datasets
  bool unpacked(NodeId name) const {
    const NodeId assignment = tree_.ancestor(name, Kind::Assignment);
    if (assignment == kNone || !tree_.inside(name, tree_.child(assignment, Field::Left))) return false;
    const NodeId right = tree_.child(assignment, Field::Right);
    if (tree_.kind(right) != Kind::Call) return false;
    const Value v = s_.value(tree_.child(right, Field::Function));
    return v.what == What::Api && rules::under(v.name, "tensorflow_datasets") && v.name.ends_with(".load");
  }

  Sure attribute(NodeId node, int depth) {
    const std::string_view written = s_.text(tree_.child(node, Field::Attribute));
    const NodeId object = tree_.child(node, Field::Object);
    const Sure guess = named_dataset(written) ? Sure::Likely : Sure::Unknown;
    const Value v = s_.value(node);
    if (v.what == What::Api || v.what == What::String || v.what == What::Class || v.what == What::Function)
      return Sure::No;
    if (v.what == What::Instance && v.own) return own_class(v, "batch");
    const names::Scopes& scopes = s_.sites.module.scopes();
    const names::ScopeId owner = scopes.class_of_self(s_.text(object), scopes.of(node));
    if (owner != names::kNoScope)
      if (const auto set = scopes[owner].attributes.find(written); set != scopes[owner].attributes.end())
        if (const Sure found = by_bindings(set->second, depth); found != Sure::Unknown) return found;
    return guess;
  }

  Script& s_;
  const syntax::Tree& tree_;
  std::unordered_map<NodeId, Sure> known_;
  std::optional<std::unordered_map<std::string_view, std::vector<NodeId>>> identifiers_;
};

}  // namespace

void datasets(Script& script) { Datasets(script).run(); }

}  // namespace updraft::migrate::rewrite::tensorflow
