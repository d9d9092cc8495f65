// Where the NPU is opened, and what stands at the top of a migrated file.
#include "tensorflow_outcome.h"

namespace updraft::migrate {
namespace {

using test::compat;
using test::eager;
using test::Files;
using test::migrate_file;
using test::migrate_text;
using test::Outcome;

constexpr const char* kMain = "if __name__ == '__main__':\n    train()\n";

TEST(TensorFlowEntry, OpensTheNpuBeforeOtherImports) {
  EXPECT_EQ(
      migrate_text(std::string("import os\nimport tensorflow as tf\n") + kMain).text,
      std::string("import npu_device as npu\nnpu.open().as_default()\nimport os\nimport tensorflow as tf\n") + kMain);
}

TEST(TensorFlowEntry, ComesAfterDocstringAndFuture) {
  const std::string head =
      "#!/usr/bin/env python3\n# -*- coding: utf-8 -*-\n\"\"\"Doc.\"\"\"\nfrom __future__ import annotations\n\n";
  const std::string rest = std::string("import tensorflow as tf\n") + kMain;
  EXPECT_EQ(migrate_text(head + rest).text, head + "import npu_device as npu\nnpu.open().as_default()\n" + rest);
}

TEST(TensorFlowEntry, KeepsLineEnds) {
  const std::string text = "import tensorflow as tf\r\nif __name__ == '__main__':\r\n    pass\r\n";
  EXPECT_EQ(migrate_text(text).text, "import npu_device as npu\r\nnpu.open().as_default()\r\n" + text);
  const std::string marked = "\xef\xbb\xbfimport tensorflow as tf\nif __name__ == '__main__':\n    pass\n";
  EXPECT_EQ(migrate_text(marked).text.substr(0, 27), "\xef\xbb\xbfimport npu_device as npu");
}

TEST(TensorFlowEntry, OnlyProgramsThatUseTensorFlow) {
  const std::string other = std::string("import os\n") + kMain;
  EXPECT_EQ(migrate_text(other).text, other);
  const std::string library = "import tensorflow as tf\ndef main():\n    pass\n";
  EXPECT_EQ(migrate_text(library).text, library);
  // by way of a module of the project
  const Files files = {{"main.py", std::string("import model\n") + kMain},
                       {"model.py", "from layers import dense\n"},
                       {"layers.py", "import tensorflow as tf\ndef dense():\n    return tf.ones(1)\n"}};
  EXPECT_EQ(migrate_file(files, "main.py").text.substr(0, 24), "import npu_device as npu");
  EXPECT_EQ(migrate_file(files, "model.py").text, files.at("model.py"));
}

TEST(TensorFlowEntry, TestsStayOnTheCpu) {
  const std::string text = "import tensorflow as tf\nif __name__ == '__main__':\n    tf.test.main()\n";
  const Outcome o = migrate_text(text);
  EXPECT_EQ(o.text, text);
  ASSERT_TRUE(o.find("TF001"));
  EXPECT_EQ(o.find("TF001")->confidence, Confidence::Review);
  EXPECT_EQ(migrate_file({{"t.py", text}}, "t.py", {"t.py", Strategy::None, false}).text,
            "import npu_device as npu\nnpu.open().as_default()\n" + text);
  EXPECT_EQ(migrate_file({{"t.py", text}}, "t.py", {}, Confidence::Review).text,
            "import npu_device as npu\nnpu.open().as_default()\n" + text);
}

TEST(TensorFlowEntry, TestsAreNotChangedByHalves) {
  const std::string body =
      "import tensorflow as tf\nd = tf.data.Dataset.range(9).batch(2)\n"
      "o = tf.keras.mixed_precision.LossScaleOptimizer(o)\n"
      "f = tf.function(g, jit_compile=True)\n";
  const std::string guard = "if __name__ == '__main__':\n    tf.test.main()\n";
  for (const auto& [path, text] : Files{{"models_test.py", body}, {"a/test_models.py", body}, {"x.py", body + guard}}) {
    const Outcome o = migrate_file({{path, text}}, path);
    EXPECT_EQ(o.text, text) << path;
    ASSERT_TRUE(o.find("TF010")) << path;
    EXPECT_EQ(o.find("TF010")->confidence, Confidence::Review) << path;
    // who wants it on the NPU gets all of it
    const std::string whole = migrate_file({{path, text}}, path, {}, Confidence::Review).text;
    for (const char* part : {"import npu_device as npu", "drop_remainder=True", "NpuLossScaleOptimizer"})
      EXPECT_NE(whole.find(part), std::string::npos) << path << part;
  }
  EXPECT_NE(migrate_file({{"contest.py", body}}, "contest.py").text, body);
  // the user says that training starts here
  EXPECT_NE(migrate_file({{"test_a.py", body}}, "test_a.py", {"test_a.py", Strategy::None, false}).text, body);
}

TEST(TensorFlowEntry, ProgramsThatOnlyPrepareDataStayOnTheCpu) {
  const Files files = {
      {"records.py",
       "import json\nimport tensorflow.compat.v1 as tf\nfrom data.tools import lib\n"
       "\"\"\"Serves tf.keras models.\"\"\"\n# tf.matmul\nwith tf.io.TFRecordWriter('a') as w:\n"
       "    w.write(tf.train.Example(features=lib.feature(1)).SerializeToString())\n" +
           std::string(kMain)},
      {"data/tools/lib.py", "import tensorflow as tf\ndef feature(x):\n    return tf.train.Int64List(value=[x])\n"},
      {"download.py",
       "import os\nfrom absl import app\nfrom tensorflow.io import gfile\ngfile.makedirs('a')\n" + std::string(kMain)}};
  for (const char* path : {"records.py", "download.py"}) {
    const Outcome o = migrate_file(files, path);
    EXPECT_EQ(o.text, files.at(path));
    ASSERT_TRUE(o.find("TF001")) << path;
    EXPECT_EQ(o.find("TF001")->confidence, Confidence::Review);
    EXPECT_NE(o.find("TF001")->message.en.find("prepares data"), std::string::npos);
    EXPECT_EQ(migrate_file(files, path, {path, Strategy::None, false}).text.substr(0, 24), "import npu_device as npu");
  }
}

TEST(TensorFlowEntry, WhatMayComputeOpensTheNpu) {
  const std::string writes = "import tensorflow as tf\ntf.io.gfile.makedirs('a')\n";
  for (const std::string other :
       {"import model\n", "def f():\n    import model\n", "from model import *\n", "import keras\n",
        "import tensorflow_hub as hub\n", "x = tf.ones(2)\n", "from tensorflow.keras import layers\n",
        "from tensorflow import *\n", "def f():\n    from tensorflow import keras\n", "import unknown_package\n",
        "run(tf)\n"}) {
    const Files files = {{"main.py", writes + other + kMain},
                         {"model.py", "import tensorflow as tf\ndef dense():\n    return tf.ones(1)\n"}};
    EXPECT_EQ(migrate_file(files, "main.py").text.substr(0, 24), "import npu_device as npu") << other;
  }
  // nothing is written: it may do anything by what it is given
  EXPECT_EQ(migrate_text(std::string("import tensorflow as tf\n") + kMain).text.substr(0, 24),
            "import npu_device as npu");
}

TEST(TensorFlowEntry, MainFileIsNamed) {
  const Files files = {{"a.py", "import tensorflow as tf\ntrain()\n"}, {"b.py", "import tensorflow as tf\n"}};
  const TensorFlowOptions options{"a.py", Strategy::None, false};
  const Outcome a = migrate_file(files, "a.py", options);
  EXPECT_EQ(a.text, "import npu_device as npu\nnpu.open().as_default()\n" + files.at("a.py"));
  EXPECT_EQ(migrate_file({{"a.py", a.text}}, "a.py", options).text, a.text);
  EXPECT_EQ(migrate_file(files, "b.py", options).text, files.at("b.py"));
}

TEST(TensorFlowEntry, AnOpenNpuStays) {
  for (const std::string open :
       {"import npu_device as npu\nnpu.open().as_default()\n", "import npu_device\nnpu_device.open(1).as_default()\n",
        "from npu_device import open\nopen().as_default()\n"}) {
    const std::string text = open + "import tensorflow as tf\n" + kMain;
    EXPECT_EQ(migrate_text(text).text.find("npu.open()", open.size()), std::string::npos) << open;
  }
}

TEST(TensorFlowEntry, ANameOfTheUsersIsLeftAlone) {
  const std::string text = std::string("import tensorflow as tf\nnpu = 3\n") + kMain;
  EXPECT_EQ(migrate_text(text).text, "import npu_device\nnpu_device.open().as_default()\n" + text);
}

TEST(TensorFlowEntry, OtherFilesImportWhatTheyUse) {
  EXPECT_EQ(
      migrate_text("from tensorflow import keras\no = keras.mixed_precision.LossScaleOptimizer(o)\n").text,
      "import npu_device as npu\nfrom tensorflow import keras\no = npu.train.optimizer.NpuLossScaleOptimizer(o)\n");
}

TEST(TensorFlowEntry, CompatMode) {
  const std::string head =
      "import npu_device\nfrom npu_device.compat.v1.npu_init import *\nnpu_device.compat.enable_v1()\n";
  const std::string text = std::string("import tensorflow.compat.v1 as tf\n") + kMain;
  EXPECT_EQ(migrate_text(text, compat()).text, head + text);
  // changed files have it too, others not
  EXPECT_EQ(migrate_text("import tensorflow as tf\ns = tf.compat.v1.Session()\n", compat()).text,
            head + "import tensorflow as tf\ns = tf.compat.v1.Session(config=npu_config_proto())\n");
  EXPECT_EQ(migrate_text("import tensorflow as tf\nx = tf.ones(1)\n", compat()).text,
            "import tensorflow as tf\nx = tf.ones(1)\n");
}

TEST(TensorFlowEntry, BrokenFilesAreEditedAround) {
  const Outcome o = migrate_text("import tensorflow as tf\nx = = 3\nd = tf.data.Dataset.range(9).batch(2)\n");
  EXPECT_NE(o.text.find("batch(2, drop_remainder=True)"), std::string::npos);
  EXPECT_TRUE(o.find("PY001"));
  // nothing beyond a removed statement goes with it
  const Outcome cut = migrate_text(
      "import tensorflow as tf\ndef f(:\n    a = 1\n    tf.config.experimental.set_memory_growth(g, True)\n"
      "    b = (\n");
  EXPECT_NE(cut.text.find("a = 1"), std::string::npos);
  EXPECT_NE(cut.text.find("b = ("), std::string::npos);
}

TEST(TensorFlowEntry, NewSyntax) {
  const std::string text =
      "import tensorflow as tf\nif (n := 2) > 1:\n    print(f\"{n=}\")\nmatch n:\n    case 2:\n        pass\n"
      "try:\n    pass\nexcept* ValueError:\n    pass\ndef f[T](x: T) -> T:\n    return x\n";
  EXPECT_EQ(migrate_text(text + "d = tf.data.Dataset.range(n).batch(2)\n").text,
            text + "d = tf.data.Dataset.range(n).batch(2, drop_remainder=True)\n");
}

}  // namespace
}  // namespace updraft::migrate
