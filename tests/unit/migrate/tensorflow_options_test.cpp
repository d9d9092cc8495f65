// The TensorFlow tool's options: checks, default folders, its last line, what the user is told.
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "migrate/rewrite/tensorflow/script.h"
#include "tensorflow_outcome.h"

namespace updraft::migrate {
namespace {
namespace fs = std::filesystem;

class TensorFlowTool : public testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::temp_directory_path() / ("updraft_tf_options_" + std::to_string(getpid()));
    fs::create_directories(root_ / "in" / "sub");
    std::ofstream(root_ / "in" / "sub" / "train.py") << "pass\n";
    std::ofstream(root_ / "in" / "notes.txt") << "x\n";
    std::ofstream(root_ / "other.py") << "pass\n";
  }
  void TearDown() override { fs::remove_all(root_); }

  std::string refused(const fs::path& input, const fs::path& output, const fs::path& report, const fs::path& main) {
    TensorFlowOptions options;
    try {
      check_tensorflow(input, output, report, main, options);
    } catch (const Error& error) { return error.text(); }
    return {};
  }

  fs::path root_;
};

TEST_F(TensorFlowTool, StrategiesByName) {
  EXPECT_EQ(strategy_of("tf_strategy"), Strategy::TfStrategy);
  EXPECT_EQ(strategy_of("horovod"), Strategy::Horovod);
  EXPECT_EQ(name(Strategy::None), "none");
  try {
    strategy_of("mirrored");
    FAIL();
  } catch (const Error& error) { EXPECT_NE(error.text().find("tf_strategy"), std::string::npos); }
}

TEST_F(TensorFlowTool, ChecksWhatItIsGiven) {
  const fs::path in = root_ / "in";
  EXPECT_EQ(refused(in, root_ / "out", root_ / "report", ""), "");
  EXPECT_EQ(refused(in, root_ / "input", root_ / "in_report", ""), "");  // names that begin alike
  EXPECT_NE(refused(root_ / "none", "", "", "").find("no such folder"), std::string::npos);
  EXPECT_NE(refused(in / "notes.txt", "", "", "").find("is a file"), std::string::npos);
  EXPECT_NE(refused(in, in / "out", "", "").find("-o"), std::string::npos);
  EXPECT_NE(refused(in, in, "", "").find("-o"), std::string::npos);
  EXPECT_NE(refused(in, "", in / "sub" / ".." / "r", "").find("-r"), std::string::npos);
  EXPECT_NE(refused(in, "", "", "missing.py").find("no such file"), std::string::npos);
  EXPECT_NE(refused(in, "", "", "notes.txt").find("no Python file"), std::string::npos);
  EXPECT_NE(refused(in, "", "", root_ / "other.py").find("lies outside"), std::string::npos);
}

TEST_F(TensorFlowTool, MainFileIsRelativeToTheInput) {
  TensorFlowOptions options;
  check_tensorflow(root_ / "in", "", "", root_ / "in" / "sub" / "train.py", options);
  EXPECT_EQ(options.main_file, "sub/train.py");
  check_tensorflow((root_ / "in").string() + "/", "", "", "sub/train.py", options);
  EXPECT_EQ(options.main_file, "sub/train.py");
}

TEST_F(TensorFlowTool, FoldersHaveTheTime) {
  std::tm local{};
  local.tm_year = 122;
  local.tm_mon = 4;
  local.tm_mday = 17;
  local.tm_hour = 17;
  local.tm_min = 27;
  local.tm_sec = 6;
  local.tm_isdst = -1;
  const std::time_t now = std::mktime(&local);
  const TensorFlowFolders by_default = tensorflow_folders("/models/resnet/", "", "", now);
  EXPECT_EQ(by_default.output, "output_npu_20220517172706/resnet_npu_20220517172706");
  EXPECT_EQ(by_default.report, "report_npu_20220517172706");
  EXPECT_EQ(tensorflow_finish(by_default),
            "Finish conver, output file: output_npu_20220517172706; report file: report_npu_20220517172706");
  const TensorFlowFolders given = tensorflow_folders("/models/resnet", "/o", "/r", now);
  EXPECT_EQ(given.output, "/o/resnet_npu_20220517172706");
  EXPECT_EQ(given.report, "/r/report_npu_20220517172706");
}

TEST_F(TensorFlowTool, TellsWhatIsMissing) {
  ProjectResult result;
  result.files.resize(1);
  result.files[0].findings = test::migrate_text(
                                 "import tensorflow as tf\nimport horovod.tensorflow as hvd\n"
                                 "s = tf.compat.v1.Session()\nm = tf.distribute.MirroredStrategy()\n")
                                 .findings;
  const std::vector<Text> advice = tensorflow_advice(result, {}, true);
  ASSERT_EQ(advice.size(), 4U);
  for (const Text& text : advice) {
    EXPECT_FALSE(text.en.empty());
    EXPECT_NE(text.en, text.zh);
  }
  const std::vector<Text> own = tensorflow_advice(result, {}, false);
  ASSERT_EQ(own.size(), 4U);
  // each command line is told its own options: updraft-migrate refuses the guide's letters
  const char* const letters[] = {" -m ", " -d tf_strategy", " -d horovod", " -c."};
  const char* const words[] = {" --main ", " --strategy tf_strategy", " --strategy horovod", " --compat."};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NE(advice[i].en.find(letters[i]), std::string::npos);
    EXPECT_NE(own[i].en.find(words[i]), std::string::npos);
    EXPECT_EQ(own[i].en.find(letters[i]), std::string::npos);
  }
  result.files[0].findings =
      test::migrate_text("import tensorflow as tf\nif __name__ == '__main__':\n    pass\n").findings;
  EXPECT_TRUE(tensorflow_advice(result, {}, true).empty());
}

}  // namespace
}  // namespace updraft::migrate
