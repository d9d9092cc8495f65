// Access to a strided, differently typed operand by row-major position, a block at a time: kernels that are not
// elementwise rows read and write blocks of one compute type. Blocks that already are what the kernel wants are used
// in place.
#pragma once
#include <vector>

#include "kernels/table.h"
#include "tensor/view.h"

namespace updraft {

inline constexpr int64_t kBlockElements = 1024;
/// A buffer that holds a block of any compute type.
struct alignas(64) BlockBuffer {
  char bytes[kBlockElements * 16];
};

/// Reads elements [begin, begin + n) of a view (n <= kBlockElements), converted to the compute type.
class BlockReader {
 public:
  BlockReader(const TensorView& v, Compute compute)
      : view_(v),
        loop_({&view_}),
        load_(kernels().load[static_cast<int>(v.dtype)][static_cast<int>(compute)]),
        width_(static_cast<int64_t>(size_of(compute))),
        size_(static_cast<int64_t>(size_of(v.dtype))) {
    unit_ = loop_.rank == 1 && loop_.strides[0][0] == 1;
    in_place_ = unit_ && v.dtype == storage_of(compute);
    constant_ = true;
    for (int d = 0; d < v.rank; ++d) constant_ = constant_ && (v.strides[d] == 0 || v.dims[d] == 1);
  }
  bool in_place() const { return in_place_; }
  /// Every element is the same (an expanded scalar).
  bool constant() const { return constant_; }
  const void* read(int64_t begin, int64_t n, void* buffer) const {
    const char* data = view_.as<const char>();
    if (in_place_) return data + begin * size_;
    if (constant_) {
      load_(buffer, data, 0, n);
      return buffer;
    }
    loop_.rows(begin, begin + n, [&](const int64_t(&offset)[1], int64_t linear, int64_t m) {
      load_(static_cast<char*>(buffer) + (linear - begin) * width_, data + offset[0] * size_,
            loop_.strides[0][loop_.rank - 1], m);
    });
    return buffer;
  }

 private:
  TensorView view_;
  StridedLoop<1> loop_;
  LoadFn load_;
  int64_t width_, size_;
  bool unit_, in_place_, constant_;
};

/// Writes elements [begin, begin + n) of a view from a block of the compute type.
class BlockWriter {
 public:
  BlockWriter(const TensorView& v, Compute compute)
      : view_(v),
        loop_({&view_}),
        store_(kernels().store[static_cast<int>(compute)][static_cast<int>(v.dtype)]),
        width_(static_cast<int64_t>(size_of(compute))),
        size_(static_cast<int64_t>(size_of(v.dtype))) {
    in_place_ = loop_.rank == 1 && loop_.strides[0][0] == 1 && v.dtype == storage_of(compute);
  }
  /// Where a kernel puts the block that write() stores: the view itself where that is possible.
  void* target(int64_t begin, void* buffer) const { return in_place_ ? view_.as<char>() + begin * size_ : buffer; }
  void write(int64_t begin, int64_t n, const void* block) const {
    if (in_place_) return;
    char* data = view_.as<char>();
    loop_.rows(begin, begin + n, [&](const int64_t(&offset)[1], int64_t linear, int64_t m) {
      store_(data + offset[0] * size_, loop_.strides[0][loop_.rank - 1],
             static_cast<const char*>(block) + (linear - begin) * width_, m);
    });
  }
  bool in_place() const { return in_place_; }

 private:
  TensorView view_;
  StridedLoop<1> loop_;
  StoreFn store_;
  int64_t width_, size_;
  bool in_place_;
};

/// The sum over all positions of fn(in...); inputs are broadcast to the shape of `like`. Partial sums belong to fixed
/// blocks of positions and are added in their order. Exact for I64 (wraps); f32 blocks are added up in double.
struct BlockSum {
  double real = 0;
  int64_t integer = 0;
};
BlockSum sum_elementwise(BlockFn fn, Compute compute, const TensorView* in, int inputs, const int64_t* dims, int rank,
                         const Params& params);

/// One value to the first element of a view.
void store_one(const TensorView& to, double value);
void store_one(const TensorView& to, int64_t value);
/// The first element of a view.
double load_one(const TensorView& from);
int64_t load_one_int(const TensorView& from);

}  // namespace updraft
