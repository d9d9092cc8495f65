#include "migrate/support/third_party.h"

#include <gtest/gtest.h>

#include "migrate/support/table.h"
#include "migrate/support/torch_api.h"

namespace updraft::migrate {
namespace {

using support::Row;
using support::Table;

TEST(MigrateThirdParty, LongestNameWins) {
  EXPECT_EQ(lookup_third_party("apex.optimizers.FusedAdam").status, PackageStatus::manual);
  EXPECT_EQ(lookup_third_party("apex.optimizers.FusedAdam.step").name, "apex.optimizers.FusedAdam");
  EXPECT_EQ(lookup_third_party("apex.optimizers.FusedAdam").alternative, "torch_npu.optim.NpuFusedAdamW");
  EXPECT_EQ(lookup_third_party("apex.reparameterization").name, "apex");
  EXPECT_EQ(lookup_third_party("apexlike").listed, false);
  EXPECT_EQ(lookup_third_party("bmtrain.init_distributed").status, PackageStatus::no);
  EXPECT_EQ(lookup_third_party("colossalai.nn.optimizer.HybridAdam").status, PackageStatus::no);
  EXPECT_EQ(lookup_third_party("colossalai").status, PackageStatus::unknown);
  EXPECT_EQ(lookup_third_party("timm.models.resnet").status, PackageStatus::plain);
  EXPECT_EQ(lookup_third_party("deepspeed.initialize").status, PackageStatus::works);
  EXPECT_EQ(lookup_third_party("deepspeed.ops.sparse_attention.SparseSelfAttention").status, PackageStatus::no);
  EXPECT_EQ(lookup_third_party("numba.cuda.jit").status, PackageStatus::no);
  EXPECT_FALSE(lookup_third_party("numba.njit").listed);
  for (const char* none : {"", ".", "..", "numpy", "torch"}) EXPECT_FALSE(lookup_third_party(none).listed) << none;
}

TEST(MigrateThirdParty, FindsDistributions) {
  EXPECT_EQ(lookup_distribution("flash-attn").name, "flash_attn");
  EXPECT_EQ(lookup_distribution("Flash_Attn").name, "flash_attn");
  EXPECT_EQ(lookup_distribution("flash--.attn").name, "flash_attn");
  EXPECT_EQ(lookup_distribution("nvidia-ml-py").name, "pynvml");
  EXPECT_EQ(lookup_distribution("cupy-cuda12x").name, "cupy");
  for (const char* none : {"", "-", "flash", "flash-attn-", "flash-attn2", "numpy"})
    EXPECT_FALSE(lookup_distribution(none).listed) << none;
}

TEST(MigrateThirdParty, LongestBeginningWins) {
  EXPECT_EQ(lookup_distribution("nvidia-cudnn-cu12").name, "nvidia");
  EXPECT_EQ(lookup_distribution("NVIDIA_dali--cuda120").name, "nvidia.dali");
  EXPECT_EQ(lookup_distribution("nvidia-ml-py3").name, "pynvml");
  EXPECT_EQ(lookup_distribution("cuda-nvcc").name, "nvidia");
  EXPECT_EQ(lookup_distribution("cuda-python").name, "cuda");  // the whole name before any beginning
  EXPECT_FALSE(lookup_distribution("nvidia").listed);
  EXPECT_FALSE(lookup_distribution("dgl-cpu").listed);
}

TEST(MigrateThirdParty, RowsAreWhole) {
  for (Row row = Table::of("third_party.tsv").first(); row; row = row.next()) {
    const ThirdParty found = lookup_third_party(row.key());
    EXPECT_EQ(describe(found.status) == describe(PackageStatus::unknown), row.cell(1) == "unknown") << row.line();
    EXPECT_FALSE(found.note.en.empty()) << row.line();
    EXPECT_FALSE(found.note.zh.empty()) << row.line();
    // what is said to be known says where from
    EXPECT_EQ(found.source.empty(), found.status == PackageStatus::unknown || found.status == PackageStatus::plain)
        << row.line();
  }
}

TEST(MigrateAffinity, Suggests) {
  EXPECT_EQ(lookup_affinity("torch.optim.AdamW").npu, "torch_npu.optim.NpuFusedAdamW");
  EXPECT_EQ(lookup_affinity("torch.optim.AdamW").kind, "optimizer");
  EXPECT_FALSE(lookup_affinity("torch.optim.AdamW").certain);
  EXPECT_EQ(lookup_affinity("pattern:swiglu").npu, "torch_npu.npu_swiglu");
  EXPECT_TRUE(lookup_affinity("torch.add").kind.empty());
  EXPECT_TRUE(lookup_affinity("").kind.empty());
  for (Row row = Table::of("affinity.tsv").first(); row; row = row.next()) {
    const Affinity found = lookup_affinity(row.key());
    for (const std::string_view cell : {found.kind, found.npu, found.note.en, found.note.zh, found.source})
      EXPECT_FALSE(cell.empty()) << row.line();
  }
}

TEST(MigrateAffinity, Advises) {
  const auto kinds = [](std::string_view name, Product product) {
    std::string out;
    for (const Advice& advice : lookup_advice(name, product)) out += std::to_string(static_cast<int>(advice.kind));
    return out;
  };
  EXPECT_EQ(kinds("torch.nonzero", Product::a2), "0");
  EXPECT_EQ(kinds("torch.Tensor.item", Product::a3), "1");
  EXPECT_EQ(kinds("torch.float64", Product::a2), "3");
  EXPECT_EQ(kinds("torch.bfloat16", Product::training_series), "3");
  EXPECT_EQ(kinds("torch.bfloat16", Product::a2), "");
  EXPECT_EQ(kinds("torch.Tensor.scatter_add_", Product::ascend950), "2");
  EXPECT_EQ(kinds("torch.Tensor.scatter_add_", Product::a2), "");
  EXPECT_EQ(kinds("torch.add", Product::a2), "");
  for (Row row = Table::of("advice.tsv").first(); row; row = row.next()) {
    EXPECT_EQ(row.cell(2).size(), 4u) << row.line();
    EXPECT_EQ(row.cell(2).find_first_not_of("y."), std::string_view::npos) << row.line();
    size_t found = 0;
    for (const Product product : {Product::a2, Product::a3, Product::ascend950, Product::training_series})
      for (const Advice& advice : lookup_advice(row.key(), product)) {
        ++found;
        EXPECT_LE(advice.kind, AdviceKind::dtype) << row.line();
        EXPECT_FALSE(advice.note.en.empty() || advice.note.zh.empty() || advice.source.empty()) << row.line();
      }
    EXPECT_GT(found, 0u) << row.line();
  }
  const auto patterns = known_patterns();
  EXPECT_GT(patterns.size(), 20u);
  for (const std::string_view pattern : patterns)
    EXPECT_TRUE(!lookup_affinity(pattern).kind.empty() || !lookup_advice(pattern, Product::a2).empty()) << pattern;
}

}  // namespace
}  // namespace updraft::migrate
