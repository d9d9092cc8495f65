// Whether tensors are equal as a whole, and membership of one value.
#include <atomic>
#include <cstring>

#include "base/parallel.h"
#include "kernels/rows/logic.h"
#include "ops/elementwise/elementwise.h"

namespace updraft {
namespace {

void store_bool(const TensorView& to, bool value) {
  const int64_t v = value;
  kernels().store[static_cast<int>(Compute::I64)][static_cast<int>(to.dtype)](to.data, 1, &v, 1);
}

/// Whether row(a, b) holds for any element; b is broadcast to a.
bool any_of(Ew row, Compute compute, const TensorView& a, const TensorView& b) {
  constexpr int64_t kBlock = 512;
  BlockFn fn = elementwise_kernel(row, compute);
  const TensorView wide = b.same_shape(a) ? b : b.expand_as(a);
  const TensorView* const views[] = {&a, &wide};
  const StridedLoop<2> loop(views);
  const int c = static_cast<int>(compute);
  LoadFn load_a = kernels().load[static_cast<int>(a.dtype)][c], load_b = kernels().load[static_cast<int>(b.dtype)][c];
  const int64_t size_a = static_cast<int64_t>(size_of(a.dtype)), size_b = static_cast<int64_t>(size_of(b.dtype));
  std::atomic<bool> found{false};
  parallel_for(a.numel(), 16384, [&](int64_t begin, int64_t end) {
    alignas(64) char x[kBlock * 16], y[kBlock * 16];
    uint8_t hit[kBlock];
    const void* in[] = {x, y};
    void* out[] = {hit};
    loop.rows(begin, end, [&](const int64_t(&offset)[2], int64_t, int64_t n) {
      const int64_t sa = loop.strides[0][loop.rank - 1], sb = loop.strides[1][loop.rank - 1];
      for (int64_t at = 0; at < n && !found.load(std::memory_order_relaxed); at += kBlock) {
        const int64_t step = std::min(kBlock, n - at);
        load_a(x, a.as<char>() + (offset[0] + at * sa) * size_a, sa, step);
        load_b(y, wide.as<char>() + (offset[1] + at * sb) * size_b, sb, step);
        fn(in, out, step, Params{});
        if (std::memchr(hit, 1, static_cast<size_t>(step))) found = true;
      }
    });
  });
  return found;
}
}  // namespace

SAMPLE(aclnnEqual, "out=bool[1]")
ABOUT(aclnnEqual, Vector, "out = whether self and other have one shape and equal elements (one bool)",
      "self 与 other 的形状及全部元素是否相等，输出单个布尔值")
ACLNN(aclnnEqual, (In, self), (In, other), (Out, out)) {
  op.suggest(*out, {1}, DType::Bool);
  op.require(out->numel() == 1, "out is {}, want one element", describe(*out));
  const Compute compute = compute_of(promote(self->dtype, other->dtype));
  op.launch([=, a = *self, b = *other, to = *out] {
    store_bool(to, a.same_shape(b) && (a.empty() || !any_of(ew::ne, compute, a, b)));
  });
}

SAMPLE(aclnnIsInScalarTensor, "element=2 testElements=i32[M] out=bool[]")
ABOUT(aclnnIsInScalarTensor, Vector,
      "out = whether the scalar element is in testElements (one bool), inverted on request",
      "标量 element 是否出现在 testElements 中，invert 为真时取反")
ACLNN(aclnnIsInScalarTensor, (Scalar, element), (In, testElements), (Bool, assumeUnique), (Bool, invert), (Out, out)) {
  (void)assumeUnique;
  op.suggest(*out, {}, DType::Bool);
  op.require(out->numel() == 1, "out is {}, want one element", describe(*out));
  const Compute compute = compute_of(result_type({testElements, element}));
  op.launch([=, a = *testElements, b = ScalarValue(*element), to = *out] {
    store_bool(to, (!a.empty() && any_of(ew::eq, compute, a, b.view())) != invert);
  });
}

}  // namespace updraft
