#include "migrate/support/tf_api.h"

#include <gtest/gtest.h>

#include "migrate/support/table.h"

namespace updraft::migrate {
namespace {

using support::Row;
using support::Table;

TfClass class_of(std::string_view name) { return lookup_tf(name).support; }

TEST(MigrateTf, TheGuidesExamples) {
  EXPECT_EQ(class_of("tf.abs"), TfClass::supported);
  EXPECT_EQ(class_of("tf.GradientTape"), TfClass::supported);
  EXPECT_EQ(class_of("tf.image.resize"), TfClass::supported);
  EXPECT_EQ(class_of("tf.keras.mixed_precision.LossScaleOptimizer"), TfClass::tool_api);
  EXPECT_EQ(class_of("tf.compat.v1.config.experimental.set_memory_growth"), TfClass::tool_train);
  EXPECT_EQ(class_of("tf.compat.v1.config.experimental.get_memory_growth"), TfClass::no_harmless);
  EXPECT_EQ(class_of("tf.distribute.TPUStrategy"), TfClass::no_avoid);
  EXPECT_EQ(class_of("tf.compat.v1.layers.conv3d"), TfClass::deprecated);
  EXPECT_EQ(class_of("tf.io.read_file"), TfClass::supported);
  EXPECT_EQ(class_of("tf.nn.moments"), TfClass::supported);
  EXPECT_EQ(class_of("tf.mlir.experimental.convert_graph_def"), TfClass::analysing);
  EXPECT_EQ(class_of("tf.keras.preprocessing.image"), TfClass::none);
  EXPECT_EQ(class_of("hvd.allreduce"), TfClass::no_avoid);
}

TEST(MigrateTf, OtherWaysToSayAName) {
  EXPECT_EQ(class_of("tensorflow.abs"), TfClass::supported);
  EXPECT_EQ(class_of("tensorflow.math.abs"), TfClass::supported);
  EXPECT_EQ(class_of("tf.compat.v2.abs"), TfClass::supported);
  EXPECT_EQ(class_of("tensorflow.compat.v1.abs"), TfClass::supported);
  EXPECT_EQ(class_of("tf.double"), TfClass::no_avoid);
  EXPECT_EQ(class_of("tf.compat.v1.complex64"), TfClass::no_avoid);
  EXPECT_EQ(lookup_tf("tf.compat.v1.raw_ops.MatMul").name, "tf.raw_ops.MatMul");
  EXPECT_EQ(class_of("horovod.tensorflow.rank"), TfClass::tool_api);
  EXPECT_EQ(class_of("horovod.tensorflow.keras.DistributedOptimizer"), TfClass::tool_api);
  EXPECT_EQ(class_of("hvd.alltoall"), TfClass::analysing);
}

TEST(MigrateTf, MembersFollowTheirClass) {
  EXPECT_EQ(lookup_tf("tf.data.Dataset.batch").name, "tf.data.Dataset");
  EXPECT_EQ(class_of("tensorflow.compat.v1.Session.run"), TfClass::tool_api);
  EXPECT_EQ(class_of("tf.keras.optimizers.Adam.apply_gradients"), TfClass::tool_api);
  EXPECT_EQ(class_of("tf.compat.v1.tpu.no_such_name"), TfClass::no_avoid);
  EXPECT_EQ(class_of("tf.contrib.image.rotate"), TfClass::deprecated);
  // below a module, and below nothing
  for (const char* unknown : {"tf.nn.no_such_name", "tf.no_such_name", "tf", "tensorflow", "", ".", "tf.",
                              "keras.layers.Dense", "numpy.abs"}) {
    EXPECT_EQ(class_of(unknown), TfClass::analysing) << unknown;
    EXPECT_FALSE(lookup_tf(unknown).listed) << unknown;
  }
}

/// Class of 2.6.5, and of 2.15.1 where that is asked for.
TEST(MigrateTf, TheGuidesVersionUnlessANewerOneIsNamed) {
  for (const char* version : {"", "2.6.5", "2.6", "2.10.1", "1.15", "nonsense"})
    EXPECT_EQ(nearest_tf(version), 0u) << version;
  for (const char* version : {"2.15.1", "2.11", "2.20"}) EXPECT_EQ(nearest_tf(version), 1u) << version;
  EXPECT_EQ(class_of("tf.estimator.EstimatorSpec"), TfClass::supported);
  EXPECT_EQ(class_of("tf.estimator.train_and_evaluate"), TfClass::supported);
  EXPECT_EQ(class_of("tf.compat.v1.estimator.Estimator"), TfClass::tool_api);
  EXPECT_EQ(class_of("tf.estimator.DNNClassifier"), TfClass::analysing);
  EXPECT_EQ(lookup_tf("tf.estimator.DNNClassifier", 1).support, TfClass::deprecated);
  const TfApi absent = lookup_tf("tf.keras.optimizers.AdamW");
  EXPECT_EQ(absent.support, TfClass::analysing);
  EXPECT_EQ(absent.note.en, "TensorFlow 2.6.5 has no such name");
  EXPECT_EQ(lookup_tf("tf.batch_mat_mul_v3", 1).note.en, "TensorFlow 2.15.1 has no such name");
}

TEST(MigrateTf, WhatWasSeenToRunSaysWhere) {
  EXPECT_EQ(class_of("tf.keras.layers.Conv2D"), TfClass::supported);
  EXPECT_EQ(class_of("tf.keras.losses.BinaryCrossentropy"), TfClass::supported);
  EXPECT_EQ(class_of("tensorflow.compat.v1.matmul"), TfClass::supported);
  EXPECT_EQ(lookup_tf("tf.keras.layers.Dense").note.en, "each of its operators was seen to run on the NPU");
  EXPECT_EQ(lookup_tf("tf.math.lgamma").note.en, "seen to run; some of its operators run on the host");
}

TEST(MigrateTf, WhatNobodyKnowsIsUnderAnalysis) {
  const Table rules = Table::of("tf_rules.tsv"), seen = Table::of("tf_seen.tsv");
  for (Row row = Table::of("tf_api.tsv").first(); row; row = row.next()) {
    const TfApi api = lookup_tf(row.key());
    ASSERT_TRUE(api.listed) << row.line();
    const std::string_view rule = row.cell(2);
    if (rule.empty()) {
      ASSERT_EQ(api.support, TfClass::analysing) << row.line();
    } else if (rule.starts_with("seen:")) {
      ASSERT_TRUE(seen.find(rule.substr(5))) << row.line();
      ASSERT_EQ(api.support, TfClass::supported) << row.line();
    } else if (rule == "wheel") {
      ASSERT_TRUE(api.support == TfClass::none || api.support == TfClass::deprecated) << row.line();
    } else {
      ASSERT_TRUE(rules.find(rule)) << row.line();
      ASSERT_EQ(rules.find(rule).cell(1), row.cell(1)) << row.line();
      ASSERT_FALSE(api.note.en.empty() || api.note.zh.empty() || api.source.empty()) << row.line();
    }
  }
}

TEST(MigrateTf, CountersOfTheBriefReport) {
  EXPECT_EQ(count_as(class_of("tf.abs")), TfCount::support);
  EXPECT_EQ(count_as(class_of("tf.device")), TfCount::support);
  EXPECT_EQ(count_as(class_of("tf.distribute.TPUStrategy")), TfCount::unsupport);
  EXPECT_EQ(count_as(class_of("tf.keras.preprocessing.image")), TfCount::no_operator);
  EXPECT_EQ(count_as(class_of("tf.mlir.experimental.convert_graph_def")), TfCount::analysing);
  EXPECT_EQ(describe(TfClass::supported).zh, "支持（无需迁移）");
  EXPECT_EQ(describe(TfClass::no_avoid).zh, "不支持（无迁移方案，建议不使用）");
  EXPECT_EQ(describe(TfClass::none).zh, "不涉及");
  EXPECT_EQ(describe(TfClass::analysing).en, "under analysis");
}

}  // namespace
}  // namespace updraft::migrate
