// Products of quantised matrices, added up.
#include "kernels/pipeline.h"
#include "ops/gathered.h"
#include "ops/matmul/quantised.h"
#include "ops/op.h"

namespace updraft {
namespace {

using quantised::matrix_of;

struct SumOfProducts {
  TensorView x1, x2, row_scale, scale, out;

  void run() const {
    const std::vector<float> by_row = floats_of(row_scale), by_column = quantised::scales_of(scale);
    const int64_t rows = x1.dims[1], columns = x2.dims[2];
    std::vector<float> sum(static_cast<size_t>(rows * columns), 0.0f);
    for (int64_t b = 0; b < x1.dims[0]; ++b) {
      const auto part = quantised::product(matrix_of(select(x1, 0, b)), matrix_of(select(x2, 0, b)));
      for (int64_t i = 0; i < rows * columns; ++i)
        sum[static_cast<size_t>(i)] += static_cast<float>(part[static_cast<size_t>(i)]) *
                                       by_row[static_cast<size_t>(b * rows + i / columns)] *
                                       by_column[static_cast<size_t>(i % columns)];
    }
    write_all(out, sum);
  }
};

}  // namespace

SAMPLE(aclnnQuantMatmulReduceSumWeightNz,
       "x1=i8[3,N,16] x2=i8[3,16,M] x1Scale=f32[3,N] x2Scale=bf16[M] yScale=null x1Offset=null x2Offset=null "
       "yOffset=null bias=null transposeX1=false transposeX2=false groupSize=-1 dims=0 keepDims=false out=bf16[N,M]")
ABOUT(aclnnQuantMatmulReduceSumWeightNz, MixCube,
      "out = sum over the batches of (x1 @ x2) * x1Scale * x2Scale, of INT8",
      "out = 对 batch 求和 (x1 @ x2) * x1Scale * x2Scale，x1、x2 为 INT8")
ACLNN(aclnnQuantMatmulReduceSumWeightNz, (In, x1), (In, x2), (OptIn, x1Scale), (OptIn, x2Scale), (OptIn, yScale),
      (OptIn, x1Offset), (OptIn, x2Offset), (OptIn, yOffset), (OptIn, bias), (Bool, transposeX1), (Bool, transposeX2),
      (Int, groupSize), (Ints, dims), (Bool, keepDims), (Out, out)) {
  (void)groupSize;  // the shape of x2Scale says it
  op.require(!yScale && !x1Offset && !x2Offset && !yOffset && !bias,
             "yScale, an offset or bias is given, which is not supported");
  op.require(x1Scale && x2Scale, "x1Scale or x2Scale is null, want both");
  // The value of dims is not looked at: torch_npu's array points to memory that is gone. The result's shape says it.
  op.require(dims.size() == 1 && !keepDims, "dims has {} and keepDims is {}, want one and false", dims.size(),
             keepDims);
  op.require(x1->rank == 3 && x2->rank == 3 && x1->dtype == DType::Int8 && x2->dtype == DType::Int8,
             "x1 is {} and x2 {}, want three dimensions of INT8", describe(*x1), describe(*x2));
  const TensorView a = transposeX1 ? x1->transpose(1, 2) : *x1, b = transposeX2 ? x2->transpose(1, 2) : *x2;
  op.require(a.dims[0] == b.dims[0] && a.dims[2] == b.dims[1], "x1 is {} and x2 {}, which have no product",
             describe(*x1), describe(*x2));
  const int64_t m = a.dims[1], n = b.dims[2], rows[] = {a.dims[0], m}, shape[] = {m, n};
  op.require_shape("x1Scale", *x1Scale, rows, 2);
  op.require_shape("x2Scale", *x2Scale, &n, 1);
  op.require(x1Scale->dtype == DType::Float && (x2Scale->dtype == DType::Float || x2Scale->dtype == DType::BFloat16),
             "x1Scale is {} and x2Scale {}, want FLOAT, and BFLOAT16 or FLOAT", describe(*x1Scale), describe(*x2Scale));
  op.result("out", *out, shape, 2, DType::BFloat16);
  if (out->empty()) return;
  op.flops(2 * a.numel() * n);
  op.work(a.numel() * n);
  op.launch([work = SumOfProducts{a, b, *x1Scale, *x2Scale, *out}] { work.run(); });
}

}  // namespace updraft
