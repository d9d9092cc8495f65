// Products of fp16 on CPUs whose tiles multiply bf16 (AMX). A number of fp16 has eleven bits, one of bf16 eight: it is
// the sum of two, exactly, and a product the sum of four, each of which is exact in fp32. So the sums are those of fp16
// numbers in fp32, at some four times the speed of products in fp32.
//
// An infinity's rest is NaN, which makes infinite sums NaN: sums that are not finite are taken from the product in
// float.
#pragma once
#include <cstdint>

namespace updraft::tiles {

constexpr int64_t kLanesOfTile = 16;   ///< rows of the left side, or columns of the right
constexpr int64_t kDepthOfTile = 32;   ///< of the sum
constexpr int64_t kTileNumbers = 512;  ///< of bf16
constexpr int64_t kTileFloats = 256;
/// A tile of upper parts and the tile of the rests: [16 lanes][32 of the sum] of the left side, [16 pairs of the
/// sum][16 lanes][2] of the right.
constexpr int64_t kSplitTile = 2 * kTileNumbers;
/// Between lines of the sums of a block, in floats: that of kernels/matmul/packed.h.
constexpr int64_t kSumLine = 400;

/// The CPU has such tiles, and neither UPDRAFT_MAX_ISA nor ONEDNN_MAX_CPU_ISA hides them.
bool available();

}  // namespace updraft::tiles
