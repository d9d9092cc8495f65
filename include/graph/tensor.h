// Part of Updraft: a software implementation of the interfaces that Ascend programs use.
/** @file
 * Tensors of the graph engine.
 */
#ifndef UPDRAFT_GRAPH_TENSOR_H_
#define UPDRAFT_GRAPH_TENSOR_H_

#include <cstddef>
#include <functional>
#include <memory>
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
  std::vector<int64_t> GetDims() const;

 private:
  std::shared_ptr<ShapeImpl> impl_;
};

/** What is said of a tensor. Copies are the same description. */
class GE_FUNC_VISIBILITY TensorDesc {
 public:
  TensorDesc();
  Shape GetShape() const;
  Format GetFormat() const;
  DataType GetDataType() const;
  Placement GetPlacement() const;
  void SetFormat(Format format);
  void SetOriginShape(const Shape& shape);
  void SetOriginFormat(Format format);
  void SetDataType(DataType type);
  void SetPlacement(Placement placement);

 private:
  friend class Tensor;
  std::shared_ptr<TensorDescImpl> impl_;
};

/** A tensor with its elements, which belong to whom it was told. Copies are the same tensor. */
class GE_FUNC_VISIBILITY Tensor {
 public:
  using DeleteFunc = std::function<void(uint8_t*)>;

  Tensor();
  TensorDesc GetTensorDesc() const;
  graphStatus SetTensorDesc(const TensorDesc& desc);
  const uint8_t* GetData() const;
  uint8_t* GetData();
  /** Bytes. */
  size_t GetSize() const;
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
