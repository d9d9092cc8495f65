// Raw records: what was written is read, and damage loses no more than what it hits.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include "observe/profiling/export/operator.h"
#include "observe/profiling/export/profile.h"
#include "observe/profiling/export/text_file.h"
#include "observe/profiling/writer.h"

namespace updraft::profiling {
namespace {

std::string header(int32_t device = -1) {
  FileHeader h{};
  std::memcpy(h.magic, kMagic, sizeof kMagic);
  h.version = kVersion;
  h.device = device;
  return {reinterpret_cast<const char*>(&h), sizeof h};
}
template <class T>
std::string record(Kind kind, const T& payload, std::string_view tail = {}) {
  const RecordHeader h{static_cast<uint16_t>(kind), static_cast<uint16_t>(sizeof(h) + sizeof(T) + tail.size())};
  std::string bytes(reinterpret_cast<const char*>(&h), sizeof h);
  bytes.append(reinterpret_cast<const char*>(&payload), sizeof payload);
  return bytes.append(tail);
}
TaskRecord task(uint64_t id, uint64_t begun, uint64_t ended, std::string_view name) {
  TaskRecord t{};
  t.id = id;
  t.begun = begun;
  t.ended = ended;
  t.name = text_id(name);
  t.index = -1;
  return t;
}

// Two exports of one profile in the same second give their files the same names.
TEST(ProfilingExport, TwoProcessesWriteOneFile) {
  char folder[] = "/tmp/updraft-export-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string path = std::string(folder) + "/table.csv";
  {
    TextFile mine(path);
    mine << "whole\n";
    const pid_t child = fork();
    if (child == 0) {
      try {
        TextFile other(path);
        other << "whole\n";
        other.done();
        _exit(0);
      } catch (const std::exception&) { _exit(1); }
    }
    int status = 1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_NO_THROW(mine.done());
  }
  std::ifstream read(path);
  std::string text((std::istreambuf_iterator<char>(read)), {});
  EXPECT_EQ(text, "whole\n");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
  std::filesystem::remove_all(folder);
}

TEST(ProfilingRecords, AreReadInOrder) {
  Profile p;
  read_records(header() + record(Kind::Text, TextRecord{text_id("aclnnAdd")}, "aclnnAdd") +
                   record(Kind::Task, task(2, 30, 40, "aclnnAdd")) + record(Kind::Task, task(1, 10, 20, "aclnnAdd")),
               p);
  put_in_order(p);
  ASSERT_EQ(p.tasks.size(), 2u);
  EXPECT_EQ(p.tasks[0].id, 1u);
  EXPECT_EQ(p.text(p.tasks[0].name), "aclnnAdd");
  EXPECT_EQ(p.damaged, 0u);
}

TEST(ProfilingRecords, ATruncatedFileKeepsItsWholeRecords) {
  const std::string good = header() + record(Kind::Task, task(1, 10, 20, "a"));
  Profile p;
  read_records(good + record(Kind::Task, task(2, 10, 20, "a")).substr(0, 50), p);
  EXPECT_EQ(p.tasks.size(), 1u);
  EXPECT_EQ(p.damaged, 1u);
  Profile other;
  read_records("something else altogether", other);
  EXPECT_EQ(other.damaged, 1u);
}

TEST(ProfilingRecords, WhatCannotBeIsDropped) {
  TaskRecord far = task(1, 10, 20, "a"), backwards = task(2, 20, 10, "a");
  far.device = 70000;
  Profile p;
  read_records(header() + record(Kind::Task, far) + record(Kind::Task, backwards) + record(static_cast<Kind>(999), far),
               p);
  put_in_order(p);
  EXPECT_TRUE(p.tasks.empty());
  EXPECT_EQ(p.damaged, 0u);  // a kind of a later version is no damage
}

TEST(ProfilingRecords, CollectivesHaveTheSameNamesOnAllRanks) {
  const std::string text = "C\ngroup_1\n1\n4\nFLOAT\n1000\nsum\n-1\n";
  Profile p;
  TaskRecord first = task(5, 10, 20, "HcclAllReduce"), second = task(7, 30, 50, "HcclBroadcast");
  for (TaskRecord* t : {&first, &second}) {
    t->kind = 3;
    t->arguments = text_id(text);
    t->bytes = 4000;
  }
  read_records(header() + record(Kind::Text, TextRecord{text_id(text)}, text) +
                   record(Kind::Text, TextRecord{text_id("HcclAllReduce")}, "HcclAllReduce") +
                   record(Kind::Text, TextRecord{text_id("HcclBroadcast")}, "HcclBroadcast") +
                   record(Kind::Task, second) + record(Kind::Task, first),
               p);
  put_in_order(p);
  const auto all = collectives_of(p);
  ASSERT_EQ(all.size(), 2u);
  const std::string number = fmt::format("{:03}", text_id("group_1") % 1000);
  EXPECT_EQ(all[0].name, "hcom_allReduce__" + number + "_0_1");
  EXPECT_EQ(all[1].name, "hcom_broadcast__" + number + "_1_1");
  EXPECT_EQ(all[0].ranks, 4);
  double sent = 0;
  for (const Traffic& t : traffic_of(all[0])) sent += t.bytes;
  EXPECT_DOUBLE_EQ(sent, 2 * 4000.0 * 3 / 4);  // every part goes to its owner and back
}

TEST(ProfilingStore, TheOldestSlicesGoAtTheLimit) {
  char name[] = "/tmp/updraft-store-XXXXXX";
  const std::string folder = mkdtemp(name);
  const auto store = std::make_shared<Store>(folder, 200u << 20);
  {
    RecordFile file(store, folder, "host", -1);
    const std::string block = record(Kind::Marker, MarkerRecord{}, std::string(60000, 'x'));
    for (int i = 0; i < 5000; ++i) ASSERT_TRUE(file.write(block));  // 300 MB
  }
  uint64_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) bytes += entry.file_size();
  EXPECT_LE(bytes, 200u << 20);
  EXPECT_GT(bytes, 150u << 20);
  EXPECT_GT(store->aged(), 0u);
  EXPECT_FALSE(std::filesystem::exists(folder + "/host.slice_0"));
  std::filesystem::remove_all(folder);
}

// Others fill the disk meanwhile: the profile gives way, though it is far below its own limit.
TEST(ProfilingStore, TheOldestSlicesGoWhereTheDiskFillsUp) {
  char name[] = "/tmp/updraft-store-XXXXXX";
  const std::string folder = mkdtemp(name);
  uint64_t free = 1000u << 20;
  const auto store = std::make_shared<Store>(folder, 0, [&](const std::string& asked) {
    EXPECT_EQ(asked, folder);
    return free;
  });
  EXPECT_EQ(store->limit(), 900u << 20);  // 90 % of what is free
  RecordFile file(store, folder, "host", -1);
  const auto slices = [&] {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) names.insert(entry.path().filename());
    return names;
  };
  const std::string block = record(Kind::Marker, MarkerRecord{}, std::string(60000, 'x'));
  const auto one_slice = [&] {
    for (uint64_t bytes = 0; bytes < Store::kSlice; bytes += block.size()) ASSERT_TRUE(file.write(block));
  };
  for (int i = 0; i < 3; ++i) one_slice();
  EXPECT_EQ(slices(), (std::set<std::string>{"host.slice_0", "host.slice_1", "host.slice_2"}));
  free = (20u << 20) + 1;
  one_slice();
  EXPECT_EQ(store->aged(), 0u);
  free = 20u << 20;  // and no byte more: all goes but the newest
  one_slice();
  EXPECT_EQ(store->aged(), 4u);
  EXPECT_EQ(slices(), std::set<std::string>{"host.slice_4"});
  free = 1000u << 20;
  one_slice();
  EXPECT_EQ(slices(), (std::set<std::string>{"host.slice_4", "host.slice_5"}));
  file.close();
  std::filesystem::remove_all(folder);
}

TEST(ProfilingStore, ARecordThatCannotBeWrittenIsTold) {
  char name[] = "/tmp/updraft-store-XXXXXX";
  const std::string folder = mkdtemp(name);
  const auto store = std::make_shared<Store>(folder, 200u << 20);
  RecordFile file(store, folder + "/data", "host", -1);
  std::filesystem::remove_all(folder);
  EXPECT_FALSE(file.write(record(Kind::Marker, MarkerRecord{})));
}

}  // namespace
}  // namespace updraft::profiling
