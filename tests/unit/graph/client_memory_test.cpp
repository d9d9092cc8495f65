// Models in memory that clients give, loaded and executed with settings; descriptions of models that are not loaded.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "models.h"

namespace updraft::graph {
namespace {

struct ClientMemory : Models {
  void SetUp() override {
    Models::SetUp();
    Graph g("net");
    Builder build(g);
    layer(build, {2, 3});
    model_ = file(g);
    ASSERT_EQ(aclmdlQuerySizeFromMem(model_.data(), model_.size(), &work_, &weights_), 0) << error();
  }
  Floats run(uint32_t id) {
    Set in, out;
    void* y = device(16);
    in.add(device(kX), 24);
    out.add(y, 16);
    EXPECT_EQ(aclmdlExecute(id, in.set, out.set), 0) << error();
    return values<float>(y, 4);
  }
  int load_with(void* work, size_t work_bytes, void* weights, size_t weight_bytes) {
    uint32_t id = 0;
    const int code =
        aclmdlLoadFromMemWithMem(model_.data(), model_.size(), &id, work, work_bytes, weights, weight_bytes);
    if (code == 0) loaded_.push_back(id);
    return code;
  }
  Bytes model_;
  size_t work_ = 0, weights_ = 0;
};

TEST_F(ClientMemory, ModelsLiveInIt) {
  void *work = device(work_), *weights = device(weights_);
  size_t before = 0, after = 0, total = 0;
  aclrtGetMemInfo(ACL_HBM_MEM, &before, &total);
  ASSERT_EQ(load_with(work, work_, weights, weights_), 0) << error();
  aclrtGetMemInfo(ACL_HBM_MEM, &after, &total);
  EXPECT_EQ(before, after);
  EXPECT_EQ(values<float>(weights, 6), (Floats{1, 2, 3, 4, 5, 6}));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(run(loaded_.back()), kY);
  // two models that run one after the other may share what lives during an execution
  ASSERT_EQ(load_with(work, work_, nullptr, 0), 0) << error();
  EXPECT_EQ(run(loaded_[0]), kY);
  EXPECT_EQ(run(loaded_[1]), kY);
}

TEST_F(ClientMemory, TooLittleOfItIsRefused) {
  void* memory = device(1 << 12);
  ASSERT_GE(weights_, 64u);
  EXPECT_EQ(load_with(nullptr, 0, memory, weights_ - 1), 100000);
  EXPECT_NE(error().find("ask aclmdlQuerySize"), std::string::npos);
  if (work_) { EXPECT_EQ(load_with(memory, work_ - 1, nullptr, 0), 100000); }
  Floats host(1024);
  EXPECT_EQ(load_with(nullptr, 0, host.data(), host.size() * 4), 100000);
  EXPECT_NE(error().find("not inside one allocation"), std::string::npos);
  EXPECT_EQ(load_with(nullptr, 0, static_cast<char*>(memory) + 4, 4000), 100000);
}

TEST_F(ClientMemory, SettingsSayWhatToLoad) {
  aclmdlConfigHandle* config = aclmdlCreateConfigHandle();
  const auto set = [&](aclmdlConfigAttr attribute, auto value) {
    return aclmdlSetConfigOpt(config, attribute, &value, sizeof value);
  };
  uint32_t id = 0;
  EXPECT_EQ(aclmdlLoadWithConfig(config, &id), 100000);
  EXPECT_NE(error().find("ACL_MDL_LOAD_TYPE_SIZET"), std::string::npos);
  ASSERT_EQ(set(ACL_MDL_LOAD_TYPE_SIZET, size_t{4}), 0);
  ASSERT_EQ(set(ACL_MDL_MEM_ADDR_PTR, const_cast<std::byte*>(model_.data())), 0);
  ASSERT_EQ(set(ACL_MDL_MEM_SIZET, model_.size()), 0);
  ASSERT_EQ(set(ACL_MDL_WEIGHT_ADDR_PTR, device(weights_)), 0);
  ASSERT_EQ(set(ACL_MDL_WEIGHT_SIZET, weights_), 0);
  ASSERT_EQ(set(ACL_MDL_PRIORITY_INT32, int32_t{1}), 0);
  EXPECT_EQ(set(ACL_MDL_PRIORITY_INT32, int32_t{8}), 100000);
  EXPECT_EQ(set(ACL_MDL_MEM_SIZET, int32_t{8}), 100000);
  EXPECT_EQ(set(ACL_MDL_INPUTQ_NUM_SIZET, size_t{1}), 200001);
  ASSERT_EQ(aclmdlLoadWithConfig(config, &id), 0) << error();
  loaded_.push_back(id);
  EXPECT_EQ(run(id), kY);
  EXPECT_EQ(aclmdlDestroyConfigHandle(config), 0);
  EXPECT_EQ(aclmdlLoadWithConfig(config, &id), 100000);
}

TEST_F(ClientMemory, QueuesThatFeedAModelAreRefused) {
  const uint32_t queues[] = {1, 2};
  uint32_t id = 0;
  EXPECT_EQ(aclmdlLoadFromMemWithQ(model_.data(), model_.size(), &id, queues, 2, queues, 1), 100000);
  EXPECT_NE(error().find("1 inputs and 1 outputs"), std::string::npos) << error();
  EXPECT_EQ(aclmdlLoadFromMemWithQ(model_.data(), model_.size(), &id, nullptr, 1, queues, 1), 107000);
  EXPECT_EQ(aclmdlLoadFromMemWithQ(model_.data(), model_.size(), &id, queues, 1, queues, 1), 200001);
  EXPECT_NE(error().find("there are no queues"), std::string::npos) << error();
  EXPECT_EQ(aclmdlLoadFromFileWithQ("/nowhere.om", &id, queues, 1, queues, 1), 145002);
  EXPECT_EQ(id, 0u);
}

TEST_F(ClientMemory, AnOperatorIsNotFoundByANumber) {
  char name[8] = "";
  aclTensorDesc *inputs = nullptr, *outputs = nullptr;
  size_t counts[2] = {};
  EXPECT_EQ(aclmdlCreateAndGetOpDesc(0, 0, 7, name, 0, &inputs, &counts[0], &outputs, &counts[1]), 100000);
  EXPECT_EQ(aclmdlCreateAndGetOpDesc(0, 0, 7, name, 8, &inputs, &counts[0], nullptr, &counts[1]), 107000);
  EXPECT_EQ(aclmdlCreateAndGetOpDesc(0, 0, 7, name, 8, &inputs, &counts[0], &outputs, &counts[1]), 200001);
  EXPECT_NE(error().find("tasks have no numbers"), std::string::npos) << error();
}

TEST_F(ClientMemory, AnExecutionHasItsOwnAndATimeLimit) {
  const uint32_t id = load(model_);
  aclmdlExecConfigHandle* config = aclmdlCreateExecConfigHandle();
  void* work = device(work_);
  const int32_t limit = 50;
  ASSERT_EQ(aclmdlSetExecConfigOpt(config, ACL_MDL_WORK_ADDR_PTR, &work, sizeof work), 0);
  ASSERT_EQ(aclmdlSetExecConfigOpt(config, ACL_MDL_WORK_SIZET, &work_, sizeof work_), 0);
  aclrtStream stream = nullptr;
  ASSERT_EQ(aclrtCreateStream(&stream), 0);
  Set in, out;
  void* y = device(16);
  in.add(device(kX), 24);
  out.add(y, 16);
  ASSERT_EQ(aclmdlExecuteV2(id, in.set, out.set, stream, config), 0) << error();
  EXPECT_EQ(values<float>(y, 4), kY);
  ASSERT_EQ(aclmdlExecuteAsyncV2(id, in.set, out.set, stream, nullptr), 0) << error();
  ASSERT_EQ(aclrtSynchronizeStream(stream), 0);

  ASSERT_EQ(aclmdlSetExecConfigOpt(config, ACL_MDL_STREAM_SYNC_TIMEOUT, &limit, sizeof limit), 0);
  std::atomic<bool> go{false};
  auto wait = [](void* p) {
    while (!*static_cast<std::atomic<bool>*>(p)) std::this_thread::yield();
  };
  ASSERT_EQ(aclrtLaunchHostFunc(stream, wait, &go), 0);
  EXPECT_EQ(aclmdlExecuteV2(id, in.set, out.set, stream, config), 545601);
  EXPECT_NE(error().find("ACL_MDL_STREAM_SYNC_TIMEOUT"), std::string::npos);
  go = true;
  ASSERT_EQ(aclrtSynchronizeStream(stream), 0);
  EXPECT_EQ(aclmdlDestroyExecConfigHandle(config), 0);
  EXPECT_EQ(aclmdlExecuteV2(id, in.set, out.set, stream, config), 100000);
  aclrtDestroyStream(stream);
}

TEST_F(ClientMemory, DescriptionsWithoutLoading) {
  Graph g("net");
  Builder build(g);
  const std::string longest(200, 'n');
  const Endpoint x = build.input(longest, 0, {DType::Float, {2, 2}});
  const Endpoint sum = build("Add", "sum", {x, build.constant("one", Tensor::of(Floats{1, 1}))});
  build.outputs({sum});
  sum.node->attributes["OriginOp"] = std::vector<std::string>{"first", "second"};
  const Bytes bytes = file(g);
  aclmdlDesc* desc = aclmdlCreateDesc();
  size_t before = 0, after = 0, total = 0;
  aclrtGetMemInfo(ACL_HBM_MEM, &before, &total);
  ASSERT_EQ(aclmdlGetDescFromMem(desc, bytes.data(), bytes.size()), 0) << error();
  aclrtGetMemInfo(ACL_HBM_MEM, &after, &total);
  EXPECT_EQ(before, after);
  EXPECT_EQ(aclmdlGetInputSizeByIndex(desc, 0), 16u);
  EXPECT_EQ(aclmdlGetOutputSizeByIndex(desc, 0), 16u);
  aclmdlIODims dims;
  ASSERT_EQ(aclmdlGetInputDims(desc, 0, &dims), 0);
  EXPECT_STREQ(aclmdlGetTensorRealName(desc, dims.name), longest.c_str());
  EXPECT_STREQ(aclmdlGetTensorRealName(desc, longest.c_str()), longest.c_str());
  EXPECT_EQ(aclmdlGetTensorRealName(desc, "none"), nullptr);
  EXPECT_STREQ(aclmdlGetOpAttr(desc, "sum", "_datadump_original_op_names"), "[5]first[6]second");
  EXPECT_STREQ(aclmdlGetOpAttr(desc, "sum", "other"), "");
  EXPECT_STREQ(aclmdlGetOpAttr(desc, "none", "_datadump_original_op_names"), "");
  EXPECT_EQ(aclmdlGetDescFromFile(desc, "/no/such.om"), 145002);
  aclmdlDestroyDesc(desc);
}

}  // namespace
}  // namespace updraft::graph
