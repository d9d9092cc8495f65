// How the rows of a block of a product are divided into the tiles that the registers hold (packed.cpp,
// byte_product.cpp).
#pragma once
#include <cstdint>

namespace updraft::UPDRAFT_ISA {

/// Steps of a sum that are made at once, and the tiles of a block that ask for what comes after its right side: each
/// for its part of it, while the right side itself comes from the cache.
constexpr int64_t kAhead = 4;

/// make<R>(part) for tiles of R rows from the first row on: whole tiles, numbered, then what is left in tiles of 8, 4,
/// 2 and 1 rows, which ask for nothing (`part` is kAhead).
template <int Rows, class Make>
void each_tile(int64_t m, Make make) {
  int64_t i = 0;
  for (; i + Rows <= m; i += Rows) make.template operator()<Rows>(i / Rows);
  const auto rest = [&]<int R>() {
    for (; i + R <= m; i += R) make.template operator()<R>(kAhead);
  };
  if constexpr (Rows > 8) rest.template operator()<8>();
  if constexpr (Rows > 4) rest.template operator()<4>();
  rest.template operator()<2>();
  rest.template operator()<1>();
}

}  // namespace updraft::UPDRAFT_ISA
