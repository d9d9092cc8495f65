// Parts of pictures at other sizes, at a place of another, in other colours (VPC).
#include "acl/media/work.h"

using namespace updraft;

namespace {

using media::Rectangle;

/// An area whose edges all belong to it: the first ones even, the last ones odd, as the hardware wants them.
Rectangle area(const acldvppRoiConfig* handle, const char* name, const media::Picture& in, const char* of) {
  const acldvppRoiConfig& a = media_object(handle, name);
  if (a.left % 2 || a.top % 2 || a.right % 2 == 0 || a.bottom % 2 == 0)
    throw Error(code::kAclInvalidParam,
                "{} is left {}, right {}, top {}, bottom {}: left and top must be even, right and bottom odd", name,
                a.left, a.right, a.top, a.bottom);
  if (a.right < a.left || a.bottom < a.top || a.right >= in.width || a.bottom >= in.height)
    throw Error(code::kAclInvalidParam,
                "{} is left {}, right {}, top {}, bottom {}: it leaves {} of {} columns and {} rows", name, a.left,
                a.right, a.top, a.bottom, of, in.width, in.height);
  return {a.left, a.top, a.right - a.left + 1, a.bottom - a.top + 1};
}

struct Step {
  media::Picture from, to;
  Rectangle part, place;
  media::Interpolation how = media::Interpolation::Default;
  media::Matrix matrix = media::Matrix::Bt601Wide;

  void run() const {
    const media::FormatInfo& format = *media::find_format(to.format);
    pack(media::make(media::unpack(from, part), format, place.width, place.height, how, matrix), to, place.left,
         place.top);
  }
};

/// Null areas are the whole picture.
Step step(const acldvppChannelDesc* channel, const acldvppPicDesc* from, const acldvppPicDesc* to,
          const acldvppRoiConfig* crop, const acldvppRoiConfig* paste, const acldvppResizeConfig* resize) {
  Step made;
  made.from = checked_picture(from, "inputDesc");
  made.to = checked_picture(to, "outputDesc");
  made.part =
      crop ? area(crop, "cropArea", made.from, "inputDesc") : Rectangle{0, 0, made.from.width, made.from.height};
  made.place = paste ? area(paste, "pasteArea", made.to, "outputDesc") : Rectangle{0, 0, made.to.width, made.to.height};
  if (resize) made.how = static_cast<media::Interpolation>(media_object(resize, "resizeConfig").interpolation);
  made.matrix = static_cast<media::Matrix>(live_channel(channel).matrix);
  for (const auto& [name, was, is] : {std::tuple{"width", made.part.width, made.place.width},
                                      std::tuple{"height", made.part.height, made.place.height}})
    if (is > uint64_t{was} * 16 || uint64_t{is} * 32 < was)
      throw Error(code::kAclInvalidParam, "the {} goes from {} to {}: want 1/32 to 16 times", name, was, is);
  return made;
}

int submit(const char* name, const acldvppChannelDesc* channel, const acldvppPicDesc* from, const acldvppPicDesc* to,
           const acldvppRoiConfig* crop, const acldvppRoiConfig* paste, const acldvppResizeConfig* resize,
           const void* stream) {
  return guard(name, [&] {
    const Step made = step(channel, from, to, crop, paste, resize);
    submit_media(name, channel, stream, int64_t{made.place.width} * made.place.height, [made] { made.run(); });
  });
}

/// Each source gives as many pictures as roiNums says, one after the other.
int submit_batch(const char* name, const acldvppChannelDesc* channel, const acldvppBatchPicDesc* sources,
                 const uint32_t* counts, uint32_t size, const acldvppBatchPicDesc* targets,
                 acldvppRoiConfig* const* crops, acldvppRoiConfig* const* pastes, bool pasted,
                 const acldvppResizeConfig* resize, const void* stream) {
  return guard(name, [&] {
    const auto& from = media_object(sources, "srcBatchPicDescs").pictures;
    const auto& to = media_object(targets, "dstBatchPicDescs").pictures;
    need(counts, "roiNums");
    need(crops, "cropAreas");
    if (pasted) need(pastes, "pasteAreas");
    if (size == 0 || size > from.size())
      throw Error(code::kAclInvalidParam, "size is {}, the batch has {} sources", size, from.size());
    std::vector<Step> steps;
    int64_t pixels = 0;
    for (uint32_t s = 0; s < size; ++s)
      for (uint32_t i = 0; i < counts[s]; ++i) {
        const size_t at = steps.size();
        if (at >= to.size())
          throw Error(code::kAclInvalidParam, "roiNums asks for more than the {} pictures of dstBatchPicDescs",
                      to.size());
        steps.push_back(step(channel, from[s], to[at], crops[at], pasted ? pastes[at] : nullptr, resize));
        pixels += int64_t{steps.back().place.width} * steps.back().place.height;
      }
    if (steps.size() != to.size())
      throw Error(code::kAclInvalidParam, "roiNums asks for {} pictures, dstBatchPicDescs has {}", steps.size(),
                  to.size());
    submit_media(name, channel, stream, pixels, [all = std::move(steps)] {
      for (const Step& each : all) each.run();
    });
  });
}

}  // namespace

extern "C" {

UPDRAFT_API aclError acldvppVpcResizeAsync(acldvppChannelDesc* channel, acldvppPicDesc* from, acldvppPicDesc* to,
                                           acldvppResizeConfig* resize, aclrtStream stream) {
  return submit("acldvppVpcResizeAsync", channel, from, to, nullptr, nullptr, resize, stream);
}
UPDRAFT_API aclError acldvppVpcCropAsync(acldvppChannelDesc* channel, acldvppPicDesc* from, acldvppPicDesc* to,
                                         acldvppRoiConfig* crop, aclrtStream stream) {
  return acldvppVpcCropResizeAsync(channel, from, to, crop, nullptr, stream);
}
UPDRAFT_API aclError acldvppVpcCropResizeAsync(acldvppChannelDesc* channel, acldvppPicDesc* from, acldvppPicDesc* to,
                                               acldvppRoiConfig* crop, acldvppResizeConfig* resize,
                                               aclrtStream stream) {
  const char* name = resize ? "acldvppVpcCropResizeAsync" : "acldvppVpcCropAsync";
  if (!crop) return guard(name, [&] { need(crop, "cropArea"); });
  return submit(name, channel, from, to, crop, nullptr, resize, stream);
}
UPDRAFT_API aclError acldvppVpcCropAndPasteAsync(acldvppChannelDesc* channel, acldvppPicDesc* from, acldvppPicDesc* to,
                                                 acldvppRoiConfig* crop, acldvppRoiConfig* paste, aclrtStream stream) {
  return acldvppVpcCropResizePasteAsync(channel, from, to, crop, paste, nullptr, stream);
}
UPDRAFT_API aclError acldvppVpcCropResizePasteAsync(acldvppChannelDesc* channel, acldvppPicDesc* from,
                                                    acldvppPicDesc* to, acldvppRoiConfig* crop, acldvppRoiConfig* paste,
                                                    acldvppResizeConfig* resize, aclrtStream stream) {
  const char* name = resize ? "acldvppVpcCropResizePasteAsync" : "acldvppVpcCropAndPasteAsync";
  if (!crop || !paste)
    return guard(name, [&] {
      need(crop, "cropArea");
      need(paste, "pasteArea");
    });
  return submit(name, channel, from, to, crop, paste, resize, stream);
}
UPDRAFT_API aclError acldvppVpcConvertColorAsync(acldvppChannelDesc* channel, acldvppPicDesc* from, acldvppPicDesc* to,
                                                 aclrtStream stream) {
  return submit("acldvppVpcConvertColorAsync", channel, from, to, nullptr, nullptr, nullptr, stream);
}

UPDRAFT_API aclError acldvppVpcBatchCropAsync(acldvppChannelDesc* channel, acldvppBatchPicDesc* from, uint32_t* counts,
                                              uint32_t size, acldvppBatchPicDesc* to, acldvppRoiConfig* crops[],
                                              aclrtStream stream) {
  return submit_batch("acldvppVpcBatchCropAsync", channel, from, counts, size, to, crops, nullptr, false, nullptr,
                      stream);
}
UPDRAFT_API aclError acldvppVpcBatchCropResizeAsync(acldvppChannelDesc* channel, acldvppBatchPicDesc* from,
                                                    uint32_t* counts, uint32_t size, acldvppBatchPicDesc* to,
                                                    acldvppRoiConfig* crops[], acldvppResizeConfig* resize,
                                                    aclrtStream stream) {
  return submit_batch("acldvppVpcBatchCropResizeAsync", channel, from, counts, size, to, crops, nullptr, false, resize,
                      stream);
}
UPDRAFT_API aclError acldvppVpcBatchCropAndPasteAsync(acldvppChannelDesc* channel, acldvppBatchPicDesc* from,
                                                      uint32_t* counts, uint32_t size, acldvppBatchPicDesc* to,
                                                      acldvppRoiConfig* crops[], acldvppRoiConfig* pastes[],
                                                      aclrtStream stream) {
  return submit_batch("acldvppVpcBatchCropAndPasteAsync", channel, from, counts, size, to, crops, pastes, true, nullptr,
                      stream);
}
UPDRAFT_API aclError acldvppVpcBatchCropResizePasteAsync(acldvppChannelDesc* channel, acldvppBatchPicDesc* from,
                                                         uint32_t* counts, uint32_t size, acldvppBatchPicDesc* to,
                                                         acldvppRoiConfig* crops[], acldvppRoiConfig* pastes[],
                                                         acldvppResizeConfig* resize, aclrtStream stream) {
  return submit_batch("acldvppVpcBatchCropResizePasteAsync", channel, from, counts, size, to, crops, pastes, true,
                      resize, stream);
}

}  // extern "C"
