// Rotation of pieces of rows by a matrix, then whole numbers by each row's largest magnitude. Facts: op-plugin's page
// and test of npu_rotate_quant.
#include "ops/ir_op.h"
#include "ops/quantize/numbers.h"

namespace updraft {

SAMPLE(aclnnRotateQuant,
       "x=f32[N,16] rotation=f32[8,8] alpha=null axis=-1 roundMode=rint scaleAlg=0 dstTypeMax=0 transposeY=false "
       "y=i8[N,16] scale=f32[N]")
ABOUT(aclnnRotateQuant, MixCube, "Pieces of x's rows times rotation, then each row as INT8 or INT4 with its scale",
      "x 的各行分段乘以 rotation 后，按行动态量化为 INT8 或 INT4")
ACLNN(aclnnRotateQuant, (In, x), (In, rotation), (OptIn, alpha), (Int, axis), (Text, roundMode), (Int, scaleAlg),
      (Double, dstTypeMax), (Bool, transposeY), (Out, y), (Out, scale)) {
  const std::string_view how = roundMode;
  op.require(x->rank == 2 && compute_of(x->dtype) == Compute::F32, "x is {}, want rows of FLOAT, FLOAT16 or BFLOAT16",
             describe(*x));
  const int64_t width = x->dims[1], piece = rotation->rank == 2 ? rotation->dims[1] : 0;
  op.require(piece > 0 && rotation->dims[0] == piece && rotation->dtype == x->dtype && width % piece == 0,
             "rotation is {}, want [K,K] of {} where K divides x's {} columns", describe(*rotation), name_of(x->dtype),
             width);
  op.require(y->dtype == DType::Undefined || y->dtype == DType::Int8 || y->dtype == DType::Int32,
             "y is {}, want INT8 or INT32 (INT4, eight each): blocks with a common exponent (MX) are of Ascend 950",
             describe(*y));
  op.require(!alpha, "alpha is given, want null: it is of Ascend 950");
  op.require(axis == -1 || axis == 1, "axis is {}, want -1 or 1", axis);
  op.require(how == "rint", "roundMode is \"{}\", want \"rint\"", how);
  op.require(scaleAlg == 0 && dstTypeMax == 0, "scaleAlg is {} and dstTypeMax {}, want 0: others are of Ascend 950",
             scaleAlg, dstTypeMax);
  op.require(!transposeY, "transposeY is true, want false");
  TensorView pieces = *x;
  pieces.rank = 3;
  pieces.dims[1] = width / piece;
  pieces.dims[2] = piece;
  pieces.strides[1] = x->strides[1] * piece;
  pieces.strides[2] = x->strides[1];
  Temp rotated;
  call(op, "aclnnMatmul", pieces, rotation, rotated, 0);
  const TensorView whole = TensorView::contiguous(rotated->data, rotated->dtype, x->dims, 2);
  call(op, "aclnnDynamicQuantV2", whole, nullptr, nullptr, y->dtype == DType::Int32 ? DType::Int4 : DType::Int8, y,
       scale, nullptr);
}

}  // namespace updraft
