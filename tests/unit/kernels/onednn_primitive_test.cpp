#include <gtest/gtest.h>

#include <barrier>
#include <thread>
#include <vector>

#include "base/error.h"
#include "kernels/onednn.h"

namespace updraft {
namespace {

using dnnl::memory;

/// y[n] = x[n] + term[n].
onednn::Primitive sum_of(int64_t n) {
  const memory::desc v({n}, memory::data_type::f32, memory::format_tag::a);
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const dnnl::binary::primitive_desc pd(onednn::engine(), dnnl::algorithm::binary_add, v, v, v, attr);
  return {dnnl::binary(pd), {{DNNL_ARG_SRC_0, v}, {DNNL_ARG_SRC_1, v}, {DNNL_ARG_DST, v}}, pd.scratchpad_desc()};
}

TEST(OnednnPrimitive, ThreadsThatCallItAtOnceHaveMemoryOfTheirOwn) {
  constexpr int kThreads = 4, kCalls = 200;
  constexpr int64_t kSize = 300;
  const onednn::Primitive sum = sum_of(kSize);
  std::barrier together(kThreads);
  std::vector<int> wrong(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      std::vector<float> x(kSize), term(kSize, static_cast<float>(t)), y(kSize);
      together.arrive_and_wait();
      for (int i = 0; i < kCalls; ++i) {
        std::fill(x.begin(), x.end(), static_cast<float>(1000 * i));
        sum.run({{DNNL_ARG_SRC_0, x.data()}, {DNNL_ARG_SRC_1, term.data()}, {DNNL_ARG_DST, y.data()}});
        for (float v : y) wrong[static_cast<size_t>(t)] += v != static_cast<float>(1000 * i + t);
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, std::vector<int>(kThreads));
}

TEST(OnednnPrimitive, RefusesArgumentsThatAreMissingOrInAnotherOrder) {
  const onednn::Primitive sum = sum_of(3);
  float x[3] = {1, 2, 3}, y[3] = {};
  EXPECT_THROW(sum.run({{DNNL_ARG_SRC_0, x}, {DNNL_ARG_DST, y}}), Error);
  EXPECT_THROW(sum.run({{DNNL_ARG_SRC_0, x}, {DNNL_ARG_DST, y}, {DNNL_ARG_SRC_1, x}}), Error);
  sum.run({{DNNL_ARG_SRC_0, x}, {DNNL_ARG_SRC_1, x}, {DNNL_ARG_DST, y}});
  EXPECT_EQ(y[2], 6.0F);
}

}  // namespace
}  // namespace updraft
