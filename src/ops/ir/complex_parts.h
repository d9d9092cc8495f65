// What is computed in complex numbers and given as real ones.
#pragma once
#include <vector>

#include "ops/gathered.h"

namespace updraft::ir {

inline std::vector<double> real_parts(const std::vector<complex128>& values) {
  std::vector<double> parts;
  parts.reserve(values.size());
  for (const complex128& v : values) parts.push_back(v.real());
  return parts;
}
/// write_all() of the values, or of their real parts where `to` has real numbers.
inline void write_parts(const TensorView& to, const std::vector<complex128>& values) {
  if (is_complex(to.dtype)) write_all(to, values);
  else write_all(to, real_parts(values));
}

}  // namespace updraft::ir
