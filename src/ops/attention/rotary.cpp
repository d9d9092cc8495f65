// Rotary position embedding: out = cos * x + sin * turned(x), where turned pairs either halves or neighbours.
#include <limits>
#include <string_view>
#include <vector>

#include "base/parallel.h"
#include "kernels/matmul/matmul.h"
#include "kernels/pipeline.h"
#include "ops/gathered.h"
#include "ops/op.h"

namespace updraft {
namespace {

void load_row(float* to, const TensorView& v, int64_t offset, int64_t n) {
  kernels().load[static_cast<int>(v.dtype)][static_cast<int>(Compute::F32)](
      to, v.as<char>() + offset * static_cast<int64_t>(size_of(v.dtype)), v.strides[v.rank - 1], n);
}
/// The row where it lies, if it is one of floats side by side, else in the buffer.
const float* read_row(float* buffer, const TensorView& v, int64_t offset, int64_t n) {
  if (v.dtype == DType::Float && v.strides[v.rank - 1] == 1) return v.as<const float>() + offset;
  load_row(buffer, v, offset, n);
  return buffer;
}
constexpr int64_t kGathered = -1;  // halves, of which the row has the elements in turn
const float* read_gathered(float* buffer, const TensorView& v, int64_t offset, int64_t n) {
  TensorView every_second = v;
  every_second.strides[v.rank - 1] *= 2;
  load_row(buffer, every_second, offset, n / 2);
  load_row(buffer + n / 2, every_second, offset + v.strides[v.rank - 1], n / 2);
  return buffer;
}
void store_row(const TensorView& v, int64_t offset, const float* from, int64_t n) {
  kernels().store[static_cast<int>(Compute::F32)][static_cast<int>(v.dtype)](
      v.as<char>() + offset * static_cast<int64_t>(size_of(v.dtype)), v.strides[v.rank - 1], from, n);
}
/// The element offset of row i: all dimensions but the last.
int64_t row_offset(const TensorView& v, const int64_t* dims, int64_t i) {
  int64_t at = 0;
  for (int d = v.rank - 2; d >= 0; --d) {
    at += i % dims[d] * v.strides[d];
    i /= dims[d];
  }
  return at;
}

void check(Op& op, const TensorView& x, const TensorView& cos, const TensorView& sin, int64_t mode,
           const TensorView& out) {
  op.require(mode == 0 || mode == 1, "mode is {}, supported are 0 (half) and 1 (interleave)", mode);
  op.require(x.rank >= 1 && x.dims[x.rank - 1] % 2 == 0, "x is {}, want an even last dimension", describe(x));
  op.result_like("out", out, x, x.dtype);
  for (const TensorView* v : {&x, &cos, &sin, &out})
    op.require(compute_of(v->dtype) == Compute::F32, "{} is not FLOAT, FLOAT16 or BFLOAT16", describe(*v));
  op.require_same_shape("cos", cos, "sin", sin);
}

/// Each row of x by `turn_row`: the embedding, or its gradient. c and s are expanded to x; out may be x.
void turn(decltype(KernelTable::rotary_row) turn_row, const TensorView& x, const TensorView& c, const TensorView& s,
          int64_t mode, const TensorView& out) {
  const int64_t n = x.dims[x.rank - 1];
  parallel_for(x.numel() / n, std::max<int64_t>(1, 8192 / n), [&](int64_t begin, int64_t end) {
    std::vector<float> hold(static_cast<size_t>(4 * n));
    float *a = hold.data(), *cosine = a + n, *sine = cosine + n, *y = sine + n;
    for (int64_t i = begin; i < end; ++i) {
      const float* row = mode == kGathered ? read_gathered(a, x, row_offset(x, x.dims, i), n)
                                           : read_row(a, x, row_offset(x, x.dims, i), n);
      const float* cos_row = read_row(cosine, c, row_offset(c, x.dims, i), n);
      const float* sin_row = read_row(sine, s, row_offset(s, x.dims, i), n);
      turn_row(row, cos_row, sin_row, n, mode == 1, y);
      store_row(out, row_offset(out, x.dims, i), y, n);
    }
  });
}

/// By pairs as `mode` says, or (`by` is there) by a matrix.
void embed(Op& op, const In& x, const In& cos, const In& sin, int64_t mode, const TensorView& by, const Out& out) {
  check(op, *x, *cos, *sin, mode, *out);
  const TensorView c = cos->expand_as(*x), s = sin->expand_as(*x);
  const int64_t n = x->dims[x->rank - 1];
  if (given(by)) {
    const int64_t dims[] = {n, n};
    op.require_shape("rotate", by, dims, 2);
    op.require(x->rank >= 2 && compute_of(by.dtype) == Compute::F32,
               "x is {} and rotate {}, want real numbers and two dimensions", describe(*x), describe(by));
  }
  if (x->empty()) return;
  op.work(x->numel() * (given(by) ? n : 4));
  op.launch([=, x = *x, out = *out] {
    if (!given(by)) return turn(kernels().rotary_row, x, c, s, mode, out);
    std::vector<float> turned(static_cast<size_t>(x.numel()));
    matmul(x, by, TensorView::contiguous(turned.data(), DType::Float, x.dims, x.rank));
    parallel_for(x.numel() / n, std::max<int64_t>(1, 8192 / n), [&](int64_t begin, int64_t end) {
      std::vector<float> hold(static_cast<size_t>(4 * n));
      float *a = hold.data(), *cosine = a + n, *sine = cosine + n, *y = sine + n;
      for (int64_t i = begin; i < end; ++i) {
        const float* row = read_row(a, x, row_offset(x, x.dims, i), n);
        const float* cos_row = read_row(cosine, c, row_offset(c, x.dims, i), n);
        const float* sin_row = read_row(sine, s, row_offset(s, x.dims, i), n);
        for (int64_t k = 0; k < n; ++k)
          y[k] = cos_row[k] * row[k] + sin_row[k] * turned[static_cast<size_t>(i * n + k)];
        store_row(out, row_offset(out, x.dims, i), y, n);
      }
    });
  });
}

}  // namespace

SAMPLE(aclnnRotaryPositionEmbedding, "x=f32[2,3,N,8] cos=f32[1,1,N,8] sin=f32[1,1,N,8] mode=0 out=f32[2,3,N,8]")
CARD(aclnnRotaryPositionEmbedding, kFloats)
ABOUT(aclnnRotaryPositionEmbedding, Vector,
      "out = cos * x + sin * turned(x), which pairs halves (mode 0) or neighbours (1)",
      "旋转位置编码 out = cos * x + sin * rotate(x)，mode 0 为前后半、1 为相邻配对")
ACLNN(aclnnRotaryPositionEmbedding, (In, x), (In, cos), (In, sin), (Int, mode), (Out, out)) {
  embed(op, x, cos, sin, mode, {}, out);
}

SAMPLE(aclnnRotaryPositionEmbeddingV2,
       "x=f32[2,3,N,8] cos=f32[1,1,N,8] sin=f32[1,1,N,8] mode=1 rotate=f32[8,8] out=f32[2,3,N,8]")
ABOUT(aclnnRotaryPositionEmbeddingV2, MixCube, "out = cos * x + sin * (x @ rotate); without rotate as the first form",
      "out = cos * x + sin * (x @ rotate)；无 rotate 时同 aclnnRotaryPositionEmbedding")
ACLNN(aclnnRotaryPositionEmbeddingV2, (In, x), (In, cos), (In, sin), (Int, mode), (OptIn, rotate), (Out, out)) {
  embed(op, x, cos, sin, mode, optional_view(rotate), out);
}

SAMPLE(aclnnInterleaveRope, "x=f32[2,3,N,8] cos=f32[2,1,N,8] sin=f32[2,1,N,8] out=f32[2,3,N,8]")
ABOUT(aclnnInterleaveRope, Vector,
      "As aclnnRotaryPositionEmbedding of halves, after x's even elements come its odd ones",
      "先将 x 的偶数元素置于奇数元素之前，再做前后半的旋转位置编码")
ACLNN(aclnnInterleaveRope, (In, x), (In, cos), (In, sin), (Out, out)) {
  check(op, *x, *cos, *sin, 0, *out);
  const TensorView c = cos->expand_as(*x), s = sin->expand_as(*x);
  if (x->empty()) return;
  op.work(x->numel() * 4);
  op.launch([=, x = *x, out = *out] { turn(kernels().rotary_row, x, c, s, kGathered, out); });
}

SAMPLE(aclnnRotaryPositionEmbeddingGrad,
       "dy=f32[2,3,N,8] cos=f32[1,1,N,8] sin=f32[1,1,N,8] xOptional=f32[2,3,N,8] mode=0 dx=f32[2,3,N,8] "
       "dcos=f32[1,1,N,8] dsin=f32[1,1,N,8]")
ABOUT(aclnnRotaryPositionEmbeddingGrad, Vector,
      "Gradients of rotary position embedding for x, and for cos and sin where x is given",
      "旋转位置编码对 x 的反向梯度，提供 x 时还输出 cos、sin 的梯度")
ACLNN(aclnnRotaryPositionEmbeddingGrad, (In, dy), (In, cos), (In, sin), (OptIn, xOptional), (Int, mode), (Out, dx),
      (OptOut, dcos), (OptOut, dsin)) {
  check(op, *dy, *cos, *sin, mode, *dx);
  const TensorView c = cos->expand_as(*dy), s = sin->expand_as(*dy);
  if (dcos) op.result_like("dcos", *dcos, *cos, cos->dtype);
  if (dsin) op.result_like("dsin", *dsin, *sin, sin->dtype);
  if (xOptional) op.require_same_shape("dy", *dy, "x", *xOptional);
  if (dy->empty()) return;
  op.work(dy->numel() * 4);
  TensorView x, to_cos, to_sin;
  if (xOptional) x = *xOptional;
  if (dcos) to_cos = *dcos;
  if (dsin) to_sin = *dsin;
  op.launch([=, g = *dy, dx = *dx] {
    const int64_t n = g.dims[g.rank - 1];
    turn(kernels().rotary_row_backward, g, c, s, mode, dx);
    if (!to_cos.data && !to_sin.data) return;
    // Gradients of the tables: sums over what they broadcast, in f32, in the order of the rows.
    const TensorView& table = to_cos.data ? to_cos : to_sin;
    std::vector<float> sums(static_cast<size_t>(2 * table.numel()), 0.0f);
    TensorView plain = TensorView::contiguous(sums.data(), DType::Float, table.dims, table.rank);
    if (x.data) {
      const TensorView sum = plain.expand_as(g);
      std::vector<float> hold(static_cast<size_t>(4 * n));
      float *a = hold.data(), *b = a + n, *c_row = b + n;
      const int64_t width = table.dims[table.rank - 1];
      for (int64_t i = 0; i < g.numel() / n; ++i) {
        load_row(a, g, row_offset(g, g.dims, i), n);
        load_row(b, x, row_offset(x, g.dims, i), n);
        float* to_c = sums.data() + row_offset(sum, g.dims, i);
        float* to_s = to_c + table.numel();
        if (width == n) {
          kernels().rotary_table_backward(a, b, n, mode == 1, to_c, to_s);
          continue;
        }
        std::fill_n(c_row, 2 * n, 0.0f);
        kernels().rotary_table_backward(a, b, n, mode == 1, c_row, c_row + n);
        for (int64_t j = 0; j < n; ++j) *to_c += c_row[j], *to_s += c_row[n + j];
      }
    }
    if (to_cos.data) copy_elements(to_cos, plain);
    plain.data = sums.data() + table.numel();
    if (to_sin.data) copy_elements(to_sin, plain);
  });
}

// --- query and key in place -----------------------------------------------------------------------------------------
static void plan_turned(Op& op, const TensorView& cos, const TensorView& sin, const TensorView (&both)[2],
                        int64_t mode) {
  TensorView c[2], s[2];
  int64_t elements = 0;
  for (size_t i = 0; i < 2; ++i) {
    check(op, both[i], cos, sin, mode, both[i]);
    c[i] = cos.expand_as(both[i]);
    s[i] = sin.expand_as(both[i]);
    elements += both[i].numel();
  }
  if (!elements) return;
  op.work(elements * 4);
  op.launch([=, query = both[0], key = both[1], cq = c[0], ck = c[1], sq = s[0], sk = s[1]] {
    if (!query.empty()) turn(kernels().rotary_row, query, cq, sq, mode, query);
    if (!key.empty()) turn(kernels().rotary_row, key, ck, sk, mode, key);
  });
}

SAMPLE(aclnnApplyRotaryPosEmb, "query=f32[2,N,3,8] key=f32[2,N,1,8] cos=f32[2,N,1,8] sin=f32[2,N,1,8] layout=1")
ABOUT(aclnnApplyRotaryPosEmb, Vector, "Rotary position embedding of query and key in place, by halves",
      "对 query 与 key 原地做旋转位置编码，前后半配对")
ACLNN(aclnnApplyRotaryPosEmb, (InOut, query), (InOut, key), (In, cos), (In, sin), (Int, layout)) {
  (void)layout;  // the dimensions of cos and sin that are 1 say where the heads are
  plan_turned(op, *cos, *sin, {*query, *key}, 0);
}
SAMPLE(aclnnApplyRotaryPosEmbV2,
       "query=f32[2,N,3,8] key=f32[2,N,1,8] cos=f32[2,N,1,8] sin=f32[2,N,1,8] layout=1 rotaryMode=interleave")
ABOUT(aclnnApplyRotaryPosEmbV2, Vector, "As aclnnApplyRotaryPosEmb, by halves or by neighbours (rotaryMode)",
      "同 aclnnApplyRotaryPosEmb，由 rotaryMode 选择前后半或相邻配对")
ACLNN(aclnnApplyRotaryPosEmbV2, (InOut, query), (InOut, key), (In, cos), (In, sin), (Int, layout), (Text, rotaryMode)) {
  (void)layout;  // the dimensions of cos and sin that are 1 say where the heads are
  const std::string_view mode = rotaryMode;
  op.require(mode == "half" || mode == "interleave", "rotaryMode is \"{}\", want \"half\" or \"interleave\"", mode);
  plan_turned(op, *cos, *sin, {*query, *key}, mode == "interleave");
}

// --- softmax(where(mask, -10000, scale * x)) over the last dimension
static void check_softmax(Op& op, const TensorView& x, const TensorView& mask, bool fixed, const TensorView& y) {
  op.require(x.rank >= 2 && compute_of(x.dtype) == Compute::F32,
             "x is {}, want two dimensions or more of floating point", describe(x));
  op.require(fixed || size_of(mask.dtype) == 1, "mask is {}, want BOOL", describe(mask));
  op.result_like("y", y, x, x.dtype);
  op.work(x.numel() * 16);
}

// mask without data: everything above the diagonal is masked.
static void masked_softmax(const TensorView& x, const TensorView& mask, float scale, const TensorView& y) {
  const int64_t n = x.dims[x.rank - 1], wide = (n + 15) / 16 * 16, lines = x.dims[x.rank - 2];
  parallel_for(x.numel() / n, std::max<int64_t>(1, 4096 / n), [&](int64_t begin, int64_t end) {
    std::vector<float> hold(static_cast<size_t>(wide));
    float* s = hold.data();
    for (int64_t i = begin; i < end; ++i) {
      load_row(s, x, row_offset(x, x.dims, i), n);
      kernels().scale_f32(s, n, scale);
      if (mask.data) {
        const char* bytes = mask.as<char>() + row_offset(mask, x.dims, i);
        for (int64_t j = 0; j < n; ++j)
          if (bytes[j * mask.strides[mask.rank - 1]]) s[j] = -10000.0f;
      } else {
        for (int64_t j = i % lines + 1; j < n; ++j) s[j] = -10000.0f;
      }
      std::fill(s + n, s + wide, -std::numeric_limits<float>::infinity());
      float max = -std::numeric_limits<float>::infinity(), sum = 0;
      kernels().attention_softmax(s, wide, 1, wide, &max, &sum, nullptr, 0, 0);
      kernels().scale_f32(s, n, 1.0f / sum);
      store_row(y, row_offset(y, x.dims, i), s, n);
    }
  });
}

SAMPLE(aclnnScaledMaskedSoftmax, "x=f32[2,3,N,M] mask=bool[2,1,N,M] scale=0.5 y=f32[2,3,N,M]")
CARD(aclnnScaledMaskedSoftmax, on("mask", kBool, kAll), on("x y", kFloats, kAll))
ABOUT(aclnnScaledMaskedSoftmax, Vector, "y = softmax of scale * x over the last dimension, -10000 where mask is true",
      "y = softmax(scale * x)（最后一维），mask 为真处取 -10000")
ACLNN(aclnnScaledMaskedSoftmax, (In, x), (OptIn, mask), (Double, scale), (Bool, fixedTriuMask), (Out, y)) {
  op.require(fixedTriuMask || mask, "mask is null and fixedTriuMask is false");
  check_softmax(op, *x, mask ? *mask : *x, fixedTriuMask, *y);
  TensorView m;
  if (!fixedTriuMask) m = mask->expand_as(*x);
  if (x->empty()) return;
  op.launch([=, x = *x, y = *y] { masked_softmax(x, m, static_cast<float>(scale), y); });
}

static void masked_softmax_backward(const TensorView& g, const TensorView& y, const TensorView& mask, float scale,
                                    const TensorView& out) {
  const int64_t n = y.dims[y.rank - 1], wide = (n + 15) / 16 * 16, lines = y.dims[y.rank - 2];
  parallel_for(y.numel() / n, std::max<int64_t>(1, 4096 / n), [&](int64_t begin, int64_t end) {
    std::vector<float> hold(static_cast<size_t>(2 * wide), 0.0f);
    float *p = hold.data(), *d = p + wide;
    for (int64_t i = begin; i < end; ++i) {
      load_row(p, y, row_offset(y, y.dims, i), n);
      load_row(d, g, row_offset(g, y.dims, i), n);
      const float mean = kernels().dot_f32(p, d, wide);
      for (int64_t j = 0; j < n; ++j) d[j] = scale * p[j] * (d[j] - mean);
      if (mask.data) {
        const char* bytes = mask.as<char>() + row_offset(mask, y.dims, i);
        for (int64_t j = 0; j < n; ++j)
          if (bytes[j * mask.strides[mask.rank - 1]]) d[j] = 0;
      } else {
        for (int64_t j = i % lines + 1; j < n; ++j) d[j] = 0;
      }
      store_row(out, row_offset(out, y.dims, i), d, n);
    }
  });
}

SAMPLE(aclnnScaledMaskedSoftmaxBackward,
       "yGrad=f32[2,3,N,M] y=f32[2,3,N,M] mask=bool[2,1,N,M] scale=0.5 out=f32[2,3,N,M]")
ABOUT(aclnnScaledMaskedSoftmaxBackward, Vector, "Gradient of aclnnScaledMaskedSoftmax from its result y",
      "aclnnScaledMaskedSoftmax 的反向梯度，由前向结果 y 计算")
ACLNN(aclnnScaledMaskedSoftmaxBackward, (In, yGrad), (In, y), (OptIn, mask), (Double, scale), (Bool, fixedTriuMask),
      (Out, out)) {
  op.require(fixedTriuMask || mask, "mask is null and fixedTriuMask is false");
  check_softmax(op, *y, mask ? *mask : *y, fixedTriuMask, *out);
  op.require_same_shape("yGrad", *yGrad, "y", *y);
  TensorView m;
  if (!fixedTriuMask) m = mask->expand_as(*y);
  if (y->empty()) return;
  op.launch([=, g = *yGrad, y = *y, out = *out] { masked_softmax_backward(g, y, m, static_cast<float>(scale), out); });
}

}  // namespace updraft
