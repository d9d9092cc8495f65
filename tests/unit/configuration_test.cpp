// aclInit's file: what it asks for is there, or is refused by key and value.
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <thread>

#include "acl/acl.h"
#include "acl/configuration.h"
#include "error_text.h"

namespace {

struct Configuration : testing::Test {
  void SetUp() override { aclFinalize(); }
  void TearDown() override {
    aclFinalize();
    EXPECT_EQ(aclInit(nullptr), 0);  // without a default device, for the tests that follow
  }
  std::string file(const std::string& text) {
    std::string path = testing::TempDir() + "/configuration-" + std::to_string(getpid()) + ".json";
    std::ofstream(path) << text;
    return path;
  }
  int init(const std::string& text) {
    const int code = aclInit(file(text).c_str());
    if (code == 0) aclFinalize();
    return code;
  }
};

TEST_F(Configuration, MalformedFilesAreRefused) {
  EXPECT_EQ(aclInit((testing::TempDir() + "/does-not-exist.json").c_str()), 100003);
  EXPECT_EQ(aclInit(testing::TempDir().c_str()), 100003);
  EXPECT_EQ(init("{ this is not JSON"), 100006);
  EXPECT_EQ(init("[]"), 100006);
  EXPECT_EQ(init(R"({"dump": 3})"), 100006);
  EXPECT_NE(error_text().find("dump is 3"), std::string::npos);
  EXPECT_EQ(init(R"({"err_msg_mode": "two"})"), 100006);
  EXPECT_EQ(init(R"({"err_msg_mode": 7})"), 100006);
  EXPECT_EQ(init(R"({"defaultDevice": {}})"), 100006);
  EXPECT_EQ(init(R"({"defaultDevice": {"default_device": "99"}})"), 107001);
}

TEST_F(Configuration, WhatAsksForNothingIsAccepted) {
  for (const char* text : {"", "{}", R"({"dump": {"dump_scene": "lite_exception"}})",
                           R"({"dump":{"dump_scene":"lite_exception"}, "defaultDevice":{"default_device":"0"}})",
                           R"({"dump": {"dump_list": [], "dump_op_switch": "off", "dump_mode": "all"}})",
                           R"({"profiler": {"switch": "off"}})", R"({"profiler": {}})", R"({"err_msg_mode": "0"})",
                           R"({"max_opqueue_num": "1000", "StackSize": {}})", R"({"unheard_of": true})"})
    EXPECT_EQ(init(text), 0) << text << ": " << error_text();
}

TEST_F(Configuration, AWrongDumpIsRefusedByKeyAndValue) {
  const struct {
    const char *text, *said[2];
  } cases[] = {
      {R"({"dump": {"dump_path": "/no/such/folder", "dump_op_switch": "on"}})", {"dump_path", "/no/such/folder"}},
      {R"({"dump": {"dump_path": "/tmp", "dump_mode": "all"}})", {"dump_list", "dump_op_switch"}},
      {R"({"dump": {"dump_list": [{"model_name": "m"}]}})", {"dump_path", "folder"}},
      {R"({"dump": {"dump_op_switch": "maybe"}})", {"dump_op_switch", "maybe"}},
      {R"({"dump": {"dump_scene": "watcher"}})", {"watcher", "layer"}},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(init(c.text), 100009) << c.text;
    const std::string text = error_text();
    for (const char* said : c.said) EXPECT_NE(text.find(said), std::string::npos) << text;
  }
  EXPECT_EQ(aclInit(nullptr), 0);
}

TEST_F(Configuration, AWrongProfilerIsRefusedByKeyAndValue) {
  EXPECT_EQ(init(R"({"profiler": {"switch": "on", "output": "/nowhere/at/all"}})"), 100010);
  std::string text = error_text();
  for (const char* said : {"profiler", "output", "/nowhere/at/all"})
    EXPECT_NE(text.find(said), std::string::npos) << text;
  EXPECT_EQ(init(R"({"profiler": {"switch": "on", "output": "/tmp", "aic_metrics": "Speed"}})"), 100010);
  text = error_text();
  for (const char* said : {"Speed", "PipeUtilization"}) EXPECT_NE(text.find(said), std::string::npos) << text;
  EXPECT_EQ(aclInit(nullptr), 0);
}

// torch_npu's file for newer CANN names one: threads that set no device have it.
TEST_F(Configuration, TheDefaultDeviceIsThatOfThreadsWithoutOne) {
  ASSERT_EQ(aclInit(file(R"({"defaultDevice": {"default_device": "3"}})").c_str()), 0);
  std::thread([] {
    size_t free = 0, total = 0;
    EXPECT_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &free, &total), 0) << error_text();
    EXPECT_GT(total, 0u);
    int32_t device = -1;
    EXPECT_EQ(aclrtGetDevice(&device), 0);
    EXPECT_EQ(device, 3);
    EXPECT_EQ(aclrtSetDevice(4), 0);
    EXPECT_EQ(aclrtGetDevice(&device), 0);
    EXPECT_EQ(device, 4);
    EXPECT_EQ(aclrtResetDevice(4), 0);
    EXPECT_EQ(aclrtResetDevice(3), 0);
  }).join();
  aclFinalize();
  ASSERT_EQ(aclInit(nullptr), 0);
  std::thread([] {
    size_t free = 0, total = 0;
    EXPECT_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &free, &total), 107002);
  }).join();
}

TEST_F(Configuration, MessagesOfOtherThreads) {
  for (const bool own : {false, true}) {
    ASSERT_EQ(aclInit(file(own ? R"({"err_msg_mode": "1"})" : "{}").c_str()), 0);
    error_text();
    std::thread([] { EXPECT_EQ(aclrtFree(nullptr), 107000); }).join();
    EXPECT_EQ(error_text().empty(), own);
    aclFinalize();
  }
  ASSERT_EQ(aclInit(nullptr), 0);
  error_text();
}

}  // namespace
