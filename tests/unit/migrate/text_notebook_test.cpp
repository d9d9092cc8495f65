// Notebooks: edits of the JSON's bytes, what of IPython is Python, and what stays as it is.
#include "migrate/text/notebook/notebook.h"

#include "text_support.h"

namespace updraft::migrate::text {
namespace {

std::string after(std::string_view json, Confidence least = Confidence::Likely) {
  return migrated(
      json, [](std::string_view t) { return notebook(t, small_python); }, least);
}
std::string book(std::string_view cells) {
  return "{\n \"cells\": [" + std::string(cells) +
         "],\n \"metadata\": {\"language_info\": {\"name\": \"python\"}, \"x\": \"cuda\"},\n \"nbformat\": 4\n}\n";
}
std::string code(std::string_view source) {
  return book("{\"cell_type\": \"code\", \"outputs\": [{\"text\": [\"x.cuda()\\n\"]}], \"source\": " +
              std::string(source) + "}");
}

struct Case {
  const char *before, *after;
};
class Source : public testing::TestWithParam<Case> {};
TEST_P(Source, BecomesThat) { EXPECT_EQ(after(code(GetParam().before)), code(GetParam().after)); }
INSTANTIATE_TEST_SUITE_P(
    Cells, Source,
    testing::Values(
        Case{R"_("x.cuda()")_", R"_("x.npu()")_"}, Case{R"_(["a\n", "x.cuda()"])_", R"_(["a\n", "x.npu()"])_"},
        Case{R"_("y = \"cuda\"")_", R"_("y = \"npu\"")_"},
        Case{R"_(["y = \u0022cuda\u0022"])_", R"_(["y = \u0022npu\u0022"])_"},
        Case{R"_("\u00e9\ud83d\ude00 = 1; x.cuda()")_", R"_("\u00e9\ud83d\ude00 = 1; x.npu()")_"},
        Case{R"_("\ud83d x.cuda()")_", R"_("\ud83d x.npu()")_"},
        Case{R"_("import torch\nx.cuda()")_", R"_("import torch\nimport torch_npu\nx.npu()")_"},
        // a new line is a new element where lines are elements
        Case{"[\n    \"import torch\\n\",\n    \"x\"\n   ]",
             "[\n    \"import torch\\n\",\n    \"import torch_npu\\n\",\n    \"x\"\n   ]"},
        Case{"[\n    \"import torch\\n\"\n   ]", "[\n    \"import torch\\n\",\n    \"import torch_npu\\n\"\n   ]"},
        Case{"[\n    \"import torch\"\n   ]", "[\n    \"import torch\\n\",\n    \"import torch_npu\"\n   ]"},
        // an element may break anywhere
        Case{R"_(["x.cu", "da()"])_", R"_(["x.npu()", ""])_"}, Case{"\"\"", "\"\""}, Case{"[]", "[]"},
        Case{"null", "null"},
        // IPython
        Case{R"_("!CUDA_VISIBLE_DEVICES=0 python t.py --device cuda\nx.cuda()")_",
             R"_("!ASCEND_RT_VISIBLE_DEVICES=0 python t.py --device npu\nx.npu()")_"},
        Case{R"_("if a:\n    !python t.py --device=\"cuda\"\nx.cuda()")_",
             R"_("if a:\n    !python t.py --device=\"npu\"\nx.npu()")_"},
        Case{R"_("n = !python t.py --device cuda")_", R"_("n = !python t.py --device npu")_"},
        Case{R"_("!python t.py \\\n  --device cuda\nx.cuda()")_", R"_("!python t.py \\\n  --device npu\nx.npu()")_"},
        Case{R"_("%run t.py --device cuda")_", R"_("%run t.py --device npu")_"},
        Case{R"_("%env CUDA_VISIBLE_DEVICES=0\n%env CUDA_VISIBLE_DEVICES 1")_",
             R"_("%env ASCEND_RT_VISIBLE_DEVICES=0\n%env ASCEND_RT_VISIBLE_DEVICES 1")_"},
        Case{R"_("%%time\nx.cuda()")_", R"_("%%time\nx.npu()")_"},
        Case{R"_("%timeit -n 3 x.cuda()")_", R"_("%timeit -n 3 x.npu()")_"},
        Case{R"_("%%bash\npython t.py --device cuda\n")_", R"_("%%bash\npython t.py --device npu\n")_"},
        Case{R"_("%%script bash\npython t.py --device cuda\n")_", R"_("%%script bash\npython t.py --device npu\n")_"},
        Case{R"_("%%writefile a/c.yaml\ndevice: cuda\n")_", R"_("%%writefile a/c.yaml\ndevice: npu\n")_"},
        Case{R"_(["%%writefile t.py\n", "import torch\n", "x.cuda()"])_",
             R"_(["%%writefile t.py\n", "import torch\n", "import torch_npu\n", "x.npu()"])_"},
        Case{R"_("%%html\nx.cuda()")_", R"_("%%html\nx.cuda()")_"},
        Case{R"_("%%R\nx.cuda()")_", R"_("%%R\nx.cuda()")_"}));

TEST(MigrateNotebook, OnlyCodeOfPythonChanges) {
  const std::string cells =
      R"_({"cell_type": "markdown", "source": ["x.cuda()"]}, {"cell_type": "raw", "source": "x.cuda()"})_";
  EXPECT_EQ(after(book(cells)), book(cells));
  const std::string r =
      R"_({"cells": [{"cell_type": "code", "source": "x.cuda()"}], "metadata": {"kernelspec": {"language": "R"}}})_";
  EXPECT_EQ(after(r), r);
  EXPECT_EQ(after(R"_({"cells": [{"source": "x.cuda()", "cell_type": "code"}]})_"),
            R"_({"cells": [{"source": "x.npu()", "cell_type": "code"}]})_");
}

TEST(MigrateNotebook, CellsAreOneModule) {
  std::string seen;
  notebook(
      R"_({"cells": [{"cell_type":"code","source":["a\n","%m x"]},{"cell_type":"code","source":"%%bash\nls"},{"cell_type":"code","source":"b"}]})_",
      [&](std::string_view source) {
        seen = source;
        return std::vector<Finding>();
      });
  EXPECT_EQ(seen, "a\n[]  \nb\n");
}

TEST(MigrateNotebook, ALineAfterACellStaysInIt) {
  EXPECT_EQ(
      after(book(R"_({"cell_type":"code","source":["import torch"]},{"cell_type":"code","source":["%%time\n","x"]})_")),
      book(
          R"_({"cell_type":"code","source":["import torch\n","import torch_npu"]},{"cell_type":"code","source":["%%time\n","x"]})_"));
}

TEST(MigrateNotebook, Format3) {
  EXPECT_EQ(
      after(
          R"_({"worksheets": [{"cells": [{"cell_type": "code", "language": "python", "input": ["x.cuda()"], "outputs": []}]}], "nbformat": 3})_"),
      R"_({"worksheets": [{"cells": [{"cell_type": "code", "language": "python", "input": ["x.npu()"], "outputs": []}]}], "nbformat": 3})_");
}

TEST(MigrateNotebook, CrlfAndByteOrderMark) {
  EXPECT_EQ(after("\xef\xbb\xbf{\r\n\"cells\": [{\"cell_type\":\"code\",\"source\":[\"import "
                  "torch\\r\\n\",\r\n\"x.cuda()\"]}]\r\n}"),
            "\xef\xbb\xbf{\r\n\"cells\": [{\"cell_type\":\"code\",\"source\":[\"import "
            "torch\\r\\n\",\r\n\"x.npu()\"]}]\r\n}");
}

TEST(MigrateNotebook, BrokenJsonIsOneFailureWithItsLine) {
  for (const char* json : {"{\n\"cells\": [\n}", "{\n\"cells\":\n[1,]}", "{\n\"a\":\n\"x\ny\"}", "{\n\"a\": 1,\n?}"}) {
    const auto found = notebook(json, small_python);
    ASSERT_EQ(found.size(), 1u) << json;
    EXPECT_EQ(found[0].category, Category::Failure);
    EXPECT_EQ(found[0].rule, "TX101");
    EXPECT_EQ(found[0].from.line, 3u) << json << found[0].message.en;
  }
  EXPECT_EQ(notebook("", small_python).at(0).rule, "TX101");
  EXPECT_EQ(notebook("{}", small_python).at(0).rule, "TX102");
  EXPECT_EQ(notebook("[]", small_python).at(0).rule, "TX102");
}

TEST(MigrateNotebook, NamesTheCell) {
  const auto found =
      notebook(book(R"_({"cell_type":"markdown","source":"a"},{"cell_type":"code","source":["a\n","x.cuda()"]})_"),
               small_python);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NE(found[0].message.en.find("(cell 2, line 2)"), std::string::npos) << found[0].message.en;
}

TEST(MigrateNotebook, Masks) {
  const auto masked = [](std::string cell) {
    const std::size_t size = cell.size();
    mask(cell.data(), cell.size());
    EXPECT_EQ(cell.size(), size);
    return cell;
  };
  EXPECT_EQ(masked("%matplotlib inline\na"), "[]                \na");
  EXPECT_EQ(masked("  !ls\n"), "  [] \n");
  EXPECT_EQ(masked("!\n?"), "0\n0");
  EXPECT_EQ(masked("torch.nn?\nx??\n"), "[]       \n[] \n");
  EXPECT_EQ(masked("x = (1\n  % 3)\n"), "x = (1\n  % 3)\n");
  EXPECT_EQ(masked("s = '''\n%no\n!no\n'''\n"), "s = '''\n%no\n!no\n'''\n");
  EXPECT_EQ(masked("a = b \\\n % c\n"), "a = b \\\n % c\n");
  EXPECT_EQ(masked("a != b\nx = a != b"), "a != b\nx = a != b");
  EXPECT_EQ(masked("# what?\n"), "# what?\n");
  EXPECT_EQ(masked("%time f(x)"), "0;    f(x)");
  EXPECT_EQ(masked("x = %sql select"), "x = []         ");
  EXPECT_EQ(masked("%%capture out\nx"), "[]           \nx");
  EXPECT_EQ(masked("!ls\r\nx\r\n"), "[] \r\nx\r\n");
}

TEST(MigrateNotebook, DeepAndLong) {
  const std::string deep = R"_({"cells": [{"cell_type":"code","source":"x.cuda()","metadata":)_" +
                           std::string(300000, '[') + std::string(300000, ']') + "}]}";
  EXPECT_EQ(changes(notebook(deep, small_python)), 1u);
  std::string cells;
  for (int i = 0; i < 20000; ++i)
    cells +=
        std::string(i ? "," : "") + R"_({"cell_type":"code","source":["%%time\n","!ls --device cuda\n","x.cuda()"]})_";
  EXPECT_EQ(changes(notebook(book(cells), small_python)), 40000u);
}

}  // namespace
}  // namespace updraft::migrate::text
