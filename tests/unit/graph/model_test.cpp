// Models through the C interface: made here, written as om files, loaded and run.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <thread>

#include "base/error.h"
#include "models.h"

namespace updraft::graph {
namespace {

TEST_F(Models, RunAndDescribeThemselves) {
  Graph g("net");
  Builder build(g);
  layer(build, {2, 3});
  g.attributes["output_names"] = std::vector<std::string>{"y"};
  const uint32_t id = load(file(g));
  aclmdlDesc* desc = aclmdlCreateDesc();
  ASSERT_EQ(aclmdlGetDesc(desc, id), 0) << error();
  EXPECT_EQ(aclmdlGetNumInputs(desc), 1u);
  EXPECT_EQ(aclmdlGetNumOutputs(desc), 1u);
  EXPECT_STREQ(aclmdlGetInputNameByIndex(desc, 0), "x");
  EXPECT_STREQ(aclmdlGetOutputNameByIndex(desc, 0), "y");
  EXPECT_EQ(aclmdlGetInputSizeByIndex(desc, 0), 24u);
  EXPECT_EQ(aclmdlGetOutputSizeByIndex(desc, 0), 16u);
  EXPECT_EQ(aclmdlGetOutputDataType(desc, 0), ACL_FLOAT);
  aclmdlIODims dims;
  ASSERT_EQ(aclmdlGetOutputDims(desc, 0, &dims), 0);
  EXPECT_EQ(dims.dimCount, 2u);
  EXPECT_EQ(dims.dims[0], 2);
  size_t index = 9;
  EXPECT_EQ(aclmdlGetInputIndexByName(desc, "z", &index), 100000);
  EXPECT_NE(error().find("no input named z; it has x"), std::string::npos);
  aclmdlDestroyDesc(desc);

  for (const bool async : {false, true}) {  // twice on other addresses
    Set in, out;
    void* y = device(16);
    in.add(device(kX), 24);
    out.add(y, 16);
    if (async) {
      aclrtStream stream;
      ASSERT_EQ(aclrtCreateStream(&stream), 0);
      ASSERT_EQ(aclmdlExecuteAsync(id, in.set, out.set, stream), 0) << error();
      ASSERT_EQ(aclrtSynchronizeStream(stream), 0) << error();
      aclrtDestroyStream(stream);
    } else {
      ASSERT_EQ(aclmdlExecute(id, in.set, out.set), 0) << error();
    }
    EXPECT_EQ(values<float>(y, 4), kY);
  }
}

TEST_F(Models, UnknownSizesComeWithTheInputs) {
  Graph g("net");
  Builder build(g);
  layer(build, {-1, 3});
  const uint32_t id = load(file(g));
  for (const int64_t rows : {2, 1, 2, 4}) {
    Set in, out;
    Floats x;
    for (int64_t r = 0; r < rows; ++r) x.insert(x.end(), kX.begin() + r % 2 * 3, kX.begin() + r % 2 * 3 + 3);
    in.add(device(x), x.size() * 4, {rows, 3});
    out.add(nullptr, 0);
    ASSERT_EQ(aclmdlExecute(id, in.set, out.set), 0) << error();
    const aclTensorDesc* desc = aclmdlGetDatasetTensorDesc(out.set, 0);
    ASSERT_NE(desc, nullptr);
    ASSERT_EQ(aclGetTensorDescNumDims(desc), 2u);
    EXPECT_EQ(aclGetTensorDescSize(desc), static_cast<size_t>(rows) * 8);
    const Floats y = values<float>(aclGetDataBufferAddr(aclmdlGetDatasetBuffer(out.set, 0)), x.size() / 3 * 2);
    for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(y[i], kY[i % 4]);
    for (aclTensorDesc* d : in.descs) aclDestroyTensorDesc(d);
  }
}

TEST_F(Models, WhatOthersReadIsNotWritten) {
  for (const bool dynamic : {false, true}) {
    Graph g("net");
    Builder build(g);
    const Endpoint x = build.input("x", 0, {DType::Float, {dynamic ? -1 : 4}});
    const Endpoint y = build("Relu", "relu", {x});
    const Endpoint at = build.constant("at", {DType::Int64, {1, 1}, Tensor::of(Ints{1}).data});
    const Endpoint value = build.constant("value", Tensor::of(Floats{9}));
    const auto ints = [&](const char* name, Ints values) { return build.constant(name, Tensor::of(values)); };
    const Endpoint first = build("ViewCopy", "first",
                                 {x, ints("size", {1}), ints("stride", {1}), ints("offset", {1}), value,
                                  ints("from_size", {1}), ints("from_stride", {1}), ints("from_offset", {0})});
    const Endpoint second = build("ScatterNdUpdate", "second", {y, at, value});
    build.outputs({first, second, build("Add", "sum", {y, x})});
    const uint32_t id = load(file(g));
    Set in, out;
    void* memory = device(Floats{1, 2, 3, 4});
    void* results[3];
    in.add(memory, 16, {4});
    for (void*& r : results) out.add(r = device(16), 16);
    ASSERT_EQ(aclmdlExecute(id, in.set, out.set), 0) << error();
    EXPECT_EQ(values<float>(memory, 4), (Floats{1, 2, 3, 4}));
    EXPECT_EQ(values<float>(results[0], 4), (Floats{1, 9, 3, 4}));
    EXPECT_EQ(values<float>(results[1], 4), (Floats{1, 9, 3, 4}));
    EXPECT_EQ(values<float>(results[2], 4), (Floats{2, 4, 6, 8}));
    for (aclTensorDesc* d : in.descs) aclDestroyTensorDesc(d);
  }
}

TEST_F(Models, ValuesMayDecideShapes) {
  Graph g("net");
  Builder build(g);
  const Endpoint x = build.input("x", 0, {DType::Float, {6}});
  const Endpoint target = build.input("shape", 1, {DType::Int64, {2}});
  const Endpoint y = build("Reshape", "y", {build("Neg", "neg", {x}), target});
  build.outputs({y, build("ReduceSum", "sum", {y, build.constant("axes", Tensor::of(Ints{1}))})});
  const uint32_t id = load(file(g));
  for (const Ints& shape : {Ints{2, 3}, Ints{3, 2}}) {
    Set in, out;
    in.add(device(kX), 24);
    in.add(device(shape), 16);
    out.add(nullptr, 0);
    out.add(nullptr, 0);
    ASSERT_EQ(aclmdlExecute(id, in.set, out.set), 0) << error();
    const aclTensorDesc* desc = aclmdlGetDatasetTensorDesc(out.set, 0);
    int64_t rows = 0;
    ASSERT_EQ(aclGetTensorDescDimV2(desc, 0, &rows), 0);
    EXPECT_EQ(rows, shape[0]);
    const Floats sums =
        values<float>(aclGetDataBufferAddr(aclmdlGetDatasetBuffer(out.set, 1)), static_cast<size_t>(rows));
    EXPECT_EQ(sums, rows == 2 ? (Floats{-6, -15}) : (Floats{-3, -7, -11}));
  }
}

TEST_F(Models, OutputsMayBeInputsConstantsAndTheSameTensorTwice) {
  Graph g("net");
  Builder build(g);
  const Endpoint x = build.input("x", 0, {DType::Float, {2}});
  const Endpoint c = build.constant("c", Tensor::of(Floats{7, 8}));
  const Endpoint y = build("Neg", "neg", {x});
  build.outputs({x, c, y, y, build("Reshape", "again", {y, build.constant("s", Tensor::of(Ints{1, 2}))})});
  const uint32_t id = load(file(g));
  Set in, out;
  in.add(device(Floats{1, 2}), 8);
  std::vector<void*> memory;
  for (int i = 0; i < 5; ++i) {
    memory.push_back(device(8));
    out.add(memory.back(), 8);
  }
  ASSERT_EQ(aclmdlExecute(id, in.set, out.set), 0) << error();
  EXPECT_EQ(values<float>(memory[0], 2), (Floats{1, 2}));
  EXPECT_EQ(values<float>(memory[1], 2), (Floats{7, 8}));
  for (int i = 2; i < 5; ++i) EXPECT_EQ(values<float>(memory[static_cast<size_t>(i)], 2), (Floats{-1, -2})) << i;
}

TEST_F(Models, OneModelRunsInManyThreads) {
  Graph g("net");
  Builder build(g);
  layer(build, {2, 3});
  const uint32_t id = load(file(g));
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      aclrtSetDevice(0);
      aclrtStream stream;
      aclrtCreateStream(&stream);
      void *x = nullptr, *y = nullptr;
      aclrtMalloc(&x, 64, ACL_MEM_MALLOC_HUGE_FIRST);
      aclrtMalloc(&y, 64, ACL_MEM_MALLOC_HUGE_FIRST);
      Floats mine = kX;
      for (float& v : mine) v *= static_cast<float>(t + 1);
      aclrtMemcpy(x, 24, mine.data(), 24, ACL_MEMCPY_HOST_TO_DEVICE);
      for (int i = 0; i < 50; ++i) {
        Set in, out;
        in.add(x, 24);
        out.add(y, 16);
        float read[4];
        if (aclmdlExecuteAsync(id, in.set, out.set, stream) || aclrtSynchronizeStream(stream)) ++wrong;
        aclrtMemcpy(read, 16, y, 16, ACL_MEMCPY_DEVICE_TO_HOST);
        if (read[3] != static_cast<float>(64 * (t + 1) + 1)) ++wrong;
      }
      aclrtFree(x);
      aclrtFree(y);
      aclrtDestroyStream(stream);
      aclrtResetDevice(0);
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(Models, WrongUseIsRefusedByName) {
  Graph g("net");
  Builder build(g);
  layer(build, {2, 3});
  const Bytes model = file(g);
  const uint32_t id = load(model);
  Set in, out, none;
  void* x = device(kX);
  in.add(x, 20);
  out.add(device(16), 16);
  EXPECT_EQ(aclmdlExecute(id, in.set, out.set), 100000);
  EXPECT_NE(error().find("input 0 (x) of model"), std::string::npos);
  EXPECT_EQ(aclmdlExecute(id, none.set, out.set), 100000);
  EXPECT_NE(error().find("has 1 inputs and 1 outputs, got 0 and 1"), std::string::npos);
  Set good;
  good.add(x, 24);
  EXPECT_EQ(aclmdlUnload(id), 0);
  EXPECT_EQ(aclmdlUnload(id), 145003);
  EXPECT_EQ(aclmdlExecute(id, good.set, out.set), 145003);
  EXPECT_NE(error().find("it was never loaded, or it was unloaded"), std::string::npos);
  loaded_.clear();

  uint32_t bad = 0;
  EXPECT_EQ(aclmdlLoadFromMem("PK\x03\x04 and more", 12, &bad), 100013);
  EXPECT_NE(error().find("a PyTorch checkpoint"), std::string::npos);
  for (const size_t size : {size_t{100}, size_t{256}, size_t{300}, model.size() / 2, model.size() - 1}) {
    EXPECT_EQ(aclmdlLoadFromMem(model.data(), size, &bad), 100013) << size;
    EXPECT_NE(error().find("cut off"), std::string::npos) << size;
  }
  EXPECT_EQ(aclmdlLoadFromFile("/no/such/file.om", &bad), 145002);
  EXPECT_NE(error().find("/no/such/file.om: No such file"), std::string::npos);
}

TEST_F(Models, ATypeWithoutAnOperatorIsRefusedWhenItIsCompiled) {
  Graph g("net");
  Builder build(g);
  const Endpoint x = build.input("x", 0, {DType::Float, {2}});
  Node& odd = g.add("NoSuchType", "odd");
  g.add_input(odd, "x", x);
  g.add_output(odd, "y");
  build.outputs({odd.out()});
  try {
    file(g);
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_NE(e.text().find("odd: the virtual NPU has no operator of type NoSuchType"), std::string::npos) << e.text();
  }
}

TEST_F(Models, InputShapesOfTheBuildAreUsed) {
  Graph g("net");
  Builder build(g);
  layer(build, {-1, 3});
  const uint32_t id = load(file(g, {{"input_shape", "x:2,3"}}));
  aclmdlDesc* desc = aclmdlCreateDesc();
  ASSERT_EQ(aclmdlGetDesc(desc, id), 0);
  EXPECT_EQ(aclmdlGetOutputSizeByIndex(desc, 0), 16u);
  aclmdlDestroyDesc(desc);
  auto refusal = [&](const char* shapes) {
    try {
      file(g, {{"input_shape", shapes}});
    } catch (const Error& e) { return e.text(); }
    return std::string("no error");
  };
  EXPECT_NE(refusal("z:2,3").find("input_shape is z, the model has no such input; its inputs are x"),
            std::string::npos);
  EXPECT_NE(refusal("x:2,4").find("input_shape is x:2,4, the model says that input x is FLOAT[-1, 3]"),
            std::string::npos);
  EXPECT_NE(refusal("x:2,a").find("x:2,a, 'a' is no size"), std::string::npos);
}

}  // namespace
}  // namespace updraft::graph
