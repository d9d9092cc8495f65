// compat.v1 (-c): sessions, estimators, dropout, Keras in a session.
#include "tensorflow_outcome.h"

namespace updraft::migrate {
namespace {

using test::compat;
using test::migrate_text;
using test::Outcome;

const std::string kHead =
    "import npu_device\nfrom npu_device.compat.v1.npu_init import *\nnpu_device.compat.enable_v1()\n";

/// The text after the header and the import.
std::string after(const std::string& text, Strategy strategy = Strategy::None) {
  const std::string import = "import tensorflow as tf\n";
  const std::string made = migrate_text(import + text, compat(strategy)).text;
  return made.starts_with(kHead) ? made.substr(kHead.size() + import.size()) : made.substr(import.size());
}

TEST(TensorFlowCompat, SessionsAreConfigured) {
  EXPECT_EQ(after("s = tf.compat.v1.Session()\n"), "s = tf.compat.v1.Session(config=npu_config_proto())\n");
  EXPECT_EQ(after("s = tf.compat.v1.Session(graph=g, config=c)\n"),
            "s = tf.compat.v1.Session(graph=g, config=npu_config_proto(config_proto=c))\n");
  EXPECT_EQ(after("s = tf.compat.v1.InteractiveSession('', None, c)\n"),
            "s = tf.compat.v1.InteractiveSession('', None, npu_config_proto(config_proto=c))\n");
  EXPECT_EQ(after("s = tf.compat.v1.Session('', g)\n"), "s = tf.compat.v1.Session('', g, config=npu_config_proto())\n");
  EXPECT_EQ(after("s = tf.compat.v1.train.MonitoredTrainingSession(hooks=h)\n"),
            "s = tf.compat.v1.train.MonitoredTrainingSession(hooks=h, config=npu_config_proto())\n");
  EXPECT_EQ(after("sv = tf.compat.v1.train.Supervisor()\nwith sv.managed_session(config=c) as s:\n    pass\n"),
            "sv = tf.compat.v1.train.Supervisor()\nwith sv.managed_session(config=npu_config_proto(config_proto=c)) as "
            "s:\n    pass\n");
  EXPECT_EQ(after("S = tf.compat.v1.Session\nwith S(config=None) as s:\n    pass\n"),
            "S = tf.compat.v1.Session\nwith S(config=npu_config_proto()) as s:\n    pass\n");
}

TEST(TensorFlowCompat, WhatIsConfiguredStays) {
  for (const std::string text :
       {"c = npu_config_proto(config_proto=c)\ns = tf.compat.v1.Session(config=c)\n",
        "import requests\ns = requests.Session()\n", "class Session:\n    pass\ns = Session()\n",
        "s = tf.compat.v1.Session(**how)\n",
        "c = tf.compat.v1.ConfigProto()\no.name = 'NpuOptimizer'\ns = tf.compat.v1.Session(config=c)\n"})
    EXPECT_EQ(after(text), text);
}

TEST(TensorFlowCompat, WithoutTheOptionItIsTold) {
  const std::string text = "import tensorflow as tf\ns = tf.compat.v1.Session()\nt = tf.compat.v1.Session()\n";
  const Outcome o = migrate_text(text);
  EXPECT_EQ(o.text, text);
  EXPECT_EQ(o.count("TF067"), 1U);
}

TEST(TensorFlowCompat, OpenSessionsAreTold) {
  EXPECT_TRUE(migrate_text("import tensorflow as tf\ns = tf.compat.v1.Session()\ns.run(x)\n", compat()).find("TF065"));
  EXPECT_FALSE(
      migrate_text("import tensorflow as tf\ns = tf.compat.v1.Session()\ns.close()\n", compat()).find("TF065"));
  EXPECT_FALSE(
      migrate_text("import tensorflow as tf\nwith tf.compat.v1.Session() as s:\n    pass\n", compat()).find("TF065"));
}

TEST(TensorFlowCompat, Estimators) {
  EXPECT_EQ(
      after("c = tf.estimator.RunConfig(session_config=s, model_dir=d, save_checkpoints_steps=5)\n"),
      "c = NPURunConfig(session_config=npu_config_proto(config_proto=s), model_dir=d, save_checkpoints_steps=5)\n");
  EXPECT_EQ(after("c = tf.estimator.RunConfig('d', 7, train_distribute=s, protocol=None)\n"),
            "c = NPURunConfig(model_dir='d', tf_random_seed=7)\n");
  EXPECT_EQ(after("c = tf.estimator.RunConfig(train_distribute=s)\n"), "c = NPURunConfig()\n");
  EXPECT_EQ(after("e = tf.compat.v1.estimator.Estimator(model_fn=f, config=c, model_dir='/tmp/m')\n"),
            "e = NPUEstimator(model_fn=f, config=c, model_dir='/tmp/m')\n");
  EXPECT_EQ(after("e = tf.estimator.Estimator(f, 'd', c, {'a': 1}, w)\n"),
            "e = NPUEstimator(f, 'd', c, params={'a': 1}, warm_start_from=w)\n");
  EXPECT_EQ(after("e = tf.estimator.Estimator(f)\n"), "e = NPUEstimator(f, config=NPURunConfig())\n");
  EXPECT_EQ(after("from tensorflow.estimator import Estimator as E\nE(f, config=c)\n"),
            "from tensorflow.estimator import Estimator as E\nNPUEstimator(f, config=c)\n");
  for (const std::string text : {"class RunConfig:\n    pass\nRunConfig(1)\n", "c = mine.estimator.RunConfig(1)\n",
                                 "isinstance(c, tf.estimator.RunConfig)\n"})
    EXPECT_EQ(after(text), text);
}

TEST(TensorFlowCompat, HooksOfWorkers) {
  EXPECT_EQ(after("e = NPUEstimator(f)\ne.train(input_fn=g, hooks=[h], steps=3)\n", Strategy::TfStrategy),
            "e = NPUEstimator(f)\ne.train(input_fn=g, hooks=[h], steps=3)\n");  // nobody knows NPUEstimator here
  EXPECT_EQ(after("e = tf.estimator.Estimator(f, config=c)\ne.train(g, [h], 3)\n", Strategy::TfStrategy),
            "e = NPUEstimator(f, config=c)\ne.train(g, npu_hooks_append(hooks_list=[h]), 3)\n");
  EXPECT_EQ(after("s = tf.estimator.TrainSpec(g, max_steps=3)\n", Strategy::TfStrategy),
            "s = tf.estimator.TrainSpec(g, max_steps=3, hooks=npu_hooks_append())\n");
  EXPECT_EQ(after("s = tf.estimator.TrainSpec(g, max_steps=3)\n"), "s = tf.estimator.TrainSpec(g, max_steps=3)\n");
  EXPECT_EQ(after("train = Train()\ntrain.train(g)\n", Strategy::TfStrategy), "train = Train()\ntrain.train(g)\n");
}

TEST(TensorFlowCompat, DropoutByEitherSignature) {
  EXPECT_EQ(after("y = tf.compat.v1.nn.dropout(x, 0.9)\n"), "y = npu_ops.dropout(x, 0.9)\n");
  EXPECT_EQ(after("y = tf.compat.v1.nn.dropout(x, rate=r, seed=1)\n"),
            "y = npu_ops.dropout(x, keep_prob=1 - r, seed=1)\n");
  EXPECT_EQ(after("y = tf.nn.dropout(x, 0.1)\n"), "y = npu_ops.dropout(x, 1 - 0.1)\n");
  EXPECT_EQ(after("y = tf.nn.dropout(x, rate=a if b else c)\n"),
            "y = npu_ops.dropout(x, keep_prob=1 - (a if b else c))\n");
  for (const std::string text : {"y = tf.keras.layers.Dropout(0.1)(x)\n", "y = slim.dropout(x, 0.1)\n",
                                 "y = tf.compat.v1.nn.dropout(x)\n", "y = tf.nn.dropout(x, *a)\n"})
    EXPECT_EQ(after(text), text);
  const std::string eager = "import tensorflow as tf\ny = tf.nn.dropout(x, 0.1)\n";
  EXPECT_EQ(migrate_text(eager).text, eager);
}

TEST(TensorFlowCompat, KerasTrainsInASession) {
  const std::string text =
      "import tensorflow as tf\nm = tf.keras.Sequential([])\ndef train():\n    m.fit(x)\n"
      "if __name__ == '__main__':\n    train()\n";
  EXPECT_EQ(migrate_text(text, compat()).text,
            kHead +
                "import tensorflow as tf\nm = tf.keras.Sequential([])\ndef train():\n    m.fit(x)\n"
                "if __name__ == '__main__':\n"
                "    npu_keras_session = tf.compat.v1.Session(config=npu_config_proto())\n"
                "    tf.compat.v1.keras.backend.set_session(npu_keras_session)\n"
                "    train()\n    npu_keras_session.close()\n");
}

TEST(TensorFlowCompat, KerasOptimizersAndCallbacksOfWorkers) {
  EXPECT_EQ(after("o = tf.keras.optimizers.SGD(1)\n", Strategy::TfStrategy),
            "o = npu_distributed_optimizer_wrapper(tf.keras.optimizers.SGD(1))\n");
  EXPECT_EQ(after("m = tf.keras.Model(a, b)\nm.fit(x, callbacks=[c])\n", Strategy::TfStrategy),
            "m = tf.keras.Model(a, b)\nm.fit(x, callbacks=npu_callbacks_append(callbacks_list=[c]))\n");
}

}  // namespace
}  // namespace updraft::migrate
