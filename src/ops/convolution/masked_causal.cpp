// A convolution of each channel with what came before; what it computes is in ops/ir/windows.
#include "ops/ir_op.h"

namespace updraft {

SAMPLE(aclnnMaskedCausalConv1d, "input=f32[5,2,M] weight=f32[3,M] mask=bool[2,5] out=f32[5,2,M]")
ABOUT(aclnnMaskedCausalConv1d, Vector, "Each channel of input convolved with what came before, where mask is true",
      "每个通道与其之前的输入做一维因果卷积，按 mask 屏蔽")
ACLNN(aclnnMaskedCausalConv1d, (In, input), (In, weight), (OptIn, mask), (Out, out)) {
  call(op, "MaskedCausalConv1d", input, weight, mask, out);
}

}  // namespace updraft
