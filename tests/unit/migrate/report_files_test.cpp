// The guide's files: names, columns and what stands in them.
#include <gtest/gtest.h>

#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "base/error.h"
#include "migrate/report/files.h"
#include "migrate/report/guide/guide.h"
#include "migrate/report/summary.h"
#include "migrate/report/table.h"
#include "report_sample.h"

namespace updraft::migrate::report {
namespace {

/// A reader of RFC 4180, apart from the writer.
std::vector<std::vector<std::string>> parse(std::string text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < text.size();) {
    std::vector<std::string> row;
    for (bool more = true; more;) {
      std::string field;
      if (text[i] == '"') {
        for (++i;; ++i) {
          if (text.at(i) == '"' && (i + 1 == text.size() || text[i + 1] != '"')) break;
          if (text[i] == '"') ++i;
          field += text[i];
        }
        ++i;
      } else {
        while (i < text.size() && text[i] != ',' && text[i] != '\n') field += text[i++];
      }
      row.push_back(field);
      more = i < text.size() && text[i] == ',';
      ++i;
    }
    rows.push_back(row);
  }
  return rows;
}

std::map<std::string, std::string> by_name(const std::vector<ReportFile>& files) {
  std::map<std::string, std::string> map;
  for (const ReportFile& file : files) map[file.name] = file.text;
  return map;
}

using Row = std::vector<std::string>;

TEST(MigrateReportCsv, FieldsComeBackAsTheyWere) {
  Csv csv{"A", "B"};
  csv.row().text("plain").text("a,b");
  csv.row().text("quote \" and\nline").number(7);
  csv.row().text("").text("中文");
  const std::string text = std::move(csv).finish();
  EXPECT_TRUE(
      text.starts_with("\xEF\xBB\xBF"
                       "A,B\nplain,\"a,b\"\n\"quote \"\" and\nline\",7\n"));
  EXPECT_EQ(parse(text), (std::vector<Row>{{"A", "B"}, {"plain", "a,b"}, {"quote \" and\nline", "7"}, {"", "中文"}}));
}

TEST(MigrateReportCsv, FormulasAreDisarmedAndPathsStillNameTheirFile) {
  Csv csv{"Path", "Text"};
  for (const char* hostile : {"=cmd|' /C calc'!A0", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"})
    csv.row().path(hostile).text(hostile);
  csv.row().path("a=b.py").text("x = 1");
  const auto rows = parse(std::move(csv).finish());
  EXPECT_EQ(rows[1], (Row{"./=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0"}));
  for (std::size_t i = 1; i < 7; ++i) EXPECT_TRUE(rows[i][0].starts_with("./") && rows[i][1].starts_with("'")) << i;
  EXPECT_EQ(rows[7], (Row{"a=b.py", "x = 1"}));
}

TEST(MigrateReportCsv, OnlyWhatNeedsItHasAByteOrderMark) {
  Csv ascii{"A"};
  ascii.row().text("x");
  EXPECT_EQ(std::move(ascii).finish(), "A\nx\n");
  Csv bytes{"A"};
  bytes.row().text("caf\xE9");
  EXPECT_EQ(std::move(bytes).finish(),
            "\xEF\xBB\xBF"
            "A\ncaf\xEF\xBF\xBD\n");
}

TEST(MigrateReportCsv, RowsOfAnotherLengthAreRefused) {
  Csv csv{"A", "B"};
  csv.row().text("x");
  EXPECT_THROW(std::move(csv).finish(), Error);
  Csv longer{"A"};
  longer.row().text("x");
  EXPECT_THROW(longer.text("y"), Error);
}

TEST(MigrateReportFiles, PyTorchFilesHaveTheGuidesNamesAndColumns) {
  const auto files = by_name(pytorch_files(sample()));
  const std::map<std::string, Row> wanted = {
      {"change_list.csv", {"File", "Start Line", "End Line", "Operation Type", "Message"}},
      {"unsupported_api.csv", {"File", "Start Line", "End Line", "OP", "Tips"}},
      {"unknown_api.csv", {"File", "Start Line", "End Line", "OP", "Tips"}},
      {"api_precision_advice.csv", {"File", "Start Line", "End Line", "OP", "Tips"}},
      {"api_performance_advice.csv", {"File", "Start Line", "End Line", "OP", "Tips"}},
      {"affinity_api_call.csv", {"File", "Start Line", "End Line", "Api Type", "Api Call Name", "Affinity Api Name"}},
      {"cuda_op_list.csv", {"File", "Api"}}};
  EXPECT_EQ(files.size(), wanted.size() + 1);
  for (const auto& [name, columns] : wanted) {
    ASSERT_TRUE(files.count(name)) << name;
    const auto rows = parse(files.at(name));
    EXPECT_EQ(rows[0], columns) << name;
    for (const Row& row : rows) EXPECT_EQ(row.size(), columns.size()) << name;
  }
  const auto changes = parse(files.at("change_list.csv"));
  ASSERT_EQ(changes.size(), 8U);  // the change that is only reported is not among them
  EXPECT_EQ(changes[1],
            (Row{"train.py", "2", "2", "INSERT", "torch_npu must be imported before NPU devices are used"}));
  EXPECT_EQ(changes[2], (Row{"train.py", "8", "8", "MODIFY", "a device string"}));
  EXPECT_EQ(changes[6], (Row{"src/model net.py", "5", "5", "MODIFY", "CUDA becomes NPU"}));
  EXPECT_EQ(parse(files.at("unsupported_api.csv"))[1],
            (Row{"./=cmd|' /C calc'!A0.py", "1", "1", "torch.linalg.eig", "'=not on A2, \"never\""}));
  EXPECT_EQ(parse(files.at("affinity_api_call.csv"))[1], (Row{"./=cmd|' /C calc'!A0.py", "3", "3", "optimizer",
                                                              "torch.optim.Adam", "torch_npu.optim.NpuFusedAdam"}));
  EXPECT_EQ(parse(files.at("cuda_op_list.csv"))[1], (Row{"ops/kernel.cu", "f"}));
  EXPECT_EQ(parse(files.at("api_precision_advice.csv")).size(), 1U);  // nothing to say: still a table
}

TEST(MigrateReportFiles, OperationsAreWhatTheEditsDo) {
  Finding finding;
  finding.edits = {{3, 3, "x"}, {9, 9, "y"}};
  EXPECT_EQ(operation(finding), "INSERT");
  finding.edits = {{3, 5, ""}};
  EXPECT_EQ(operation(finding), "DELETE");
  finding.edits = {{3, 5, ""}, {9, 9, "y"}};
  EXPECT_EQ(operation(finding), "MODIFY");
}

TEST(MigrateReportFiles, AnalysisFiles) {
  const auto files = by_name(analysis_files(sample(), Language::zh));
  EXPECT_FALSE(files.count("change_list.csv"));
  const auto unsupported = parse(files.at("full_unsupported_results.csv"));
  EXPECT_EQ(unsupported[0], (Row{"File", "3rd-party API", "Message"}));
  ASSERT_EQ(unsupported.size(), 4U);
  EXPECT_EQ(unsupported[1][1], "src.model net");
  EXPECT_NE(unsupported[1][2].find("bitsandbytes 依赖 CUDA"), std::string::npos);
  EXPECT_NE(unsupported[1][2].find("torch_npu.optim.NpuFusedAdam"), std::string::npos);
  for (const char* name : {"framework_unsupported_op.csv", "unknown_op.csv", "migration_needed_op.csv"})
    EXPECT_EQ(parse(files.at(name))[0], (Row{"Torch API", "Affected 3rd-party API"})) << name;
  EXPECT_EQ(parse(files.at("cuda_op.csv"))[0], (Row{"OP Name", "Affected 3rd-party API"}));
  EXPECT_EQ(parse(files.at("unknown_op.csv"))[1], (Row{"torch._foo", "src.model net"}));
  EXPECT_EQ(parse(files.at("migration_needed_op.csv")).size(), 6U);
}

TEST(MigrateReportLog, HasALineForEachFindingAndNoMore) {
  const std::string text = log(sample());
  std::istringstream in(text);
  std::string line;
  std::size_t lines = 0;
  for (; std::getline(in, line); ++lines)
    EXPECT_TRUE(line.starts_with("[INFO] ") || line.starts_with("[WARNING] ") || line.starts_with("[ERROR] ")) << line;
  EXPECT_EQ(lines, 3U + 15 + 3 + 9 + 1) << text;  // request, findings, files, next steps, sum
  EXPECT_NE(text.find("[INFO] train.py:11: MODIFY PT101 (certain) torch.cuda.synchronize -> torch.npu.synchronize: "),
            std::string::npos);
  EXPECT_NE(text.find("[ERROR] broken\\n.py: not migrated"), std::string::npos);
  EXPECT_NE(log(sample(), Language::zh).find("扫描 120 个文件"), std::string::npos);
}

TEST(MigrateReportSummary, CountsAndSaysWhatIsNext) {
  const Summary summary = summarize(sample());
  EXPECT_EQ(summary.files, (std::array<std::size_t, 3>{1, 0, 4}));
  EXPECT_EQ(summary.counts.changes_applied(), 7U);
  EXPECT_EQ(summary.counts.changes_left(), 1U);
  EXPECT_EQ(summary.changed, 2U);
  EXPECT_EQ(summary.failed, 1U);
  ASSERT_EQ(summary.steps.size(), 9U);
  EXPECT_EQ(summary.steps.front().category, Category::Failure);
  EXPECT_EQ(summary.steps[1].what.en,
            "Replace third-party packages that need a GPU: 1 use (bitsandbytes → torch_npu.optim.NpuFusedAdam).");
  EXPECT_EQ(summary.steps.back().sites, 0U);
  EXPECT_EQ(summarize({}).steps.size(), 1U);
  ProjectResult large;
  large.request.partial = true;
  const Summary partial = summarize(large);
  ASSERT_EQ(partial.steps.size(), 2U);
  EXPECT_NE(partial.steps[0].what.en.find("updraft analyse"), std::string::npos);
}

TEST(MigrateReportSummary, ReviewedDoubtsDoNotBlock) {
  Finding finding;
  finding.category = Category::Unsupported;
  EXPECT_EQ(weight(finding), Weight::Blocking);
  finding.confidence = Confidence::Review;
  EXPECT_EQ(weight(finding), Weight::Attention);
  finding.applied = true;
  EXPECT_EQ(weight(finding), Weight::Nothing);
}

FileResult tensorflow_file() {
  return Build("adain.py",
               "#!/usr/bin/env python3\nimport tensorflow as tf\n\nds = ds.batch(8)\nhvd.allreduce(x)\n"
               "tf.sqrt(y)\ntf.abs(y)\ntf.abs(z)\ntf.odd(z)\n")
      .insert(47, "import npu_device as npu\nnpu.open().as_default()\n",
              {"TF001", Category::Change, Confidence::Certain, "", "", {"the NPU device", "NPU 设备"}})
      .replace("batch(8)", "batch(8, drop_remainder=True)",
               {"TF010", Category::Change, Confidence::Certain, "tf.data.Dataset.batch"})
      .tell("hvd.allreduce", {"TF400", Category::Unsupported, Confidence::Certain, "hvd.allreduce"})
      .tell("tf.sqrt", {"TF900", Category::Note, Confidence::Certain, "tf.sqrt", "supported"})
      .tell("tf.abs", {"TF900", Category::Note, Confidence::Certain, "tf.abs", "支持（无需迁移）"})
      .tell("tf.abs", {"TF900", Category::Note, Confidence::Certain, "tf.abs", "supported"})
      .tell("tf.odd", {"TF901", Category::Unknown, Confidence::Certain, "tf.odd"})
      .done();
}

TEST(MigrateReportTensorFlow, ReportsAsTheGuideHasThem) {
  ProjectResult result;
  result.request.input = "/root/models/examples/adain";
  result.files = {tensorflow_file()};
  EXPECT_EQ(success_report(result),
            "/root/models/examples/adain/adain.py:3 import npu_device as npu\n"
            "/root/models/examples/adain/adain.py:4 npu.open().as_default()\n"
            "/root/models/examples/adain/adain.py:6 ds = ds.batch(8, drop_remainder=True)\n");
  EXPECT_EQ(failed_report(result),
            "/root/models/examples/adain/adain.py:5, NPU Unsupport API: hvd.allreduce\n"
            "Finish conver file: /root/models/examples/adain/adain.py\n");
  EXPECT_EQ(api_brief_report(result),
            "1.In brief: Total API: 6, in which Support: 4, Unsupport: 1, No operator is involved: 0, Analysing: 1\n"
            "2.After eliminate duplicate: Total API: 5, in which Support: 3, Unsupport: 1, No operator is involved: 0, "
            "Analysing: 1\n");
}

TEST(MigrateReportTensorFlow, WhatIsDeletedIsTold) {
  ProjectResult result;
  result.request.input = ".";
  result.files = {Build("a.py", "a\ntf.config.x()\nb\n").replace("tf.config.x()\n", "").done()};
  EXPECT_EQ(success_report(result), "a.py:2 deleted: tf.config.x()\n");
  EXPECT_EQ(failed_report(result), "");
}

TEST(MigrateReportTensorFlow, ClassesComeFromTheTable) {
  Finding finding;
  finding.api = "tf.abs";
  EXPECT_EQ(support_class(finding), TfClass::supported);
  finding.api = "tf.no_such_thing";
  EXPECT_EQ(support_class(finding), TfClass::analysing);
  finding.category = Category::Unsupported;
  EXPECT_EQ(support_class(finding), TfClass::no_avoid);
  finding.api = "my.tf.abs";
  EXPECT_FALSE(support_class(finding).has_value());
}

TEST(MigrateReportUtf8, FollowsRfc3629) {
  for (const char* good : {"", "a", "\xC2\x80", "中", "🚀", "\xF4\x8F\xBF\xBF", "\xED\x9F\xBF"})
    EXPECT_TRUE(is_utf8(good)) << good;
  for (const char* bad : {"\x80", "\xC0\x80", "\xC1\xBF", "\xE0\x80\x80", "\xED\xA0\x80", "\xF0\x80\x80\x80",
                          "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xE4\xB8", "a\xFF"})
    EXPECT_FALSE(is_utf8(bad));
  EXPECT_EQ(repaired("a\xE4\xB8"
                     "b"),
            "a\xEF\xBF\xBD\xEF\xBF\xBD"
            "b");
  EXPECT_EQ(utf16_length("a中🚀\xFF"), 5U);
  EXPECT_EQ(one_line("a\n\x1B[31m\x7F"), "a\\n\\x1b[31m\\x7f");
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
}

}  // namespace
}  // namespace updraft::migrate::report
