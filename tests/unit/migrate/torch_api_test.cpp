#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "migrate/support/table.h"
#include "migrate/support/torch_api.h"

namespace updraft::migrate {
namespace {

using support::Row;
using support::Table;

TEST(MigrateTable, FindsEveryRowOfEveryFile) {
  for (const std::string_view file : support::embedded_names()) {
    const Table table = Table::of(file);
    size_t rows = 0;
    std::string_view before;
    for (Row row = table.first(); row; row = row.next(), ++rows) {
      ASSERT_LE(before, row.key()) << file;
      ASSERT_FALSE(row.key().empty()) << file;
      if (before != row.key()) {
        const Row found = table.find(row.key());
        ASSERT_EQ(found.line().data(), row.line().data()) << file << ": " << row.key();
      }
      before = row.key();
    }
    EXPECT_GT(rows, 0u) << file;
    for (const std::string_view none : {"", "!", "~~~~", "torch.n", "zzzz"})
      EXPECT_FALSE(table.find(none)) << file << none;
  }
}

TEST(MigrateTable, EdgesOfTheText) {
  EXPECT_FALSE(Table("").find("a"));
  EXPECT_FALSE(Table("").first());
  EXPECT_FALSE(Table("# only\n").first());
  EXPECT_FALSE(Table("head\n").find("head"));
  const Table one("# c\nhead\tx\na\t1");
  EXPECT_EQ(one.find("a").cell(1), "1");
  EXPECT_EQ(one.find("a").cell(2), "");
  EXPECT_FALSE(one.find("a").next());
  EXPECT_FALSE(one.find("b"));
  EXPECT_FALSE(one.find("a\t1"));
  EXPECT_FALSE(one.find("a\n"));
  EXPECT_FALSE(one.find(""));
  const Table twice("h\na\t1\na\t2\nb\t3\n");
  EXPECT_EQ(twice.find("a").cell(1), "1");
  EXPECT_EQ(twice.find("a").next().cell(1), "2");
  EXPECT_EQ(twice.find("b").cell(1), "3");
  EXPECT_TRUE(support::embedded("no such file").empty());
}

TEST(MigrateTorch, NearestVersion) {
  const auto nearest = [](std::string_view text) { return kTorchVersions[nearest_torch(text)]; };
  EXPECT_EQ(nearest("1.11.0"), "2.7.1");
  EXPECT_EQ(nearest("0.4"), "2.7.1");
  EXPECT_EQ(nearest("2"), "2.7.1");
  EXPECT_EQ(nearest("2.1"), "2.7.1");
  EXPECT_EQ(nearest("2.x"), "2.7.1");
  EXPECT_EQ(nearest("2.9"), "2.7.1");  // as far from 2.11: the older
  EXPECT_EQ(nearest("2.10.0"), "2.11.0");
  EXPECT_EQ(nearest("v2.11.0rc1"), "2.11.0");
  EXPECT_EQ(nearest("2.12.1.post2"), "2.12.0");
  EXPECT_EQ(nearest("2.13.0+cpu"), "2.13.0");
  EXPECT_EQ(nearest("2.13.0a0+git1a2b"), "2.13.0");
  EXPECT_EQ(nearest("2.99"), "2.13.0");
  EXPECT_EQ(nearest("3.0"), "2.13.0");
  for (const char* junk :
       {"", "x", "2.", "2..1", "-1", "2.junk!", "latest", "2 .1", " 2.1", "99999999999", "2.1;rm", "+cpu"})
    EXPECT_THROW(nearest_torch(junk), std::invalid_argument) << junk;
  try {
    nearest_torch("latest");
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("\"latest\""), std::string::npos);
  }
}

TEST(MigrateTorch, ProductNames) {
  EXPECT_EQ(parse_product("A2"), Product::a2);
  EXPECT_EQ(parse_product("Ascend910B2"), Product::a2);
  EXPECT_EQ(parse_product("Ascend910_9391"), Product::a3);
  EXPECT_EQ(parse_product("Ascend950PR_9599"), Product::ascend950);
  EXPECT_EQ(parse_product("Ascend910A"), Product::training_series);
  EXPECT_EQ(parse_product("Atlas 训练系列产品"), Product::training_series);
  for (const Product product : {Product::a2, Product::a3, Product::ascend950, Product::training_series})
    for (const Language language : {Language::en, Language::zh})
      EXPECT_EQ(parse_product(name_of(product, language)), product);
  EXPECT_THROW(parse_product("H100"), std::invalid_argument);
  EXPECT_THROW(parse_product(""), std::invalid_argument);
}

TEST(MigrateTorch, LooksUpByVersionAndProduct) {
  const size_t v13 = nearest_torch("2.13.0"), v7 = nearest_torch("2.7.1");
  EXPECT_EQ(lookup_torch("torch.nn.functional.grid_sample", v13, Product::a2).support, Support::yes);
  EXPECT_EQ(lookup_torch("torch.nn.functional.grid_sample", v13, Product::ascend950).support, Support::no);
  EXPECT_EQ(lookup_torch("torch.nn.functional.grid_sample", v13, Product::training_series).support, Support::unknown);
  EXPECT_EQ(lookup_torch("torch.nn.DataParallel", v13, Product::a2).support, Support::no);
  EXPECT_EQ(lookup_torch("torch.unique_consecutive", v7, Product::a2).support, Support::yes);
  EXPECT_EQ(lookup_torch("torch.unique_consecutive", v13, Product::a2).support, Support::no);
  // listed by one version only
  EXPECT_EQ(lookup_torch("torch.accelerator.memory.empty_cache", v7, Product::a2).support, Support::unknown);
  EXPECT_EQ(lookup_torch("torch.accelerator.memory.empty_cache", v13, Product::a2).support, Support::yes);
  EXPECT_EQ(lookup_torch("torch.cuda.Stream", v13, Product::a2).npu, "torch_npu.npu.Stream");
  EXPECT_EQ(lookup_torch("torch.no_such_thing", v13, Product::a2).support, Support::unknown);
  EXPECT_EQ(lookup_torch("torch.no_such_thing", v13, Product::a2).api, "");
  EXPECT_EQ(lookup_torch("", v13, Product::a2).support, Support::unknown);
  EXPECT_EQ(lookup_torch("torch.nn.RNN", 99, Product::a2).support, Support::unknown);
}

TEST(MigrateTorch, KnowsOtherNamesAndMembers) {
  const size_t v13 = nearest_torch("2.13.0");
  EXPECT_EQ(lookup_torch("torch.distributions.Normal", v13, Product::a2).api, "torch.distributions.normal.Normal");
  EXPECT_EQ(lookup_torch("torch.nn.Parameter", v13, Product::a2).support, Support::yes);
  EXPECT_EQ(lookup_torch("torch.nn.modules.loss.CosineEmbeddingLoss", v13, Product::a2).support, Support::no);
  EXPECT_EQ(lookup_torch("torch.Tensor.nonzero", v13, Product::a2).support, Support::yes);
}

TEST(MigrateTorch, DescribesLimits) {
  EXPECT_EQ(describe_limits("", Language::en), "");
  EXPECT_EQ(describe_limits("input,other: fp16 fp32; cpu-fallback", Language::en),
            "input, other: fp16, fp32 only; may run on the CPU");
  EXPECT_EQ(describe_limits("input: fp32; other", Language::zh), "input 仅支持 fp32；另有限制，见支持清单");
  // no flag of the table is unknown to the text
  for (Row row = Table::of("torch_api.tsv").first(); row; row = row.next()) {
    if (row.cell(5).find(':') != std::string_view::npos || row.cell(5).empty()) continue;
    ASSERT_NE(describe_limits(row.cell(5), Language::en), row.cell(5)) << row.line();
  }
  const TorchApi api = lookup_torch("torch.nn.LSTM", nearest_torch("2.13.0"), Product::a2);
  EXPECT_EQ(source_url(api, nearest_torch("2.13.0")),
            "https://gitcode.com/Ascend/pytorch/blob/master/docs/zh/api/native_api/pytorch_2-13-0/torch-nn.md");
  EXPECT_EQ(source_url({}, 0), "");
}

TEST(MigrateTorch, KnowsDtypesOfTheList) {
  const std::string_view conv = lookup_torch("torch.nn.functional.conv2d", nearest_torch("2.13"), Product::a2).limits;
  EXPECT_EQ(accepts_dtype(conv, "torch.float64"), Support::no);
  EXPECT_EQ(accepts_dtype(conv, "double"), Support::no);
  EXPECT_EQ(accepts_dtype(conv, "torch.half"), Support::yes);
  EXPECT_EQ(accepts_dtype(conv, "fp32"), Support::yes);
  EXPECT_EQ(accepts_dtype("other", "fp32"), Support::unknown);
  EXPECT_EQ(accepts_dtype("", "fp32"), Support::unknown);
  EXPECT_EQ(accepts_dtype("input: fp32", ""), Support::unknown);
  EXPECT_EQ(accepts_dtype("input: fp32; other", "fp32"), Support::yes);
  EXPECT_EQ(accepts_dtype("input: int8 int16", "int"), Support::no);
}

TEST(MigrateTorch, ListsTheUnsupported) {
  for (size_t version = 0; version < std::size(kTorchVersions); ++version)
    for (const Product product : {Product::a2, Product::a3, Product::ascend950}) {
      const auto names = unsupported_torch(version, product);
      EXPECT_GT(names.size(), 100u);
      EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
      EXPECT_TRUE(std::binary_search(names.begin(), names.end(), "torch.nn.DataParallel"));
      for (const std::string_view name : names)
        EXPECT_EQ(lookup_torch(name, version, product).support, Support::no) << name;
    }
  EXPECT_TRUE(unsupported_torch(0, Product::training_series).empty());
}

TEST(MigrateTorch, KnowsWhatHasATwin) {
  EXPECT_EQ(cuda_twin("torch.cuda.is_available").npu, "torch.npu.is_available");
  EXPECT_EQ(cuda_twin("torch.cuda.CUDAGraph").npu, "torch.npu.NPUGraph");
  EXPECT_EQ(cuda_twin("torch.cuda.nvtx.range_push").npu, "torch.npu.mstx.range_push");
  EXPECT_EQ(cuda_twin("torch.cuda.nvtx.range").npu, "");
  EXPECT_TRUE(cuda_twin("torch.cuda.nvtx.range").known);
  for (const char* none :
       {"torch.cuda.nccl", "torch.cuda.nccl.version", "torch.cuda.comm.broadcast", "torch.cuda.cudart",
        "torch.cuda.cudart.cudaProfilerStart", "torch.cuda.jiterator", "torch.cuda.sparse"}) {
    EXPECT_TRUE(cuda_twin(none).known) << none;
    EXPECT_EQ(cuda_twin(none).npu, "") << none;
    EXPECT_NE(cuda_twin(none).note.en, "") << none;
    EXPECT_NE(cuda_twin(none).note.zh, "") << none;
  }
  EXPECT_FALSE(cuda_twin("torch.cuda.no_such_name").known);
  EXPECT_FALSE(cuda_twin("torch.cuda.Stream.wait_stream").known);
  EXPECT_FALSE(cuda_twin("torch").known);
  EXPECT_FALSE(cuda_twin(".").known);
  EXPECT_FALSE(cuda_twin("").known);
}

}  // namespace
}  // namespace updraft::migrate
