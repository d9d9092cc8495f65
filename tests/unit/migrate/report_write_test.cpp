// Report files: whole or not at all, and failures that say what to do.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "base/error.h"
#include "migrate/report/files.h"

namespace updraft::migrate::report {
namespace {

namespace fs = std::filesystem;

class MigrateReportWrite : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "updraft-write-XXXXXX").string();
    ASSERT_TRUE(mkdtemp(name.data()));
    folder = name;
  }
  void TearDown() override { fs::remove_all(folder); }

  static std::string read(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
  }
  static std::string failure(const fs::path& path) {
    try {
      write_file(path, "x");
    } catch (const Error& error) { return error.text(); }
    return "";
  }

  fs::path folder;
};

TEST_F(MigrateReportWrite, ReplacesWholeFilesAndLeavesNothingBeside) {
  const std::string text = std::string("a\0\r\n", 4) + std::string(3 << 20, 'x');
  write_file(folder / "a", "old");
  write_file(folder / "a", text);
  EXPECT_EQ(read(folder / "a"), text);
  EXPECT_EQ(entries(), 1U);
  struct stat at {};
  ASSERT_EQ(stat((folder / "a").c_str(), &at), 0);
  const mode_t mask = umask(0);
  umask(mask);
  EXPECT_EQ(at.st_mode & 0777, 0666 & ~mask);
}

TEST_F(MigrateReportWrite, MakesTheFolderAndTakesStaleReportsAway) {
  const ReportFile files[] = {{"a.txt", "a"}, {"failed.txt", "bad", true}};
  write_files(folder / "deep" / "er", files);
  EXPECT_EQ(read(folder / "deep/er/failed.txt"), "bad");
  const ReportFile later[] = {{"a.txt", ""}, {"failed.txt", "", true}};
  write_files(folder / "deep" / "er", later);
  EXPECT_TRUE(fs::exists(folder / "deep/er/a.txt"));
  EXPECT_FALSE(fs::exists(folder / "deep/er/failed.txt"));
  write_files(folder / "deep" / "er", later);
}

TEST_F(MigrateReportWrite, SaysWhatCouldNotBeWrittenAndWhy) {
  fs::create_directory(folder / "taken");
  write_file(folder / "file", "kept");
  const std::string taken = failure(folder / "taken");
  EXPECT_NE(taken.find((folder / "taken").string() + " cannot be written"), std::string::npos) << taken;
  EXPECT_NE(taken.find("-o DIR"), std::string::npos) << taken;
  EXPECT_NE(failure(folder / "file" / "below").find("a part of the path is a file"), std::string::npos);
  EXPECT_NE(failure(folder / "absent" / "below").find("No such file"), std::string::npos);
  EXPECT_NE(failure(folder / std::string(300, 'x')).find("shorter"), std::string::npos);
  const ReportFile files[] = {{"a", "a"}};
  EXPECT_THROW(write_files(folder / "file" / "below", files), Error);
  EXPECT_EQ(read(folder / "file"), "kept");
  EXPECT_EQ(entries(), 2U);
}

TEST_F(MigrateReportWrite, ReadOnlyFoldersAreToldOf) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  fs::permissions(folder, fs::perms::owner_read | fs::perms::owner_exec);
  EXPECT_NE(failure(folder / "a").find("may write"), std::string::npos);
  fs::permissions(folder, fs::perms::owner_all);
}

TEST_F(MigrateReportWrite, LinksAreReplacedAndNotFollowed) {
  write_file(folder / "target", "kept");
  fs::create_symlink(folder / "target", folder / "link");
  write_file(folder / "link", "new");
  EXPECT_EQ(read(folder / "target"), "kept");
  EXPECT_EQ(read(folder / "link"), "new");
}

}  // namespace
}  // namespace updraft::migrate::report
