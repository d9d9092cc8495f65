#include "npu_device/tf_api.h"

#include <dlfcn.h>

#include "base/error.h"

namespace updraft::npu_device {
namespace {

Api& api() {
  static Api functions;
  return functions;
}

}  // namespace

const Api& tf() { return api(); }

void load(const std::string& library) {
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_NOLOAD);
  if (!handle)
    throw Error(code::kAclnnParamInvalid, "{} is not loaded: import tensorflow before npu_device is opened", library);
  auto find = [&]<class F>(F*& function, const char* name) {
    function = reinterpret_cast<F*>(dlsym(handle, name));
    if (!function)
      throw Error(code::kAclnnParamInvalid,
                  "{} has no function {}: npu_device is for TensorFlow 2.15 (pip install tensorflow-cpu==2.15.1)",
                  library, name);
  };
#define X(NAME, RESULT, ARGUMENTS) find(api().NAME, #NAME);
  UPDRAFT_TENSORFLOW_FUNCTIONS(X)
#undef X
}

}  // namespace updraft::npu_device
