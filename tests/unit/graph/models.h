// Models through the C interface, for tests: device memory, datasets and om files that go with the test.
#pragma once
#include <gtest/gtest.h>

#include "acl/acl.h"
#include "device/device.h"
#include "graph/builder.h"
#include "graph/compile/compile.h"
#include "graph/executor/run.h"
#include "om/om_file.h"

namespace updraft::graph {

using Floats = std::vector<float>;
using Ints = std::vector<int64_t>;

struct Models : testing::Test {
  void SetUp() override {
    aclInit(nullptr);
    ASSERT_EQ(aclrtSetDevice(0), 0);
  }
  void TearDown() override {
    for (const uint32_t id : loaded_) aclmdlUnload(id);
    for (void* p : memory_) aclrtFree(p);
  }

  void* device(size_t bytes) {
    void* p = nullptr;
    EXPECT_EQ(aclrtMalloc(&p, bytes + 32, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    return memory_.emplace_back(p);
  }
  template <class T>
  void* device(const std::vector<T>& values) {
    void* p = device(values.size() * sizeof(T));
    EXPECT_EQ(
        aclrtMemcpy(p, values.size() * sizeof(T), values.data(), values.size() * sizeof(T), ACL_MEMCPY_HOST_TO_DEVICE),
        0);
    return p;
  }
  template <class T>
  static std::vector<T> values(const void* p, size_t count) {
    std::vector<T> read(count);
    EXPECT_EQ(aclrtMemcpy(read.data(), count * sizeof(T), p, count * sizeof(T), ACL_MEMCPY_DEVICE_TO_HOST), 0);
    return read;
  }
  static std::string error() {
    const char* text = aclGetRecentErrMsg();
    return text ? text : "";
  }

  uint32_t load(const Bytes& file) {
    uint32_t id = 0;
    EXPECT_EQ(aclmdlLoadFromMem(file.data(), file.size(), &id), 0) << error();
    loaded_.push_back(id);
    return id;
  }
  static Bytes file(Graph& graph, const OptionTexts& options = {}) {
    Model model;
    model.name = graph.name();
    model.graph = copy(graph);
    return om::write(compile(model, options));
  }

  struct Set {
    aclmdlDataset* set = aclmdlCreateDataset();
    ~Set() {
      for (size_t i = 0; i < aclmdlGetDatasetNumBuffers(set); ++i) aclDestroyDataBuffer(aclmdlGetDatasetBuffer(set, i));
      aclmdlDestroyDataset(set);
    }
    void add(void* data, size_t bytes) { aclmdlAddDatasetBuffer(set, aclCreateDataBuffer(data, bytes)); }
    void add(void* data, size_t bytes, Ints dims) {
      add(data, bytes);
      descs.push_back(aclCreateTensorDesc(ACL_FLOAT, static_cast<int>(dims.size()), dims.data(), ACL_FORMAT_ND));
      aclmdlSetDatasetTensorDesc(set, descs.back(), aclmdlGetDatasetNumBuffers(set) - 1);
    }
    std::vector<aclTensorDesc*> descs;
  };

  std::vector<uint32_t> loaded_;
  std::vector<void*> memory_;
};

/// relu(x w + b) by rows of x, with what lies between in memory of the model.
inline void layer(Builder& build, Dims x_dims) {
  const Endpoint x = build.input("x", 0, {DType::Float, std::move(x_dims)});
  const Endpoint w = build.constant("w", {DType::Float, {3, 2}, Tensor::of(Floats{1, 2, 3, 4, 5, 6}).data});
  const Endpoint b = build.constant("b", Tensor::of(Floats{-30, 1}));
  build.outputs({build("Relu", "relu", {build("Add", "sum", {build("MatMulV2", "product", {x, w}), b})})});
}
inline const Floats kX = {1, 2, 3, 4, 5, 6}, kY = {0, 29, 19, 65};

/// A graph, as it is, planned for the sizes of its inputs, with its weights and a run. `threads`: plan()'s.
struct PlannedRun {
  explicit PlannedRun(Graph& graph, int threads = 0) {
    model.name = graph.name();
    model.graph = copy(graph);
    std::vector<Known> inputs;
    for (const Node* data : model.graph->inputs())
      inputs.emplace_back(data->output().desc.dtype, data->output().desc.dims);
    weights = std::make_unique<Weights>(model, Device::get(0));
    program = std::make_shared<const Program>(*plan(*model.graph, inputs, {}, threads));
    run = std::make_unique<Run>(program, *weights, Device::get(0));
  }
  Run* operator->() const { return run.get(); }

  Model model;
  std::unique_ptr<Weights> weights;
  std::shared_ptr<const Program> program;
  std::unique_ptr<Run> run;
};

}  // namespace updraft::graph
