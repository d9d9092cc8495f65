// Sampling of planes at positions that a grid gives: kernels/simd/sample.cpp.
#pragma once
#include <cstdint>

namespace updraft {

enum Interpolation { kLinear, kNearest, kCubic };
enum Border { kZeros, kClip, kReflect };

struct Sampling {
  int spatial;  ///< 2, or 3 (not kCubic)
  int mode, border;
  bool align_corners;
  int64_t in[3], out[3];  ///< in the order of dimensions; the grid's last dimension is in the reverse

  int64_t in_size() const { return spatial == 2 ? in[0] * in[1] : in[0] * in[1] * in[2]; }
  int64_t out_size() const { return spatial == 2 ? out[0] * out[1] : out[0] * out[1] * out[2]; }
  int taps() const { return mode == kNearest ? 1 : mode == kCubic ? 16 : 1 << spatial; }
  /// Whether indices are int64_t, else int32_t. Products of sizes and positions just outside fit in them.
  bool wide() const { return in_size() >= int64_t{1} << 27; }
};

/// Which elements of a plane the positions read, and how much of each; all channels of an image share them.
struct SampleTaps {
  void* index;   ///< [taps][positions]; -1: outside
  void* weight;  ///< [taps][positions], of the compute type
  void* slope;   ///< [taps][spatial][positions]: derivatives of weight by the grid's value; null: nobody asks for them
};

}  // namespace updraft
