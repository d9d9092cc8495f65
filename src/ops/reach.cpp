#include "ops/reach.h"

#include <algorithm>
#include <utility>

#include "base/config.h"
#include "base/error.h"
#include "device/device.h"
#include "device/memory.h"
#include "device/observer.h"
#include "tensor/extent.h"

namespace updraft {
namespace {
thread_local bool t_own_scratch = false;

[[noreturn]] void refuse_reach(const void* storage, const std::string& text) {
  observe_order({.what = OrderEvent::What::OutOfReach, .object = host_address(storage), .text = text.c_str()});
  throw Error(code::kAclnnParamInvalid, "{}", text);
}
}  // namespace

OwnScratch::OwnScratch() : before_(std::exchange(t_own_scratch, true)) {}
OwnScratch::~OwnScratch() { t_own_scratch = before_; }

void check_reach(const char* name, const aclTensor& tensor) {
  const TensorView& view = tensor.view;
  const void* storage = tensor.storage;
  const int64_t offset = tensor.offset;
  if (view.empty()) return;
  if (!storage) throw Error(code::kAclnnNullptr, "{} is {} and its data is null", name, describe(view));
  Device* owner = Device::owner(storage);
  if (!owner) {  // memory of the host: the client's own
    if (Config::get().card_rules() && !t_own_scratch && !HostMemory::get().registered(storage))
      throw Error(code::kAclnnParamInvalid,
                  "{} is {} at {}, which is host memory: operators take device memory (aclrtMalloc and a copy, or "
                  "aclrtHostRegister); on the card this fails",
                  name, describe(view), storage);
    return;
  }
  const auto extent = tensor.extent ? tensor.extent : extent_of(view);
  const auto first =
      reinterpret_cast<uintptr_t>(storage) + static_cast<uintptr_t>(offset * static_cast<int64_t>(size_of(view.dtype)));
  const size_t align = std::min<size_t>(std::max<size_t>(size_of(view.dtype), 1), 8);
  if (first % align)
    throw Error(code::kAclnnParamInvalid, "{} is {} at {}: that is not a multiple of {} bytes", name, describe(view),
                reinterpret_cast<const void*>(first), align);
  if (!extent || !owner->memory().covers(reinterpret_cast<const void*>(first + static_cast<uintptr_t>(extent->low)),
                                         reinterpret_cast<const void*>(first + static_cast<uintptr_t>(extent->high))))
    refuse_reach(storage, fmt::format("{} is {} at offset {} of {}: that is not inside one allocation of device {}",
                                      name, describe(view), offset, storage, owner->index()));
}

}  // namespace updraft
