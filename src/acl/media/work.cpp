#include "acl/media/work.h"

#include "base/config.h"
#include "device/memory.h"
#include "device/task.h"

namespace updraft {
namespace {

class MediaTask final : public Task {
 public:
  MediaTask(const char* name, int64_t pixels, std::function<void()> body) : name_(name), body_(std::move(body)) {
    work = pixels * 8;
    cost.bytes = pixels * 3;
  }
  void run() override { body_(); }
  void release() override { delete this; }
  const char* name() const override { return name_; }

 private:
  const char* name_;
  std::function<void()> body_;
};

// The products' least and largest pictures.
constexpr uint32_t kLeastWidth = 10, kLeastHeight = 6, kMost = 8192;

}  // namespace

acldvppChannelDesc& live_channel(const acldvppChannelDesc* handle) {
  acldvppChannelDesc& channel = media_object(handle, "channelDesc");
  if (!channel.created)
    throw Error(code::kAclInvalidParam, "channelDesc has no channel: call acldvppCreateChannel before");
  return channel;
}

void submit_media(const char* name, const acldvppChannelDesc* channel, const void* stream, int64_t pixels,
                  std::function<void()> work) {
  live_channel(channel);
  stream_of(stream).submit(new MediaTask(name, pixels, std::move(work)));
}

void* checked_memory(const void* p, size_t bytes, const char* name) {
  if (!p) throw Error(code::kAclInvalidParam, "{} has no memory: its address is null", name);
  if (Device* device = Device::owner(p)) {
    const size_t room = device->memory().room_at(p);
    if (room < bytes)
      throw Error(code::kAclInvalidParam, "{} wants {} bytes, and {} has {} on device {}", name, bytes, p, room,
                  device->index());
  } else if (Config::get().card_rules() && !HostMemory::get().registered(p)) {
    throw Error(code::kAclInvalidParam, "{} is at {}, which is host memory: pictures want memory of acldvppMalloc",
                name, p);
  }
  return host_address(p);
}

media::Picture checked_picture(const acldvppPicDesc* handle, const char* name) {
  media::Picture p = media_object(handle, name);
  const media::FormatInfo& info = media::format_info(p.format, name);
  if (p.width < kLeastWidth || p.width > kMost || p.height < kLeastHeight || p.height > kMost)
    throw Error(code::kAclInvalidParam, "{} has {} columns and {} rows, want {} to {} and {} to {}", name, p.width,
                p.height, kLeastWidth, kMost, kLeastHeight, kMost);
  if (p.width % info.columns || p.height % info.rows)
    throw Error(code::kAclInvalidParam, "{} is {} of {} columns and {} rows: want {}", name, info.name, p.width,
                p.height, info.rows == 2 ? "both even" : "an even width");
  const uint32_t least = p.width * info.unit;
  if (p.width_stride == 0) p.width_stride = media::align_up(p.width, 16) * info.unit;
  if (p.height_stride == 0) p.height_stride = media::align_up(p.height, 2);
  if (p.width_stride < least || p.width_stride % 16)
    throw Error(code::kAclInvalidParam,
                "{} is {} of width {}: its width stride is {}, want a multiple of 16 that is at least {} (bytes)", name,
                info.name, p.width, p.width_stride, least);
  if (p.height_stride < p.height || p.height_stride % 2)
    throw Error(code::kAclInvalidParam, "{} has height {}: its height stride is {}, want an even number of at least {}",
                name, p.height, p.height_stride, p.height);
  const size_t bytes = media::bytes_of(info, p.width_stride, p.height_stride);
  if (p.size < bytes)
    throw Error(code::kAclInvalidParam, "{} is {} with strides {} and {}: its size is {}, want at least {} bytes", name,
                info.name, p.width_stride, p.height_stride, p.size, bytes);
  if (reinterpret_cast<uintptr_t>(p.data) % 16)
    throw Error(code::kAclInvalidParam, "{} is at {}, want an address that is a multiple of 16", name, p.data);
  p.data = checked_memory(p.data, bytes, name);
  return p;
}

}  // namespace updraft
