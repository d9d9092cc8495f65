// The page's parts that need no browser. tests/migrate/test_report_page.py looks at the page in one: it has this
// program write reports (UPDRAFT_REPORT_SAMPLES=FOLDER).
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "migrate/report/diff.h"
#include "migrate/report/files.h"
#include "migrate/report/guide/guide.h"
#include "migrate/report/json.h"
#include "migrate/report/page/page.h"
#include "report_sample.h"

namespace updraft::migrate::report {
namespace {

using Json = nlohmann::json;

/// A project as large as transformers, with every kind of finding.
ProjectResult large(int files, int per_file) {
  ProjectResult result;
  result.request = sample().request;
  result.seen = static_cast<std::uint64_t>(files) + 200;
  for (int i = 0; i < files; ++i) {
    std::string text;
    for (int k = 0; k < per_file; ++k)
      text += "def f" + std::to_string(k) + "(x):\n    y = x + " + std::to_string(i) +
              "\n    return y.cuda(non_blocking=True)\n\n\n\n\n\n\n";
    Build build("models/m" + std::to_string(i % 40) + "/modeling_" + std::to_string(i) + ".py", text);
    for (int k = 0; k < per_file; ++k) {
      if ((i + k) % 7 == 0)
        build.tell(
            "cuda",
            {"PT401", Category::Unsupported, Confidence::Certain, "torch.linalg.eig", "", {"not there", "不支持"}});
      else
        build.replace("cuda", "npu",
                      {"PT110", Category::Change, k % 3 ? Confidence::Certain : Confidence::Likely, "torch.Tensor.cuda",
                       "torch.Tensor.npu"},
                      (i + k) % 11 != 0);
    }
    result.files.push_back(build.done());
  }
  return result;
}

/// What a hostile project could try to get into the page.
ProjectResult hostile() {
  ProjectResult result;
  const std::string evil =
      "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">";
  result.request = {evil, "pytorch", evil, evil, evil, "2.7.1", evil};
  for (const std::string& path :
       {evil + ".py", std::string("<!--<script>.py"), std::string("\u202Egnp.py"), std::string("bad\xFF\xFE.py"),
        std::string("new\nline&amp;.py"), std::string("']]>\"'.py")}) {
    Build build(path, "a = '" + evil + "'; x.cuda()\n<!-- \xE9 & \u2028 -->\n");
    build.replace("cuda", "npu",
                  {"<b>R</b>", Category::Change, Confidence::Likely, evil.c_str(), evil.c_str(), {evil, evil}});
    build.tell("-->", {"X", Category::Unsupported, Confidence::Certain, evil.c_str(), "", {"&lt;b>", "<i>"}});
    result.files.push_back(build.done());
  }
  return result;
}

std::size_t count(const std::string& text, std::string_view what) {
  std::size_t n = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

std::string joined(const Pieces& pieces) {
  return std::accumulate(pieces.begin(), pieces.end(), std::string(),
                         [](std::string a, std::string_view b) { return a += b; });
}

TEST(MigrateReportPage, HighlightMarksWordsThatDiffer) {
  const auto [a, b] = highlight("    name = '🚀'; net = net.cuda()", "    name = '🚀'; net = net.npu()");
  EXPECT_EQ(a, (Pieces{"    name = '🚀'; net = net.", "cuda", "()"}));
  EXPECT_EQ(b, (Pieces{"    name = '🚀'; net = net.", "npu", "()"}));
  const auto [c, d] = highlight("import os", "x = {}");
  EXPECT_EQ(c, (Pieces{"import os"}));
  EXPECT_EQ(d, (Pieces{"x = {}"}));
  const auto [e, f] = highlight("batch(8)", "batch(8, drop_remainder=True)");
  EXPECT_EQ(e, (Pieces{"batch(8)"}));
  EXPECT_EQ(f, (Pieces{"batch(8", ", drop_remainder=True", ")"}));
}

TEST(MigrateReportPage, HighlightKeepsEveryByte) {
  std::mt19937 random(3);
  const std::vector<std::string> pieces = {"a", "cuda", ".", " ", "  ", "中", "\xFF", "(", "npu", "'"};
  for (int i = 0; i < 3000; ++i) {
    std::string a, b;
    for (auto n = random() % 12; n > 0; --n) a += pieces[random() % pieces.size()];
    for (auto n = random() % 12; n > 0; --n) b += pieces[random() % pieces.size()];
    const auto [x, y] = highlight(a, b);
    ASSERT_EQ(joined(x), a);
    ASSERT_EQ(joined(y), b);
    if (x.size() == 1 && y.size() == 1) continue;
    std::string same_a, same_b;
    for (std::size_t k = 0; k < x.size(); k += 2) same_a += x[k];
    for (std::size_t k = 0; k < y.size(); k += 2) same_b += y[k];
    ASSERT_EQ(same_a, same_b);
  }
  std::string long_a, long_b;
  for (int i = 0; i < 1000; ++i)
    long_a += "word" + std::to_string(i) + " ", long_b += (i == 500 ? "other" : "word") + std::to_string(i) + " ";
  EXPECT_EQ(highlight(long_a, long_b).first[1], "word500");
}

/// Blocks have to hold consecutive lines, every change and every finding, each once.
void expect_complete(const FileResult& file) {
  const Lines before(file.before), after(file.after);
  std::vector<int> findings(file.findings.size());
  std::size_t removed = 0, added = 0, last = 0;
  for (const Block& block : excerpt(file, before, after)) {
    ASSERT_FALSE(block.empty());
    ASSERT_GE(block.front().lines.old_begin, last);
    std::uint32_t old_at = block.front().lines.old_begin, new_at = block.front().lines.new_begin;
    for (const Passage& passage : block) {
      ASSERT_EQ(passage.lines.old_begin, old_at);
      ASSERT_EQ(passage.lines.new_begin, new_at);
      old_at = passage.lines.old_end;
      new_at = passage.lines.new_end;
      ASSERT_LE(old_at, before.size());
      for (const std::size_t i : passage.findings) ++findings[i];
      if (passage.changed) {
        removed += passage.lines.old_end - passage.lines.old_begin;
        added += passage.lines.new_end - passage.lines.new_begin;
      } else {
        for (std::uint32_t i = 0; i < passage.lines.old_end - passage.lines.old_begin; ++i)
          ASSERT_EQ(before[passage.lines.old_begin + i], (file.changed ? after : before)[passage.lines.new_begin + i]);
      }
    }
    last = old_at;
  }
  for (const int times : findings) ASSERT_EQ(times, 1);
  if (!file.changed) return;
  for (const LineChange& change : line_changes(before, after, applied_edits(file))) {
    removed -= change.old_end - change.old_begin;
    added -= change.new_end - change.new_begin;
  }
  ASSERT_EQ(removed, 0U);
  ASSERT_EQ(added, 0U);
}

TEST(MigrateReportPage, ExcerptsHoldEveryFindingOnce) {
  for (const ProjectResult& result : {sample(), large(30, 12)})
    for (const FileResult& file : result.files) {
      if (file.before.empty()) continue;
      expect_complete(file);
      if (HasFatalFailure()) FAIL() << file.path;
    }
  std::mt19937 random(5);
  for (int i = 0; i < 2000; ++i) {
    std::string text;
    for (auto n = random() % 30; n > 0; --n) text += random() % 3 ? "x.cuda()\n" : "\n";
    text += "x.cuda()";
    Build build("a.py", text);
    for (std::size_t at = 0, n = 0; (at = text.find("cuda", at)) != std::string::npos; ++at, ++n) {
      if (random() % 3 == 0) build.replace("cuda", random() % 4 ? "npu" : "a\nb");
      else if (random() % 3 == 0) build.tell("cuda", {"X", Category::Note});
      else if (random() % 4 == 0) build.replace("x", "y", {}, false);
      else break;
    }
    FileResult file = build.done();
    if (!file.changed) file.before = text;
    expect_complete(file);
    if (HasFatalFailure()) FAIL() << text << "\n=>\n" << file.after;
  }
}

TEST(MigrateReportPage, ReasonsStandByTheirLines) {
  const FileResult file = sample().files[0];
  const Lines before(file.before), after(file.after);
  for (const Block& block : excerpt(file, before, after))
    for (const Passage& passage : block)
      for (const std::size_t i : passage.findings) {
        EXPECT_TRUE(passage.changed);
        const std::uint32_t line = file.findings[i].from.line - 1;
        EXPECT_TRUE(line == passage.lines.old_begin) << i;
      }
}

TEST(MigrateReportPage, ProductsComeFromTheFactsAndTheFinding) {
  Request request;
  request.framework = "pytorch";
  request.facts = "2.7.1";
  request.product = "A3";
  const auto marks = products("torch.cuda.nvtx.range_push", Category::Unsupported, request);
  ASSERT_TRUE(marks.has_value());
  EXPECT_EQ((*marks)[1], Support::no);
  EXPECT_FALSE(products("my.own", Category::Unknown, request).has_value());
  EXPECT_EQ((*products("my.own", Category::Unsupported, request))[1], Support::no);
  EXPECT_EQ((*products("my.own", Category::Unsupported, request))[0], Support::unknown);
  request.facts = "no version";
  request.product = "no product";
  EXPECT_FALSE(products("torch.abs", Category::Unsupported, request).has_value());
}

TEST(MigrateReportPage, DataIsJsonThatCannotEndItsScript) {
  for (const ProjectResult& result : {sample(), hostile(), ProjectResult{}}) {
    const std::string data = page_data(result, summarize(result));
    EXPECT_EQ(data.find_first_of("<>&"), std::string::npos);
    const Json json = Json::parse(data);
    ASSERT_EQ(json["files"].size(), result.files.size());
    for (std::size_t i = 0; i < result.files.size(); ++i) {
      EXPECT_EQ(json["files"][i][6].size(), result.files[i].findings.size());
      const std::string excerpt = page_excerpt(result.files[i]);
      EXPECT_EQ(excerpt.find_first_of("<>&"), std::string::npos);
      EXPECT_TRUE(Json::accept(excerpt));
    }
  }
}

TEST(MigrateReportPage, NothingHostileBecomesMarkup) {
  const ProjectResult result = hostile();
  const std::string page = html(result);
  EXPECT_EQ(count(page, "<script"), 2 + result.files.size());
  EXPECT_EQ(count(page, "</script>"), 2 + result.files.size());
  EXPECT_EQ(count(page, "<img"), 0U);
  EXPECT_EQ(count(page, "<!--"), 0U);
  EXPECT_EQ(page.find("http://"), std::string::npos);
  EXPECT_EQ(page.find("https://"), std::string::npos);
}

TEST(MigrateReportPage, AssetsMayStandInAPage) {
  for (const char* name : {"page.css", "page.js"}) {
    const std::string text(embedded(name));
    ASSERT_FALSE(text.empty()) << name;
    EXPECT_EQ(text.find("</"), std::string::npos) << name;
    EXPECT_EQ(text.find("<!--"), std::string::npos) << name;
    EXPECT_EQ(text.find('\r'), std::string::npos) << name;
    EXPECT_EQ(text.find("innerHTML"), std::string::npos) << name;
  }
}

TEST(MigrateReportPage, WritesSamplesForOtherTests) {
  const char* folder = std::getenv("UPDRAFT_REPORT_SAMPLES");
  if (!folder) GTEST_SKIP() << "UPDRAFT_REPORT_SAMPLES names no folder";
  std::vector<ReportFile> files = pytorch_files(sample());
  files.push_back({"report.html", html(sample())});
  files.push_back({"report.json", json(sample())});
  files.push_back({"report.sarif", sarif(sample())});
  files.push_back({"report.diff", unified_diff(sample())});
  files.push_back({"hostile.html", html(hostile())});
  files.push_back({"hostile.json", json(hostile())});
  files.push_back({"hostile.sarif", sarif(hostile())});
  files.push_back({"empty.html", html({})});
  files.push_back({"large.html", html(large(2000, 10))});
  write_files(folder, files);
  EXPECT_TRUE(std::filesystem::exists(std::filesystem::path(folder) / "large.html"));
}

}  // namespace
}  // namespace updraft::migrate::report
