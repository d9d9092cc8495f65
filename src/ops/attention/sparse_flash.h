// Attention to the keys that an index names for each query (sparse_flash.cpp), and its gradients
// (sparse_flash_grad.cpp). Query and key may have a second part behind their own, turned by position (rope), as MLA has
// it.
#pragma once
#include <algorithm>
#include <vector>

#include "ops/attention/sparse_tokens.h"

namespace updraft::sparse_flash {

using namespace sparse_tokens;

/// Rows of INT8 with what they are read by: `numbers` of them, then `rope` numbers in the query's type, then a FLOAT
/// for each `tile` of the first by which these are multiplied.
struct Tiles {
  int64_t numbers = 0, rope = 0, tile = 0;  ///< tile 0: keys are of the query's type
  int64_t bytes() const { return numbers + 2 * rope + numbers / tile * static_cast<int64_t>(sizeof(float)); }
};

struct Problem {
  TensorView query, key, value, indices;
  TensorView query_rope, key_rope;  ///< may be absent
  Tokens tokens;
  float scale;
  int64_t block;
  bool causal;
  Tiles tiles{};  ///< of keys and values of whole numbers

  int64_t heads() const { return query.dims[query.rank - 2]; }
  int64_t size() const { return row_length(query); }
  int64_t value_size() const { return tiles.tile ? tiles.numbers : row_length(value); }
  int64_t rope() const { return given(query_rope) ? row_length(query_rope) : 0; }
  /// Of queries, one for each token.
  int64_t rows() const { return rows_of(query) / std::max<int64_t>(1, heads()); }
};

/// What both ways are told.
struct Arguments {
  const In &query, &key;
  const OptIn& value;
  const In& indices;
  const OptIn &query_rope, &key_rope;
  double scale;
  int64_t block, mode, before, behind;
};
/// Throws what is refused.
Problem checked(const Op& op, const Arguments& a, const Tokens& tokens);

/// Checks sinks [heads] and posts out = softmax(scale * q k^T) v of all queries. sinks and the statistics of rows, the
/// largest score and the sum, may be absent.
void launch(Op& op, const Problem& p, const OptIn& sinks, const TensorView& out, const TensorView& most,
            const TensorView& sum);

/// One query after the other, and what it reads, side by side in FLOAT: q [heads, size + rope], k [n, size + rope], v
/// [n, width].
class Reader {
 public:
  explicit Reader(const Problem& p);
  /// False where a query sees none of its keys.
  bool read(int64_t batch, int64_t query);

  Rows at;
  int64_t row = 0;                ///< of the query
  std::vector<int64_t> key_rows;  ///< that it reads, n
  TensorView q, k, v;

 private:
  const Problem& p_;
  std::vector<int64_t> index_;
  Matrix queries_, keys_, values_, q_rope_, k_rope_;
  std::vector<float> q_own_, k_own_, v_own_;
};

}  // namespace updraft::sparse_flash
