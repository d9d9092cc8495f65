// Products and convolutions by oneDNN give the same whatever the number of threads was when their primitive was made
// and is when it runs; overflows are noted where the running task's device wants them.
#include "base/parallel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <thread>
#include <vector>

#include "base/overflow.h"
#include "kernels/convolution/convolution.h"
#include "kernels/matmul/matmul.h"
#include "kernels/onednn.h"
#include "kernels/pipeline.h"

namespace updraft {
namespace {

std::vector<float> numbers(int64_t n, float step) {
  std::vector<float> v(static_cast<size_t>(n));
  for (size_t i = 0; i < v.size(); ++i) v[i] = std::sin(static_cast<float>(i) * step);
  return v;
}

TensorView view(std::vector<float>& v, std::initializer_list<int64_t> dims) {
  return TensorView::contiguous(v.data(), DType::Float, dims.begin(), static_cast<int>(dims.size()));
}

std::vector<float> product(int64_t m, int64_t n, int64_t k) {
  std::vector<float> a = numbers(m * k, 0.7f), b = numbers(k * n, 0.3f), c(static_cast<size_t>(m * n));
  matmul(view(a, {m, k}), view(b, {k, n}), view(c, {m, n}));
  return c;
}

// In a thread of its own, as an engine of `threads`.
std::vector<float> on_team(int threads, const std::function<std::vector<float>()>& f) {
  std::vector<float> result;
  std::thread([&] {
    set_parallel_threads(threads);
    result = f();
  }).join();
  return result;
}

void expect_close(const std::vector<float>& got, const std::vector<float>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], want[i], 1e-4f * (1 + std::fabs(want[i]))) << i;
}

std::vector<float> reference(int64_t m, int64_t n, int64_t k) {
  std::vector<float> a = numbers(m * k, 0.7f), b = numbers(k * n, 0.3f), c;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (int64_t p = 0; p < k; ++p)
        sum += static_cast<double>(a[static_cast<size_t>(i * k + p)]) *
               static_cast<double>(b[static_cast<size_t>(p * n + j)]);
      c.push_back(static_cast<float>(sum));
    }
  return c;
}

TEST(Parallel, CopiesEachByteAndNoOther) {
  parallel_copy(nullptr, nullptr, 0);
  for (const size_t bytes : {size_t{1}, (size_t{256} << 10) - 1, size_t{512} << 10, (size_t{3} << 20) + 5}) {
    std::vector<uint8_t> from(bytes), to(bytes + 2, 0xee);
    for (size_t i = 0; i < bytes; ++i) from[i] = static_cast<uint8_t>(i * 7 + i / 251);
    std::thread([&] {
      set_parallel_threads(3);
      parallel_copy(to.data() + 1, from.data(), bytes);
    }).join();
    EXPECT_TRUE(std::equal(from.begin(), from.end(), to.begin() + 1)) << bytes;
    EXPECT_EQ(to.front(), 0xee);
    EXPECT_EQ(to.back(), 0xee);
  }
}

TEST(Parallel, PrimitivesAreMadeForTheThreadsThatRunThem) {
  int64_t size = 90;
  for (auto [first, second] : {std::pair{4, 1}, std::pair{1, 4}, std::pair{2, 3}}) {
    const int64_t m = size++, n = 130, k = 70;  // shapes that no primitive exists for yet
    auto run = [&] { return product(m, n, k); };
    const std::vector<float> want = reference(m, n, k);
    expect_close(on_team(first, run), want);
    expect_close(on_team(second, run), want);
    // Inside a serial section and inside workers, too.
    expect_close(on_team(first,
                         [&] {
                           SerialSection serial;
                           return run();
                         }),
                 want);
    on_team(first, [&] {
      std::vector<std::vector<float>> results(8);
      parallel_for(8, 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) results[static_cast<size_t>(i)] = run();
      });
      for (const auto& r : results) expect_close(r, want);
      return std::vector<float>();
    });
  }
}

// Forward and the three gradients, one behind the other, in T.
template <class T>
std::vector<T> convolutions(int64_t channels) {
  const ConvolutionShape s{.spatial = 2, .padding = {1, 1, 0}};
  const int64_t in[] = {3, channels, 12, 11}, kernel[] = {24, channels, 3, 3}, bias[] = {24}, out[] = {3, 24, 12, 11};
  auto filled = [](const int64_t* dims, int rank, float step) {
    int64_t n = 1;
    for (int d = 0; d < rank; ++d) n *= dims[d];
    std::vector<float> v = numbers(n, step);
    return std::vector<T>(v.begin(), v.end());
  };
  std::vector<T> x = filled(in, 4, 0.7f), w = filled(kernel, 4, 0.3f), b = filled(bias, 1, 0.9f),
                 y = filled(out, 4, 0.1f), dy = filled(out, 4, 0.2f), dx = x, dw = w, db = b;
  constexpr DType t = DTypeOf<T>::value;
  auto of = [&](std::vector<T>& v, const int64_t* dims, int rank) {
    return TensorView::contiguous(v.data(), t, dims, rank);
  };
  const TensorView vx = of(x, in, 4), vw = of(w, kernel, 4), vb = of(b, bias, 1), vdx = of(dx, in, 4),
                   vdw = of(dw, kernel, 4), vdb = of(db, bias, 1);
  convolution(s, vx, vw, &vb, of(y, out, 4));
  convolution_backward(s, of(dy, out, 4), vx, vw, &vdx, &vdw, &vdb);
  for (const auto* more : {&dx, &dw, &db}) y.insert(y.end(), more->begin(), more->end());
  return y;
}

TEST(Parallel, ConvolutionsOfAnyTeam) {
  int64_t channels = 16;
  for (auto [first, second] : {std::pair{4, 1}, std::pair{1, 4}, std::pair{2, 3}}) {
    const std::vector<double> wide = convolutions<double>(channels);
    const std::vector<float> want(wide.begin(), wide.end());
    auto run = [&] { return convolutions<float>(channels); };
    expect_close(on_team(first, run), want);
    expect_close(on_team(second, run), want);
    expect_close(on_team(first,
                         [&] {
                           SerialSection serial;
                           return run();
                         }),
                 want);
    channels += 8;
  }
}

TEST(Parallel, KeysTellTeamsApart) {
  using Numbers = std::vector<int64_t>;
  const auto numbers = [] {
    const onednn::Key key = onednn::Key().add(7);
    return Numbers(key.numbers().begin(), key.numbers().end());
  };
  Numbers one, four, worker;
  on_team(1, [&] { return one = numbers(), std::vector<float>(); });
  on_team(4, [&] { return four = numbers(), std::vector<float>(); });
  on_team(4, [&] {
    parallel_for(4, 1, [&](int64_t begin, int64_t) {
      if (begin == 0) worker = numbers();
    });
    return std::vector<float>();
  });
  EXPECT_NE(one, four);
  EXPECT_EQ(one, worker);
}

TEST(Overflow, IsNotedWhereTheTaskWantsIt) {
  std::vector<float> x(1 << 17, 60000.0f);
  std::vector<Half> y(x.size());
  const int64_t n = static_cast<int64_t>(x.size());
  const TensorView from = view(x, {n}), to = TensorView::contiguous(y.data(), DType::Float16, &n, 1);
  std::atomic<uint32_t> first{0}, second{0};
  on_team(4, [&] {
    {
      OverflowScope scope(&first);
      copy_elements(to, from);
      EXPECT_EQ(first, 0u);  // 60000 fits
      x.back() = 70000.0f;   // the last worker's
      copy_elements(to, from);
      EXPECT_EQ(first, 1u);
      EXPECT_EQ(static_cast<float>(y.back()), 65504.0f);
      OverflowScope inner(&second);
      copy_elements(to, from);
      EXPECT_EQ(second, 1u);
    }
    EXPECT_FALSE(saturating());
    second = 0;
    copy_elements(to, from);
    EXPECT_TRUE(std::isinf(static_cast<float>(y.back())));
    EXPECT_EQ(second, 0u);
    return std::vector<float>();
  });
}

}  // namespace
}  // namespace updraft
