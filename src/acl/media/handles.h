// What the handles of DVPP hold.
#pragma once
#include <memory>
#include <vector>

#include "acl/ops/acl_dvpp.h"
#include "base/error.h"
#include "base/handle_pool.h"
#include "media/planes.h"

struct acldvppPicDesc : updraft::media::Picture {
  uint32_t ret_code = 0;
};
struct acldvppBatchPicDesc {
  std::vector<acldvppPicDesc*> pictures;
};
struct acldvppRoiConfig {
  uint32_t left, right, top, bottom;  ///< all belong to the area
};
struct acldvppResizeConfig {
  uint32_t interpolation = 0;
};
struct acldvppJpegeConfig {
  uint32_t level = 100;
};
struct acldvppChannelDesc {
  uint64_t id = 0;
  bool created = false;
  acldvppCscMatrix matrix = ACL_DVPP_CSC_MATRIX_BT601_WIDE;
};
struct acldvppStreamDesc {
  void* data = nullptr;
  uint32_t size = 0;
  uint64_t timestamp = 0;
  uint32_t ret_code = 0;
  uint8_t eos = 0;
};

namespace updraft {

template <class T>
HandlePool<T>& media_pool() {
  static auto* pool = new HandlePool<T>(1 << 16);
  return *pool;
}

/// The object behind a handle; throws 100000 that names the argument when it is none.
template <class T>
T& media_object(const T* handle, const char* name) {
  if (T* object = media_pool<T>().get(handle)) return *object;
  throw Error(code::kAclInvalidParam, "{} {} is {}", name, static_cast<const void*>(handle),
              handle ? "no live handle (destroyed, or never created)" : "null");
}

}  // namespace updraft
