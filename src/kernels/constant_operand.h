// An operand whose values stay as they are from run to run (a weight): products and convolutions bring it into the type
// and layout that their primitive wants once, and keep that form here for the runs that follow.
#pragma once
#include <cstddef>
#include <cstdint>
#include <dnnl.hpp>
#include <memory>
#include <mutex>
#include <vector>

#include "base/parallel.h"
#include "tensor/view.h"

namespace updraft {

/// Values that lie in no memory of the device but in a file, from which forms are made.
struct ConstantSource {
  void (*before)(const void* data, size_t bytes);  ///< throws where they are not to be had any more
  void (*after)(const void* data, size_t bytes);   ///< they were read, and are not wanted soon
};

/// Any number of threads may use it. It outlives the work that uses it.
class ConstantOperand {
 public:
  /// `source`: of values that do not lie in the device's memory; it lives as long as the process.
  explicit ConstantOperand(const ConstantSource* source = nullptr) : source_(source) {}
  ConstantOperand(const ConstantOperand&) = delete;
  ConstantOperand& operator=(const ConstantOperand&) = delete;

  using Form = std::shared_ptr<const std::byte>;
  /// The values of `view` as `wanted` describes them; made by make(to) the first time. A view at another address, of
  /// another type, shape or strides (a transposed weight, a part of one) has forms of its own. What was returned stays
  /// valid after changed().
  Form form(const TensorView& view, const dnnl::memory::desc& wanted, FunctionRef<void(std::byte* to)> make);

  /// The values were written: all forms are dropped, and made again when they are asked for. Not while work that uses
  /// the operand is in flight: it may see either values.
  void changed();

  /// Memory of the forms that are kept now.
  size_t bytes() const;
  /// How many forms were made since the operand exists.
  int64_t made() const;

 private:
  struct Kept {
    TensorView view;
    dnnl::memory::desc desc;
    Form form;
  };
  const ConstantSource* const source_;
  mutable std::mutex mutex_;  ///< held while a form is made: who comes meanwhile waits for it
  std::vector<Kept> kept_;
  size_t bytes_ = 0;
  int64_t made_ = 0;
};

}  // namespace updraft
