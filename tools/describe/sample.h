// The sample of an operator's call: what its SAMPLE says, completed by its class and by the names of its parameters.
//
//   tensor   f32[N,M] or f32[N,2M]:-1..1 (values; without: 0.1..0.9, integers 0..4), u8[16]! (always
//            contiguous), null
//   list     f32[N,M];f32[M]            scalars 1.5,true            numbers 3 or 0.5      arrays 1,2 or [] or null
//   bool     true                       text    none                dtypes  f32
//
// N and M are sizes that the user of the sample chooses: small ones test, large ones measure.
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ops/op.h"

struct Sample {
  std::vector<std::pair<std::string, std::string>> values;  ///< a text for each parameter, in order
  bool own = false;                                         ///< the operator's SAMPLE, not its class's
};

/// Empty where nobody has described a call (kUnsampled of sample_classes.h). Throws when SAMPLE names what is no
/// parameter or a text does not fit its type.
std::optional<Sample> sample_of(const updraft::OpInfo& op);
