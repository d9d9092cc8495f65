// Keys and values of latent attention on their way into the cache: RMS normalisation, rotary embedding, scatter.
#include <cmath>
#include <string_view>

#include "base/parallel.h"
#include "ops/quantize/numbers.h"
#include "tensor/view_algebra.h"

namespace updraft {
namespace {

/// Where a cache has the tokens. `paged`: by their place among all pages, else by batch. `by_page`: the index names
/// where each page of a batch begins, not each token's place. `blocked`: 32 bytes of each token of a page side by side.
struct CacheMode {
  bool paged, by_page, blocked;
};
CacheMode cache_mode(const Op& op, std::string_view name) {
  if (name == "Norm") return {false, false, false};
  if (name == "PA" || name == "PA_BNSD") return {true, false, false};
  if (name == "PA_NZ") return {true, false, true};
  if (name == "PA_BLK_BNSD") return {true, true, false};
  if (name == "PA_BLK_NZ") return {true, true, true};
  op.refuse("cacheMode is \"{}\", want \"Norm\", \"PA\", \"PA_BNSD\", \"PA_NZ\", \"PA_BLK_BNSD\" or \"PA_BLK_NZ\"",
            name);
}

/// A cache, and the numbers that go into it: [tokens, width] in FLOAT.
struct Cache {
  TensorView to{}, scale{};
  int64_t width = 0;
};

void write_cache(const Cache& cache, CacheMode mode, const std::vector<int64_t>& index, int64_t batch, int64_t length,
                 std::vector<float> x) {
  const TensorView& to = cache.to;
  const int64_t width = cache.width, page = to.dims[mode.paged ? 1 : 2], pages = to.dims[0],
                slots = mode.paged ? pages * page : page;
  if (given(cache.scale)) {
    const std::vector<float> scale = floats_of(cache.scale);
    for (size_t i = 0; i < x.size(); ++i) x[i] = kept(x[i] * scale[i % static_cast<size_t>(width)], {-128, 127, false});
  }
  // The elements of a token, and the distance of the parts that lie side by side.
  const int64_t part = mode.blocked ? 32 / static_cast<int64_t>(size_of(to.dtype)) : width;
  const int64_t per_batch = mode.by_page ? (length + page - 1) / page : length;
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t t = 0; t < length; ++t) {
      int64_t slot = index[static_cast<size_t>(b * per_batch + (mode.by_page ? t / page : t))];
      if (slot < 0) continue;
      if (mode.by_page) slot = slot / page * page + t % page;
      if (slot >= slots)
        fail_kernel(fmt::format("kv_rmsnorm_rope_cache: index {} of batch {} is out of range, the cache has {} places",
                                slot, b, slots));
      const int64_t first = mode.paged ? slot / page : b, row = slot % page;
      const float* from = x.data() + (b * length + t) * width;
      for (int64_t c = 0; c < width; c += part) {
        const int64_t dims[] = {part};
        TensorView target = TensorView::contiguous(nullptr, to.dtype, dims, 1);
        target.data = at_element(to, first * page * width + (mode.blocked ? (c * page + row * part) : row * width + c));
        copy_elements(target, TensorView::contiguous(const_cast<float*>(from + c), DType::Float, dims, 1));
      }
    }
}

struct Problem {
  TensorView kv, gamma, cos, sin, index, v{}, k_rope, c_kv;
  double epsilon;
  CacheMode mode;
  Cache k, other;
  bool output;
};

/// Turned by the angle of its place: pairs lie side by side in x, and apart in the result.
void rotate(const float* x, const float* cos, const float* sin, int64_t n, float* to) {
  const int64_t half = n / 2;
  for (int64_t c = 0; c < half; ++c) {
    to[c] = x[2 * c] * cos[c] - x[2 * c + 1] * sin[c];
    to[c + half] = x[2 * c + 1] * cos[c + half] + x[2 * c] * sin[c + half];
  }
}

void run(const Problem& p) {
  const int64_t batch = p.kv.dims[0], length = p.kv.dims[2], tokens = batch * length, size = p.kv.dims[3],
                normed = p.gamma.dims[0], rope = p.cos.dims[3];
  const bool apart = !given(p.v);  // the part that is turned is not the one that is normalised
  std::vector<float> kv = floats_of(p.kv), k(static_cast<size_t>(tokens * p.k.width)), other;
  const std::vector<float> gamma = floats_of(p.gamma), cos = floats_of(p.cos), sin = floats_of(p.sin);
  if (apart) other.resize(static_cast<size_t>(tokens * normed));
  else other = floats_of(p.v);
  parallel_for(tokens, 4, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      float* x = kv.data() + t * size;
      double square = 0;
      for (int64_t c = 0; c < normed; ++c) square += static_cast<double>(x[c]) * static_cast<double>(x[c]);
      const auto rstd = static_cast<float>(1 / std::sqrt(square / static_cast<double>(normed) + p.epsilon));
      for (int64_t c = 0; c < normed; ++c) x[c] = x[c] * rstd * gamma[static_cast<size_t>(c)];
      float* to = k.data() + t * p.k.width;
      rotate(apart ? x + normed : x, cos.data() + t * rope, sin.data() + t * rope, rope, to);
      if (apart) std::copy(x, x + normed, other.data() + t * normed);
      else std::copy(x + rope, x + normed, to + rope);
    }
  });
  if (p.output) {
    write_all(p.k_rope, k);
    write_all(p.c_kv, other);
  }
  const std::vector<int64_t> index = integers_of(p.index);
  write_cache(p.k, p.mode, index, batch, length, std::move(k));
  write_cache(p.other, p.mode, index, batch, length, std::move(other));
}

void plan(Op& op, const In& kv, const In& gamma, const In& cos, const In& sin, const In& index, const InOut& k_cache,
          const InOut& other_cache, const OptIn& k_scale, const OptIn& other_scale, const OptIn& k_offset,
          const OptIn& other_offset, const OptIn& v, double epsilon, Text mode_name, bool output, const Out& k_rope,
          const Out& c_kv) {
  const CacheMode mode = cache_mode(op, mode_name);
  op.require(kv->rank == 4 && kv->dims[1] == 1 && is_floating(kv->dtype) && gamma->rank == 1,
             "kv is {}, gamma is {}: want [batch,1,length,width] and the width that is normalised", describe(*kv),
             describe(*gamma));
  const int64_t batch = kv->dims[0], length = kv->dims[2], normed = gamma->dims[0];
  const int64_t rope = cos->rank == 4 ? cos->dims[3] : 0, size = v ? normed : normed + rope;
  op.require(rope > 0 && rope % 2 == 0 && kv->dims[3] == size && normed >= (v ? rope : 1),
             "kv is {}, gamma {}, cos {}: want a width of {}", describe(*kv), describe(*gamma), describe(*cos), size);
  const int64_t angles[] = {batch, 1, length, rope};
  op.require_shape("cos", *cos, angles, 4);
  op.require_shape("sin", *sin, angles, 4);
  op.require(!k_offset && !other_offset, "kRopeOffset or cKvOffset is given, want null: scales alone are supported");
  Cache k{.to = *k_cache, .width = v ? normed : rope}, other{.to = *other_cache, .width = normed};
  if (v) {
    op.require(v->rank == 4 && v->dims[0] == batch && v->dims[1] == 1 && v->dims[2] == length,
               "v is {}, want [{},1,{},width]", describe(*v), batch, length);
    other.width = v->dims[3];
  }
  auto check = [&](Cache& cache, const char* name, const OptIn& scale) {
    const TensorView& to = cache.to;
    op.require(to.rank == 4 && to.is_contiguous() && to.dims[mode.paged ? 2 : 1] == 1 && to.dims[3] == cache.width,
               "{} is {}, want {} without gaps, width {}", name, describe(to),
               mode.paged ? "[pages,page,1,width]" : "[batch,1,length,width]", cache.width);
    op.require(mode.paged || to.dims[0] == batch, "{} is {}, want {} batches", name, describe(to), batch);
    op.require((to.dtype == DType::Int8) == static_cast<bool>(scale), "{} is {}, its scale is {}: INT8 wants one", name,
               describe(to), scale ? describe(*scale).text() : "null");
    op.require(!mode.blocked || cache.width * static_cast<int64_t>(size_of(to.dtype)) % 32 == 0,
               "{} is {}: with cacheMode \"{}\" 32 bytes lie side by side", name, describe(to), mode_name);
    if (!scale) return;
    op.require_shape("scale", *scale, &cache.width, 1);
    cache.scale = *scale;
  };
  check(k, "kCache", k_scale);
  check(other, "ckvCache", other_scale);
  const int64_t page = k.to.dims[mode.paged ? 1 : 2],
                places = batch * (mode.by_page ? (length + page - 1) / std::max<int64_t>(1, page) : length);
  op.require(index->numel() == places && is_integral(index->dtype), "index is {}, want {} whole numbers",
             describe(*index), places);
  op.suggest(*k_rope, {batch, 1, length, k.width}, kv->dtype);
  op.suggest(*c_kv, {batch, 1, length, other.width}, kv->dtype);
  if (output) {
    op.result("kRope", *k_rope, {batch, 1, length, k.width}, kv->dtype);
    op.result("cKv", *c_kv, {batch, 1, length, other.width}, kv->dtype);
  }
  if (kv->empty()) return;
  Problem p{.kv = *kv,
            .gamma = *gamma,
            .cos = *cos,
            .sin = *sin,
            .index = *index,
            .k_rope = *k_rope,
            .c_kv = *c_kv,
            .epsilon = epsilon,
            .mode = mode,
            .k = k,
            .other = other,
            .output = output};
  if (v) p.v = *v;
  op.work(kv->numel() * 12);
  op.launch([p] { run(p); });
}

}  // namespace

SAMPLE(aclnnKvRmsNormRopeCache,
       "kv=f32[2,1,3,20] gamma=f32[16] cos=f32[2,1,3,4] sin=f32[2,1,3,4] index=i64[6]:0..8 kCache=f32[2,4,1,4]! "
       "ckvCache=f32[2,4,1,16]! kRopeScale=null cKvScale=null kRopeOffset=null cKvOffset=null epsilon=0.1 "
       "cacheMode=PA isOutputKv=true kRope=f32[2,1,3,4] cKv=f32[2,1,3,16]")
ABOUT(aclnnKvRmsNormRopeCache, Vector,
      "kv's first part normalised, its last turned by cos and sin, both written into caches at index",
      "对 kv 前部做 RMS 归一化、后部做旋转位置编码，并按 index 写入缓存")
ACLNN(aclnnKvRmsNormRopeCache, (In, kv), (In, gamma), (In, cos), (In, sin), (In, index), (InOut, kCache),
      (InOut, ckvCache), (OptIn, kRopeScale), (OptIn, cKvScale), (OptIn, kRopeOffset), (OptIn, cKvOffset),
      (Double, epsilon), (Text, cacheMode), (Bool, isOutputKv), (Out, kRope), (Out, cKv)) {
  plan(op, kv, gamma, cos, sin, index, kCache, ckvCache, kRopeScale, cKvScale, kRopeOffset, cKvOffset, OptIn{nullptr},
       epsilon, cacheMode, isOutputKv, kRope, cKv);
}

SAMPLE(aclnnKvRmsNormRopeCacheV2,
       "kv=f32[2,1,3,16] gamma=f32[16] cos=f32[2,1,3,4] sin=f32[2,1,3,4] index=i64[6]:0..8 kCache=f32[2,4,1,16]! "
       "ckvCache=f32[2,4,1,8]! kRopeScale=null cKvScale=null kRopeOffset=null cKvOffset=null v=f32[2,1,3,8] "
       "epsilon=0.1 cacheMode=PA isOutputKv=true kRope=f32[2,1,3,16] cKv=f32[2,1,3,8]")
ABOUT(aclnnKvRmsNormRopeCacheV2, Vector,
      "kv normalised and its first part turned by cos and sin, then kv and v written into caches at index",
      "对 kv 做 RMS 归一化并对其前部做旋转位置编码，再将 kv 与 v 按 index 写入缓存")
ACLNN(aclnnKvRmsNormRopeCacheV2, (In, kv), (In, gamma), (In, cos), (In, sin), (In, index), (InOut, kCache),
      (InOut, ckvCache), (OptIn, kRopeScale), (OptIn, cKvScale), (OptIn, kRopeOffset), (OptIn, cKvOffset), (OptIn, v),
      (Double, epsilon), (Text, cacheMode), (Bool, isOutputKv), (Out, kRope), (Out, cKv)) {
  plan(op, kv, gamma, cos, sin, index, kCache, ckvCache, kRopeScale, cKvScale, kRopeOffset, cKvOffset, v, epsilon,
       cacheMode, isOutputKv, kRope, cKv);
}

}  // namespace updraft
