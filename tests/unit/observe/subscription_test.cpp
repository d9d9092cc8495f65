// A model's operators through a pipe: all of them, from several threads, and what becomes of a reader that has gone.
#include "observe/profiling/subscription.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace updraft::profiling {
namespace {

TaskEvent node(uint32_t model, const char* name, uint64_t begin) {
  TaskEvent event;
  event.model = model;
  event.index = 0;
  event.name = "aclnnAdd";
  event.node = name;
  event.begun.monotonic = begin;
  event.ended.monotonic = begin + 5;
  return event;
}

TEST(Subscriptions, EveryOperatorOfTheModelComesOnce) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  std::string all;
  std::thread reader([&] {
    char bytes[8192];
    for (ssize_t n; (n = read(ends[0], bytes, sizeof bytes)) > 0;) all.append(bytes, static_cast<size_t>(n));
  });
  {
    Subscription subscription(7, ends[1], true);
    std::vector<std::thread> engines;
    for (int t = 0; t < 4; ++t)
      engines.emplace_back([&, t] {
        for (int i = 0; i < 250; ++i) {
          subscription.task_ended(node(7, "net/add", static_cast<uint64_t>(t * 1000 + i + 1)));
          subscription.task_ended(node(8, "another model's", 1));
        }
      });
    for (std::thread& engine : engines) engine.join();
    subscription.finish();
    subscription.task_ended(node(7, "too late", 1));
  }
  close(ends[1]);
  reader.join();
  close(ends[0]);
  ASSERT_EQ(all.size(), 1000 * sizeof(OperatorRecord));
  for (size_t i = 0; i < 1000; ++i) {
    OperatorRecord record;
    std::memcpy(&record, all.data() + i * sizeof record, sizeof record);
    EXPECT_EQ(record.mark, OperatorRecord::kMark);
    EXPECT_EQ(record.model, 7u);
    EXPECT_EQ(record.name(), "net/add");
    EXPECT_EQ(record.end - record.begin, 5u);
  }
}

TEST(Subscriptions, WhoDoesNotReadHoldsNobodyUp) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  Subscription full(1, ends[1], false);  // a pipe holds 64 KiB, which is 65 records
  for (int i = 0; i < 200; ++i) full.task_ended(node(1, "x", 1));
  full.finish();
  close(ends[0]);
  Subscription gone(1, ends[1], false);
  gone.task_ended(node(1, "x", 1));
  gone.finish();
  close(ends[1]);
}

}  // namespace
}  // namespace updraft::profiling
