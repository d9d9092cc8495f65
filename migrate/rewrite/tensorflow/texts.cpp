// What the findings of this folder say. Rules that need no code are in rules/tensorflow/*.yaml.
#include <algorithm>

#include "base/error.h"
#include "migrate/rewrite/tensorflow/script.h"

namespace updraft::migrate::rewrite::tensorflow {
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
           "give -d tf_strategy to migrate tf.distribute.Strategy to distributed training on NPUs",
           "如需迁移为 NPU 分布式训练，请指定 -d tf_strategy"),
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
      make("TF078", Note, certain, "give -d horovod to migrate Horovod to distributed training on NPUs",
           "如需迁移 Horovod 分布式脚本，请指定 -d horovod"),
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

}  // namespace updraft::migrate::rewrite::tensorflow
