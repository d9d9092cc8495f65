// Pooling.
#include "frontends/tensorflow/convert/families.h"

namespace updraft::tensorflow {
namespace {

void pool(Conversion& c) {
  const Endpoint x = c.in(0);
  const bool last = c.channels_last();
  const Dims sizes = c.integers("ksize"), strides = c.integers("strides");
  const Dims kernel = spatial(c, "ksize", sizes, last), steps = spatial(c, "strides", strides, last);
  const size_t n = kernel.size();
  Attributes attributes = {{"ksize", sizes}, {"strides", strides}, {"data_format", format_of(n, last)}};
  const std::string_view type = c.row.ascend;
  const Dims pads = pads_of(c, last ? 1 : 2, kernel, steps, Dims(n, 1), size_in(c, x));
  attributes["pads"] = pads;
  if (type == "MaxPoolV3") attributes["padding_mode"] = std::string("CALCULATED");
  if (type == "MaxPool3D") attributes["padding"] = std::string("CALCULATED");
  // What lies outside does not count.
  if (type == "AvgPoolV2") attributes["padding_mode"] = std::string("CALCULATED"), attributes["exclusive"] = true;
  if (type == "AvgPool3D") attributes["count_include_pad"] = false;
  c.result(type, {x}, attributes);
}

constexpr Row kRows[] = {
    {"AvgPool", pool, "AvgPoolV2"},
    {"AvgPool3D", pool, "AvgPool3D"},
    {"MaxPool", pool, "MaxPoolV3"},
    {"MaxPool3D", pool, "MaxPool3D"},
};

}  // namespace

std::span<const Row> pool_rows() { return kRows; }

}  // namespace updraft::tensorflow
