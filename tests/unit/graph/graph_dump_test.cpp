// Files of DUMP_GE_GRAPH, and of kernel_meta.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "base/error.h"
#include "graph/compile/compile.h"
#include "graph/proto/dump.h"
#include "graph/proto/model_proto.h"
#include "small_graphs.h"

namespace updraft::graph {
namespace {

namespace fs = std::filesystem;

struct GraphDumps : testing::Test {
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("graph_dump_" + std::to_string(getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    setenv("DUMP_GRAPH_PATH", folder_.c_str(), 1);
  }
  void TearDown() override {
    for (const char* name : {"DUMP_GE_GRAPH", "DUMP_GRAPH_LEVEL", "DUMP_GRAPH_PATH"}) unsetenv(name);
    fs::remove_all(folder_);
  }
  /// Ends of the names, behind the number: "graph_7_Build.txt".
  std::set<std::string> files(const std::string& start) const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      const std::string name = entry.path().filename();
      if (name.starts_with(start)) names.insert(name.substr(start.size() + 6));
    }
    return names;
  }
  std::string text(const std::string& end) const {
    for (const auto& entry : fs::directory_iterator(folder_))
      if (entry.path().filename().string().ends_with(end)) {
        std::stringstream all;
        all << std::ifstream(entry.path()).rdbuf();
        return all.str();
      }
    return "";
  }
  fs::path folder_;
};

TEST_F(GraphDumps, StagesAndLevels) {
  setenv("DUMP_GE_GRAPH", "2", 1);
  compile(small_model(), {}, nullptr, 7);
  const std::set<std::string> stages = {"graph_7_PreRunBegin.txt", "graph_7_AfterInfershape.txt",
                                        "graph_7_AfterGraphFusion.txt", "graph_7_Build.txt"};
  EXPECT_EQ(files("ge_proto_"), stages);
  EXPECT_EQ(files("ge_onnx_").size(), stages.size());
  for (const auto& [level, name] : {std::pair("3", "graph_7_Build.txt"), std::pair("4", "graph_7_PreRunBegin.txt")}) {
    TearDown();
    SetUp();
    setenv("DUMP_GE_GRAPH", "2", 1);
    setenv("DUMP_GRAPH_LEVEL", level, 1);
    compile(small_model(), {}, nullptr, 7);
    EXPECT_EQ(files("ge_proto_"), std::set<std::string>{name});
  }
}

TEST_F(GraphDumps, ReadBackAsTheMessage) {
  setenv("DUMP_GE_GRAPH", "1", 1);
  const Model compiled = compile(small_model(), {}, nullptr, 1);
  const std::string build = text("_Build.txt");
  EXPECT_EQ(text_to_json(build), message_to_json(write_model(compiled)));
  EXPECT_NE(build.find("val_type: VT_LIST_STRING"), std::string::npos);  // the text of OriginOp's list
}

TEST_F(GraphDumps, ShowWhatPassesDid) {
  setenv("DUMP_GE_GRAPH", "2", 1);
  compile(small_model(), {}, nullptr, 1);
  const std::string before = text("_AfterInfershape.txt"), after = text("_Build.txt");
  EXPECT_NE(before.find("type: \"Sigmoid\""), std::string::npos);
  EXPECT_EQ(after.find("type: \"Sigmoid\""), std::string::npos);
  EXPECT_NE(after.find("type: \"Swish\""), std::string::npos);
  EXPECT_NE(after.find("FunctionFusionPass"), std::string::npos);
  EXPECT_NE(after.find("\"OriginOp\""), std::string::npos);
}

TEST_F(GraphDumps, DetailIsLess) {
  std::map<std::string, size_t> sizes;
  const Model model = small_model(4096);
  for (const char* detail : {"1", "2", "3"}) {
    TearDown();
    SetUp();
    setenv("DUMP_GE_GRAPH", detail, 1);
    compile(model, {}, nullptr, 1);
    sizes[detail] = text("_Build.txt").size();
  }
  EXPECT_GT(sizes["1"], 4096U * 3 * 4);
  EXPECT_LT(sizes["2"], 8192U);
  EXPECT_LT(sizes["3"], sizes["2"]);
  const auto edges = text_to_json(text("_Build.txt"));
  for (const auto& op : edges["graph"][0]["op"])
    for (const auto& [name, value] : op.items())
      EXPECT_TRUE(name == "name" || name == "type" || name == "input") << name;
}

TEST_F(GraphDumps, WrongVariablesAreRefused) {
  const auto refused = [&] {
    try {
      compile(small_model(), {});
    } catch (const Error& e) { return e.text(); }
    return std::string();
  };
  setenv("DUMP_GE_GRAPH", "4", 1);
  EXPECT_NE(refused().find("DUMP_GE_GRAPH is 4, want 1"), std::string::npos);
  setenv("DUMP_GE_GRAPH", "1", 1);
  setenv("DUMP_GRAPH_LEVEL", "5", 1);
  EXPECT_NE(refused().find("DUMP_GRAPH_LEVEL is 5"), std::string::npos);
  unsetenv("DUMP_GRAPH_LEVEL");
  setenv("DUMP_GRAPH_PATH", "/no/such/folder", 1);
  EXPECT_NE(refused().find("DUMP_GRAPH_PATH is /no/such/folder"), std::string::npos);
}

TEST_F(GraphDumps, KernelMeta) {
  const fs::path meta = folder_ / "kernel_meta";
  const auto count = [&](const std::string& end) {
    size_t n = 0;
    if (fs::exists(meta))
      for (const auto& entry : fs::directory_iterator(meta)) n += entry.path().string().ends_with(end);
    return n;
  };
  compile(small_model(), {{"op_debug_level", "0"}, {"debug_dir", folder_}});
  EXPECT_FALSE(fs::exists(meta));
  compile(small_model(), {{"op_debug_level", "3"}, {"debug_dir", folder_}});
  EXPECT_EQ(count(".json"), 2U);  // Swish and the product
  EXPECT_EQ(count("_compute.json"), 0U);
  compile(small_model(), {{"op_debug_level", "4"}, {"debug_dir", folder_}});
  EXPECT_EQ(count("_compute.json"), 1U);
  EXPECT_THROW(compile(small_model(), {{"op_debug_level", "5"}}), Error);

  const fs::path config = folder_ / "debug.cfg";
  std::ofstream(config) << "op_debug_config = dump_bin, ccec_g\n";
  fs::remove_all(meta);
  compile(small_model(), {{"op_debug_config", config}, {"debug_dir", folder_}});
  EXPECT_EQ(count(".json"), 2U);
  std::ofstream(config) << "op_debug_config = dump_all\n";
  EXPECT_THROW(compile(small_model(), {{"op_debug_config", config}}), Error);
}

}  // namespace
}  // namespace updraft::graph
