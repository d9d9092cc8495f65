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

ACLOP("NPUGetFloatStatusV2", get)
ACLOP("NPUClearFloatStatusV2", clear)
ACLOP("NPUGetFloatDebugStatus", get)
ACLOP("NPUClearFloatDebugStatus", clear)
// The older form writes the status into its input too: the client reads it there.
ACLOP("NPUGetFloatStatus", [](AclopCall& call) {
  get(call);
  if (!call.inputs.empty() && !call.outputs.empty() && call.inputs[0].view.data && !call.inputs[0].on_host)
    copy_elements(call.inputs[0].view, call.outputs[0].view);
})
ACLOP("NPUClearFloatStatus", [](AclopCall& call) {
  clear(call);
  if (!call.inputs.empty() && call.inputs[0].view.data && !call.inputs[0].on_host)
    fill_elements(call.inputs[0].view, Params{});
})
ACLOP("NPUAllocFloatStatus", [](AclopCall& call) {
  for (AclopTensor& out : call.outputs)
    if (out.view.data) fill_elements(out.view, Params{});
})

}  // namespace
}  // namespace updraft
