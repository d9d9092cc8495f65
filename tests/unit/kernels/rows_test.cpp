// Every elementwise row is what its name says, in the table of this machine: families are lists that three places read.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <string_view>
#include <vector>

#include "base/half.h"
#include "kernels/pipeline.h"
#include "kernels/rows/activation.h"
#include "kernels/rows/arithmetic.h"
#include "kernels/rows/functions.h"
#include "kernels/rows/logic.h"
#include "kernels/rows/special.h"
#include "kernels/table.h"

namespace updraft {
namespace {

void expect_row(Ew id, EwFamily family, const char* name, int inputs, bool boolean, std::string_view types) {
  SCOPED_TRACE(name);
  const EwRow& row = row_of(id);
  EXPECT_EQ(static_cast<int>(id) >> 8, static_cast<int>(family));
  EXPECT_STREQ(row.name, name);
  EXPECT_EQ(row.inputs, inputs);
  EXPECT_EQ(row.boolean, boolean);
  const auto defined = [&](Compute compute) { return row.fn[static_cast<int>(compute)] != nullptr; };
  EXPECT_EQ(defined(Compute::F32), types.find('F') != types.npos);
  EXPECT_EQ(defined(Compute::F64), types.find('F') != types.npos);
  EXPECT_EQ(defined(Compute::I64), types.find('I') != types.npos);
  EXPECT_EQ(defined(Compute::C64), types.find('C') != types.npos);
  EXPECT_EQ(defined(Compute::C128), types.find('C') != types.npos);
}

TEST(ElementwiseRows, AreWhatTheirNamesSay) {
#define ROW(name, inputs, boolean, types, ...) \
  expect_row(ew::name, EwFamily::UPDRAFT_FAMILY, #name, inputs, boolean, #types);
#define UPDRAFT_FAMILY arithmetic
#define UPDRAFT_ROWS "kernels/rows/arithmetic.inc"
#include "kernels/rows/each.inc"
#undef UPDRAFT_FAMILY
#undef UPDRAFT_ROWS
#define UPDRAFT_FAMILY functions
#define UPDRAFT_ROWS "kernels/rows/functions.inc"
#include "kernels/rows/each.inc"
#undef UPDRAFT_FAMILY
#undef UPDRAFT_ROWS
#define UPDRAFT_FAMILY special
#define UPDRAFT_ROWS "kernels/rows/special.inc"
#include "kernels/rows/each.inc"
#undef UPDRAFT_FAMILY
#undef UPDRAFT_ROWS
#define UPDRAFT_FAMILY activation
#define UPDRAFT_ROWS "kernels/rows/activation.inc"
#include "kernels/rows/each.inc"
#undef UPDRAFT_FAMILY
#undef UPDRAFT_ROWS
#define UPDRAFT_FAMILY logic
#define UPDRAFT_ROWS "kernels/rows/logic.inc"
#include "kernels/rows/each.inc"
#undef UPDRAFT_FAMILY
#undef UPDRAFT_ROWS
#undef ROW
}

// Less exact than that of floats, and still rounded to one of the two nearest.
template <class H>
void expect_gelu_of_all(DType type, int digits) {
  std::vector<H> x, y;
  for (uint32_t bits = 0; bits < 0x10000; ++bits) x.push_back(std::bit_cast<H>(static_cast<uint16_t>(bits)));
  y.resize(x.size());
  const int64_t dims[] = {static_cast<int64_t>(x.size())};
  const TensorView in = TensorView::contiguous(x.data(), type, dims, 1),
                   out = TensorView::contiguous(y.data(), type, dims, 1);
  run_elementwise(elementwise_kernel(ew::gelu, Compute::F32), Compute::F32, {in}, {out}, Params{});
  const double least = std::ldexp(1.0, type == DType::Float16 ? -14 : -126);
  for (size_t i = 0; i < x.size(); ++i) {
    const double v = static_cast<float>(x[i]), got = static_cast<float>(y[i]);
    if (std::isnan(v)) {
      ASSERT_TRUE(std::isnan(got)) << i;
    } else if (v > -9 && std::isfinite(v)) {
      const double want = v * std::erfc(-v * std::sqrt(0.5)) / 2;
      const double place = std::ldexp(1.0, std::max(std::ilogb(std::max(std::abs(want), least)), -140) - digits);
      ASSERT_LE(std::abs(got - want), 0.7 * place) << v;
    } else if (std::isfinite(v)) {
      ASSERT_LE(std::abs(got), 1e-17) << v;
    }
  }
}

TEST(ElementwiseRows, GeluOfAllHalves) {
  expect_gelu_of_all<Half>(DType::Float16, 10);
  expect_gelu_of_all<BFloat16>(DType::BFloat16, 7);
}

}  // namespace
}  // namespace updraft
