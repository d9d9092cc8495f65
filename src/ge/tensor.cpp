#include "graph/tensor.h"

#include <utility>

#include "graph/ir/tensor.h"

namespace ge {

class ShapeImpl {
 public:
  std::vector<int64_t> dims;
};

class TensorDescImpl {
 public:
  std::vector<int64_t> dims, origin_dims;
  DataType type = DT_UNDEFINED;
  Format format = FORMAT_ND, origin_format = FORMAT_ND;
  Placement placement = kPlacementHost;
};

class TensorImpl {
 public:
  TensorImpl() = default;
  TensorImpl(const TensorImpl&) = delete;
  ~TensorImpl() { let_go(); }
  void let_go() {
    if (data && deleter) deleter(data);
    data = nullptr;
  }
  TensorDescImpl desc;
  uint8_t* data = nullptr;
  size_t size = 0;
  Tensor::DeleteFunc deleter;
};

AscendString GetFormatName(Format format) {
  return updraft::graph::name_of(static_cast<updraft::graph::Format>(format)).c_str();
}

Shape::Shape(const std::vector<int64_t>& dims) : impl_(std::make_shared<ShapeImpl>(ShapeImpl{dims})) {}
std::vector<int64_t> Shape::GetDims() const { return impl_ ? impl_->dims : std::vector<int64_t>(); }

TensorDesc::TensorDesc() : impl_(std::make_shared<TensorDescImpl>()) {}
Shape TensorDesc::GetShape() const { return Shape(impl_->dims); }
Format TensorDesc::GetFormat() const { return impl_->format; }
DataType TensorDesc::GetDataType() const { return impl_->type; }
Placement TensorDesc::GetPlacement() const { return impl_->placement; }
void TensorDesc::SetFormat(Format format) { impl_->format = format; }
void TensorDesc::SetOriginShape(const Shape& shape) { impl_->origin_dims = shape.GetDims(); }
void TensorDesc::SetOriginFormat(Format format) { impl_->origin_format = format; }
void TensorDesc::SetDataType(DataType type) { impl_->type = type; }
void TensorDesc::SetPlacement(Placement placement) { impl_->placement = placement; }

Tensor::Tensor() : impl_(std::make_shared<TensorImpl>()) {}
TensorDesc Tensor::GetTensorDesc() const {
  TensorDesc desc;
  *desc.impl_ = impl_->desc;
  return desc;
}
graphStatus Tensor::SetTensorDesc(const TensorDesc& desc) {
  impl_->desc = *desc.impl_;
  return GRAPH_SUCCESS;
}
const uint8_t* Tensor::GetData() const { return impl_->data; }
uint8_t* Tensor::GetData() { return impl_->data; }
size_t Tensor::GetSize() const { return impl_->size; }

graphStatus Tensor::SetData(uint8_t* data, size_t size, const DeleteFunc& deleter) {
  impl_->let_go();
  impl_->data = data;
  impl_->size = size;
  impl_->deleter = deleter;
  return GRAPH_SUCCESS;
}
graphStatus Tensor::ResetData(uint8_t* data, size_t size, const DeleteFunc& deleter) {
  return SetData(data, size, deleter);
}
std::unique_ptr<uint8_t[], Tensor::DeleteFunc> Tensor::ResetData() {
  DeleteFunc deleter = std::exchange(impl_->deleter, nullptr);
  if (!deleter) deleter = [](uint8_t*) {};
  impl_->size = 0;
  return {std::exchange(impl_->data, nullptr), std::move(deleter)};
}

DataType Tensor::GetDataType() const { return impl_->desc.type; }
Format Tensor::GetFormat() const { return impl_->desc.format; }
Placement Tensor::GetPlacement() const { return impl_->desc.placement; }
size_t Tensor::GetShapeDimNum() const { return impl_->desc.dims.size(); }
int64_t Tensor::GetShapeDim(size_t i) const { return i < impl_->desc.dims.size() ? impl_->desc.dims[i] : -1; }
size_t Tensor::GetOriginShapeDimNum() const { return impl_->desc.origin_dims.size(); }
graphStatus Tensor::SetDataType(const DataType& type) {
  impl_->desc.type = type;
  return GRAPH_SUCCESS;
}
graphStatus Tensor::SetFormat(const Format& format) {
  impl_->desc.format = format;
  return GRAPH_SUCCESS;
}
graphStatus Tensor::SetPlacement(const Placement& placement) {
  impl_->desc.placement = placement;
  return GRAPH_SUCCESS;
}

namespace {
graphStatus set_count(std::vector<int64_t>& dims, size_t count) {
  if (count > 64) return GRAPH_PARAM_INVALID;
  dims.resize(count);
  return GRAPH_SUCCESS;
}
graphStatus set_size(std::vector<int64_t>& dims, size_t index, int64_t size) {
  if (index >= dims.size()) return GRAPH_PARAM_INVALID;
  dims[index] = size;
  return GRAPH_SUCCESS;
}
}  // namespace

graphStatus Tensor::SetShapeDimNum(size_t count) { return set_count(impl_->desc.dims, count); }
graphStatus Tensor::SetShapeDim(size_t i, int64_t size) { return set_size(impl_->desc.dims, i, size); }
graphStatus Tensor::SetOriginShapeDimNum(size_t count) { return set_count(impl_->desc.origin_dims, count); }
graphStatus Tensor::SetOriginShapeDim(size_t i, int64_t size) { return set_size(impl_->desc.origin_dims, i, size); }

}  // namespace ge
