// Horovod: the guide's example, Keras and custom loops; imports go only when nothing needs them.
#include "tensorflow_outcome.h"

namespace updraft::migrate {
namespace {

using test::compat;
using test::eager;
using test::migrate_text;
using test::Outcome;

const TensorFlowOptions kEager = eager(Strategy::Horovod), kCompat = compat(Strategy::Horovod);

TEST(TensorFlowHorovod, GuidesExample) {
  const std::string before =
      "import tensorflow as tf\nimport horovod.tensorflow as hvd\n\ndef main(_):\n    hvd.init()\n"
      "    config = tf.compat.v1.ConfigProto()\n"
      "    config.gpu_options.visible_device_list = str(hvd.local_rank())\n"
      "    opt = tf.compat.v1.train.AdagradOptimizer(0.01 * hvd.size())\n"
      "    opt = hvd.DistributedOptimizer(opt)\n    hooks = [hvd.BroadcastGlobalVariablesHook(0)]\n"
      "    folder = '/tmp' if hvd.rank() == 0 else None\n"
      "    with tf.compat.v1.train.MonitoredTrainingSession(checkpoint_dir=folder, config=config, hooks=hooks) as s:\n"
      "        s.run(op)\n\nif __name__ == '__main__':\n    tf.compat.v1.app.run()\n";
  const std::string after =
      "import os\nimport npu_device\nfrom npu_device.compat.v1.npu_init import *\n"
      "(npu_sess, npu_shutdown) = init_resource()\nnpu_device.compat.enable_v1()\n"
      "import tensorflow as tf\n\ndef main(_):\n"
      "    config = tf.compat.v1.ConfigProto()\n"
      "    config.gpu_options.visible_device_list = str(get_npu_local_rank_id())\n"
      "    opt = tf.compat.v1.train.AdagradOptimizer(0.01 * get_npu_rank_size())\n"
      "    opt = npu_distributed_optimizer_wrapper(opt)\n"
      "    hooks = [NPUBroadcastGlobalVariablesHook(0, int(os.getenv('RANK_ID', '0')))]\n"
      "    folder = '/tmp' if get_npu_rank_id() == 0 else None\n"
      "    with tf.compat.v1.train.MonitoredTrainingSession(checkpoint_dir=folder, "
      "config=npu_config_proto(config_proto=config), hooks=hooks) as s:\n"
      "        s.run(op)\n    shutdown_resource(npu_sess, npu_shutdown)\n    close_session(npu_sess)\n"
      "\nif __name__ == '__main__':\n    tf.compat.v1.app.run()\n";
  EXPECT_EQ(migrate_text(before, kCompat).text, after);
}

TEST(TensorFlowHorovod, KerasCallbacksAndOptimizer) {
  const std::string before =
      "import tensorflow as tf\nimport horovod.tensorflow.keras as H\n"
      "def f(model, data):\n"
      "    o = H.DistributedOptimizer(tf.keras.optimizers.Adam(H.size()), compression=H.Compression.fp16)\n"
      "    c = [H.callbacks.BroadcastGlobalVariablesCallback(0), H.callbacks.MetricAverageCallback()]\n"
      "    model.fit(data, callbacks=c)\n";
  const std::string after =
      "import npu_device as npu\nfrom hccl.manage.api import get_rank_size\nimport tensorflow as tf\n"
      "def f(model, data):\n"
      "    o = npu.distribute.npu_distributed_keras_optimizer_wrapper(tf.keras.optimizers.Adam(get_rank_size()))\n"
      "    c = [tf.keras.callbacks.LambdaCallback(on_batch_end=lambda batch, logs: batch or "
      "npu.distribute.broadcast(model.variables, root_rank=0))]\n"
      "    model.fit(data, callbacks=c)\n";
  EXPECT_EQ(migrate_text(before, kEager).text, after);
}

TEST(TensorFlowHorovod, CommentsAroundCallbacksStay) {
  EXPECT_EQ(migrate_text("import tensorflow as tf\nimport horovod.keras as hvd\nc = [\n    a,\n    # averages\n"
                         "    hvd.callbacks.MetricAverageCallback(),\n    # the next\n    b,\n]\n",
                         kEager)
                .text,
            "import tensorflow as tf\nc = [\n    a,\n    # averages\n    # the next\n    b,\n]\n");
  EXPECT_EQ(
      migrate_text(
          "import tensorflow as tf\nimport horovod.keras as hvd\nc = [hvd.callbacks.MetricAverageCallback()]\n", kEager)
          .text,
      "import tensorflow as tf\nc = []\n");
}

TEST(TensorFlowHorovod, CustomLoop) {
  const std::string before =
      "import tensorflow as tf\nfrom horovod import tensorflow as hvd\n@tf.function\ndef step(x, first):\n"
      "    with tf.GradientTape() as tape:\n        loss = model(x)\n"
      "    tape = hvd.DistributedGradientTape(tape, op=hvd.Sum)\n"
      "    g = tape.gradient(loss, v)\n    opt.apply_gradients(zip(g, v))\n"
      "    if first:\n        hvd.broadcast_variables(variables=v, root_rank=0)\n";
  const std::string after =
      "import npu_device as npu\nimport tensorflow as tf\n@tf.function\ndef step(x, first):\n"
      "    with tf.GradientTape() as tape:\n        loss = model(x)\n"
      "    g = npu.distribute.all_reduce(tape.gradient(loss, v), \"sum\")\n    opt.apply_gradients(zip(g, v))\n"
      "    if first:\n        npu.distribute.broadcast(values=v, root_rank=0)\n";
  EXPECT_EQ(migrate_text(before, kEager).text, after);
  EXPECT_EQ(migrate_text("import tensorflow as tf\nimport horovod.tensorflow as hvd\n"
                         "with hvd.DistributedGradientTape(tf.GradientTape()) as t:\n    pass\ng = t.gradient(a, b)\n",
                         kEager)
                .text,
            "import npu_device as npu\nimport tensorflow as tf\nwith tf.GradientTape() as t:\n    pass\n"
            "g = npu.distribute.all_reduce(t.gradient(a, b), \"mean\")\n");
}

TEST(TensorFlowHorovod, NamesByEveryImport) {
  const std::string head = "from hccl.manage.api import get_rank_id\n";
  EXPECT_EQ(migrate_text("import tensorflow as tf\nfrom horovod.tensorflow import rank\nx = rank()\n", kEager).text,
            head + "import tensorflow as tf\nx = get_rank_id()\n");
  EXPECT_EQ(
      migrate_text("import tensorflow as tf\nimport horovod.tensorflow\nx = horovod.tensorflow.rank()\n", kEager).text,
      head + "import tensorflow as tf\nx = get_rank_id()\n");
  EXPECT_EQ(
      migrate_text(
          "import tensorflow as tf\nfrom horovod.tensorflow import rank as r, allreduce\nx = r()\ny = allreduce(x)\n",
          kEager)
          .text,
      head +
          "import tensorflow as tf\nfrom horovod.tensorflow import allreduce\nx = get_rank_id()\ny = allreduce(x)\n");
}

TEST(TensorFlowHorovod, ImportsThatAreNeededStay) {
  const std::string faq =
      "import tensorflow as tf\nfrom horovod.common.util import env\nimport horovod.tensorflow as hvd\n"
      "def main(_):\n    with env(HOROVOD_STALL_CHECK_TIME_SECONDS='300'):\n        hvd.init()\n";
  const Outcome o = migrate_text(faq, kCompat);
  EXPECT_NE(o.text.find("from horovod.common.util import env\n"), std::string::npos);
  EXPECT_EQ(o.text.find("import horovod.tensorflow"), std::string::npos);
  EXPECT_NE(o.text.find("        pass\n"), std::string::npos);
  EXPECT_TRUE(o.find("TF077"));
  const Outcome reduce =
      migrate_text("import tensorflow as tf\nimport horovod.tensorflow as hvd\nx = hvd.allreduce(1)\n", kEager);
  EXPECT_NE(reduce.text.find("import horovod.tensorflow as hvd\n"), std::string::npos);
  ASSERT_TRUE(reduce.find("TF079"));
  EXPECT_EQ(reduce.find("TF079")->api, "hvd.allreduce");
  EXPECT_EQ(reduce.find("TF079")->category, Category::Unsupported);
  // a flag that the import sets
  EXPECT_EQ(
      migrate_text(
          "import tensorflow as tf\ntry:\n    import horovod.tensorflow as hvd\nexcept ImportError:\n    hvd = None\n"
          "if hvd:\n    hvd.init()\n",
          kEager)
              .text.find("    import horovod.tensorflow as hvd\n") != std::string::npos,
      true);
}

TEST(TensorFlowHorovod, AProgramThatStartsItIsAnEntry) {
  EXPECT_EQ(
      migrate_text("import tensorflow as tf\nimport horovod.tensorflow as hvd\nhvd.init()\nprint(hvd.rank())\n", kEager)
          .text,
      "import npu_device as npu\nnpu.open().as_default()\nfrom hccl.manage.api import get_rank_id\n"
      "import tensorflow as tf\nprint(get_rank_id())\n");
}

TEST(TensorFlowHorovod, OthersAreNotTouched) {
  for (const std::string text : {"import tensorflow as tf\nhvd = Mine()\nhvd.init()\nhvd.rank()\n",
                                 "import tensorflow as tf\ndef f(hvd):\n    hvd.init()\n",
                                 "import tensorflow as tf\nfrom mine import hvd\nhvd.rank()\n",
                                 "import torch.distributed as hvd\nimport tensorflow as tf\nx = hvd.rank()\n"})
    EXPECT_EQ(migrate_text(text, kEager).text, text);
  const std::string plain = "import tensorflow as tf\nimport horovod.tensorflow as hvd\nhvd.init()\n";
  const Outcome o = migrate_text(plain);
  EXPECT_EQ(o.text, plain);
  EXPECT_TRUE(o.find("TF078"));
}

TEST(TensorFlowHorovod, WhatIsNotClearIsLeftToThePerson) {
  for (const std::string call :
       {"hvd.DistributedOptimizer(o, op=hvd.Adasum)", "hvd.DistributedOptimizer(o, backward_passes_per_step=2)",
        "hvd.DistributedOptimizer(**a)"}) {
    const std::string text = "import tensorflow as tf\nimport horovod.tensorflow.keras as hvd\no = " + call + "\n";
    const Outcome o = migrate_text(text, kEager);
    EXPECT_EQ(o.text, text);
    ASSERT_TRUE(o.find("TF072"));
    EXPECT_EQ(o.find("TF072")->confidence, Confidence::Review);
  }
}

TEST(TensorFlowHorovod, StaysStartedWhileSomethingNeedsIt) {
  const std::string head = "import tensorflow as tf\nimport horovod.tensorflow.keras as hvd\nhvd.init()\n";
  const Outcome needed = migrate_text(head + "c = [hvd.callbacks.LearningRateWarmupCallback(0.1)]\n", kEager);
  EXPECT_NE(needed.text.find("hvd.init()"), std::string::npos) << needed.text;
  EXPECT_TRUE(needed.find("TF077"));
  const Outcome unclear = migrate_text(head + "o = hvd.DistributedOptimizer(o, op=hvd.Adasum)\n", kEager);
  EXPECT_NE(unclear.text.find("hvd.init()"), std::string::npos) << unclear.text;
  const Outcome free = migrate_text(head + "n = hvd.size()\n", kEager);
  EXPECT_EQ(free.text.find("hvd.init()"), std::string::npos) << free.text;
}

}  // namespace
}  // namespace updraft::migrate
