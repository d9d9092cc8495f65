// Weights of models that are loaded from a file stay there once their kernels have them in another form.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include "device/device.h"
#include "graph/compile/compile.h"
#include "graph/executor/outline.h"
#include "graph/executor/run.h"
#include "graph/ir/mapped_files.h"
#include "kernels/constant_operand.h"
#include "models.h"

namespace updraft::graph {
namespace {

constexpr int64_t kRows = 16, kWide = 192;
constexpr size_t kBytes = kRows * kWide * sizeof(float);

struct WeightsInFiles : Models {
  void SetUp() override {
    Models::SetUp();
    Floats weights(kWide * kWide);
    for (size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(i * 2654435761u % 1000) / 500 - 1;
    Graph g("net");
    Builder build(g);
    const Tensor w{DType::Float, {kWide, kWide}, Tensor::of(weights).data};
    const Endpoint x = build.input("x", 0, {DType::Float, {kRows, kWide}});
    const Endpoint product = build("MatMulV2", "product", {x, build.constant("weights", w)});
    build.outputs({build("Add", "sum", {product, build.constant("rows", {DType::Float, {kRows, kWide}, w.data})})});
    model_ = file(g);
    path_ = testing::TempDir() + "weights_" + std::to_string(getpid()) + ".om";
    write(path_);
  }
  void TearDown() override {
    Models::TearDown();
    std::filesystem::remove(path_);
  }
  void write(const std::string& path) const {
    std::ofstream(path, std::ios::binary | std::ios::trunc)
        .write(reinterpret_cast<const char*>(model_.data()), static_cast<std::streamsize>(model_.size()));
  }
  Floats run(uint32_t id) {
    Floats x(kRows * kWide);
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 31) / 31;
    void* y = device(kBytes);
    Set in, out;
    in.add(device(x), kBytes);
    out.add(y, kBytes);
    EXPECT_EQ(aclmdlExecute(id, in.set, out.set), 0) << error();
    return values<float>(y, kRows * kWide);
  }
  Bytes model_;
  std::string path_;
};

TEST_F(WeightsInFiles, OnlyWhatWasBroughtIntoAnotherFormStaysThere) {
  const Model model = om::read(Bytes::of_file(path_));
  const Node *weights = nullptr, *rows = nullptr;
  for (const auto& node : model.graph->nodes())
    if (node->constant()) (node->name() == "rows" ? rows : weights) = node.get();
  ASSERT_TRUE(weights && rows);
  const auto in_file = [](const Node* node) {
    return in_mapped_file(node->constant()->data.data(), node->constant()->data.size());
  };
  Device& on = Device::get(0);
  Weights all(model, on, nullptr, true);
  EXPECT_TRUE(in_file(weights));
  EXPECT_FALSE(in_file(rows));  // an element-wise operator reads it as it is
  EXPECT_TRUE(all.settle());    // nobody has asked for another form
  EXPECT_FALSE(in_file(weights));
  EXPECT_FALSE(all.settle());
  EXPECT_EQ(all.bytes(), weight_bytes(model));
}

TEST_F(WeightsInFiles, ResultsAreThoseOfAModelInMemory) {
  const Floats want = run(load(model_));
  uint32_t id = 0;
  ASSERT_EQ(aclmdlLoadFromFile(path_.c_str(), &id), 0) << error();
  loaded_.push_back(id);
  EXPECT_EQ(run(id), want);
  std::filesystem::remove(path_);  // what others do with the name is nothing to the model
  write(path_);
  EXPECT_EQ(run(id), want);
}

TEST_F(WeightsInFiles, AFileThatWasWrittenIsNotReadAgain) {
  const Bytes mapped = Bytes::of_file(path_);
  EXPECT_NO_THROW(require_unwritten(mapped.data() + 100));
  std::filesystem::last_write_time(path_, std::filesystem::last_write_time(path_) + std::chrono::seconds(1));
  try {
    require_unwritten(mapped.data() + 100);
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), 100003);
    EXPECT_NE(e.text().find(path_), std::string::npos) << e.text();
  }
  const std::string other = path_ + ".new";
  write(other);
  std::filesystem::rename(other, path_);  // it is another file now
  EXPECT_NO_THROW(require_unwritten(mapped.data() + 100));
}

/// In a folder of its own.
struct ExternalWeight : testing::Test {
  void SetUp() override {
    before_ = std::filesystem::current_path();
    folder_ = testing::TempDir() + "external_" + std::to_string(getpid());
    std::filesystem::create_directories(folder_);
    std::filesystem::current_path(folder_);
  }
  void TearDown() override {
    std::filesystem::current_path(before_);
    std::filesystem::remove_all(folder_);
  }
  static Model model() {
    Graph g("net");
    Builder build(g);
    const TensorDesc desc{DType::Float, {16, 32}};
    const Endpoint x = build.input("x", 0, desc);
    const auto constant = [&](const char* name, Dims dims) {
      return build.constant(name,
                            {DType::Float, dims, Tensor::of(Floats(static_cast<size_t>(count_of(dims)), 2)).data});
    };
    build.outputs(
        {build("Add", "sum", {build("Mul", "scaled", {x, constant("large", {16, 32})}), constant("small", {32})})});
    Model made;
    made.graph = copy(g);
    return made;
  }
  static size_t files() {
    if (!std::filesystem::exists("tmp_weight")) return 0;
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator("tmp_weight"), {}));
  }
  std::filesystem::path before_;
  std::string folder_;
};

TEST_F(ExternalWeight, LargeConstantsLieInFilesWhileTheModelLives) {
  std::optional<Model> compiled = compile(model(), {{"ge.externalWeight", "1"}});
  const auto data_of = [&](const char* name) { return compiled->graph->find(name)->constant()->data; };
  EXPECT_EQ(files(), 1u);
  EXPECT_TRUE(in_mapped_file(data_of("large").data(), 16 * 32 * 4));
  EXPECT_FALSE(in_mapped_file(data_of("small").data(), 32 * 4));
  EXPECT_EQ(compiled->graph->find("large")->type(), "Const");
  Model other = *compiled;
  compiled.reset();
  EXPECT_EQ(files(), 1u);
  other = Model();
  EXPECT_FALSE(std::filesystem::exists("tmp_weight"));
}

TEST_F(ExternalWeight, WithoutTheOptionThereIsNone) {
  const Model compiled = compile(model(), {{"ge.externalWeight", "0"}});
  EXPECT_FALSE(std::filesystem::exists("tmp_weight"));
}

TEST_F(ExternalWeight, Refusals) {
  EXPECT_THROW(compile(model(), {{"ge.externalWeight", "yes"}}), Error);
  std::ofstream("tmp_weight") << "no folder";
  try {
    compile(model(), {{"ge.externalWeight", "1"}});
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), 100003);
    EXPECT_NE(e.text().find("tmp_weight"), std::string::npos) << e.text();
  }
}

}  // namespace
}  // namespace updraft::graph
