#include "frontends/caffe/conversion.h"

#include <algorithm>

namespace updraft::caffe {
namespace {

Dims without_ones(Dims dims) {
  std::erase(dims, 1);
  return dims;
}

}  // namespace

Tensor Conversion::weights(size_t i, const Dims& dims, const char* what) {
  require(blobs_ && !blobs_->empty(),
          "the weights have no layer of this name with blobs, want blob {} ({}) of shape {}", i, what, describe(dims));
  require(i < blobs_->size(), "the weights have {} blobs of it, want blob {} ({}) of shape {}", blobs_->size(), i, what,
          describe(dims));
  Tensor found = (*blobs_)[i];
  require(without_ones(found.dims) == without_ones(dims), "blob {} of the weights ({}) has shape {}, want {}", i, what,
          describe(found.dims), describe(dims));
  found.dims = dims;
  blobs_read_ = std::max(blobs_read_, i + 1);
  return found;
}

graph::Node& Conversion::result(std::string_view type, const std::vector<Operand>& operands, Attributes attributes,
                                size_t outputs) {
  graph::Node& made = build.node(type, name, operands, std::move(attributes), outputs);
  for (size_t i = 0; i < made.outputs().size(); ++i) give(made.out(static_cast<int>(i)));
  return made;
}

Dims Conversion::shape_by(Endpoint e, const std::vector<Size>& sizes) const {
  const Dims& own = dims(e);
  Dims to;
  for (const Size& size : sizes) {
    if (size.number != 0) {
      to.push_back(size.number);
      continue;
    }
    const int64_t n = graph::count_of(Dims(own.begin() + size.first, own.begin() + size.last));
    // Reshape copies the dimension at the same place for 0, so more than one may be unknown.
    const bool same = n < 0 && size.last == size.first + 1 && size.first == static_cast<int64_t>(to.size());
    to.push_back(same ? 0 : n);
  }
  require(std::ranges::count(to, -1) <= 1, "the shape {} has too many unknown sizes here (give the input's shape)",
          describe(own));
  return to;
}

void Conversion::check() const {
  layer.message.check();
  require(blobs() == blobs_read_, "the weights have {} blobs of it, the prototxt wants {}", blobs(), blobs_read_);
  require(outputs_.size() == tops(), "the prototxt names {} tops, the layer has {}", tops(), outputs_.size());
}

}  // namespace updraft::caffe
