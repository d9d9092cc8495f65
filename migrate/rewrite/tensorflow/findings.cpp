#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include "base/error.h"
#include "migrate/rewrite/tensorflow/script.h"
#include "migrate/support/tf_api.h"

namespace updraft::migrate::rewrite::tensorflow {

// What the findings of this folder say. Rules that need no code are in rules/tensorflow/*.yaml.
namespace {

rules::Rule make(const char* id, Category category, Confidence confidence, const char* en, const char* zh) {
  rules::Rule r;
  r.id = id;
  r.framework = "tensorflow";
  r.category = category;
  r.confidence = confidence;
  r.message = {en, zh};
  r.source = "rewrite/tensorflow";
  return r;
}

std::vector<rules::Rule> all() {
  using enum Category;
  constexpr Confidence certain = Confidence::Certain, likely = Confidence::Likely, review = Confidence::Review;
  return {
      make("TF001", Change, certain,
           "npu.open().as_default() makes the NPU the default device; it comes before other imports so that none of "
           "them computes elsewhere",
           "npu.open().as_default() 将 NPU 设为默认设备；须先于其他 import 执行，避免其间的算子未分发到 NPU"),
      make("TF002", Change, certain, "what was migrated in this file uses these names",
           "本文件迁移后的代码需要导入这些名称"),
      make("TF003", Change, certain, "compat.v1 scripts run on the NPU through npu_device.compat.enable_v1()",
           "compat.v1 脚本通过 npu_device.compat.enable_v1() 在 NPU 上执行"),
      make(
          "TF004", Change, likely,
          "hvd.init() becomes init_resource(); its session is closed by shutdown_resource and close_session at the end",
          "hvd.init() 由 init_resource() 代替，训练结束后调用 shutdown_resource 与 close_session"),
      make("TF005", Change, likely,
           "Keras under compat.v1 trains in a session that is configured for the NPU; it is closed at the end",
           "compat.v1 下的 Keras 训练需注册带 NPU 配置的 Session，并在训练结束时关闭"),
      make("TF010", Change, likely,
           "drop_remainder=True keeps the batch's shape static: the last, smaller batch would compile a dynamic shape. "
           "Samples that do not fill a batch are left out",
           "设置 drop_remainder=True 使每个 step 的 shape 一致，避免最后一个 batch 触发动态 shape 编译；不足一个 batch "
           "的样本将被丢弃"),
      make("TF011", Change, review, "each worker takes its own part of the data: by HCCL's rank and number of ranks",
           "每个 worker 处理各自的数据分片：按 HCCL 的 rank 编号与数量切分"),
      make("TF012", Note, review,
           "every worker would see all data: divide them with dataset, batch_size = "
           "npu.distribute.shard_and_rebatch_dataset(dataset, batch_size) before .batch()",
           "各 worker 会读取全部数据：请在 .batch() 之前调用 dataset, batch_size = "
           "npu.distribute.shard_and_rebatch_dataset(dataset, batch_size) 切分数据集"),
      make("TF020", Change, certain,
           "overflow on the NPU sets a flag rather than giving Inf or NaN: NpuLossScaleOptimizer looks at the flag",
           "NPU 浮点溢出以全局标志置位而非产生 Inf/NaN，需使用 NpuLossScaleOptimizer 获取正确的溢出检测结果"),
      make("TF030", Change, certain, "gradients are averaged over the workers before each update",
           "更新梯度前通过 allreduce 在各 worker 间聚合梯度"),
      make("TF031", Change, likely, "all workers start from the weights of worker 0",
           "训练开始前将 0 号 worker 的变量初值同步到所有 worker"),
      make(
          "TF032", Change, review,
          "the tool migrates distributed scripts with SGD, RMSprop, Adam, Ftrl, Adagrad, Adadelta, Adamax and Nadam of "
          "tf.keras; check this optimizer by hand",
          "工具仅支持自动迁移 SGD/RMSprop/Adam/Ftrl/Adagrad/Adadelta/Adamax/Nadam "
          "优化器的分布式脚本；请手工确认该优化器"),
      make("TF040", Change, likely,
           "each process drives one NPU and is started as on a single CPU; HCCL joins the processes, not the strategy",
           "每个进程独占一张 NPU 并以单卡 CPU 形态启动，进程间通过 HCCL 通信，不再由 Strategy 管理多设备"),
      make("TF041", Note, certain,
           "give --strategy tf_strategy (-d of the guide's command) to migrate tf.distribute.Strategy to distributed "
           "training on NPUs",
           "如需迁移为 NPU 分布式训练，请指定 --strategy tf_strategy（指南命令为 -d）"),
      make("TF042", Unsupported, certain, "this strategy has no counterpart on NPU", "NPU 不支持该分布式策略"),
      make("TF050", Change, likely,
           "the NPU is the default device: a device scope would take the operators away from it",
           "NPU 已为默认设备，tf.device 会使算子离开 NPU，需删除"),
      make("TF051", Change, certain, "memory growth is about GPUs: the call gives None at once",
           "该接口仅作用于 GPU，直接返回 None"),
      make("TF052", Change, likely, "there are no GPUs to choose or divide: the call is left out",
           "NPU 环境下没有可供选择或切分的 GPU，该调用被移除"),
      make("TF060", Change, certain, "the session gets NpuOptimizer, and remapping and memory_optimization are off",
           "会话配置加入 NpuOptimizer，并显式关闭 remapping 与 memory_optimization"),
      make("TF061", Change, certain, "NPURunConfig configures NPUEstimator", "运行配置替换为 NPURunConfig"),
      make("TF062", Change, certain, "NPUEstimator trains on the NPU", "使用 NPUEstimator 在 NPU 上训练"),
      make("TF063", Change, likely, "workers get the same variables by a hook of the NPU's",
           "通过 NPU 的 hook 在各 worker 间同步变量"),
      make("TF064", Change, likely, "npu_ops.dropout is the NPU's own kernel for it",
           "替换为 NPU 提供的 npu_ops.dropout"),
      make(
          "TF065", Note, likely,
          "a session that no with statement closes must be closed by sess.close(): the NPU's resources are freed there",
          "未使用 with 创建的 Session 需显式调用 sess.close()，以正常释放 NPU 资源"),
      make("TF066", Change, likely, "workers get the same variables by a callback of the NPU's",
           "通过 NPU 的回调在各 worker 间同步变量"),
      make("TF067", Note, certain, "give -c to migrate scripts that behave as TensorFlow 1.x, by tf.compat.v1",
           "该脚本以 tf.compat.v1 控制 TensorFlow 1.x 行为，迁移时请指定 -c"),
      make("TF070", Change, certain, "opening the NPU joins the workers; Horovod is not started",
           "NPU 初始化时完成集合通信初始化，无需 hvd.init()"),
      make("TF071", Change, certain, "HCCL tells the rank and the number of ranks", "rank 编号与数量由 HCCL 提供"),
      make("TF072", Change, certain, "the NPU's wrapper averages gradients by HCCL",
           "由 NPU 的分布式优化器通过 HCCL 聚合梯度"),
      make("TF073", Change, likely, "gradients are averaged by HCCL after the tape has made them",
           "梯度计算完成后通过 HCCL 聚合"),
      make("TF074", Change, certain, "npu.distribute.broadcast sends worker 0's values to all",
           "由 npu.distribute.broadcast 同步变量"),
      make("TF075", Change, likely,
           "the weights of worker 0 go to all workers after the first batch, when all of them exist",
           "首个 batch 结束、变量全部创建后，将 0 号 worker 的变量同步到所有 worker"),
      make("TF076", Change, certain, "nothing in this file needs Horovod any more", "迁移后不再需要导入 Horovod"),
      make("TF077", Note, certain, "code in this file still needs this import of Horovod: it is kept",
           "文件中仍有代码依赖该 Horovod 导入，予以保留"),
      make("TF078", Note, certain,
           "give --strategy horovod (-d of the guide's command) to migrate Horovod to distributed training on NPUs",
           "如需迁移 Horovod 分布式脚本，请指定 --strategy horovod（指南命令为 -d）"),
      make("TF079", Unsupported, certain, "the NPU has no counterpart of this part of Horovod",
           "NPU 不支持该 Horovod 接口"),
      make("TF080", Affinity, likely,
           "the NPU's gelu is faster in tf.function and approximate: check convergence before taking it",
           "NPU 提供高性能的近似 GELU 实现（function 模式下有收益）；替换前请确认收敛性"),
      make("TF081", Performance, likely,
           "without @tf.function each operator is sent to the NPU by itself; decorate the training step",
           "缺少 @tf.function 装饰时算子逐个下发；请为训练函数添加 @tf.function"),
      make("TF082", Performance, likely,
           "a training loop in tf.function runs on the NPU: tell it the number of steps by npu.set_npu_loop_size(n) or "
           "NPU_LOOP_SIZE",
           "循环下沉编码方式需设置 NPU 循环次数：调用 npu.set_npu_loop_size(n) 或设置环境变量 NPU_LOOP_SIZE"),
      make("TF083", Unsupported, likely, "float64, complex64, complex128 and variant are not supported on NPU",
           "NPU 不支持 float64/complex64/complex128/DT_VARIANT 数据类型"),
      make("TF084", Note, review,
           "a function of a data set runs on the host, a variable lives on the device: create the variable under with "
           "context.device('CPU:0')",
           "数据集的处理函数在 Host 上执行，而变量位于 Device：请在 with context.device('CPU:0') 下创建该变量"),
      make(
          "TF085", Note, review,
          "a script that uses sessions of tf.compat.v1 must not use TensorFlow 2's eager API as well: keep one of both",
          "同一脚本不支持混用 tf.compat.v1 的 Session 接口与 TensorFlow 2 的 eager 接口：请只保留其一"),
      make("TF900", Note, certain, "", ""),
  };
}

}  // namespace

const std::vector<rules::Rule>& code_rules() {
  static const std::vector<rules::Rule> rules = all();
  return rules;
}

const rules::Rule& rule(std::string_view id) {
  const auto& rules = code_rules();
  const auto found = std::find_if(rules.begin(), rules.end(), [&](const rules::Rule& r) { return r.id == id; });
  if (found == rules.end()) throw Error(code::kAclInternal, "{} is no rule of the TensorFlow tool", id);
  return *found;
}

// What a person should look at: functions that are not compiled, loops on the device, types that the NPU lacks.
namespace {

class Hints {
 public:
  explicit Hints(Script& script) : s_(script), tree_(script.tree()) {}

  void run() {
    for (NodeId id = 0; id < tree_.size(); ++id) {
      switch (tree_.kind(id)) {
        case Kind::Function: gelu(id); break;
        case Kind::For: loop(id); break;
        case Kind::Call:
          call(id);
          preprocessing(id);
          break;
        case Kind::Attribute:
          if (tree_.kind(tree_.parent(id)) != Kind::Attribute) style(id);
          break;
        default: break;
      }
    }
    // the guide's chapter 3
    if (session_ != kNone && eager_ != kNone) s_.add("TF085", std::max(session_, eager_), Confidence::Review, {});
  }

 private:
  /// @tf.function, @tf.function(…), @def_function.function
  bool decorated(NodeId function) const {
    const NodeId up = tree_.parent(function);
    if (tree_.kind(up) != Kind::Decorated) return false;
    for (NodeId d : tree_.children(up)) {
      if (tree_.kind(d) != Kind::Decorator) continue;
      NodeId what = tree_.child(d, std::size_t{0});
      if (tree_.kind(what) == Kind::Call) what = tree_.child(what, Field::Function);
      const std::string api = s_.api(what);
      if (api == "function" || api.ends_with("def_function.function") || api == "contrib.eager.defun") return true;
    }
    return false;
  }

  /// tf.function(step) somewhere in the file
  bool wrapped(std::string_view name) const {
    for (NodeId id = 0; id < tree_.size(); ++id) {
      if (tree_.kind(id) != Kind::Call || s_.api(tree_.child(id, Field::Function)) != "function") continue;
      const NodeId list = tree_.child(id, Field::Arguments);
      for (NodeId a : tree_.children(list)) {
        const std::string_view written = s_.text(a);
        if (written == name || written.ends_with("." + std::string(name))) return true;
      }
    }
    return false;
  }

  bool compiled(NodeId node) const {
    for (NodeId f = enclosing_function(tree_, node); f != kNone; f = enclosing_function(tree_, f))
      if (decorated(f) || wrapped(s_.text(tree_.child(f, Field::Name)))) return true;
    return false;
  }

  /// Sessions of 1.x, or what only eager scripts have.
  void style(NodeId id) {
    const Value v = s_.value(id);
    const std::string api = s_.api(v);
    if (api.empty()) return;
    static constexpr std::array<std::string_view, 8> sessions = {"Session",
                                                                 "InteractiveSession",
                                                                 "placeholder",
                                                                 "global_variables_initializer",
                                                                 "disable_eager_execution",
                                                                 "get_default_session",
                                                                 "train.MonitoredTrainingSession",
                                                                 "disable_v2_behavior"};
    static constexpr std::array<std::string_view, 4> eager = {"GradientTape", "config.run_functions_eagerly",
                                                              "executing_eagerly", "enable_eager_execution"};
    if (Script::of_v1(v) && std::find(sessions.begin(), sessions.end(), api) != sessions.end()) {
      if (session_ == kNone) session_ = id;
    } else if (std::find(eager.begin(), eager.end(), api) != eager.end() && eager_ == kNone) {
      eager_ = id;
    }
  }

  /// ds.map(f), where f reads a tf.Variable.
  void preprocessing(NodeId id) {
    const NodeId callee = tree_.child(id, Field::Function);
    if (tree_.kind(callee) != Kind::Attribute) return;
    static constexpr std::array<std::string_view, 4> methods = {"map", "flat_map", "interleave", "filter"};
    if (std::find(methods.begin(), methods.end(), s_.text(tree_.child(callee, Field::Attribute))) == methods.end())
      return;
    const NodeId given = tree_.child(tree_.child(id, Field::Arguments), std::size_t{0});
    NodeId function = kNone;
    const auto& scopes = s_.sites.module.scopes();
    if (tree_.kind(given) == Kind::Lambda) {
      function = given;
    } else if (tree_.kind(given) == Kind::Identifier) {
      if (const auto* bindings = scopes.lookup(s_.text(given), scopes.of(given)))
        for (const names::Binding& b : *bindings)
          if (b.how == names::Bind::Function) function = b.node;
    }
    if (function == kNone) return;
    for (NodeId n = function; n < tree_[function].last; ++n) {
      if (tree_.kind(n) != Kind::Identifier || !tree_.is_reference(n)) continue;
      const auto* bindings = scopes.lookup(s_.text(n), scopes.of(n));
      if (!bindings) continue;
      for (const names::Binding& b : *bindings)
        if (b.how == names::Bind::Assignment && tree_.kind(b.value) == Kind::Call &&
            s_.api(tree_.child(b.value, Field::Function)) == "Variable" && !on_host(b.value)) {
          s_.add("TF084", b.value, Confidence::Review, {}).suggestion = "context.device('CPU:0')";
          return;
        }
    }
  }

  /// with tf.device("CPU:0"):, with context.device("CPU:0"):
  bool on_host(NodeId node) const {
    for (NodeId up = tree_.ancestor(node, Kind::With); up != kNone; up = tree_.ancestor(up, Kind::With)) {
      const std::string_view head = s_.text(up).substr(0, tree_[tree_.child(up, Field::Body)].begin - tree_[up].begin);
      if (head.find("device(") != std::string_view::npos && head.find("CPU") != std::string_view::npos) return true;
    }
    return false;
  }

  /// The user's own gelu of tanh or erf.
  void gelu(NodeId function) {
    if (s_.text(tree_.child(function, Field::Name)).find("gelu") == std::string_view::npos) return;
    for (NodeId id = function; id < tree_[function].last; ++id) {
      const std::string api = tree_.kind(id) == Kind::Attribute ? s_.api(id) : std::string();
      if (api != "tanh" && api != "math.tanh" && api != "erf" && api != "math.erf" && api != "nn.tanh") continue;
      s_.add("TF080", tree_.child(function, Field::Name), Confidence::Likely, {}).suggestion =
          s_.options.compat ? "npu_unary_ops.gelu" : "npu.ops.gelu";
      return;
    }
  }

  /// for _ in tf.range(steps): train_step(next(iterator))
  void loop(NodeId id) {
    const NodeId over = tree_.child(id, Field::Right);
    if (tree_.kind(over) != Kind::Call || s_.api(tree_.child(over, Field::Function)) != "range") return;
    const NodeId body = tree_.child(id, Field::Body);
    bool data = false;
    for (NodeId n = body; body != kNone && n < tree_[body].last; ++n)
      if (tree_.kind(n) == Kind::Call) {
        const std::string_view callee = s_.text(tree_.child(n, Field::Function));
        data = data || callee == "next" || callee.ends_with(".get_next");
      }
    if (data && compiled(id)) s_.add("TF082", over, Confidence::Likely, {}).suggestion = "npu.set_npu_loop_size";
  }

  void call(NodeId id) {
    const NodeId callee = tree_.child(id, Field::Function);
    const Value v = s_.value(callee);
    const std::string api = s_.api(v);
    if (api.empty()) return;
    if (api == "GradientTape" && !s_.options.compat && !compiled(id)) {
      // Model.train_step is compiled by fit
      const NodeId function = enclosing_function(tree_, id);
      if (function == kNone || s_.text(tree_.child(function, Field::Name)) != "train_step" || !method(function))
        s_.add("TF081", id, Confidence::Likely, {}).suggestion = "tf.function";
    }
    types(id, api);
  }

  bool method(NodeId function) const {
    const names::ScopeId scope = s_.sites.module.scopes().of(function);
    return s_.sites.module.scopes()[scope].kind == names::ScopeKind::Class;
  }

  /// dtype="float64", dtype=np.float64, tf.cast(x, "complex64"), set_floatx("float64")
  void types(NodeId id, const std::string& api) {
    static constexpr std::array<std::string_view, 4> lacking = {"float64", "complex64", "complex128", "double"};
    const bool floatx = api == "keras.backend.set_floatx";
    const Call c = floatx ? s_.call(id, {"dtype"}) : api == "cast" ? s_.call(id, {"x", "dtype"}) : s_.call(id, {});
    const Argument* dtype = c.find("dtype");
    if (!dtype) return;
    std::string name;
    if (!s_.sites.module.plain_string(dtype->value, name)) {
      const Value v = s_.value(dtype->value);
      if (v.what != What::Api || !rules::under(v.name, "numpy")) return;
      name = v.name.substr(v.name.rfind('.') + 1);
    }
    if (std::find(lacking.begin(), lacking.end(), name) == lacking.end()) return;
    s_.add("TF083", dtype->value, Confidence::Likely, "tensorflow." + (name == "double" ? "float64" : name));
  }

  Script& s_;
  const syntax::Tree& tree_;
  NodeId session_ = kNone, eager_ = kNone;
};

}  // namespace

void hints(Script& script) { Hints(script).run(); }

// Every use of a TensorFlow or Horovod API, for the guide's reports, which take its class from support/tf_api.h. A site
// that a rule changes or refuses has one finding, not two.

namespace {

Category category_of(TfClass support) noexcept {
  switch (support) {
    case TfClass::no_avoid:
    case TfClass::deprecated: return Category::Unsupported;
    case TfClass::analysing: return Category::Unknown;
    default: return Category::Note;
  }
}

Text text_of(const TfApi& api) {
  const Bilingual what = describe(api.support);
  Text text{std::string(what.en), std::string(what.zh)};
  if (!api.note.en.empty()) text.en += ": " + std::string(api.note.en);
  if (!api.note.zh.empty()) text.zh += "：" + std::string(api.note.zh);
  return text;
}

std::vector<std::pair<std::uint32_t, std::uint32_t>> import_ranges(const syntax::Tree& tree) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> ranges;
  for (NodeId id = 0; id < tree.size(); ++id)
    if (tree.kind(id) == Kind::Import || tree.kind(id) == Kind::ImportFrom)
      ranges.emplace_back(tree[id].begin, tree[id].end);
  return ranges;
}

}  // namespace

void api_uses(Script& s) {
  const syntax::Tree& tree = s.tree();
  const auto imports = import_ranges(tree);
  // what rules have said about APIs, by position
  std::multimap<std::uint32_t, std::size_t> said;
  for (std::size_t i = 0; i < s.sites.findings.size(); ++i) {
    Finding& f = s.sites.findings[i];
    if (f.api.empty()) continue;
    f.api = Script::shown(f.api);
    // an import is no use: where a rule says something about it, the API is not counted
    if (f.category != Category::Change && (rules::under(f.api, "tf") || rules::under(f.api, "hvd")) &&
        std::any_of(imports.begin(), imports.end(),
                    [&](const auto& range) { return f.begin >= range.first && f.begin < range.second; }))
      f.api.clear();
    if (f.api.empty()) continue;
    if (f.category != Category::Change && f.category != Category::Unsupported && f.category != Category::Unknown)
      continue;
    said.emplace(f.begin, i);
  }
  for (NodeId id = 0; id < tree.size(); ++id) {
    const Kind kind = tree.kind(id);
    if (kind != Kind::Attribute && kind != Kind::Identifier) continue;
    const NodeId up = tree.parent(id);
    if (tree.kind(up) == Kind::Attribute) continue;  // the whole chain is looked at
    if (kind == Kind::Identifier) {
      const Kind above = tree.kind(up);
      if (above == Kind::DottedName || above == Kind::AliasedImport || above == Kind::Parameters) continue;
      if ((above == Kind::KeywordArgument || above == Kind::DefaultParameter || above == Kind::TypedDefaultParameter ||
           above == Kind::Function || above == Kind::Class) &&
          tree[id].field == Field::Name)
        continue;
    }
    if (tree[id].field == Field::Left) continue;  // assigned to
    const Value v = s.value(id);
    if (v.what != What::Api) continue;
    const bool tensorflow = rules::under(v.name, "tensorflow");
    if (!tensorflow && s.horovod(v).empty()) continue;
    if (v.name == "tensorflow") continue;  // the module itself, passed on
    // an identifier that a plain assignment made a name for an API: it was counted there
    if (kind == Kind::Identifier) {
      const auto* bindings = s.sites.module.scopes().lookup(s.text(id), s.sites.module.scopes().of(id));
      bool imported = !bindings;
      if (bindings)
        for (const names::Binding& b : *bindings) imported = imported || b.how == names::Bind::Import;
      if (!imported) continue;
    }
    bool counted = false;
    const std::string shown = Script::shown(v.name);
    for (auto [at, end] = said.equal_range(tree[id].begin); at != end; ++at)
      counted = counted || s.sites.findings[at->second].api == shown;
    if (counted) continue;
    const TfApi api = lookup_tf(v.name, s.options.version);
    Finding& f = s.add("TF900", id, v.sure ? Confidence::Certain : Confidence::Likely, v.name);
    f.category = category_of(api.support);
    f.confidence = v.sure ? Confidence::Certain : Confidence::Likely;
    f.message = text_of(api);
  }
}

}  // namespace updraft::migrate::rewrite::tensorflow
