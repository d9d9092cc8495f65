// What tests of passes share: graphs that are compiled and run, and how results are compared.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "acl/acl.h"
#include "device/context.h"
#include "device/device.h"
#include "device/stream.h"
#include "graph/builder.h"
#include "graph/compile/compile.h"
#include "graph/executor/loaded_model.h"

namespace updraft::graph {

using Floats = std::vector<float>;
using Doubles = std::vector<double>;
using Ints = std::vector<int64_t>;

inline Floats random(size_t n, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal;
  Floats values(n);
  for (float& v : values) v = normal(engine);
  return values;
}

struct Passes : testing::Test {
  void SetUp() override {
    aclInit(nullptr);
    ASSERT_EQ(aclrtSetDevice(0), 0);
  }

  Endpoint constant(const std::string& name, Dims dims, const Floats& values) {
    return build.constant(name, {DType::Float, std::move(dims), Tensor::of(values).data});
  }
  Endpoint number(double value) {
    return build.constant("c" + std::to_string(constants_++), Tensor::of(static_cast<float>(value)));
  }
  Endpoint cast(const std::string& name, Endpoint from, DType to) {
    return build("Cast", name, {from}, {{"dst_type", static_cast<int64_t>(to)}});
  }
  Endpoint transposed(const std::string& name, Endpoint from, Ints order) {
    return build("Transpose", name, {from, build.constant(name + "_order", Tensor::of(order))});
  }
  Model compiled(const OptionTexts& options = {}) {
    Model model;
    model.graph = copy(g);
    return compile(model, options);
  }
  static std::vector<std::string> types(const Model& model) {
    std::vector<std::string> all;
    for (const Node* node : model.graph->in_order())
      if (node->type() != "Data" && node->type() != "NetOutput" && !node->constant()) all.push_back(node->type());
    return all;
  }

  /// The only output for these inputs.
  static Floats run(const Model& model, const std::vector<std::pair<Dims, Floats>>& inputs) {
    const auto loaded = std::make_shared<LoadedModel>(model, Device::get(0), 1);
    const auto execution = std::make_shared<Execution>();
    std::vector<void*> memory;
    auto device = [&](size_t bytes) {
      void* p = nullptr;
      EXPECT_EQ(aclrtMalloc(&p, bytes + 32, ACL_MEM_MALLOC_HUGE_FIRST), 0);
      return memory.emplace_back(p);
    };
    for (const auto& [dims, values] : inputs) {
      Buffer& buffer = execution->inputs.emplace_back();
      buffer.bytes = values.size() * 4;
      buffer.data = device(buffer.bytes);
      buffer.dims = dims;
      EXPECT_EQ(aclrtMemcpy(buffer.data, buffer.bytes, values.data(), buffer.bytes, ACL_MEMCPY_HOST_TO_DEVICE), 0);
    }
    execution->outputs.emplace_back();
    aclrtStream stream = nullptr;
    EXPECT_EQ(aclrtCreateStream(&stream), 0);
    loaded->execute(execution, stream_of(stream));
    EXPECT_EQ(aclrtSynchronizeStream(stream), 0) << aclGetRecentErrMsg();
    const Buffer& out = execution->outputs[0];
    Floats values(static_cast<size_t>(count_of(out.dims)));
    EXPECT_EQ(aclrtMemcpy(values.data(), values.size() * 4, out.data, values.size() * 4, ACL_MEMCPY_DEVICE_TO_HOST), 0);
    aclrtDestroyStream(stream);
    for (void* p : memory) aclrtFree(p);
    return values;
  }

  Graph g;
  Builder build{g};

 private:
  int constants_ = 0;
};

inline void expect_near(const Floats& got, const Doubles& want, double bound) {
  ASSERT_EQ(got.size(), want.size());
  double worst = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(want[i])) {
      EXPECT_TRUE(std::isnan(got[i])) << i;
      continue;
    }
    const double error = std::abs(got[i] - want[i]) / (1 + std::abs(want[i]));
    worst = std::isnan(error) ? INFINITY : std::max(worst, error);
  }
  EXPECT_LE(worst, bound);
}

}  // namespace updraft::graph
