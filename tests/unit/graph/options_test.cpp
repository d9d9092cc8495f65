// What option files and command lines say: shapes, gears, switches of passes, precision, AIPP, and atc's arguments.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "atc/arguments.h"
#include "atc/refusal.h"
#include "graph/compile/aipp.h"
#include "graph/compile/compile.h"
#include "graph/compile/option_error.h"
#include "graph/compile/option_file.h"
#include "graph/compile/option_names.h"
#include "graph/dump/kernel_meta.h"
#include "graph/passes/switches.h"
#include "small_graphs.h"

namespace updraft::graph {
namespace {

/// A file with that content, which goes with the object.
class File {
 public:
  explicit File(const std::string& content) : path(testing::TempDir() + "updraft_options_" + std::to_string(++count_)) {
    std::ofstream(path) << content;
  }
  ~File() { std::remove(path.c_str()); }
  const std::string path;

 private:
  static inline int count_ = 0;
};

template <class F>
std::string refusal(F&& f) {
  try {
    f();
  } catch (const Error& e) { return e.text(); }
  return "nothing was refused";
}
template <class F>
void refuses(F&& f, const std::string& words) {
  const std::string text = refusal(f);
  EXPECT_NE(text.find(words), std::string::npos) << text;
}

TEST(Options, shapes_with_ranges) {
  InputRanges ranges;
  const auto shapes = parse_input_shapes("a:1,3;b:0:-1,2~4,5~-1 ; s", &ranges);
  EXPECT_EQ(shapes.at("a"), (Dims{1, 3}));
  EXPECT_EQ(shapes.at("b:0"), (Dims{-1, -1, -1}));
  EXPECT_EQ(shapes.at("s"), Dims());
  using Ranges = std::vector<std::pair<int64_t, int64_t>>;
  EXPECT_EQ(ranges.at("b:0"), (Ranges{{0, -1}, {2, 4}, {5, -1}}));
  EXPECT_FALSE(ranges.contains("a"));
  refuses([] { parse_input_shapes("a:1,4~2"); }, "'4~2' is no range");
  refuses([] { parse_input_shapes("a:1,-2"); }, "'-2' is no size");
  refuses([] { parse_input_shapes("a:1,,2"); }, "'' is no size");
}

TEST(Options, misspelt_names_are_told_once) {
  const auto told = [](const OptionTexts& options) {
    testing::internal::CaptureStderr();
    tell_unknown_options(options, "GEInitialize");
    return testing::internal::GetCapturedStderr();
  };
  const OptionTexts wrong = {{"ge.exec.precision_mod", "force_fp16"},
                             {"ge.graphrunMode", "1"},
                             {"no_such", "1"},
                             {"input_shap", "x:1"},
                             {"", "1"},
                             {"ge.socVersion", ""},
                             {std::string(1 << 16, 'g'), "1"}};
  EXPECT_EQ(
      told(wrong),
      "updraft: GEInitialize: there is no option ge.exec.precision_mod, it has no effect; is it "
      "ge.exec.precision_mode that you mean?\n"
      "updraft: GEInitialize: there is no option ge.graphrunMode, it has no effect; is it ge.graphRunMode that "
      "you mean?\n"
      "updraft: GEInitialize: there is no option input_shap, it has no effect; is it input_shape that you mean?\n");
  EXPECT_EQ(told(wrong), "");
}

// What a profile with the trace of iterations asks of graphs.
TEST(Options, iterations_of_training) {
  struct Trace {
    explicit Trace(bool points) { set_iteration_trace({true, points}); }
    ~Trace() { set_iteration_trace({}); }
  };
  const Model model = small_model(), dynamic = small_model();
  dynamic.graph->find("x")->output_desc().dims[0] = -1;
  const OptionTexts inference = {{"ge.graphRunMode", "0"}}, training = {{"ge.graphRunMode", "1"}};
  EXPECT_NO_THROW(compile(model, inference));
  {
    const Trace trace(false);
    EXPECT_NO_THROW(compile(model, training));
    EXPECT_NO_THROW(compile(model, {}));
    refuses([&] { compile(model, inference, nullptr, 7); }, "graph 7 is one of inference (ge.graphRunMode is 0)");
    refuses([&] { compile(dynamic, {}); }, "the input x has unknown sizes");
    refuses([&] { compile(dynamic, {}); }, "name them by fp_point and bp_point");
  }
  {
    const Trace trace(true);
    EXPECT_NO_THROW(compile(dynamic, {}));
    refuses([&] { compile(model, inference); }, "remove training_trace");
  }
  EXPECT_NO_THROW(compile(dynamic, {}));
}

TEST(Options, gears) {
  EXPECT_FALSE(parse_gears({}));
  const auto batches = parse_gears({{"dynamic_batch_size", "4, 1,2"}});
  EXPECT_EQ(batches->values, (std::vector<Dims>{{4}, {1}, {2}}));
  EXPECT_EQ(batches->find({2}), 2U);
  EXPECT_FALSE(batches->find({3}));
  EXPECT_EQ(parse_gears({{"dynamic_image_size", "16,8;32,24"}})->text(), "[16, 8], [32, 24]");
  EXPECT_EQ(parse_gears({{"dynamic_dims", "1,2,3;4,5,6"}})->kind, Gears::Kind::Dims);
  refuses([] { parse_gears({{"dynamic_image_size", "16;32"}}); }, "gear '16' has 1 numbers, want 2");
  refuses([] { parse_gears({{"dynamic_dims", "1,2;3"}}); }, "gear '3' has 1 numbers, want 2");
  refuses([] { parse_gears({{"dynamic_batch_size", "1,0"}}); }, "'0' is no size");
  refuses(
      [] {
        parse_gears({{"dynamic_batch_size", "1,2"}, {"dynamic_dims", "1;2"}});
      },
      "dynamic_batch_size is given, too");
}

TEST(Options, gears_of_a_graph) {
  Graph graph;
  graph.add_data("x", 0, TensorDesc(DType::Float, {-1, 3}));
  graph.add_data("y", 1, TensorDesc(DType::Float, {-1}));
  set_gears(graph, {Gears::Kind::Batch, {{2}, {8}}});
  const auto gears = gears_of(graph);
  ASSERT_TRUE(gears);
  EXPECT_EQ(gear_shapes(graph, *gears, 1), (std::vector<Dims>{{8, 3}, {8}, {1}}));
  EXPECT_EQ(graph.inputs().back()->name(), kGearInput);
  EXPECT_EQ(graph.inputs()[0]->output().desc.ranges[0], (std::pair<int64_t, int64_t>{2, 8}));
  Graph other;
  other.add_data("x", 0, TensorDesc(DType::Float, {1, -1}));
  refuses([&] { set_gears(other, {Gears::Kind::Batch, {{2}, {8}}}); }, "first dimension alone");
  refuses(
      [&] {
        set_gears(other, {Gears::Kind::Dims, {{2, 2}, {8, 8}}});
      },
      "1 unknown dimensions, a gear of dynamic_dims has 2");
}

TEST(Options, json_with_comments) {
  const auto json = parse_relaxed_json("o", "f", "{ // one\n \"a//b\": [1, 2,], # two\n \"c\": {\"d\": \"e\",},\n}");
  EXPECT_EQ(json["a//b"].size(), 2U);
  EXPECT_EQ(json["c"]["d"], "e");
  refuses([] { parse_relaxed_json("o", "f", "{\n\"a\": }"); }, "line 2 is no JSON");
  refuses([] { parse_relaxed_json("o", "f", "{\n\"a\": 3e939}"); }, "line 2 is no JSON");
}

TEST(Options, switches_of_passes) {
  const File json(
      R"({"Switch": {"GraphFusion": {"ALL": "off", "ConstantFoldingPass": "on"}, "UBFusion": {"ALL": "off"}}})");
  const PassSwitches switches = PassSwitches::of_file(json.path);
  EXPECT_TRUE(switches.on("ConstantFoldingPass"));
  EXPECT_FALSE(switches.on("IdentityRemovePass"));
  EXPECT_TRUE(switches.on("DeadNodeRemovePass"));  // the planner counts on it
  const File lines("IdentityRemovePass:off\n# a note\nMyFusionPass : on\n");
  EXPECT_FALSE(PassSwitches::of_file(lines.path).on("IdentityRemovePass"));
  EXPECT_EQ(PassSwitches::of_file(lines.path).unknown(), std::vector<std::string>{"MyFusionPass"});
  refuses([] { PassSwitches::of_text("o", "A:maybe"); }, "A is maybe, want on or off");
}

TEST(Options, precision) {
  EXPECT_FALSE(Precision::parse({}).changes());
  EXPECT_EQ(Precision::parse({{"precision_mode", "force_fp16"}}).mode, PrecisionMode::Low);
  EXPECT_EQ(Precision::parse({{"precision_mode_v2", "mixed_bfloat16"}}).low, DType::BFloat16);
  const File lists(
      R"({"black-list": {"to-remove": ["Exp"], "to-add": ["Conv2D"]}, "white-list": {"to-add": ["Relu"]}})");
  const Precision mixed = Precision::parse({{"precision_mode", "allow_mix_precision"}, {"modify_mixlist", lists.path}});
  EXPECT_FALSE(mixed.black.contains("Exp") || mixed.white.contains("Exp"));
  EXPECT_TRUE(mixed.black.contains("Conv2D") && !mixed.white.contains("Conv2D") && mixed.white.contains("Relu"));
  // an operator of the white list: adding to the other list beats what is said of this one, and removing leaves it grey
  ASSERT_TRUE(Precision::parse({{"precision_mode", "allow_mix_precision"}}).white.contains("MatMulV2"));
  const auto with = [](const char* text) {
    const File file(text);
    return Precision::parse({{"precision_mode", "allow_mix_precision"}, {"modify_mixlist", file.path}});
  };
  for (const char* text : {R"({"black-list": {"to-add": ["MatMulV2"]}})",
                           R"({"black-list": {"to-add": ["MatMulV2"]}, "white-list": {"to-remove": ["MatMulV2"]}})"}) {
    const Precision moved = with(text);
    EXPECT_TRUE(moved.black.contains("MatMulV2") && !moved.white.contains("MatMulV2")) << text;
  }
  const Precision grey = with(R"({"white-list": {"to-remove": ["MatMulV2"]}})");
  EXPECT_FALSE(grey.black.contains("MatMulV2") || grey.white.contains("MatMulV2"));
  const File custom("a/b::InputDtype:float16,float32OutputDtype:float16  # c\nOpType::Relu:OutputDtype:float32\n");
  const Precision customised = Precision::parse({{"precision_mode", "force_fp16"}, {"customize_dtypes", custom.path}});
  const CustomTypes& types = customised.custom_nodes.at("a/b");
  EXPECT_EQ(types.inputs, (std::vector<DType>{DType::Float16, DType::Float}));
  EXPECT_EQ(types.outputs, std::vector<DType>{DType::Float16});
  EXPECT_TRUE(customised.custom_types.at("Relu").inputs.empty());
  // what the modes without changes do not read
  EXPECT_TRUE(Precision::parse({{"precision_mode", "must_keep_origin_dtype"}, {"customize_dtypes", custom.path}})
                  .custom_nodes.empty());
}

TEST(Options, aipp) {
  const File two(
      "aipp_op { input_format: YUV420SP_U8 crop: true load_start_pos_w: 2 }\naipp_op { input_format: RGB888_U8 "
      "related_input_rank: 1 mean_chn_2: 0.5 }");
  const auto all = read_aipp(two.path);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_TRUE(all[0].picture.crop && all[0].picture.crop_left == 2);
  EXPECT_EQ(all[1].input, 1U);
  EXPECT_EQ(all[1].picture.mean[2], 0.5F);
  const File odd("aipp_op { input_format: YUV420SP_U8 crop: true load_start_pos_w: 3 }");
  refuses([&] { read_aipp(odd.path); }, "must be even");
  const File large("aipp_op { input_format: RGB888_U8 matrix_r0c0: 99999 }");
  refuses([&] { read_aipp(large.path); }, "matrix_r0c0 is 99999");
}

TEST(Options, files_that_cannot_be_read_are_refused_with_the_option) {
  const File empty("");
  for (const auto& [path, why] : {std::pair{empty.path, std::string("is empty")},
                                  {empty.path + "_missing", "No such file or directory"},
                                  {testing::TempDir(), "is no file"}}) {
    const auto names = [&](const char* option, auto&& read) {
      try {
        read();
        ADD_FAILURE() << option << " takes " << path;
      } catch (const OptionError& e) {
        EXPECT_EQ(e.option, option);
        EXPECT_EQ(e.value, path);
        EXPECT_NE(e.reason.find(why), std::string::npos) << e.reason;
      }
    };
    names("keep_dtype", [&] { Precision::parse({{"keep_dtype", path}}); });
    names("customize_dtypes", [&] {
      Precision::parse({{"precision_mode", "force_fp16"}, {"customize_dtypes", path}});
    });
    names("modify_mixlist", [&] {
      Precision::parse({{"precision_mode", "allow_mix_precision"}, {"modify_mixlist", path}});
    });
    names("fusion_switch_file", [&] { PassSwitches::of_file(path); });
    names("insert_op_conf", [&] { read_aipp(path); });
    names("op_debug_config", [&] { KernelMeta::parse({{"op_debug_config", path}}); });
  }
}

TEST(Options, command_line) {
  const char* line[] = {"atc", "--framework=5", "--out_nodes", "a:0;b:0", "--deterministic=1", "--log", "info"};
  const auto arguments = atc::Arguments::parse(std::size(line), line);
  EXPECT_EQ(arguments.get("out_nodes"), "a:0;b:0");
  EXPECT_EQ(arguments.get("mode"), "0");  // the default
  EXPECT_EQ(arguments.line(), "atc --framework=5 --out_nodes a:0;b:0 --deterministic=1 --log info");
  ASSERT_EQ(arguments.idle().size(), 1U);
  const char* unknown[] = {"atc", "--modell=x"};
  try {
    atc::Arguments::parse(2, unknown);
    ADD_FAILURE();
  } catch (const atc::Refusal& refusal) {
    EXPECT_EQ(refusal.name, "E10001");
    EXPECT_NE(refusal.solution.find("--model"), std::string::npos) << refusal.solution;
  }
  const char* boolean[] = {"atc", "--allow_hf32=1"};
  refuses([&] { atc::Arguments::parse(2, boolean); }, "must be true or false");
  const char* word[] = {"atc", "b:0"};
  refuses([&] { atc::Arguments::parse(2, word); }, "it is no option");
}

}  // namespace
}  // namespace updraft::graph
