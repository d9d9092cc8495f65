// Weights below the range of normal floats become zero, wherever they stand; all others keep their bits.
#include <cstring>
#include <limits>

#include "passes_fixture.h"

namespace updraft::graph {
namespace {

struct Subnormals : Passes {
  static constexpr int64_t kRows = 41, kColumns = 53;  // two blocks of 1024, and a rest
  /// The weights of the product as they are compiled.
  Floats compiled_weights(const Floats& values) {
    const Endpoint x = build.input("x", 0, {DType::Float, {2, kRows}});
    build.outputs({build("MatMulV2", "product", {x, constant("w", {kRows, kColumns}, values)})});
    const Model model = compiled();
    for (const auto& node : model.graph->nodes())
      if (node->type() == "MatMulV2") {
        const Tensor& w = *node->input(1).from.node->constant();
        return {w.as<float>(), w.as<float>() + w.count()};
      }
    return {};
  }
};

using Limits = std::numeric_limits<float>;

TEST_F(Subnormals, AreZeroWhereverTheyStand) {
  Floats values = random(kRows * kColumns, 1), want = values;
  const std::vector<std::pair<size_t, float>> put = {{0, Limits::denorm_min()},
                                                     {1023, -Limits::denorm_min()},
                                                     {1024, Limits::min() / 2},
                                                     {2100, std::nextafter(-Limits::min(), 0.0F)},
                                                     {values.size() - 1, 1e-40F}};
  for (const auto& [at, v] : put) {
    values[at] = v;
    want[at] = std::copysign(0.0F, v);
  }
  const Floats got = compiled_weights(values);
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i)
    EXPECT_TRUE(got[i] == want[i] && std::signbit(got[i]) == std::signbit(want[i])) << i << ": " << got[i];
}

TEST_F(Subnormals, OneInTheRestIsFound) {
  Floats values(kRows * kColumns, 1);
  values.back() = -1e-39F;
  EXPECT_EQ(compiled_weights(values).back(), 0);
}

TEST_F(Subnormals, OthersKeepTheirBits) {
  Floats values = random(kRows * kColumns, 2);
  values[3] = 0;
  values[4] = -0.0F;
  values[5] = Limits::min();
  values[6] = -Limits::min();
  values[7] = Limits::infinity();
  values[8] = Limits::quiet_NaN();
  const Floats got = compiled_weights(values);
  ASSERT_EQ(got.size(), values.size());
  EXPECT_EQ(std::memcmp(got.data(), values.data(), values.size() * sizeof(float)), 0);
}

}  // namespace
}  // namespace updraft::graph
