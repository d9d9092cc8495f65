// What a graph says of a card's caches. Memory has no caches of ours to fill, and no result depends on them.
#include "ops/ir/shapes.h"

namespace updraft {

ABOUT(Cmo, AICPU, "Says that up to max_size bytes of src are soon read: a hint, which changes nothing",
      "提示将要读取 src 的至多 max_size 字节，不影响结果")
IR_OP(Cmo, Cmo, (In, src), (Int, max_size), (Int, type, 6), (Int, offset, 0)) {
  (void)src;
  op.require(max_size > 0 && offset >= 0,
             "attributes max_size and offset are {} and {}, want more than 0, and 0 or more", max_size, offset);
  op.require(type >= 6 && type <= 9, "attribute type is {}, want 6 (prefetch) to 9 (flush)", type);
}

}  // namespace updraft
