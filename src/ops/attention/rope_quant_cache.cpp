// A row of queries, keys and values: rotary embedding, and keys and values as INT8 into their caches. Facts:
// op-plugin's test of npu_rope_quant_kvcache and its calls.
#include <string_view>

#include "base/parallel.h"
#include "ops/quantize/numbers.h"
#include "tensor/view_algebra.h"

namespace updraft {
namespace {

constexpr Range kInt8{-128, 127, false};

/// Where numbers go, and by what they become whole; scale and offset have [size] or [heads * size] values.
struct Cache {
  TensorView to, scale, offset;  ///< to: [batch or pages, places, heads, size]; offset may be absent
};

struct Problem {
  TensorView x, cos, sin, indices;
  TensorView weight_scale, activation_scale;  ///< of x in INT32; may be absent
  Cache key, value;
  TensorView q, k, v;  ///< results; k and v may be absent
  int64_t batch, length, queries, heads, size;
  bool paged;

  int64_t tokens() const { return batch * length; }
};

void write_cache(const Problem& p, const Cache& cache, const std::vector<float>& numbers) {
  const std::vector<int64_t> index = integers_of(p.indices);
  const std::vector<float> scale = floats_of(cache.scale),
                           offset = given(cache.offset) ? floats_of(cache.offset) : std::vector<float>();
  const int64_t width = p.heads * p.size, page = cache.to.dims[1], places = p.paged ? cache.to.dims[0] * page : page;
  const int64_t dims[] = {p.heads, p.size};
  std::vector<int8_t> whole(static_cast<size_t>(width));
  for (int64_t t = 0; t < p.tokens(); ++t) {
    const int64_t b = t / p.length,
                  slot = p.paged ? index[static_cast<size_t>(t)] : index[static_cast<size_t>(b)] + t % p.length;
    if (slot < 0 || slot >= places)
      fail_kernel(
          fmt::format("rope_quant_kvcache: place {} of token {} is out of range, the cache has {}", slot, t, places));
    for (int64_t c = 0; c < width; ++c) {
      const auto at = static_cast<size_t>(c);
      const float by = scale[at % scale.size()], add = offset.empty() ? 0.0f : offset[at % offset.size()];
      whole[at] = static_cast<int8_t>(kept(numbers[static_cast<size_t>(t * width + c)] * by + add, kInt8));
    }
    copy_elements(select(select(cache.to, 0, p.paged ? slot / page : b), 0, p.paged ? slot % page : slot),
                  TensorView::contiguous(whole.data(), DType::Int8, dims, 2));
  }
}

void run(const Problem& p) {
  const int64_t tokens = p.tokens(), width = (p.queries + 2 * p.heads) * p.size;
  std::vector<float> x = floats_of(p.x);
  const std::vector<float> cos = floats_of(p.cos), sin = floats_of(p.sin);
  const std::vector<float> column = given(p.weight_scale) ? floats_of(p.weight_scale) : std::vector<float>(),
                           row = given(p.activation_scale) ? floats_of(p.activation_scale) : std::vector<float>();
  const int64_t query_width = p.queries * p.size, part = p.heads * p.size;
  std::vector<float> q(static_cast<size_t>(tokens * query_width)), k(static_cast<size_t>(tokens * part)), v = k;
  parallel_for(tokens, std::max<int64_t>(1, 4096 / width), [&](int64_t begin, int64_t end) {
    std::vector<float> head(static_cast<size_t>(p.size));
    for (int64_t t = begin; t < end; ++t) {
      float* line = x.data() + t * width;
      for (int64_t c = 0; c < width; ++c) {
        if (!column.empty()) line[c] *= column[static_cast<size_t>(c)];
        if (!row.empty()) line[c] *= row[static_cast<size_t>(t)];
      }
      for (int64_t h = 0; h < p.queries + p.heads; ++h) {
        std::copy_n(line + h * p.size, p.size, head.data());
        kernels().rotary_row(head.data(), cos.data() + t * p.size, sin.data() + t * p.size, p.size, false,
                             line + h * p.size);
      }
      std::copy_n(line, query_width, q.data() + t * query_width);
      std::copy_n(line + query_width, part, k.data() + t * part);
      std::copy_n(line + query_width + part, part, v.data() + t * part);
    }
  });
  write_all(p.q, q);
  if (given(p.k)) write_all(p.k, k);
  if (given(p.v)) write_all(p.v, v);
  write_cache(p, p.key, k);
  write_cache(p, p.value, v);
}

}  // namespace

SAMPLE(aclnnDequantRopeQuantKvcache,
       "x=f32[2,3,32] cos=f32[2,3,1,8] sin=f32[2,3,1,8] kCacheRef=i8[2,6,1,8]! vCacheRef=i8[2,6,1,8]! "
       "indices=i32[2]:0..3 scaleK=f32[8]:20..30 scaleV=f32[8]:20..30 offsetK=f32[8] offsetV=f32[8] weightScale=null "
       "activationScale=null bias=null sizeSplits=16,8,8 quantMode=static layout=BSND kvOutput=true "
       "cacheMode=contiguous qOut=f32[2,3,2,8] kOut=f32[2,3,1,8] vOut=f32[2,3,1,8]")
ABOUT(aclnnDequantRopeQuantKvcache, Vector,
      "x split into queries, keys, values; the first two turned, keys and values as INT8 into caches",
      "将 x 拆为 query、key、value，对前两者做旋转位置编码，并将 key、value 量化为 INT8 写入缓存")
ACLNN(aclnnDequantRopeQuantKvcache, (In, x), (In, cos), (In, sin), (InOut, kCacheRef), (InOut, vCacheRef),
      (In, indices), (In, scaleK), (In, scaleV), (OptIn, offsetK), (OptIn, offsetV), (OptIn, weightScale),
      (OptIn, activationScale), (OptIn, bias), (Ints, sizeSplits), (Text, quantMode), (Text, layout), (Bool, kvOutput),
      (Text, cacheMode), (Out, qOut), (Out, kOut), (Out, vOut)) {
  const std::string_view mode = quantMode, order = layout, where = cacheMode;
  op.require(mode == "static", "quantMode is \"{}\", supported is \"static\"", mode);
  op.require(order == "BSND", "layout is \"{}\", want \"BSND\"", order);
  op.require(where == "contiguous" || where == "page", "cacheMode is \"{}\", want \"contiguous\" or \"page\"", where);
  op.require(!bias, "bias is given, which is not supported: nothing public says where it is added");
  op.require(x->rank == 2 || x->rank == 3, "x is {}, want [batch,length,width] or [batch,width]", describe(*x));
  const bool whole = x->dtype == DType::Int32;
  op.require(whole || compute_of(x->dtype) == Compute::F32, "x is {}, want FLOAT16, BFLOAT16 or INT32", describe(*x));
  op.require(!whole || weightScale, "x is {}: INT32 wants weightScale", describe(*x));
  op.require(whole || (!weightScale && !activationScale),
             "weightScale or activationScale is given, x is {}: want INT32", describe(*x));
  op.require(kCacheRef->rank == 4 && kCacheRef->dtype == DType::Int8, "kCacheRef is {}, want INT8 of four dimensions",
             describe(*kCacheRef));
  op.require(vCacheRef->rank == 4 && vCacheRef->dtype == DType::Int8 && vCacheRef->dims[2] == kCacheRef->dims[2] &&
                 vCacheRef->dims[3] == kCacheRef->dims[3],
             "vCacheRef is {}, want heads as kCacheRef's {}", describe(*vCacheRef), describe(*kCacheRef));
  const int64_t heads = kCacheRef->dims[2], size = kCacheRef->dims[3];
  op.require(size > 0 && size % 2 == 0, "kCacheRef is {}, want an even size of heads", describe(*kCacheRef));
  op.require(sizeSplits->size() == 3 && (*sizeSplits)[0] >= 0 && (*sizeSplits)[0] % size == 0 &&
                 (*sizeSplits)[1] == heads * size && (*sizeSplits)[2] == heads * size &&
                 (*sizeSplits)[0] + 2 * heads * size == row_length(*x),
             "sizeSplits has {} values, want three: a number of heads of {}, and twice {}, x's {} in all",
             sizeSplits->size(), size, heads * size, row_length(*x));
  Problem p{};
  p.batch = x->dims[0];
  p.length = x->rank == 3 ? x->dims[1] : 1;
  p.queries = (*sizeSplits)[0] / size;
  p.heads = heads;
  p.size = size;
  p.paged = where == "page";
  for (const auto& [name, v] : {std::pair("cos", &cos), {"sin", &sin}})
    op.require((*v)->numel() == p.tokens() * size && row_length(**v) == size && compute_of((*v)->dtype) == Compute::F32,
               "{} is {}, want {} lines of {}", name, describe(**v), p.tokens(), size);
  op.require(is_integral(indices->dtype) && indices->numel() == (p.paged ? p.tokens() : p.batch),
             "indices is {}, want {} whole numbers with cacheMode \"{}\"", describe(*indices),
             p.paged ? p.tokens() : p.batch, where);
  op.require(p.paged || (kCacheRef->dims[0] >= p.batch && vCacheRef->dims[0] >= p.batch),
             "kCacheRef is {} and vCacheRef {}, want {} batches", describe(*kCacheRef), describe(*vCacheRef), p.batch);
  const auto by_column = [&](const char* name, const TensorView& v) {
    op.require(v.numel() == size || v.numel() == heads * size, "{} is {}, want {} or {} values", name, describe(v),
               size, heads * size);
  };
  by_column("scaleK", *scaleK);
  by_column("scaleV", *scaleV);
  if (offsetK) by_column("offsetK", *offsetK);
  if (offsetV) by_column("offsetV", *offsetV);
  if (weightScale)
    op.require(weightScale->numel() == row_length(*x), "weightScale is {}, want {} values", describe(*weightScale),
               row_length(*x));
  if (activationScale)
    op.require(activationScale->numel() == p.tokens(), "activationScale is {}, want {} values",
               describe(*activationScale), p.tokens());
  const auto result = [&](const char* name, const Out& to, int64_t n) {
    if (x->rank == 3) op.result(name, *to, {p.batch, p.length, n, size}, cos->dtype);
    else op.result(name, *to, {p.batch, n, size}, cos->dtype);
  };
  result("qOut", qOut, p.queries);
  if (kvOutput) {
    result("kOut", kOut, heads);
    result("vOut", vOut, heads);
    p.k = *kOut;
    p.v = *vOut;
  } else {
    op.suggest(*kOut, {0}, cos->dtype);
    op.suggest(*vOut, {0}, cos->dtype);
  }
  if (x->empty()) return;
  p.x = *x, p.cos = *cos, p.sin = *sin, p.indices = *indices, p.q = *qOut;
  p.weight_scale = optional_view(weightScale), p.activation_scale = optional_view(activationScale);
  p.key = {*kCacheRef, *scaleK, optional_view(offsetK)};
  p.value = {*vCacheRef, *scaleV, optional_view(offsetV)};
  op.work(x->numel() * 12);
  op.launch([p] { run(p); });
}

}  // namespace updraft
