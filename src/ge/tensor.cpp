#include "graph/tensor.h"

#include <cstring>
#include <utility>

#include "base/error.h"
#include "ge/tensor_impl.h"

namespace ge {

class ShapeImpl {
 public:
  std::vector<int64_t> dims;
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
size_t Shape::GetDimNum() const { return impl_ ? impl_->dims.size() : 0; }
int64_t Shape::GetDim(size_t i) const { return i < GetDimNum() ? impl_->dims[i] : 0; }
graphStatus Shape::SetDim(size_t i, int64_t size) {
  if (i >= GetDimNum()) return GRAPH_FAILED;
  impl_->dims[i] = size;
  return GRAPH_SUCCESS;
}
int64_t Shape::GetShapeSize() const {
  if (GetDimNum() == 0) return 0;
  int64_t count = 1;
  for (int64_t size : impl_->dims) {
    if (size < 0) return -1;
    if (__builtin_mul_overflow(count, size, &count)) return -1;
  }
  return count;
}

TensorDescImpl& desc_impl(const TensorDesc& desc) { return *desc.impl_; }

TensorDesc::TensorDesc() : impl_(std::make_shared<TensorDescImpl>()) {}
TensorDesc::TensorDesc(Shape shape, Format format, DataType type) : TensorDesc() { Update(shape, format, type); }
void TensorDesc::Update(const Shape& shape, Format format, DataType type) {
  impl_->dims = impl_->origin_dims = shape.GetDims();
  impl_->format = impl_->origin_format = format;
  impl_->type = type;
  impl_->ranges.clear();
}
Shape TensorDesc::GetShape() const { return Shape(impl_->dims); }
void TensorDesc::SetShape(const Shape& shape) { impl_->dims = shape.GetDims(); }
Shape TensorDesc::GetOriginShape() const { return Shape(impl_->origin_dims); }
Format TensorDesc::GetOriginFormat() const { return impl_->origin_format; }
graphStatus TensorDesc::SetShapeRange(const std::vector<std::pair<int64_t, int64_t>>& range) {
  if (range.size() != impl_->dims.size()) return GRAPH_FAILED;
  impl_->ranges = range;
  return GRAPH_SUCCESS;
}
graphStatus TensorDesc::GetShapeRange(std::vector<std::pair<int64_t, int64_t>>& range) const {
  range = impl_->ranges;
  return GRAPH_SUCCESS;
}
Format TensorDesc::GetFormat() const { return impl_->format; }
DataType TensorDesc::GetDataType() const { return impl_->type; }
Placement TensorDesc::GetPlacement() const { return impl_->placement; }
void TensorDesc::SetFormat(Format format) { impl_->format = format; }
void TensorDesc::SetOriginShape(const Shape& shape) { impl_->origin_dims = shape.GetDims(); }
void TensorDesc::SetOriginFormat(Format format) { impl_->origin_format = format; }
void TensorDesc::SetDataType(DataType type) { impl_->type = type; }
void TensorDesc::SetPlacement(Placement placement) { impl_->placement = placement; }
void TensorDesc::SetRealDimCnt(int64_t count) { impl_->real_dims = count; }

updraft::graph::TensorDesc described(const TensorDesc& desc) {
  const TensorDescImpl& from = desc_impl(desc);
  updraft::graph::TensorDesc made(static_cast<updraft::DType>(from.type), from.dims,
                                  static_cast<updraft::graph::Format>(from.format));
  made.ranges = from.ranges;
  return made;
}

TensorDesc described(const updraft::graph::TensorDesc& desc) {
  TensorDesc made(Shape(desc.dims), static_cast<Format>(desc.format), static_cast<DataType>(desc.dtype));
  desc_impl(made).ranges = desc.ranges;
  return made;
}

updraft::graph::Tensor constant_of(const Tensor& tensor) {
  const updraft::graph::TensorDesc desc = described(tensor.GetTensorDesc());
  const size_t size = updraft::size_of(desc.dtype);
  const int64_t count = desc.count();
  if (tensor.GetDataType() == DT_UNDEFINED)
    return {updraft::DType::Undefined, {0}, updraft::graph::Bytes::copy_of(nullptr, 0)};
  if (size == 0 || count < 0)
    throw updraft::Error(updraft::code::kAclInvalidParam, "a constant is {}, want sizes and a type with elements",
                         updraft::graph::describe(desc));
  const size_t want = static_cast<size_t>(count) * size;
  if (tensor.GetSize() < want || (want && !tensor.GetData()))
    throw updraft::Error(updraft::code::kAclInvalidParam, "a constant is {}, which are {} bytes, and has {}",
                         updraft::graph::describe(desc), want, tensor.GetData() ? tensor.GetSize() : 0);
  return {desc.dtype, desc.dims, updraft::graph::Bytes::copy_of(tensor.GetData(), want), desc.format};
}

Tensor tensor_of(const updraft::graph::Tensor& constant) {
  return {described(updraft::graph::TensorDesc(constant.dtype, constant.dims, constant.format)),
          reinterpret_cast<const uint8_t*>(constant.data.data()), constant.data.size()};
}

Tensor::Tensor() : impl_(std::make_shared<TensorImpl>()) {}
Tensor::Tensor(const TensorDesc& desc) : Tensor() { SetTensorDesc(desc); }
Tensor::Tensor(const TensorDesc& desc, const uint8_t* data, size_t size) : Tensor(desc) { SetData(data, size); }
Tensor::Tensor(const TensorDesc& desc, const std::vector<uint8_t>& data) : Tensor(desc, data.data(), data.size()) {}
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

graphStatus Tensor::SetData(const uint8_t* data, size_t size) {
  if (!data && size) return GRAPH_PARAM_INVALID;
  // aligned for elements of every type
  const size_t words = size / sizeof(std::max_align_t) + 1;
  auto* const copy = reinterpret_cast<uint8_t*>(new std::max_align_t[words]);
  if (size) std::memcpy(copy, data, size);
  return SetData(copy, size, [](uint8_t* memory) { delete[] reinterpret_cast<std::max_align_t*>(memory); });
}
graphStatus Tensor::SetData(const std::vector<uint8_t>& data) { return SetData(data.data(), data.size()); }
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
