#include "base/environment.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>

namespace {

TEST(Environment, WhatIsSetLaterDoesNotCount) {
  updraft::keep_environment();
  const char* path = updraft_getenv("PATH");
  ASSERT_NE(path, nullptr);
  EXPECT_EQ(std::string(path), std::getenv("PATH"));
  setenv("UPDRAFT_TEST_SET_LATER", "1", 1);
  EXPECT_EQ(updraft_getenv("UPDRAFT_TEST_SET_LATER"), nullptr);
  unsetenv("UPDRAFT_TEST_SET_LATER");
  EXPECT_EQ(updraft_getenv("PATH"), path);
  EXPECT_EQ(updraft_getenv("PAT"), nullptr);
  EXPECT_EQ(updraft_getenv(""), nullptr);
}

// As a script's `os.environ[...] = ...` beside a device's thread that computes for the first time.
TEST(Environment, IsReadWhileAnotherThreadWrites) {
  const std::string path = updraft_getenv("PATH");
  std::atomic<bool> end{false};
  std::thread writer([&] {
    for (int i = 0; !end; i = (i + 1) % 500)
      setenv(("UPDRAFT_TEST_" + std::to_string(i)).c_str(), std::string(static_cast<size_t>(i), 'x').c_str(), 1);
  });
  bool same = true;
  for (int i = 0; i < 20000; ++i)
    same = same && path == updraft_getenv("PATH") && !updraft_getenv("UPDRAFT_TEST_NO_SUCH");
  end = true;
  writer.join();
  for (int i = 0; i < 500; ++i) unsetenv(("UPDRAFT_TEST_" + std::to_string(i)).c_str());
  EXPECT_TRUE(same);
}

}  // namespace
