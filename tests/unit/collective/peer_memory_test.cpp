// Memory files of others: what cannot be mapped is refused and leaves nothing behind. And which processes may map them.
#include "collective/shared/peer_memory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/error.h"
#include "collective/shared/owned_fd.h"
#include "collective/topology/host.h"

namespace updraft::collective {
namespace {

/// Pages of addresses that this process has.
size_t address_space() {
  std::ifstream statm("/proc/self/statm");
  size_t pages = 0;
  statm >> pages;
  return pages;
}

TEST(PeerMemory, WhatCannotBeMappedTakesNoAddresses) {
  constexpr off_t kBytes = off_t{1} << 36;
  const OwnedFd file(memfd_create("peer", MFD_CLOEXEC));
  ASSERT_EQ(ftruncate(file.get(), kBytes), 0);
  const std::string path = "/proc/self/fd/" + std::to_string(file.get());
  const OwnedFd readonly(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_GE(readonly.get(), 0);
  const size_t before = address_space();
  for (int i = 0; i < 3; ++i) EXPECT_THROW(PeerMemory::import(readonly.get()), Error);
  EXPECT_LT(address_space(), before + static_cast<size_t>(kBytes) / 4096);
  const auto memory = PeerMemory::import(file.get());
  EXPECT_EQ(memory->bytes(), static_cast<size_t>(kBytes));
}

class HostTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "updraft-host-" + std::to_string(getpid());
    std::filesystem::remove_all(folder_);
    write("/proc/self/ns/net", "");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void write(const std::string& name, const std::string& text) const {
    const std::filesystem::path path = folder_ + name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  std::string folder_;
};

TEST_F(HostTest, IsTheBoot) {
  write("/proc/sys/kernel/random/boot_id", "a\n");
  const std::string a = host_identity(folder_);
  EXPECT_EQ(host_identity(folder_), a);
  write("/proc/sys/kernel/random/boot_id", "b\n");
  EXPECT_NE(host_identity(folder_), a);
}

TEST_F(HostTest, IsTheMachineWhereTheBootIsUnknown) {
  write("/etc/machine-id", "a\n");
  write("/proc/stat", "cpu 1 2\nbtime 1000\n");
  const std::string a = host_identity(folder_);
  EXPECT_EQ(host_identity(folder_), a);
  write("/proc/stat", "cpu 3 4\nbtime 1001\n");
  EXPECT_NE(host_identity(folder_), a) << "a copy of the machine that was started at another time";
  write("/etc/machine-id", "b\n");
  EXPECT_NE(host_identity(folder_), a);
}

// Two hosts of which nothing is known must not be taken for one.
TEST_F(HostTest, IsTheProcessWhereNothingIsKnown) {
  const std::string alone = host_identity(folder_);
  EXPECT_NE(alone.find("process "), std::string::npos) << alone;
  EXPECT_EQ(host_identity(folder_), alone) << "of one process it stays the same";
  EXPECT_EQ(host_identity().find("process "), std::string::npos) << "this host is known";
}

}  // namespace
}  // namespace updraft::collective
