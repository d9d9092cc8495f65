// The 22 keys of PROFILING_OPTIONS and their rules.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/error.h"
#include "observe/profiling/settings.h"

namespace updraft::profiling {
namespace {

class ProfilingOptions : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/updraft-options-XXXXXX";
    folder_ = mkdtemp(name);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // `rest` stands behind the output, as ,"key":"value".
  Settings read(const std::string& rest) const {
    return read_options("{\"output\":\"" + folder_ + "\"" + rest + "}", rules_);
  }
  std::string refusal(const std::string& rest) const {
    return refusal_of("{\"output\":\"" + folder_ + "\"" + rest + "}");
  }
  std::string refusal_of(const std::string& json) const {
    try {
      read_options(json, rules_);
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), 100010) << json;
      return e.text();
    }
    return "";
  }
  void expect_refused(const std::string& rest, const std::vector<std::string>& said) const {
    const std::string text = refusal(rest);
    EXPECT_NE(text, "") << rest << " was accepted";
    for (const auto& word : said) EXPECT_NE(text.find(word), std::string::npos) << text << " does not say " << word;
  }

  std::string folder_;
  OptionRules rules_;
};

TEST_F(ProfilingOptions, ThePlainOnesAreReadAndHaveTheirDefaults) {
  const Settings s = read("");
  EXPECT_EQ(s.output, folder_);
  EXPECT_TRUE(s.data & data::kTaskTime);  // on unless it is switched off
  EXPECT_FALSE(s.data & (data::kHcclTrace | data::kAicpu | data::kMarkers | data::kRuntimeApi | data::kTrainingTrace));
  EXPECT_EQ(s.metrics, "PipeUtilization");
  EXPECT_FALSE(s.data & data::kAicoreMetrics);
  EXPECT_EQ(s.storage_limit, 0u);
  EXPECT_EQ(s.memory_frequency, 0);
  const Settings all = read(
      R"(,"training_trace":"on","task_trace":"on","hccl":"on","aicpu":"on","msproftx":"on","runtime_api":"on","fp_point":"f","bp_point":"b","aic_metrics":"Memory","host_sys":"cpu,mem","host_sys_usage":"mem","host_sys_usage_freq":"7","sys_hardware_mem_freq":9,"sys_io_sampling_freq":"3","sys_interconnection_freq":"2","storage_limit":"200MB")");
  const uint64_t bits = data::kTrainingTrace | data::kTaskTime | data::kHcclTrace | data::kAicpu | data::kMarkers |
                        data::kRuntimeApi | data::kAicoreMetrics;
  EXPECT_EQ(all.data & bits, bits);
  EXPECT_EQ(all.fp_point, "f");
  EXPECT_EQ(all.bp_point, "b");
  EXPECT_EQ(all.metrics, "Memory");
  EXPECT_TRUE(all.host_cpu && all.host_memory && all.system_memory && !all.system_cpu);
  EXPECT_EQ(all.host_frequency, 7);
  EXPECT_EQ(all.memory_frequency, 9);
  EXPECT_EQ(all.io_frequency, 3);
  EXPECT_EQ(all.interconnect_frequency, 2);
  EXPECT_EQ(all.storage_limit, 200u << 20);
}

TEST_F(ProfilingOptions, OutputMustBeAFolderThatCanBeWritten) {
  EXPECT_NE(refusal_of("{}").find("output is missing"), std::string::npos);
  EXPECT_NE(refusal_of(R"({"output":"/nowhere/at/all"})").find("/nowhere/at/all"), std::string::npos);
  std::ofstream(folder_ + "/file") << "x";
  EXPECT_NE(refusal_of("{\"output\":\"" + folder_ + "/file\"}").find("file"), std::string::npos);
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder_);
  mkdir("below", 0700);
  EXPECT_EQ(read_options(R"({"output":"below"})", rules_).output,
            folder_ + "/below");  // against where the program started
  std::filesystem::current_path(before);
}

TEST_F(ProfilingOptions, WhatIsNoJsonOrNoKeyIsRefusedWithItsPlace) {
  EXPECT_NE(refusal_of("{\"output\":").find("byte"), std::string::npos);
  EXPECT_NE(refusal_of("[1]").find("array"), std::string::npos);
  expect_refused(R"(,"task_trase":"on")", {"task_trase", "task_trace"});
  expect_refused(R"(,"storage_limit":{})", {"storage_limit"});
}

TEST_F(ProfilingOptions, RangesAreTold) {
  for (const char* value : {"0", "199MB", "4294967297MB", "abc", "200GB", "-1"})
    expect_refused(std::string(R"(,"storage_limit":")") + value + "\"", {"storage_limit", value, "[200, 4294967296]"});
  EXPECT_EQ(read(R"(,"storage_limit":"4294967296MB")").storage_limit, 4294967296u << 20);
  const struct {
    const char* key;
    int most, usual;
  } frequencies[] = {{"sys_hardware_mem_freq", 100, 50},
                     {"sys_io_sampling_freq", 100, 100},
                     {"sys_interconnection_freq", 50, 50},
                     {"dvpp_freq", 100, 50},
                     {"host_sys_usage_freq", 50, 50}};
  for (const auto& f : frequencies) {
    for (const int value : {0, f.most + 1})
      expect_refused(fmt::format(",\"{}\":\"{}\"", f.key, value),
                     {f.key, fmt::format("[1, {}]", f.most), fmt::format("default {}", f.usual)});
    for (const int value : {1, f.most}) read(fmt::format(",\"{}\":\"{}\"", f.key, value));
  }
  for (const int value : {299, 30001})
    expect_refused(fmt::format(R"(,"instr_profiling_freq":"{}")", value),
                   {"instr_profiling_freq", "[300, 30000]", "default 1000"});
}

TEST_F(ProfilingOptions, MetricsAndTheirRegisters) {
  for (const char* name : {"ArithmeticUtilization", "PipeUtilization", "Memory", "MemoryL0", "MemoryUB",
                           "ResourceConflictRatio", "L2Cache"})
    EXPECT_EQ(read(std::string(R"(,"aic_metrics":")") + name + "\"").metrics, name);
  for (const char* good : {"Custom:0x1", "Custom:1,2,3,4,5,6,7,110", "Custom:0x6E,0x1"})
    read(std::string(R"(,"aic_metrics":")") + good + "\"");
  expect_refused(R"(,"aic_metrics":"Speed")", {"Speed", "MemoryUB"});
  expect_refused(R"(,"aic_metrics":"Custom:1,2,3,4,5,6,7,8,9")", {"9 registers", "8"});
  for (const char* bad : {"0x0", "0x6F", "111", "0", "x", "", "0xg"})
    expect_refused(std::string(R"(,"aic_metrics":"Custom:)") + bad + "\"", {"[0x1, 0x6E]"});
}

TEST_F(ProfilingOptions, TracesGoTogether) {
  expect_refused(R"(,"task_trace":"on")", {"task_trace", "training_trace"});
  expect_refused(R"(,"training_trace":"off")", {"training_trace", "on"});
  expect_refused(R"(,"fp_point":"a")", {"fp_point", "training_trace"});
  rules_.training = false;  // online inference
  EXPECT_TRUE(read(R"(,"task_trace":"on","aicpu":"on")").data & data::kTaskTime);
  rules_.training_ok = false;
  expect_refused(R"(,"training_trace":"on")", {"training_trace", "inference"});
}

TEST_F(ProfilingOptions, WhatIsNeitherOnNorOffIsOffWithARemark) {
  const Settings s = read(R"(,"aicpu":"maybe","hccl":"ON")");
  EXPECT_FALSE(s.data & (data::kAicpu | data::kHcclTrace));
  EXPECT_EQ(s.remarks.size(), 2u);
}

TEST_F(ProfilingOptions, InstructionsExcludeTheRest) {
  read(R"(,"instr_profiling_freq":"1000")");  // task_time is on by itself: that is no clash
  read(R"(,"instr_profiling_freq":"1000","task_time":"off")");
  for (const char* key : {"training_trace", "task_trace", "hccl", "aicpu", "fp_point", "bp_point", "aic_metrics", "l2",
                          "task_time", "runtime_api"})
    expect_refused(fmt::format(R"(,"instr_profiling_freq":"1000","{}":"on")", key), {"instr_profiling_freq", key});
}

TEST_F(ProfilingOptions, ProductsHaveTheirOwnValues) {
  for (const char* value : {"read", "write"}) read(std::string(R"(,"llc_profiling":")") + value + "\"");
  expect_refused(R"(,"llc_profiling":"capacity")", {"llc_profiling", "read"});
  rules_.product = "Ascend310";
  read(R"(,"llc_profiling":"capacity")");
  expect_refused(R"(,"llc_profiling":"read")", {"llc_profiling", "capacity"});
  rules_.product = "Ascend910A";
  EXPECT_FALSE(read(R"(,"aic_metrics":"L2Cache")").remarks.empty());
  rules_.card = true;
  expect_refused(R"(,"aic_metrics":"L2Cache")", {"L2Cache", "Ascend910A"});
  expect_refused(R"(,"instr_profiling_freq":"1000")", {"instr_profiling_freq", "Ascend910A"});
}

TEST_F(ProfilingOptions, WhatHasNoMeaningHereLeavesARemark) {
  for (const char* option : {R"("l2":"on")", R"("dvpp_freq":"10")", R"("llc_profiling":"read")",
                             R"("aic_metrics":"Custom:1")", R"("instr_profiling_freq":"1000")"})
    EXPECT_EQ(read(std::string(",") + option).remarks.size(), 1u) << option;
  expect_refused(R"(,"host_sys":"cpu,disk")", {"host_sys", "cpu, mem"});
}

}  // namespace
}  // namespace updraft::profiling
