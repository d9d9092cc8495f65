// Every elementwise row is what its name says, in the table of this machine: families are lists that three places read.
#include <gtest/gtest.h>

#include <string_view>

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
#undef UPDRAFT_FAMILY
#undef UPDRAFT_ROWS
#define UPDRAFT_FAMILY special
#define UPDRAFT_ROWS "kernels/rows/special.inc"
#undef UPDRAFT_FAMILY
#undef UPDRAFT_ROWS
#define UPDRAFT_FAMILY activation
#define UPDRAFT_ROWS "kernels/rows/activation.inc"
#undef UPDRAFT_FAMILY
#undef UPDRAFT_ROWS
#define UPDRAFT_FAMILY logic
#define UPDRAFT_ROWS "kernels/rows/logic.inc"
#undef UPDRAFT_FAMILY
#undef UPDRAFT_ROWS
#undef ROW
}

}  // namespace
}  // namespace updraft
