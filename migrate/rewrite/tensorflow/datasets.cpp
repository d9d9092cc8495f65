// tf.data: batches of one shape, and data of which each worker has its part.
#include <algorithm>
#include <array>
#include <unordered_map>

#include "migrate/rewrite/tensorflow/script.h"
#include "migrate/source/among.h"

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
    if (predicts(id)) confidence = Confidence::Review;
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
    // a name or a condition: somebody thought about it
    const bool constant = tree_.kind(given->value) == Kind::False;
    Finding& f = s_.add("TF010", c.node, constant ? confidence : Confidence::Review, api);
    f.edits.push_back(s_.replace(given->value, "True"));
  }

  /// A prediction needs a result for each sample.
  bool predicts(NodeId id) const {
    const NodeId function = enclosing_function(tree_, id);
    std::string around = function == kNone ? "" : lower(s_.text(tree_.child(function, Field::Name)));
    const NodeId statement = tree_.statement(id);
    if (tree_.kind(tree_.child(statement, std::size_t{0})) == Kind::Assignment)
      around += " " + lower(s_.text(tree_.child(tree_.child(statement, std::size_t{0}), Field::Left)));
    return around.find("predict") != std::string::npos || around.find("infer") != std::string::npos ||
           around.find("serving") != std::string::npos;
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
};

}  // namespace

void datasets(Script& script) { Datasets(script).run(); }

}  // namespace updraft::migrate::rewrite::tensorflow
