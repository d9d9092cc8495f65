// Tokens of batches as sparse attention reads them (lightning_indexer.cpp, sparse_flash.cpp): queries as [B, S, N, D]
// or all behind each other [T, N, D], keys the same, or in pages [pages, page size, 1, D] that a table names.
#pragma once
#include <algorithm>
#include <string_view>
#include <vector>

#include "ops/gathered.h"
#include "ops/op.h"
#include "tensor/view_algebra.h"

namespace updraft::sparse_tokens {

/// pre_tokens and next_tokens from here on: as far as there are tokens. (2^63 - 1 of the clients is no double, which
/// defaults of graph operators are.)
constexpr int64_t kAllTokens = int64_t{1} << 62;

/// Throws for masks other than all and causal.
inline void check_mask(const Op& op, int64_t mode, int64_t before, int64_t behind) {
  op.require(mode == 0 || mode == 3, "sparse_mode is {}, want 0 (all) or 3 (causal)", mode);
  op.require(before >= kAllTokens && behind >= kAllTokens, "pre_tokens is {} and next_tokens {}, want 2^63 - 1", before,
             behind);
}

struct Layout {
  bool packed = false, paged = false;  ///< TND; PA_BSND
};

/// Throws for other words.
inline Layout layout_of(const Op& op, const char* name, const char* word, bool pages) {
  const std::string_view w = word ? word : "";
  op.require(w == "BSND" || w == "TND" || (pages && w == "PA_BSND"), "{} is \"{}\", want \"BSND\"{} or \"TND\"", name,
             w, pages ? ", \"PA_BSND\"" : "");
  return {w == "TND", w == "PA_BSND"};
}

struct Tokens {
  Layout query, key;
  TensorView query_lengths, key_lengths, table;     ///< may be absent
  int64_t batches, query_rows, key_rows, page = 1;  ///< rows of a batch, where batches have as many

  /// Types other than the usual: FLOAT16 or BFLOAT16, and keys as queries.
  struct Kind {
    DType query = DType::Undefined, key = DType::Undefined;
    int64_t key_width = 0;  ///< of its rows; 0: the query's
  };

  Tokens() = default;
  Tokens(const Op& op, const Layout& query_layout, const Layout& key_layout, const TensorView& q, const TensorView& k,
         const OptIn& q_lengths, const OptIn& k_lengths, const OptIn& block_table)
      : Tokens(op, query_layout, key_layout, q, k, q_lengths, k_lengths, block_table, Kind()) {}
  Tokens(const Op& op, const Layout& query_layout, const Layout& key_layout, const TensorView& q, const TensorView& k,
         const OptIn& q_lengths, const OptIn& k_lengths, const OptIn& block_table, const Kind& kind)
      : query(query_layout),
        key(key_layout),
        query_lengths(optional_view(q_lengths)),
        key_lengths(optional_view(k_lengths)),
        table(optional_view(block_table)) {
    const bool half = kind.query == DType::Undefined;
    const DType key_type = kind.key == DType::Undefined ? q.dtype : kind.key;
    op.require(q.rank == (query.packed ? 3 : 4) && (half ? is_half(q.dtype) : q.dtype == kind.query),
               "query is {}, want {} {}", describe(q), half ? "FLOAT16 or BFLOAT16" : name_of(kind.query),
               query.packed ? "[T, N, D]" : "[B, S, N, D]");
    op.require(k.rank == (key.packed ? 3 : 4) && k.dtype == key_type, "key is {}, want {} {}", describe(k),
               name_of(key_type),
               key.packed  ? "[T, N, D]"
               : key.paged ? "[pages, page size, N, D]"
                           : "[B, S, N, D]");
    op.require(key.paged || key.packed == query.packed, "the layouts of query and key differ");
    op.require(k.dims[k.rank - 2] == 1, "key is {}, want one head", describe(k));
    op.require(k.dims[k.rank - 1] == (kind.key_width ? kind.key_width : q.dims[q.rank - 1]),
               "query is {} and key {}: want heads of {}", describe(q), describe(k),
               kind.key_width ? fmt::format("{} bytes", kind.key_width) : "one size");
    op.require(!query.packed || given(query_lengths), "actual_seq_lengths_query is null, which layout TND needs");
    op.require((!key.packed && !key.paged) || given(key_lengths),
               "actual_seq_lengths_key is null, which this layout needs");
    batches = query.packed ? query_lengths.numel() : q.dims[0];
    query_rows = query.packed ? 0 : q.dims[1];
    key_rows = key.packed || key.paged ? 0 : k.dims[1];
    op.require(key.packed || key.paged || k.dims[0] == batches, "key is {}, want {} batches", describe(k), batches);
    for (const auto& [name, lengths] : {std::pair("query", query_lengths), {"key", key_lengths}})
      op.require(!given(lengths) || (lengths.numel() == batches && is_integral(lengths.dtype)),
                 "actual_seq_lengths_{} is {}, want {} integers", name, describe(lengths), batches);
    if (!key.paged) return;
    page = k.dims[1];
    op.require(given(table) && table.rank == 2 && table.dims[0] == batches && is_integral(table.dtype) && page > 0,
               "block_table is {}, want INT32 [{}, pages]", given(table) ? describe(table).text() : "null", batches);
  }
};

/// Elements side by side, as rows of so many: where they lie, or copied here.
struct Matrix {
  std::vector<char> own;
  TensorView view;
  Matrix() = default;
  Matrix(const TensorView& v, int64_t columns) {
    const int64_t dims[] = {v.numel() / columns, columns};
    view = TensorView::contiguous(const_cast<char*>(side_by_side(v, own)), v.dtype, dims, 2);
  }
  /// Row i as it lies.
  const char* row(int64_t i) const { return static_cast<const char*>(select(view, 0, i).data); }
  /// Row i in FLOAT.
  void read(int64_t i, float* to) const { gather_to(to, DType::Float, select(view, 0, i)); }
};

/// The same with the values of its tensors, in the thread of an engine.
class Rows {
 public:
  Rows(const Tokens& tokens, int64_t all_queries, int64_t all_keys) : t_(tokens) {
    spans(tokens.query.packed, tokens.query_lengths, tokens.query_rows, all_queries, "actual_seq_lengths_query",
          queries_);
    spans(tokens.key.packed, tokens.key_lengths, tokens.key_rows, tokens.key.paged ? -1 : all_keys,
          "actual_seq_lengths_key", keys_);
    if (!tokens.key.paged) return;
    pages_ = integers_of(tokens.table);
    const int64_t each = tokens.table.dims[1], pages = all_keys / tokens.page;
    for (int64_t b = 0; b < tokens.batches; ++b) {
      const int64_t used = (key_count(b) + tokens.page - 1) / tokens.page;
      if (used > each) fail_kernel(fmt::format("block_table has {} pages for {} keys", each, key_count(b)));
      for (int64_t i = 0; i < used; ++i)
        if (const int64_t n = pages_[static_cast<size_t>(b * each + i)]; n < 0 || n >= pages)
          fail_kernel(fmt::format("block_table has {} at [{}, {}], want 0 to {}", n, b, i, pages - 1));
    }
  }
  int64_t query_count(int64_t b) const { return queries_[static_cast<size_t>(b)].count; }
  int64_t key_count(int64_t b) const { return keys_[static_cast<size_t>(b)].count; }
  /// Rows of query and key as matrices, by the number of the token in its batch.
  int64_t query_row(int64_t b, int64_t i) const { return queries_[static_cast<size_t>(b)].begin + i; }
  int64_t key_row(int64_t b, int64_t i) const {
    if (!t_.key.paged) return keys_[static_cast<size_t>(b)].begin + i;
    return pages_[static_cast<size_t>(b * t_.table.dims[1] + i / t_.page)] * t_.page + i % t_.page;
  }
  /// How many keys query i sees: all, or (causal) those up to the one that stands where it stands, from the end.
  int64_t seen(int64_t b, int64_t i, bool causal) const {
    return causal ? std::max<int64_t>(0, key_count(b) - query_count(b) + i + 1) : key_count(b);
  }

 private:
  struct Span {
    int64_t begin, count;
  };
  void spans(bool packed, const TensorView& lengths, int64_t rows, int64_t all, const char* name,
             std::vector<Span>& to) const {
    const std::vector<int64_t> n = given(lengths) ? integers_of(lengths) : std::vector<int64_t>();
    int64_t end = 0;
    for (int64_t b = 0; b < t_.batches; ++b) {
      const int64_t value = n.empty() ? rows : n[static_cast<size_t>(b)];
      // Packed: each is where the batch ends.
      const Span span = packed ? Span{end, value - end} : Span{b * rows, value};
      if (span.count < 0 || (packed ? value > all : all >= 0 && value > rows))
        fail_kernel(fmt::format("{} has {} at {}, which does not fit", name, value, b));
      end = packed ? value : end;
      to.push_back(span);
    }
  }
  const Tokens& t_;
  std::vector<Span> queries_, keys_;
  std::vector<int64_t> pages_;
};

}  // namespace updraft::sparse_tokens
