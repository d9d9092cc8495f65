// How operators draw random numbers: blocks of 1024 by position, converted into any strided output.
#pragma once
#include "kernels/blocks.h"
#include "kernels/random.h"
#include "ops/op.h"
#include "tensor/real_types.h"

namespace updraft {

/// Where an operator's seed and offset come from: numbers, or (inside a captured graph) one-element device tensors
/// that are read when the work runs, so that every replay draws new numbers.
struct RandomSource {
  RandomKey key{};
  bool on_device = false;
  TensorView seed, offset;

  RandomSource(uint64_t s, uint64_t o) : key{s, o} {}
  RandomSource(const Op& op, const TensorView& s, const TensorView& o, uint64_t inside);
  /// Called from the work.
  RandomKey read() const {
    if (!on_device) return key;
    return {static_cast<uint64_t>(load_one_int(seed)), static_cast<uint64_t>(load_one_int(offset)) + key.offset};
  }
};

/// Fills `to` with a distribution; `compute` is the type that its blocks hold.
void fill_random(const TensorView& to, RandomKind kind, Compute compute, const RandomKey& key, const RandomParams& p);

/// Kinds for a type that is computed in double, or in float.
inline RandomKind for_type(DType t, RandomKind narrow, RandomKind wide) {
  return real_compute(t) == Compute::F64 ? wide : narrow;
}

}  // namespace updraft
