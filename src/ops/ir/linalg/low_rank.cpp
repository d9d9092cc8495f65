// Adapters of low rank beside the weights of language models.
#include "ops/ir/shapes.h"

namespace updraft {

// The IR names the result y, too: clients that call it as a function keep their y here.
IR_OP(AddLora, aclnnAddLora, (In, y), (In, x), (In, weightB), (In, indices), (OptIn, weightA), (Out, out),
      (Int, layer_idx, 0), (Float, scale, 1e-3f), (Int, y_offset, 0), (Int, y_slice_size, -1)) {
  call(op, "aclnnAddLora", y, x, weightB, indices, weightA, layer_idx, static_cast<double>(scale), y_offset,
       y_slice_size, out);
}

}  // namespace updraft
