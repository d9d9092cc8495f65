// Compiled graphs on disk: what is found again, and what is not.
#include "om/compile_cache.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "base/error.h"
#include "collective/fusion/gradient_split.h"
#include "graph/proto/model_proto.h"
#include "small_graphs.h"

namespace updraft::om {
namespace {

namespace fs = std::filesystem;
using graph::OptionTexts;
using graph::small_model;

struct Cache : testing::Test {
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("compile_cache_" + std::to_string(getpid()));
    fs::remove_all(folder_);
    options_ = {{"ge.graph_compiler_cache_dir", folder_}, {"ge.graph_key", "net"}};
  }
  void TearDown() override {
    for (const char* name : {"ASCEND_MAX_OP_CACHE_SIZE", "ASCEND_REMAIN_CACHE_SIZE_RATIO"}) unsetenv(name);
    fs::remove_all(folder_);
  }
  bool hit(const graph::Model& model) { return hit(model, options_); }
  bool hit(const graph::Model& model, const OptionTexts& options) {
    bool found = false;
    const graph::Model compiled = compile_cached(model, options, nullptr, 0, &found);
    EXPECT_EQ(graph::write_model(compiled), graph::write_model(graph::compile(model, {})));
    return found;
  }
  fs::path om() const {
    for (const auto& entry : fs::recursive_directory_iterator(folder_))
      if (entry.path().extension() == ".om") return entry.path();
    return {};
  }
  size_t count(const std::string& extension) const {
    size_t n = 0;
    for (const auto& entry : fs::recursive_directory_iterator(folder_)) n += entry.path().extension() == extension;
    return n;
  }
  fs::path folder_;
  OptionTexts options_;
};

TEST_F(Cache, FindsWhatItKept) {
  EXPECT_FALSE(hit(small_model()));
  EXPECT_TRUE(fs::exists(folder_ / "net.idx"));
  EXPECT_TRUE(hit(small_model()));
  EXPECT_FALSE(hit(small_model(16)));       // another graph under the same key
  EXPECT_FALSE(hit(small_model(8, 2.0F)));  // other weights
  EXPECT_TRUE(hit(small_model()));
  EXPECT_EQ(count(".part"), 0U);
}

TEST_F(Cache, OptionsAndTheirFilesCount) {
  bool found = true;
  options_["precision_mode"] = "force_fp16";
  compile_cached(small_model(), options_, nullptr, 0, &found);
  EXPECT_FALSE(found);
  options_["precision_mode"] = "must_keep_origin_dtype";
  EXPECT_FALSE(hit(small_model()));
  const fs::path file = folder_ / "switches";
  std::ofstream(file) << "ALL:on\n";
  options_["fusion_switch_file"] = file;
  EXPECT_FALSE(hit(small_model()));
  EXPECT_TRUE(hit(small_model()));
  std::ofstream(file) << "ALL:on\n#\n";
  EXPECT_FALSE(hit(small_model()));
}

// Sums are fused by it, and ranks with caches of their own must fuse alike.
TEST_F(Cache, AGroupsStrategyCounts) {
  graph::Model model = small_model();
  graph::Node& sum = model.graph->add("HcomAllReduce", "sum");
  sum.attributes["group"] = std::string("hccl_world_group");
  const std::string none = compile_key(model, options_);
  collective::split_by_index("hccl_world_group", {3, 9});
  const std::string indices = compile_key(model, options_);
  collective::split_by_size("hccl_world_group", {60, 40});
  const std::string sizes = compile_key(model, options_);
  collective::forget_split("hccl_world_group");
  EXPECT_EQ(std::set({none, indices, sizes}).size(), 3U);
  EXPECT_EQ(compile_key(model, options_), none);
}

TEST_F(Cache, DamagedFilesCountAsNone) {
  hit(small_model());
  const fs::path file = om();
  const auto size = fs::file_size(file);
  fs::resize_file(file, size / 2);
  EXPECT_FALSE(hit(small_model()));
  EXPECT_EQ(fs::file_size(file), size);
  {
    std::fstream change(file, std::ios::in | std::ios::out | std::ios::binary);
    change.seekp(static_cast<std::streamoff>(size / 2));
    change.put('\x5a');
  }
  EXPECT_FALSE(hit(small_model()));
  fs::remove(file);
  EXPECT_FALSE(hit(small_model()));
  for (const char* text : {"", "{", "[1, 2]", "{\"library\": \"another\", \"graphs\": {}}", "\xff\xfe"}) {
    std::ofstream(folder_ / "net.idx") << text;
    EXPECT_FALSE(hit(small_model())) << text;
    EXPECT_TRUE(hit(small_model())) << text;
  }
}

TEST_F(Cache, EntriesOfAnotherLibraryAreNotTaken) {
  hit(small_model());
  std::stringstream all;
  all << std::ifstream(folder_ / "net.idx").rdbuf();
  std::string text = all.str();
  text.replace(text.find("Updraft 0.1.0 ") + 14, 2, "zz");
  std::ofstream(folder_ / "net.idx") << text;
  EXPECT_FALSE(hit(small_model()));
  EXPECT_TRUE(hit(small_model()));
}

TEST_F(Cache, TwoProcessesAtOnce) {
  std::vector<pid_t> children;
  for (int child = 0; child < 4; ++child) {
    const pid_t pid = fork();
    if (pid == 0) {
      for (int i = 0; i < 12; ++i) compile_cached(small_model(8 + i % 6), options_);
      _exit(0);
    }
    children.push_back(pid);
  }
  for (const pid_t pid : children) {
    int status = 0;
    waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
  }
  for (int i = 0; i < 6; ++i) EXPECT_TRUE(hit(small_model(8 + i))) << i;
  EXPECT_EQ(count(".part"), 0U);
}

TEST_F(Cache, OperatorCacheModesAndLimits) {
  OptionTexts options = {{"op_compiler_cache_mode", "enable"}, {"op_compiler_cache_dir", folder_}};
  EXPECT_FALSE(hit(small_model(), options));
  EXPECT_TRUE(hit(small_model(), options));
  EXPECT_TRUE(fs::exists(folder_ / "kernel_cache"));
  EXPECT_TRUE(fs::exists(folder_ / "op_cache.ini"));
  options["op_debug_level"] = "3";  // files of debugging are wanted: nothing is taken from the cache
  options["debug_dir"] = folder_;
  EXPECT_FALSE(hit(small_model(), options));
  options.erase("op_debug_level");
  options["op_compiler_cache_mode"] = "force";
  EXPECT_FALSE(hit(small_model(), options));
  options["op_compiler_cache_mode"] = "always";
  EXPECT_THROW(compile_cached(small_model(), options), Error);

  options["op_compiler_cache_mode"] = "enable";
  std::ofstream(folder_ / "op_cache.ini") << "[op_compiler_cache]\nascend_max_op_cache_size=1\n"
                                             "ascend_remain_cache_size_ratio=50\n";
  for (int i = 0; i < 6; ++i) EXPECT_FALSE(hit(small_model(20000 + i), options));  // 240 KB each
  uint64_t bytes = 0;
  for (const auto& entry : fs::directory_iterator(folder_ / "kernel_cache"))
    if (entry.path().extension() == ".om") bytes += entry.file_size();
  EXPECT_LE(bytes, 1U << 20);
  EXPECT_TRUE(hit(small_model(20005), options));
  EXPECT_FALSE(hit(small_model(), options));  // the oldest went
}

TEST_F(Cache, SettingsBesideTheFolderBeatVariables) {
  fs::create_directories(folder_);
  EXPECT_EQ(CacheLimits::of(folder_).megabytes, 500U);
  setenv("ASCEND_MAX_OP_CACHE_SIZE", "7", 1);
  setenv("ASCEND_REMAIN_CACHE_SIZE_RATIO", "80", 1);
  EXPECT_EQ(CacheLimits::of(folder_).megabytes, 7U);
  EXPECT_EQ(CacheLimits::of(folder_).remain_percent, 80U);
  std::ofstream(folder_ / "op_cache.ini") << "ascend_max_op_cache_size=9\n";  // one number alone counts for nothing
  EXPECT_EQ(CacheLimits::of(folder_).megabytes, 7U);
  std::ofstream(folder_ / "op_cache.ini") << "ascend_max_op_cache_size = 9\nascend_remain_cache_size_ratio = 20\n";
  EXPECT_EQ(CacheLimits::of(folder_).megabytes, 9U);
  EXPECT_EQ(CacheLimits::of(folder_).remain_percent, 20U);
}

TEST_F(Cache, FolderThatCannotBeWrittenIsNoFailure) {
  graph::CompileReport report;
  options_["ge.graph_compiler_cache_dir"] = "/proc/no/folder";
  compile_cached(small_model(), options_, &report);
  ASSERT_EQ(report.notes.size(), 1U);
  EXPECT_NE(report.notes[0].find("/proc/no/folder"), std::string::npos);
}

}  // namespace
}  // namespace updraft::om
