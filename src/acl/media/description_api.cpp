// Descriptions of pictures, areas, streams and channels, and their memory.
#include <atomic>

#include "acl/api.h"
#include "acl/media/handles.h"
#include "device/memory.h"

using namespace updraft;

namespace {

template <class T, class... Args>
T* create(const char* name, Args&&... args) {
  T* made = nullptr;
  guard(name, [&] { made = media_pool<T>().create(T{std::forward<Args>(args)...}); });
  return made;
}
template <class T>
int destroy(const char* name, const T* handle) {
  return guard(name, [&] {
    media_object(handle, "the description");
    media_pool<T>().destroy(handle);
  });
}
/// A value of a description, `other` when the handle is none.
template <class T, class V>
V value(const char* name, const T* handle, V T::*member, V other = V()) {
  V found = other;
  guard(name, [&] { found = media_object(handle, "the description").*member; });
  return found;
}
template <class T, class V>
int set(const char* name, T* handle, V T::*member, V to) {
  return guard(name, [&] { media_object(handle, "the description").*member = to; });
}

}  // namespace

extern "C" {

UPDRAFT_API aclError acldvppMalloc(void** p, size_t bytes) {
  return guard("acldvppMalloc", [&] {
    need(p, "devPtr");
    *p = nullptr;
    if (bytes == 0) throw Error(code::kAclInvalidParam, "size is 0: want at least 1 byte");
    *p = current_device().memory().allocate(bytes);
  });
}
UPDRAFT_API aclError acldvppFree(void* p) {
  return guard("acldvppFree", [&] {
    need(p, "devPtr");
    Device* device = Device::owner(p);
    if (!device) throw Error(code::kAclInvalidParam, "{} is no memory of a device", p);
    device->memory().free(p);
  });
}

#define DESCRIPTION(Type, create_name, destroy_name)                         \
  UPDRAFT_API Type* create_name(void) { return create<Type>(#create_name); } \
  UPDRAFT_API aclError destroy_name(Type* handle) { return destroy(#destroy_name, handle); }
#define MEMBER(Type, prefix, Name, member, V)                   \
  UPDRAFT_API aclError prefix##Set##Name(Type* handle, V to) {  \
    return set(#prefix "Set" #Name, handle, &Type::member, to); \
  }                                                             \
  UPDRAFT_API V prefix##Get##Name(const Type* handle) { return value(#prefix "Get" #Name, handle, &Type::member); }

DESCRIPTION(acldvppPicDesc, acldvppCreatePicDesc, acldvppDestroyPicDesc)
MEMBER(acldvppPicDesc, acldvpp, PicDescRetCode, ret_code, uint32_t)
#define PICTURE(Name, member, V)                                                                               \
  UPDRAFT_API aclError acldvppSetPicDesc##Name(acldvppPicDesc* handle, V to) {                                 \
    return guard("acldvppSetPicDesc" #Name, [&] {                                                              \
      acldvppPicDesc& of = media_object(handle, "picDesc");                                                    \
      of.member = static_cast<decltype(of.member)>(to);                                                        \
    });                                                                                                        \
  }                                                                                                            \
  UPDRAFT_API V acldvppGetPicDesc##Name(const acldvppPicDesc* handle) {                                        \
    V found{};                                                                                                 \
    guard("acldvppGetPicDesc" #Name, [&] { found = static_cast<V>(media_object(handle, "picDesc").member); }); \
    return found;                                                                                              \
  }
PICTURE(Data, data, void*)
PICTURE(Size, size, uint32_t)
PICTURE(Format, format, acldvppPixelFormat)
PICTURE(Width, width, uint32_t)
PICTURE(Height, height, uint32_t)
PICTURE(WidthStride, width_stride, uint32_t)
PICTURE(HeightStride, height_stride, uint32_t)

UPDRAFT_API acldvppBatchPicDesc* acldvppCreateBatchPicDesc(uint32_t count) {
  acldvppBatchPicDesc* made = nullptr;
  guard("acldvppCreateBatchPicDesc", [&] {
    if (count == 0 || count > 256) throw Error(code::kAclInvalidParam, "batchSize is {}, want 1 to 256", count);
    acldvppBatchPicDesc batch;
    for (uint32_t i = 0; i < count; ++i)
      batch.pictures.push_back(media_pool<acldvppPicDesc>().create(acldvppPicDesc{}));
    made = media_pool<acldvppBatchPicDesc>().create(std::move(batch));
  });
  return made;
}
UPDRAFT_API acldvppPicDesc* acldvppGetPicDesc(acldvppBatchPicDesc* handle, uint32_t index) {
  acldvppPicDesc* found = nullptr;
  guard("acldvppGetPicDesc", [&] {
    const auto& pictures = media_object(handle, "batchPicDesc").pictures;
    if (index >= pictures.size())
      throw Error(code::kAclInvalidParam, "the batch has {} pictures, index {} is none", pictures.size(), index);
    found = pictures[index];
  });
  return found;
}
UPDRAFT_API aclError acldvppDestroyBatchPicDesc(acldvppBatchPicDesc* handle) {
  return guard("acldvppDestroyBatchPicDesc", [&] {
    for (acldvppPicDesc* picture : media_object(handle, "batchPicDesc").pictures)
      media_pool<acldvppPicDesc>().destroy(picture);
    media_pool<acldvppBatchPicDesc>().destroy(handle);
  });
}

UPDRAFT_API acldvppRoiConfig* acldvppCreateRoiConfig(uint32_t left, uint32_t right, uint32_t top, uint32_t bottom) {
  return create<acldvppRoiConfig>("acldvppCreateRoiConfig", left, right, top, bottom);
}
UPDRAFT_API aclError acldvppDestroyRoiConfig(acldvppRoiConfig* handle) {
  return destroy("acldvppDestroyRoiConfig", handle);
}
#define AREA(Name, member)                                                                \
  UPDRAFT_API aclError acldvppSetRoiConfig##Name(acldvppRoiConfig* handle, uint32_t to) { \
    return set("acldvppSetRoiConfig" #Name, handle, &acldvppRoiConfig::member, to);       \
  }
AREA(Left, left)
AREA(Right, right)
AREA(Top, top)
AREA(Bottom, bottom)
UPDRAFT_API aclError acldvppSetRoiConfig(acldvppRoiConfig* handle, uint32_t left, uint32_t right, uint32_t top,
                                         uint32_t bottom) {
  return guard("acldvppSetRoiConfig", [&] { media_object(handle, "roiConfig") = {left, right, top, bottom}; });
}

DESCRIPTION(acldvppResizeConfig, acldvppCreateResizeConfig, acldvppDestroyResizeConfig)
UPDRAFT_API aclError acldvppSetResizeConfigInterpolation(acldvppResizeConfig* handle, uint32_t to) {
  return guard("acldvppSetResizeConfigInterpolation", [&] {
    if (to > 2)
      throw Error(code::kAclInvalidParam,
                  "interpolation is {}: want 0 or 1 (bilinear) or 2 (nearest); others are not implemented", to);
    media_object(handle, "resizeConfig").interpolation = to;
  });
}
UPDRAFT_API uint32_t acldvppGetResizeConfigInterpolation(const acldvppResizeConfig* handle) {
  return value("acldvppGetResizeConfigInterpolation", handle, &acldvppResizeConfig::interpolation);
}
DESCRIPTION(acldvppJpegeConfig, acldvppCreateJpegeConfig, acldvppDestroyJpegeConfig)
UPDRAFT_API aclError acldvppSetJpegeConfigLevel(acldvppJpegeConfig* handle, uint32_t level) {
  return guard("acldvppSetJpegeConfigLevel", [&] {
    if (level > 100) throw Error(code::kAclInvalidParam, "level is {}, want 0 (as 100) to 100", level);
    media_object(handle, "jpegeConfig").level = level ? level : 100;
  });
}
UPDRAFT_API uint32_t acldvppGetJpegeConfigLevel(const acldvppJpegeConfig* handle) {
  return value("acldvppGetJpegeConfigLevel", handle, &acldvppJpegeConfig::level);
}

DESCRIPTION(acldvppStreamDesc, acldvppCreateStreamDesc, acldvppDestroyStreamDesc)
MEMBER(acldvppStreamDesc, acldvpp, StreamDescData, data, void*)
MEMBER(acldvppStreamDesc, acldvpp, StreamDescSize, size, uint32_t)
MEMBER(acldvppStreamDesc, acldvpp, StreamDescTimestamp, timestamp, uint64_t)
MEMBER(acldvppStreamDesc, acldvpp, StreamDescRetCode, ret_code, uint32_t)
MEMBER(acldvppStreamDesc, acldvpp, StreamDescEos, eos, uint8_t)

DESCRIPTION(acldvppChannelDesc, acldvppCreateChannelDesc, acldvppDestroyChannelDesc)
UPDRAFT_API aclError acldvppCreateChannel(acldvppChannelDesc* handle) {
  return guard("acldvppCreateChannel", [&] {
    current_device();
    acldvppChannelDesc& channel = media_object(handle, "channelDesc");
    if (channel.created)
      throw Error(code::kAclInvalidParam, "channel {} exists already: acldvppDestroyChannel comes first", channel.id);
    static std::atomic<uint64_t> next{0};
    channel.id = next++;
    channel.created = true;
  });
}
UPDRAFT_API aclError acldvppDestroyChannel(acldvppChannelDesc* handle) {
  return guard("acldvppDestroyChannel", [&] {
    acldvppChannelDesc& channel = media_object(handle, "channelDesc");
    if (!channel.created) throw Error(code::kAclInvalidParam, "the description has no channel: acldvppCreateChannel");
    channel.created = false;
  });
}
UPDRAFT_API uint64_t acldvppGetChannelDescChannelId(const acldvppChannelDesc* handle) {
  return value("acldvppGetChannelDescChannelId", handle, &acldvppChannelDesc::id);
}
/// Which parts of the hardware a channel reserves: here every channel has all.
UPDRAFT_API aclError acldvppSetChannelDescMode(acldvppChannelDesc* handle, uint32_t mode) {
  return guard("acldvppSetChannelDescMode", [&] {
    media_object(handle, "channelDesc");
    if (mode == 0 || mode > 15)
      throw Error(code::kAclInvalidParam, "mode is {}: want a sum of 1 (VPC), 2 (JPEG decoding), 4 (JPEG encoding), 8",
                  mode);
  });
}
UPDRAFT_API aclError acldvppSetChannelDescMatrix(acldvppChannelDesc* handle, acldvppCscMatrix matrix) {
  return guard("acldvppSetChannelDescMatrix", [&] {
    if (matrix < 0 || matrix > ACL_DVPP_CSC_MATRIX_BT2020_NARROW)
      throw Error(code::kAclInvalidParam, "matrix is {}, want 0 to 5", static_cast<int>(matrix));
    media_object(handle, "channelDesc").matrix = matrix;
  });
}
UPDRAFT_API acldvppCscMatrix acldvppGetChannelDescMatrix(const acldvppChannelDesc* handle) {
  return value("acldvppGetChannelDescMatrix", handle, &acldvppChannelDesc::matrix);
}

}  // extern "C"
