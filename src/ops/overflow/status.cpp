// The sticky overflow flag of saturation mode: each device has its own (base/overflow.h).
#include "device/device.h"
#include "kernels/pipeline.h"
#include "ops/aclop.h"

namespace updraft {
namespace {

// Eight values; the first tells of an overflow.
void get(AclopCall& call) {
  Device* device = executing_device();
  Params value;
  for (AclopTensor& out : call.outputs) {
    if (!out.view.data) continue;
    fill_elements(out.view, value);
    if (!device || !device->float_status.load() || out.view.empty()) continue;
    TensorView first = TensorView::contiguous(out.view.data, out.view.dtype, nullptr, 0);
    Params one;
    one.set(0, int64_t{1});
    fill_elements(first, one);
  }
}

void clear(AclopCall& call) {
  if (Device* device = executing_device()) device->float_status = 0;
  for (AclopTensor& out : call.outputs)
    if (out.view.data) fill_elements(out.view, Params{});
}

ABOUT_ACLOP("NPUGetFloatStatusV2", Vector, "Reads the overflow flag of saturation mode", "读取饱和模式下的溢出标志")
ACLOP("NPUGetFloatStatusV2", get)
ABOUT_ACLOP("NPUClearFloatStatusV2", Vector, "Clears the overflow flag of saturation mode", "清除饱和模式下的溢出标志")
ACLOP("NPUClearFloatStatusV2", clear)
ABOUT_ACLOP("NPUGetFloatDebugStatus", Vector, "Reads the overflow flag of saturation mode (debug form)",
            "读取饱和模式下的溢出标志（调试形式）")
ACLOP("NPUGetFloatDebugStatus", get)
ABOUT_ACLOP("NPUClearFloatDebugStatus", Vector, "Clears the overflow flag of saturation mode (debug form)",
            "清除饱和模式下的溢出标志（调试形式）")
ACLOP("NPUClearFloatDebugStatus", clear)
// The older form writes the status into its input too: the client reads it there.
ABOUT_ACLOP("NPUGetFloatStatus", Vector, "Reads the overflow flag into its input and its output",
            "将溢出标志读入其输入与输出")
ACLOP("NPUGetFloatStatus", [](AclopCall& call) {
  get(call);
  if (!call.inputs.empty() && !call.outputs.empty() && call.inputs[0].view.data && call.outputs[0].view.data &&
      !call.inputs[0].on_host)
    copy_elements(call.inputs[0].view, call.outputs[0].view);
})
ABOUT_ACLOP("NPUClearFloatStatus", Vector, "Clears the overflow flag and its input", "清除溢出标志并将输入清零")
ACLOP("NPUClearFloatStatus", [](AclopCall& call) {
  clear(call);
  if (!call.inputs.empty() && call.inputs[0].view.data && !call.inputs[0].on_host)
    fill_elements(call.inputs[0].view, Params{});
})
ABOUT_ACLOP("NPUAllocFloatStatus", Vector, "Gives a status tensor of zeros", "输出全零的状态张量")
ACLOP("NPUAllocFloatStatus", [](AclopCall& call) {
  for (AclopTensor& out : call.outputs)
    if (out.view.data) fill_elements(out.view, Params{});
})

}  // namespace
}  // namespace updraft
