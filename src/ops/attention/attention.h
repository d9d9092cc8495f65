// Scaled dot product attention over any of the layouts: what forward and backward share.
#pragma once
#include <limits>
#include <string>
#include <vector>

#include "kernels/table.h"
#include "ops/op.h"

namespace updraft::attention {

/// One of q, k, v and the like as [batch][head][position][element], whatever its layout; strides in elements.
struct Heads {
  char* data = nullptr;
  DType dtype = DType::Float;
  int64_t batches = 0, heads = 0, positions = 0, width = 0;
  int64_t batch = 0, head = 0, position = 0, element = 0;

  /// Rows [begin, end) of one head as f32 rows of `padded` elements (zeros behind the width).
  void load(float* to, int64_t padded, int64_t b, int64_t h, int64_t begin, int64_t end) const;
  void store(const float* from, int64_t padded, int64_t b, int64_t h, int64_t begin, int64_t end) const;
  void clear(int64_t b, int64_t h, int64_t begin, int64_t end) const;
  char* at(int64_t b, int64_t h, int64_t p) const {
    return data + (b * batch + h * head + p * position) * static_cast<int64_t>(size_of(dtype));
  }
};

/// An optional operand that broadcasts to [batch][head][query][key].
struct Extra {
  char* data = nullptr;
  DType dtype = DType::Undefined;
  int64_t dims[4] = {1, 1, 1, 1};
  int64_t strides[4] = {};
  explicit operator bool() const { return data != nullptr; }
  char* at(int64_t b, int64_t h, int64_t i, int64_t j) const {
    return data +
           (b * strides[0] + h * strides[1] + i * strides[2] + j * strides[3]) * static_cast<int64_t>(size_of(dtype));
  }
};

/// One sequence: rows of q and of k/v that belong together.
struct Sequence {
  int64_t batch, q_begin, q_length, k_begin, k_length;
  int64_t keep_bits;  ///< first bit of this sequence in the dropout mask
  int64_t prefix;     ///< keys that every query sees (prefix modes)
  bool first, last;
};

struct Range {
  int64_t begin, end;
};

struct Problem {
  Heads q, k, v;
  Extra pse, mask, sink;
  const uint8_t* keep = nullptr;  ///< dropout: a bit a score, 1 = kept
  double keep_probability = 1;
  float scale = 1, pse_factor = 1;
  int64_t sparse_mode = 0, before = 0, after = 0;
  bool ranged = false;                                     ///< positions decide about some of the masking
  bool dense = false;                                      ///< the mask's bytes are read
  float masked = -std::numeric_limits<float>::infinity();  ///< what a score becomes that the mask's bytes hide
  bool mask_keeps = false;                                 ///< the bytes say which scores take part, not which do not
  bool mask_first = false;                                 ///< pse is added to what is masked already
  float unseen = 0;          ///< what a query without keys gives: 0, or NaN as a softmax has it
  bool nan_as_zero = false;  ///< a row of the softmax that is not a number gives 0
  int64_t scores = 0;        ///< pairs of a query and a key that it may see, over all heads
  std::vector<Sequence> sequences;
  int64_t group = 1;                     ///< query heads a key head
  float *max = nullptr, *sum = nullptr;  ///< null: nobody wants the statistics
  int64_t stat_batch = 0, stat_head = 0, stat_position = 0;

  int64_t stat(const Sequence& s, int64_t head, int64_t i) const {
    return s.batch * stat_batch + head * stat_head + (s.q_begin + i) * stat_position;
  }
  /// Keys that query i of a sequence may see.
  Range keys_of(const Sequence& s, int64_t i) const;
  /// Adds pse and writes -inf where a score does not take part; s is [rows][ld], columns from cols to padded are
  /// masked.
  void mask_tile(float* s, int64_t ld, const Sequence& seq, int64_t head, int64_t row, int64_t rows, int64_t col,
                 int64_t cols, int64_t padded) const;
  /// x = x * keep / keep_probability
  /// Writes `masked` where the mask's bytes say so; s is a part of one row.
  void hide(float* s, int64_t batch, int64_t head, int64_t row, int64_t col, int64_t cols) const;
  void drop_tile(float* x, int64_t ld, const Sequence& seq, int64_t head, int64_t row, int64_t rows, int64_t col,
                 int64_t cols) const;
};

/// What the clients pass, before it is checked.
struct Request {
  const TensorView *q, *k, *v;
  OptIn pse, keep, padding, mask, sink;
  OptInts prefix, q_lengths, k_lengths;
  double scale, keep_probability;
  int64_t before, after, heads;
  const char* layout;
  int64_t sparse_mode, pse_type = 1;
  const char* softmax_layout = "";
};

/// Checks and describes; refuses with a sentence.
Problem plan(Op& op, const Request& r);
/// `v` in the layout of the request.
Heads heads_of(Op& op, const char* name, const TensorView& v, const std::string& layout, int64_t heads);
/// What broadcasts to the scores, of at most four dimensions.
Extra extra_of(const TensorView& v);

void forward(const Problem& p, const Heads& out);
struct Gradients {
  Heads grad_out, out, dq, dk, dv;
  Extra dpse;
  float* dsink = nullptr;
};
void backward(const Problem& p, const Gradients& g);

inline constexpr int64_t kPad = 16;
inline int64_t padded(int64_t n) { return (n + kPad - 1) / kPad * kPad; }

}  // namespace updraft::attention
