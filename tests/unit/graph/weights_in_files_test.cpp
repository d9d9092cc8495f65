// Weights of models that are loaded from a file stay there once their kernels have them in another form.
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "device/device.h"
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

}  // namespace
}  // namespace updraft::graph
