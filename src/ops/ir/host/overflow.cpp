// The sticky overflow flag of saturation mode: each device has its own (base/overflow.h).
#include "device/device.h"
#include "kernels/pipeline.h"
#include "ops/ir/shapes.h"

namespace updraft {
namespace {

constexpr int64_t kStatusSize = 8;  // values of a status tensor; the first tells of an overflow

void read_flag(const TensorView& to) {
  fill_elements(to, Params{});
  Device* device = executing_device();
  if (!device || !device->float_status.load() || to.empty()) return;
  Params one;
  one.set(0, int64_t{1});
  fill_elements(TensorView::contiguous(to.data, to.dtype, nullptr, 0), one);
}
void clear_flag() {
  if (Device* device = executing_device()) device->float_status = 0;
}

}  // namespace

ABOUT(NPUGetFloatStatusV2, Vector, "Reads the overflow flag of saturation mode", "读取饱和模式下的溢出标志")
IR_OP(NPUGetFloatStatusV2, NPUGetFloatStatusV2, (Out, data)) {
  ir::suggest(op, *data, {kStatusSize}, DType::Int32);
  op.launch([to = *data] { read_flag(to); });
}
ABOUT(NPUGetFloatDebugStatus, Vector, "Reads the overflow flag of saturation mode (debug form)",
      "读取饱和模式下的溢出标志（调试形式）")
IR_OP(NPUGetFloatDebugStatus, NPUGetFloatDebugStatus, (Out, data)) {
  ir::suggest(op, *data, {kStatusSize}, DType::Int32);
  op.launch([to = *data] { read_flag(to); });
}
ABOUT(NPUClearFloatStatusV2, Vector, "Clears the overflow flag of saturation mode", "清除饱和模式下的溢出标志")
IR_OP(NPUClearFloatStatusV2, NPUClearFloatStatusV2, (OptOut, data)) {
  const TensorView to = data ? *data : TensorView();
  op.launch([to] {
    clear_flag();
    if (to.data) fill_elements(to, Params{});
  });
}
ABOUT(NPUClearFloatDebugStatus, Vector, "Clears the overflow flag of saturation mode (debug form)",
      "清除饱和模式下的溢出标志（调试形式）")
IR_OP(NPUClearFloatDebugStatus, NPUClearFloatDebugStatus, (OptOut, data)) {
  const TensorView to = data ? *data : TensorView();
  op.launch([to] {
    clear_flag();
    if (to.data) fill_elements(to, Params{});
  });
}

// The older forms write the status into their input, too: the client reads it there.
ABOUT(NPUGetFloatStatus, Vector, "Reads the overflow flag into its input and its output", "将溢出标志读入其输入与输出")
IR_OP(NPUGetFloatStatus, NPUGetFloatStatus, (OptIn, addr), (OptOut, data)) {
  if (!data) return;  // nobody asks
  if (addr) op.result_like("data", *data, *addr, addr->dtype);
  else ir::suggest(op, *data, {kStatusSize}, DType::Float);
  op.launch([at = addr ? *addr : TensorView(), to = *data] {
    read_flag(to);
    if (at.data) copy_elements(at, to);
  });
}
ABOUT(NPUClearFloatStatus, Vector, "Clears the overflow flag and its input", "清除溢出标志并将输入清零")
IR_OP(NPUClearFloatStatus, NPUClearFloatStatus, (OptIn, addr), (OptOut, data)) {
  if (data && addr) op.result_like("data", *data, *addr, addr->dtype);
  op.launch([at = addr ? *addr : TensorView(), to = data ? *data : TensorView()] {
    clear_flag();
    for (const TensorView& status : {at, to})
      if (status.data) fill_elements(status, Params{});
  });
}
ABOUT(NPUAllocFloatStatus, Vector, "Gives a status tensor of zeros", "输出全零的状态张量")
IR_OP(NPUAllocFloatStatus, NPUAllocFloatStatus, (Out, data)) {
  ir::suggest(op, *data, {kStatusSize}, DType::Float);
  call(op, "aclnnInplaceZero", data);
}

}  // namespace updraft
