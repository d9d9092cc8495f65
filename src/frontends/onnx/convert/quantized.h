// What quantised operators of all domains do with scales and zero points.
#pragma once
#include "frontends/onnx/conversion.h"

namespace updraft::onnx {

/// Scales and zero points as x has its dimensions: of a channel [1, …, n, …, 1], of blocks repeated along the axis.
Endpoint spread(Conversion& c, Endpoint v, Endpoint x, int64_t axis, int64_t block);

/// Rounded, moved by the zero point, cut off to what the type holds; still of type FLOAT.
Endpoint saturated(Conversion& c, Endpoint value, Endpoint zero, DType to);
/// The same as the node's result, of that type.
void saturate(Conversion& c, Endpoint value, Endpoint zero, DType to);

/// x - zero as whole numbers, then as numbers of `type`.
Endpoint centred(Conversion& c, Endpoint x, Endpoint zero, DType type);

/// The range of x, with 0 in it, in 255 steps.
struct Dynamic {
  Endpoint scale, zero;  ///< FLOAT, UINT8
};
Dynamic dynamic_of(Conversion& c, Endpoint x);

}  // namespace updraft::onnx
