// Arrays that combine() of list.inc reads and writes.
#pragma once

namespace updraft {

enum class Combine : int { add, multiply, maximum, minimum };

/// out[k][i] = in[0][i] op in[1][i] op …: contiguous arrays at any address. An output may be an input, but no other
/// part of one.
struct CombineArrays {
  const void* const* in;
  int inputs;
  void* const* out;
  int outputs;
  int streamed;  ///< the first outputs that are written past the caches: at whole elements, all alike modulo 64 bytes
};

}  // namespace updraft
