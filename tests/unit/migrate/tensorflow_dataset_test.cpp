// drop_remainder on what is a tf.data.Dataset, and on nothing else.
#include "tensorflow_outcome.h"

namespace updraft::migrate {
namespace {

using test::compat;
using test::eager;
using test::migrate_text;
using test::Outcome;

std::string after(const std::string& text) { return migrate_text("import tensorflow as tf\n" + text).text.substr(24); }

TEST(TensorFlowDataset, BatchKeepsItsShape) {
  EXPECT_EQ(after("d = tf.data.Dataset.range(9).batch(2)\n"),
            "d = tf.data.Dataset.range(9).batch(2, drop_remainder=True)\n");
  EXPECT_EQ(after("d = tf.data.TFRecordDataset(f)\nd = d.map(g)\nd = d.batch(batch_size=n)\n"),
            "d = tf.data.TFRecordDataset(f)\nd = d.map(g)\nd = d.batch(batch_size=n, drop_remainder=True)\n");
  EXPECT_EQ(after("d = tf.data.Dataset.range(9)\nd = d.padded_batch(2, [None]).repeat()\n"),
            "d = tf.data.Dataset.range(9)\nd = d.padded_batch(2, [None], drop_remainder=True).repeat()\n");
}

TEST(TensorFlowDataset, ArgumentsAreBoundBySignature) {
  const std::string shapes = "d = tf.data.Dataset.range(9).padded_batch(2, ([], [None]), (0, False))\n";
  EXPECT_EQ(after(shapes),
            "d = tf.data.Dataset.range(9).padded_batch(2, ([], [None]), (0, False), drop_remainder=True)\n");
  for (const char* stays :
       {"d = tf.data.Dataset.range(9).batch(2, True)\n", "d = tf.data.Dataset.range(9).batch(2, drop_remainder=True)\n",
        "d = tf.data.Dataset.range(9).batch(2, drop_remainder=training)\n",
        "d = tf.data.Dataset.range(9).batch(2, False)\n",
        "d = tf.data.Dataset.range(9).batch(2, drop_remainder=False)\n",
        "d = d.apply(tf.data.experimental.map_and_batch(f, 8, drop_remainder=False))\n",
        "d = tf.data.Dataset.range(9).batch(*how)\n", "d = tf.data.Dataset.range(9).batch(2, **how)\n"})
    EXPECT_EQ(after(stays), stays);
}

TEST(TensorFlowDataset, WhatTheScriptSaysItselfIsLeftForReview) {
  const std::string text = "import tensorflow as tf\nd = tf.data.Dataset.range(9).batch(2, False)\n";
  const Outcome o = migrate_text(text);
  ASSERT_TRUE(o.find("TF010"));
  EXPECT_EQ(o.find("TF010")->confidence, Confidence::Review);
  EXPECT_EQ(test::migrate_file({{"a.py", text}}, "a.py", {}, Confidence::Review).text,
            "import tensorflow as tf\nd = tf.data.Dataset.range(9).batch(2, True)\n");
}

TEST(TensorFlowDataset, NothingRemainsOfBatchesOfOne) {
  const Outcome o = migrate_text("import tensorflow as tf\nd = tf.data.Dataset.range(9).batch(1)\n");
  EXPECT_FALSE(o.find("TF010"));
}

TEST(TensorFlowDataset, BatchesOfAWindowAreLeftForReview) {
  const std::string apply = "d = tf.data.Dataset.range(9)\nd = d.apply(tf.data.experimental.group_by_window(key, ";
  for (const std::string& text :
       {"def reduce(key, window_ds):\n    return window_ds.padded_batch(4, [None])\n" + apply + "reduce, 4))\n",
        "def reduce(key, window_ds):\n    return window_ds.batch(4)\n" + apply +
            "reduce_func=lambda k, w: reduce(k, w), window_size=4))\n",
        "import functools\ndef reduce(n, key, window_ds):\n    return window_ds.batch(n)\n" + apply +
            "functools.partial(reduce, 4), 4))\n",
        std::string("d = tf.data.Dataset.range(9)\nd = d.group_by_window(key, lambda k, ds: ds.batch(4), 4)\n"),
        std::string("d = tf.data.Dataset.range(9).window(3)\nd = d.flat_map(lambda w: w.batch(3))\n"),
        std::string("d = tf.data.Dataset.range(9)\nd = d.window(3).flat_map(lambda part_ds: part_ds.batch(3))\n")}) {
    const Outcome o = migrate_text("import tensorflow as tf\n" + text);
    EXPECT_EQ(o.text, "import tensorflow as tf\n" + text);
    ASSERT_TRUE(o.find("TF010")) << text;
    EXPECT_EQ(o.find("TF010")->confidence, Confidence::Review) << text;
  }
  // a function of the same shape that is given to map, and the key's
  EXPECT_EQ(after("def f(train_ds):\n    return train_ds.batch(4)\nd = f(tf.data.Dataset.range(9))\n"),
            "def f(train_ds):\n    return train_ds.batch(4, drop_remainder=True)\nd = f(tf.data.Dataset.range(9))\n");
}

TEST(TensorFlowDataset, CommentsAndTrailingCommasStay) {
  EXPECT_EQ(after("d = tf.data.Dataset.range(9).batch(\n    2,  # two\n)\n"),
            "d = tf.data.Dataset.range(9).batch(\n    2, drop_remainder=True,  # two\n)\n");
}

TEST(TensorFlowDataset, TransformationsOfItsOwn) {
  EXPECT_EQ(after("d = d.apply(tf.data.experimental.map_and_batch(f, 8))\n"),
            "d = d.apply(tf.data.experimental.map_and_batch(f, 8, drop_remainder=True))\n");
}

TEST(TensorFlowDataset, NamesTellWhereNothingElseDoes) {
  EXPECT_EQ(after("def f(train_ds, loader):\n    return train_ds.batch(2), loader.batch(3)\n"),
            "def f(train_ds, loader):\n    return train_ds.batch(2, drop_remainder=True), loader.batch(3)\n");
  EXPECT_EQ(after("def f(files):\n    return read(files).shuffle(9).batch(2)\n"),
            "def f(files):\n    return read(files).shuffle(9).batch(2, drop_remainder=True)\n");
  EXPECT_EQ(after("def make():\n    return tf.data.Dataset.range(3)\nx = make().batch(2)\n"),
            "def make():\n    return tf.data.Dataset.range(3)\nx = make().batch(2, drop_remainder=True)\n");
}

TEST(TensorFlowDataset, OfTensorFlowDatasets) {
  const std::string head = "import tensorflow_datasets as tfds\n";
  EXPECT_EQ(after(head + "(a, b), info = tfds.load('mnist')\na = a.map(f).batch(2)\n"),
            head + "(a, b), info = tfds.load('mnist')\na = a.map(f).batch(2, drop_remainder=True)\n");
  EXPECT_EQ(after(head + "both = tfds.load('mnist')\na = both['train'].batch(2)\n"),
            head + "both = tfds.load('mnist')\na = both['train'].batch(2, drop_remainder=True)\n");
}

TEST(TensorFlowDataset, OthersAreNotTouched) {
  for (const char* text :
       {"class Dataset:\n    def batch(self, n):\n        return n\ndataset = Dataset()\ndataset.batch(2)\n",
        "import numpy as np\ndataset = np.zeros(3)\ndataset.batch(2)\n", "dataset = [1, 2]\ndataset.batch(2)\n",
        "import torchdata\nx = torchdata.Pipe().batch(4)\n", "dataset = tf.zeros(3)\ndataset.batch(2)\n",
        "dataset.batch()\n", "dataset.batch(2, False, None, None, None, 7)\n", "dataset.batch(2, color=1)\n",
        "tf.linalg.batch(3)\n", "w = d.flat_map(lambda window: window.batch(5))\n"})
    EXPECT_EQ(after(text), text);
  // no TensorFlow at all
  EXPECT_EQ(migrate_text("dataset = make()\ndataset.batch(2)\n").text, "dataset = make()\ndataset.batch(2)\n");
}

TEST(TensorFlowDataset, PredictionsNeedEverySample) {
  const Outcome o =
      migrate_text("import tensorflow as tf\ndef predict(n):\n    return tf.data.Dataset.range(9).batch(n)\n");
  EXPECT_EQ(o.text.find("drop_remainder"), std::string::npos);
  ASSERT_TRUE(o.find("TF010"));
  EXPECT_EQ(o.find("TF010")->confidence, Confidence::Review);
}

TEST(TensorFlowDataset, KeepCommentForbids) {
  const std::string text = "import tensorflow as tf\nd = tf.data.Dataset.range(9).batch(2)  # updraft: keep\n";
  EXPECT_EQ(migrate_text(text).text, text);
  EXPECT_EQ(test::migrate_file({{"a.py", text}}, "a.py", {}, Confidence::Review).text, text);
}

TEST(TensorFlowDataset, WorkersShareTheData) {
  const std::string text = "import tensorflow as tf\nd = tf.data.Dataset.range(9).batch(2)\n";
  EXPECT_TRUE(migrate_text(text, eager(Strategy::TfStrategy)).find("TF012"));
  EXPECT_FALSE(migrate_text(text).find("TF012"));
  const std::string divided =
      "import tensorflow as tf\nimport npu_device as npu\nd = tf.data.Dataset.range(9)\n"
      "d, n = npu.distribute.shard_and_rebatch_dataset(d, n)\nd = d.batch(n)\n";
  EXPECT_FALSE(migrate_text(divided, eager(Strategy::TfStrategy)).find("TF012"));
  const Outcome shard =
      migrate_text("import tensorflow as tf\nd = tf.data.Dataset.range(9).shard(context.number, context.id).batch(2)\n",
                   eager(Strategy::TfStrategy));
  ASSERT_TRUE(shard.find("TF011"));
  EXPECT_FALSE(shard.find("TF011")->applied);
  EXPECT_EQ(shard.find("TF011")->edits[0].text, "get_rank_size()");
}

}  // namespace
}  // namespace updraft::migrate
