// Keras, tf.distribute and devices: aliases in every form, and the user's own names.
#include "migrate/report/guide/guide.h"
#include "tensorflow_outcome.h"

namespace updraft::migrate {
namespace {

using test::compat;
using test::eager;
using test::migrate_text;
using test::Outcome;

const TensorFlowOptions kStrategy = eager(Strategy::TfStrategy);
const std::string kNpu = "import npu_device as npu\n";
const std::string kWrap = "npu.distribute.npu_distributed_keras_optimizer_wrapper(";

TEST(TensorFlowKeras, LossScaleByEveryName) {
  const std::string to = "npu.train.optimizer.NpuLossScaleOptimizer(o)\n";
  for (const std::string import : {"import tensorflow as T\n", "import tensorflow.compat.v2 as T\n"})
    EXPECT_EQ(migrate_text(import + "o = T.keras.mixed_precision.LossScaleOptimizer(o)\n").text,
              kNpu + import + "o = " + to);
  for (const std::string import :
       {"from tensorflow.keras import mixed_precision as T\n", "import tensorflow.keras.mixed_precision as T\n",
        "from tensorflow import keras\nT = keras.mixed_precision\n"})
    EXPECT_EQ(migrate_text(import + "o = T.LossScaleOptimizer(o)\n").text, kNpu + import + "o = " + to);
  for (const std::string import : {"from tensorflow.keras.mixed_precision import LossScaleOptimizer as L\n"})
    EXPECT_EQ(migrate_text(import + "o = L(o)\n").text, kNpu + import + "o = " + to);
  const std::string star = "from tensorflow.keras.mixed_precision import *\n";
  EXPECT_EQ(migrate_text(star + "o = LossScaleOptimizer(o)\n").text, kNpu + star + "o = " + to);
}

TEST(TensorFlowKeras, OthersLossScaleStays) {
  for (const std::string text :
       {"import tensorflow as tf\nfrom mine import LossScaleOptimizer\no = LossScaleOptimizer(o)\n",
        "import tensorflow as tf\nif isinstance(o, tf.keras.mixed_precision.LossScaleOptimizer):\n    pass\n",
        "import tensorflow as tf\ndef f(tf):\n    return tf.keras.mixed_precision.LossScaleOptimizer(1)\n",
        "import tensorflow as tf\no = npu.train.optimizer.NpuLossScaleOptimizer(o)\n"})
    EXPECT_EQ(migrate_text(text).text, text);
}

TEST(TensorFlowKeras, DistributedOptimizers) {
  for (const std::string name : {"SGD", "RMSprop", "Adam", "Ftrl", "Adagrad", "Adadelta", "Adamax", "Nadam"}) {
    const std::string head = "import tensorflow as tf\no = ";
    const std::string call = "tf.keras.optimizers." + name + "(0.1)";
    EXPECT_EQ(migrate_text(head + call + "\n", kStrategy).text, kNpu + head + kWrap + call + ")\n");
    EXPECT_EQ(migrate_text(head + call + "\n").text, head + call + "\n");  // not asked for
  }
  EXPECT_EQ(migrate_text("from tensorflow.keras.optimizers import Adam as A\no = A()\n", kStrategy).text,
            kNpu + "from tensorflow.keras.optimizers import Adam as A\no = " + kWrap + "A())\n");
  EXPECT_EQ(migrate_text("import tensorflow as tf\no = tf.optimizers.legacy.SGD()\n", kStrategy).text,
            kNpu + "import tensorflow as tf\no = " + kWrap + "tf.optimizers.legacy.SGD())\n");
  EXPECT_EQ(migrate_text("import tensorflow as tf\no = tf.keras.optimizers.get(\"adam\")\n", kStrategy).text,
            kNpu + "import tensorflow as tf\no = " + kWrap + "tf.keras.optimizers.get(\"adam\"))\n");
}

TEST(TensorFlowKeras, CompileByName) {
  EXPECT_EQ(
      migrate_text("import tensorflow as tf\nm = tf.keras.Model(a, b)\nm.compile('adam', loss='mse')\n", kStrategy)
          .text,
      kNpu + "import tensorflow as tf\nm = tf.keras.Model(a, b)\nm.compile(" + kWrap +
          "tf.keras.optimizers.get('adam')), loss='mse')\n");
}

TEST(TensorFlowKeras, TheUsersOwnNamesStay) {
  for (const std::string text :
       {"import tensorflow as tf\nclass Adam:\n    pass\no = Adam()\n",
        "import tensorflow as tf\nfrom mine import Adam\no = Adam(1)\n",
        "import tensorflow as tf\nclass Est:\n    def fit(self, x):\n        pass\n    def scope(self):\n        pass\n"
        "    def compile(self, x):\n        pass\ne = Est()\ne.compile('adam')\ne.fit(1)\nwith e.scope():\n    pass\n",
        "import tensorflow as tf\nfrom sklearn.svm import SVC\nmodel = SVC()\nmodel.fit(x, y)\n",
        "import re\nimport tensorflow as tf\nre.compile('adam')\nd = {}\nx = d.get('lit')\ny = "
        "tf.keras.losses.get('mse')\n",
        "import tensorflow as tf\no = tf.keras.optimizers.schedules.ExponentialDecay(1, 2, 3)\n",
        "import tensorflow as tf\nassert isinstance(o, tf.keras.optimizers.Adam)\n"})
    EXPECT_EQ(migrate_text(text, kStrategy).text, text);
}

TEST(TensorFlowKeras, OptimizersThatTheToolDoesNotKnow) {
  const Outcome o = migrate_text("import tensorflow as tf\no = tf.keras.optimizers.AdamW()\n", kStrategy);
  ASSERT_TRUE(o.find("TF032"));
  EXPECT_FALSE(o.find("TF032")->applied);
}

TEST(TensorFlowKeras, WeightsAreSentBeforeTraining) {
  const std::string head = "import tensorflow as tf\ndef f(i, o, d):\n    model = tf.keras.Model(i, o)\n";
  EXPECT_EQ(
      migrate_text(head + "    h = model.fit(d)\n", kStrategy).text,
      kNpu + head + "    npu.distribute.broadcast(model.trainable_variables, root_rank=0)\n    h = model.fit(d)\n");
  // no weights yet: a person has to say where
  const std::string open =
      "import tensorflow as tf\nmodel = tf.keras.Sequential([tf.keras.layers.Dense(3)])\nmodel.fit(d)\n";
  const Outcome o = migrate_text(open, kStrategy);
  EXPECT_EQ(o.text, open);
  ASSERT_TRUE(o.find("TF031"));
  EXPECT_EQ(o.find("TF031")->confidence, Confidence::Review);
}

TEST(TensorFlowStrategy, HasOneDevice) {
  EXPECT_EQ(migrate_text("import tensorflow as tf\ns = tf.distribute.MirroredStrategy(devices=['/gpu:0'])\nwith "
                         "s.scope():\n    pass\n",
                         kStrategy)
                .text,
            "import tensorflow as tf\ns = tf.distribute.OneDeviceStrategy(\"/cpu:0\")\nwith s.scope():\n    pass\n");
  EXPECT_EQ(
      migrate_text("import tensorflow as tf\ns = tf.distribute.experimental.MultiWorkerMirroredStrategy()\n", kStrategy)
          .text,
      "import tensorflow as tf\ns = tf.distribute.OneDeviceStrategy(\"/cpu:0\")\n");
  EXPECT_EQ(migrate_text("from tensorflow.distribute import MirroredStrategy as M\ns = M()\n", kStrategy).text,
            "import tensorflow as tf\nfrom tensorflow.distribute import MirroredStrategy as M\n"
            "s = tf.distribute.OneDeviceStrategy(\"/cpu:0\")\n");
  EXPECT_EQ(migrate_text("import tensorflow as tf\ns = tf.distribute.OneDeviceStrategy('/gpu:0')\n", kStrategy).text,
            "import tensorflow as tf\ns = tf.distribute.OneDeviceStrategy(\"/cpu:0\")\n");
}

TEST(TensorFlowStrategy, IsToldWithoutTheOption) {
  const std::string text = "import tensorflow as tf\ns = tf.distribute.MirroredStrategy()\n";
  const Outcome o = migrate_text(text);
  EXPECT_EQ(o.text, text);
  EXPECT_TRUE(o.find("TF041"));
  const Outcome tpu = migrate_text("import tensorflow as tf\ns = tf.distribute.TPUStrategy(r)\n", kStrategy);
  ASSERT_TRUE(tpu.find("TF042"));
  EXPECT_EQ(tpu.find("TF042")->category, Category::Unsupported);
}

TEST(TensorFlowDevice, ScopesOfGpusGo) {
  const auto after = [](const std::string& text) {
    return migrate_text("import tensorflow as tf\n" + text).text.substr(24);
  };
  EXPECT_EQ(after("with tf.device('/gpu:0'):\n    x = \"\"\"a\nb\"\"\"  # why\n"),
            "if True:\n    x = \"\"\"a\nb\"\"\"  # why\n");
  EXPECT_EQ(after("with tf.device(f'/GPU:{i}'), tf.name_scope('a'):\n    pass\n"),
            "with tf.name_scope('a'):\n    pass\n");
  EXPECT_EQ(after("with tf.name_scope('a'), tf.device('gpu:%d' % i):\n    pass\n"),
            "with tf.name_scope('a'):\n    pass\n");
  EXPECT_EQ(after("with tf.device('/gpu:0'): x = 1\n"), "if True: x = 1\n");
  EXPECT_EQ(after("with tf.device('/gpu:0')  :  # c\n    pass\n"), "if True:  # c\n    pass\n");
  for (const char* stays :
       {"with tf.device('/cpu:0'):\n    pass\n", "with tf.device(None):\n    pass\n",
        "with tf.device(chosen):\n    pass\n", "with mine.device('/gpu:0'):\n    pass\n",
        "with tf.device('/job:ps/task:0'):\n    pass\n", "with tf.device('/gpu:0') as d:\n    pass\n"})
    EXPECT_EQ(after(stays), stays);
  EXPECT_EQ(migrate_text("import tensorflow as tf\nwith tf.device(chosen):\n    pass\n", compat()).text,
            "import tensorflow as tf\nif True:\n    pass\n");
}

TEST(TensorFlowDevice, MemoryGrowthGivesNone) {
  const auto after = [](const std::string& text) {
    return migrate_text("import tensorflow as tf\n" + text).text.substr(24);
  };
  EXPECT_EQ(after("for g in gpus:\n    tf.config.experimental.set_memory_growth(g, True)\n"),
            "for g in gpus:\n    pass\n");
  EXPECT_EQ(after("for g in gpus:\n    tf.config.experimental.set_memory_growth(g, True)\n    print(g)\n"),
            "for g in gpus:\n    print(g)\n");
  EXPECT_EQ(after("x = tf.compat.v1.config.experimental.set_memory_growth(g, True)\n"), "x = None\n");
  // a block that loses all of its statements
  EXPECT_EQ(after("if gpus:\n    tf.config.set_visible_devices(gpus[0], 'GPU')\n"
                  "    tf.config.experimental.set_memory_growth(gpus[0], True)\n    # done\nelse:\n    x = 1\n"),
            "if gpus:\n    pass\n    # done\nelse:\n    x = 1\n");
  EXPECT_EQ(after("a = 1; tf.config.experimental.set_memory_growth(g, True); b = 2\n"), "a = 1; pass; b = 2\n");
  EXPECT_EQ(after("if g:\n    tf.config.set_visible_devices(g[0], 'GPU')\n"), "if g:\n    pass\n");
  for (const char* stays :
       {"tf.config.set_visible_devices([], 'GPU')\n", "tf.config.set_visible_devices(c, 'CPU')\n",
        "tf.config.set_logical_device_configuration(cpus[0], [])\n", "mine.set_memory_growth(g, True)\n"})
    EXPECT_EQ(after(stays), stays);
}

TEST(TensorFlowHints, AreReports) {
  const Outcome o = migrate_text(
      "import tensorflow as tf\nimport numpy as np\n"
      "def gelu(x):\n    return x * tf.tanh(x)\n"
      "def step(x):\n    with tf.GradientTape() as tape:\n        pass\n"
      "@tf.function\ndef loop(it, steps):\n    for _ in tf.range(steps):\n        step(next(it))\n"
      "a = tf.cast(x, 'float64')\nb = tf.zeros(3, dtype=np.complex64)\nc = tf.complex128\n");
  EXPECT_EQ(o.count("TF080"), 1U);
  EXPECT_EQ(o.count("TF081"), 1U);
  EXPECT_EQ(o.count("TF082"), 1U);
  EXPECT_EQ(o.count("TF083"), 2U);
  ASSERT_TRUE(o.about("tf.complex128"));
  EXPECT_EQ(o.about("tf.complex128")->category, Category::Unsupported);
  const Outcome fine = migrate_text(
      "import tensorflow as tf\n@tf.function\ndef a(x):\n    with tf.GradientTape() as t:\n        pass\n"
      "def b(x):\n    with tf.GradientTape() as t:\n        pass\nb = tf.function(b)\n"
      "class M(tf.keras.Model):\n    def train_step(self, d):\n        with tf.GradientTape() as t:\n            pass\n"
      "y = tf.zeros(3, dtype='float32')\nnp.zeros(3, dtype='float64')\n");
  EXPECT_EQ(fine.count("TF081") + fine.count("TF082") + fine.count("TF083"), 0U);
}

TEST(TensorFlowApis, EachUseIsCountedOnce) {
  const Outcome o = migrate_text(
      "import tensorflow as tf\nfrom tensorflow.keras import backend as K\n"
      "x = tf.abs(tf.constant(1))\nx = tf.abs(x)\ntf.compat.v1.layers.conv3d(x)\nK.clear_session()\n"
      "tf.config.experimental.set_memory_growth(g, True)\ntf.no_such_thing(3)\ndef f(tf):\n    return tf.sqrt(2)\n");
  ASSERT_TRUE(o.about("tf.abs"));
  EXPECT_EQ(o.about("tf.abs")->category, Category::Note);
  ASSERT_TRUE(o.about("tf.compat.v1.layers.conv3d"));
  EXPECT_EQ(o.about("tf.compat.v1.layers.conv3d")->category, Category::Unsupported);
  ASSERT_TRUE(o.about("tf.no_such_thing"));
  EXPECT_EQ(o.about("tf.no_such_thing")->category, Category::Unknown);
  EXPECT_TRUE(o.about("tf.keras.backend.clear_session"));
  EXPECT_FALSE(o.about("tf.keras.backend"));  // the import is no use
  EXPECT_FALSE(o.about("tf.sqrt"));           // a parameter named tf
  std::size_t abs = 0, growth = 0;
  for (const Finding& f : o.findings) {
    abs += f.api == "tf.abs";
    growth += f.api == "tf.config.experimental.set_memory_growth";
  }
  EXPECT_EQ(abs, 2U);
  EXPECT_EQ(growth, 1U);  // the change, no second finding
}

TEST(TensorFlowApis, ReportsOfTheGuide) {
  const std::string text =
      "import tensorflow as tf\nimport horovod.tensorflow as hvd\nx = tf.abs(tf.sqrt(1.0))\n"
      "x = hvd.allreduce(x)\nt = tf.float64\ntf.config.experimental.set_memory_growth(g, True)\n"
      "tf.errors.OpError\ntf.no_such(1)\nif __name__ == '__main__':\n    pass\n";
  const Outcome o = migrate_text(text, eager(Strategy::Horovod), "model.py");
  ProjectResult result;
  result.request.input = "/root/models";
  result.files.push_back({"model.py", FileKind::Python, o.findings, true, false, text, o.text, {}});
  const std::string failed = report::failed_report(result);
  EXPECT_NE(failed.find("/root/models/model.py:4, NPU Unsupport API: hvd.allreduce\n"), std::string::npos) << failed;
  EXPECT_NE(failed.find("/root/models/model.py:5, NPU Unsupport API: tf.float64\n"), std::string::npos) << failed;
  const std::string success = report::success_report(result);
  EXPECT_NE(success.find("/root/models/model.py:1 import npu_device as npu\n"), std::string::npos) << success;
  EXPECT_NE(success.find("/root/models/model.py:2 npu.open().as_default()\n"), std::string::npos) << success;
  const std::string brief = report::api_brief_report(result);
  EXPECT_EQ(brief,
            "1.In brief: Total API: 7, in which Support: 3, Unsupport: 2, No operator is involved: 1, Analysing: 1\n"
            "2.After eliminate duplicate: Total API: 7, in which Support: 3, Unsupport: 2, No operator is involved: 1, "
            "Analysing: 1\n");
}

}  // namespace
}  // namespace updraft::migrate
