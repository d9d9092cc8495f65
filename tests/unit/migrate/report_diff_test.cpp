// Diffs: what `git apply` and `patch` make of them is the output, byte for byte.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "migrate/report/diff.h"
#include "report_sample.h"

namespace updraft::migrate::report {
namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// A folder of its own, gone at the end.
class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "updraft-diff-XXXXXX").string();
    if (!mkdtemp(name.data())) throw std::runtime_error("mkdtemp failed");
    path = name;
  }
  ~Folder() { fs::remove_all(path); }
  void put(const std::string& name, const std::string& text) const {
    fs::create_directories((path / name).parent_path());
    std::ofstream(path / name, std::ios::binary) << text;
  }
  fs::path path;
};

int run(const Folder& folder, const std::string& command) {
  return std::system(("cd '" + folder.path.string() + "' && " + command + " >log 2>&1").c_str());
}

void expect_applies(const ProjectResult& result, const std::string& command) {
  Folder folder;
  for (const FileResult& file : result.files) folder.put(file.path, file.before);
  folder.put("change.diff", unified_diff(result));
  ASSERT_EQ(run(folder, command), 0) << read(folder.path / "log") << unified_diff(result);
  for (const FileResult& file : result.files)
    ASSERT_EQ(read(folder.path / file.path), file.after) << file.path << '\n' << unified_diff(file);
}

constexpr const char* kGit = "git -c core.autocrlf=false apply --whitespace=nowarn change.diff";
constexpr const char* kPatch = "patch --binary -p1 -i change.diff";

std::string random_text(std::mt19937& random) {
  static const std::vector<std::string> pieces = {"a",           "x = x.cuda()",  "\n",   "\n",    "\r\n",
                                                  "  ",          "中文",          "-- a", "+++ b", "\n\n",
                                                  "@@ -1 +1 @@", "\\ No newline", "\r"};
  std::string text;
  for (auto count = random() % 40; count > 0; --count) text += pieces[random() % pieces.size()];
  return text;
}

FileResult random_file(std::mt19937& random, bool with_edits) {
  FileResult file;
  file.path = "file.py";
  file.before = random_text(random);
  std::size_t read = 0;
  const std::size_t edits = random() % 6;
  for (std::size_t i = 0; i < edits && read <= file.before.size(); ++i) {
    Finding finding;
    finding.begin = static_cast<std::uint32_t>(read + random() % (file.before.size() - read + 1));
    finding.end = static_cast<std::uint32_t>(finding.begin +
                                             std::min<std::size_t>(random() % 7, file.before.size() - finding.begin));
    finding.edits.push_back({finding.begin, finding.end, random_text(random).substr(0, random() % 20)});
    finding.applied = true;
    file.after += file.before.substr(read, finding.begin - read) + finding.edits[0].text;
    read = finding.end;
    if (with_edits) file.findings.push_back(finding);
  }
  file.after += file.before.substr(read);
  file.changed = file.after != file.before;
  return file;
}

/// The unchanged lines have to be equal and the changed ones to cover all the rest.
void expect_sound(const FileResult& file) {
  const Lines before(file.before), after(file.after);
  std::size_t old_at = 0, new_at = 0;
  auto equal = [&](std::size_t until) {
    for (; old_at < until; ++old_at, ++new_at) {
      ASSERT_LT(new_at, after.size());
      ASSERT_EQ(before[old_at], after[new_at]);
    }
  };
  for (const LineChange& change : line_changes(before, after, applied_edits(file))) {
    ASSERT_TRUE(change.old_begin < change.old_end || change.new_begin < change.new_end);
    equal(change.old_begin);
    ASSERT_EQ(new_at, change.new_begin);
    old_at = change.old_end;
    new_at = change.new_end;
  }
  equal(before.size());
  ASSERT_EQ(new_at, after.size());
}

TEST(MigrateReportDiff, ChangesAreSoundForAnyTexts) {
  std::mt19937 random(7);
  for (int i = 0; i < 4000; ++i) {
    const FileResult file = random_file(random, i % 2);
    expect_sound(file);
    if (HasFatalFailure()) FAIL() << "before:\n" << file.before << "\nafter:\n" << file.after;
  }
}

/// git apply, and patch where it is installed.
std::vector<const char*> appliers() {
  std::vector<const char*> list = {kGit};
  if (std::system("patch --version >/dev/null 2>&1") == 0) list.push_back(kPatch);
  return list;
}

TEST(MigrateReportDiff, GitAndPatchMakeTheOutput) {
  std::mt19937 random(11);
  for (const char* command : appliers())
    for (int i = 0; i < 60; ++i) {
      ProjectResult result;
      for (int k = 0; k < 8; ++k) {
        FileResult file = random_file(random, i % 2);
        file.path = "d" + std::to_string(k) + "/name with space.py";
        // patch takes a file that becomes empty away, and makes one of nothing: both are right, but not this test's
        // matter
        if (file.changed && !file.before.empty() && !file.after.empty()) result.files.push_back(file);
      }
      if (!result.files.empty()) expect_applies(result, command);
      if (HasFatalFailure()) return;
    }
}

TEST(MigrateReportDiff, EmptyFilesAndStrangeNames) {
  for (const char* name : {"plain.py", "with space.py", "tab\there.py", "quote\".py", "back\\slash.py", "new\nline.py",
                           "中文.py", "latin\xE9.py", "a/b c/d.py", "-dash.py"}) {
    FileResult file = Build(name, "x.cuda()\r\ny").replace("cuda", "npu").done();
    ProjectResult result;
    result.files = {file};
    for (const char* command : appliers()) expect_applies(result, command);
  }
  ProjectResult result;
  FileResult file;
  file.path = "empty.py";
  file.changed = true;
  file.after = "import torch_npu\n";
  result.files = {file};
  expect_applies(result, kGit);
  std::swap(result.files[0].before, result.files[0].after);
  expect_applies(result, kGit);
}

TEST(MigrateReportDiff, IsAsSmallAsItCanBe) {
  const std::string text = unified_diff(sample().files[0]);
  EXPECT_EQ(text,
            "diff --git a/train.py b/train.py\n--- a/train.py\n+++ b/train.py\n@@ -1,14 +1,15 @@\n import torch\n"
            "+import torch_npu\n import argparse\n from model import Net\n \n \n def main():\n     # 设备\n"
            "-    device = torch.device('cuda:0' if torch.cuda.is_available() else 'cpu')\n"
            "+    device = torch.device('npu:0' if torch.npu.is_available() else 'cpu')\n     net = Net().to(device)\n"
            "-    name = '🚀'; net = net.cuda()\n-    torch.cuda.synchronize()\n"
            "+    name = '🚀'; net = net.npu()\n+    torch.npu.synchronize()\n     return net\n \n \n");
}

TEST(MigrateReportDiff, UnchangedFilesHaveNone) {
  FileResult file;
  file.path = "a.py";
  EXPECT_EQ(unified_diff(file), "");
  EXPECT_EQ(unified_diff(sample().files[2]), "");
}

TEST(MigrateReportDiff, EditsThatDoNotMakeTheOutputAreNotBelieved) {
  FileResult file = Build("a.py", "a\nb.cuda()\nc\n").replace("cuda", "npu").done();
  file.after = "a\nb.xpu()\nc\nd\n";
  expect_sound(file);
  EXPECT_NE(unified_diff(file).find("+b.xpu()"), std::string::npos);
}

TEST(MigrateReportDiff, ALargeFileWithManyEdits) {
  std::string text;
  for (int i = 0; i < 200000; ++i) text += "x = x.cuda()\n";
  FileResult file;
  file.path = "large.py";
  file.before = text;
  file.changed = true;
  for (std::uint32_t line = 0; line < 200000; line += 2) {
    Finding finding;
    finding.applied = true;
    finding.edits.push_back({line * 13 + 6, line * 13 + 10, "npu"});
    file.findings.push_back(finding);
  }
  std::size_t read = 0;
  for (const Edit& edit : applied_edits(file)) {
    file.after += text.substr(read, edit.begin - read) + edit.text;
    read = edit.end;
  }
  file.after += text.substr(read);
  EXPECT_EQ(line_changes(Lines(file.before), Lines(file.after), applied_edits(file)).size(), 100000U);
  expect_sound(file);
  file.findings.clear();  // and without knowing the edits
  expect_sound(file);
}

}  // namespace
}  // namespace updraft::migrate::report
