// Part of Updraft: a software implementation of the interfaces that Ascend programs use.
/** @file
 * Tensors of the graph engine.
 */
#ifndef UPDRAFT_GRAPH_TENSOR_H_
#define UPDRAFT_GRAPH_TENSOR_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "graph/types.h"

namespace ge {

class ShapeImpl;
class TensorDescImpl;
class TensorImpl;

/** Sizes; -1 where one is unknown, [-2] where their number is. */
class GE_FUNC_VISIBILITY Shape {
 public:
  Shape() = default;
  explicit Shape(const std::vector<int64_t>& dims);
  size_t GetDimNum() const;
  /** 0 for a dimension that there is not. */
  int64_t GetDim(size_t index) const;
  /** GRAPH_FAILED for a dimension that there is not. */
  graphStatus SetDim(size_t index, int64_t size);
  std::vector<int64_t> GetDims() const;
  /** Elements; -1 where a size is unknown, 0 for a shape without dimensions. */
  int64_t GetShapeSize() const;

 private:
  std::shared_ptr<ShapeImpl> impl_;
};

/** What is said of a tensor. Copies are the same description. */
class GE_FUNC_VISIBILITY TensorDesc {
 public:
  TensorDesc();
  explicit TensorDesc(Shape shape, Format format = FORMAT_ND, DataType type = DT_FLOAT);
  /** Gives all three at once, the shape and the format as those of origin, too. */
  void Update(const Shape& shape, Format format = FORMAT_ND, DataType type = DT_FLOAT);
  Shape GetShape() const;
  void SetShape(const Shape& shape);
  Shape GetOriginShape() const;
  Format GetOriginFormat() const;
  /** Smallest and largest size of each dimension; -1: no largest one. GRAPH_FAILED when they are not as many as the
   * dimensions. */
  graphStatus SetShapeRange(const std::vector<std::pair<int64_t, int64_t>>& range);
  graphStatus GetShapeRange(std::vector<std::pair<int64_t, int64_t>>& range) const;
  Format GetFormat() const;
  DataType GetDataType() const;
  Placement GetPlacement() const;
  void SetFormat(Format format);
  void SetOriginShape(const Shape& shape);
  void SetOriginFormat(Format format);
  void SetDataType(DataType type);
  void SetPlacement(Placement placement);
  /** How many dimensions count where a layout of the card pads them. */
  void SetRealDimCnt(int64_t count);

 private:
  friend class Tensor;
  friend TensorDescImpl& desc_impl(const TensorDesc& desc);
  std::shared_ptr<TensorDescImpl> impl_;
};

/** A tensor with its elements, which belong to whom it was told. Copies are the same tensor. */
class GE_FUNC_VISIBILITY Tensor {
 public:
  using DeleteFunc = std::function<void(uint8_t*)>;

  Tensor();
  explicit Tensor(const TensorDesc& desc);
  /** With a copy of the elements. */
  Tensor(const TensorDesc& desc, const std::vector<uint8_t>& data);
  Tensor(const TensorDesc& desc, const uint8_t* data, size_t size);
  TensorDesc GetTensorDesc() const;
  graphStatus SetTensorDesc(const TensorDesc& desc);
  const uint8_t* GetData() const;
  uint8_t* GetData();
  /** Bytes. */
  size_t GetSize() const;
  /** Copies them. */
  graphStatus SetData(const uint8_t* data, size_t size);
  graphStatus SetData(const std::vector<uint8_t>& data);
  /** Takes the memory as it is; `deleter` is called with it when the tensor lets go of it. */
  graphStatus SetData(uint8_t* data, size_t size, const DeleteFunc& deleter);
  graphStatus ResetData(uint8_t* data, size_t size, const DeleteFunc& deleter);
  /** Hands the memory out, with what frees it; the tensor has none then. */
  std::unique_ptr<uint8_t[], DeleteFunc> ResetData();

  DataType GetDataType() const;
  Format GetFormat() const;
  Placement GetPlacement() const;
  size_t GetShapeDimNum() const;
  int64_t GetShapeDim(size_t index) const;
  size_t GetOriginShapeDimNum() const;
  graphStatus SetDataType(const DataType& type);
  graphStatus SetFormat(const Format& format);
  graphStatus SetPlacement(const Placement& placement);
  graphStatus SetShapeDimNum(size_t count);
  graphStatus SetShapeDim(size_t index, int64_t size);
  graphStatus SetOriginShapeDimNum(size_t count);
  graphStatus SetOriginShapeDim(size_t index, int64_t size);

 private:
  std::shared_ptr<TensorImpl> impl_;
};

}  // namespace ge

#endif  // UPDRAFT_GRAPH_TENSOR_H_
