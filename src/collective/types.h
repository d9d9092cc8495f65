// What collective operations are about: kinds, element types, reductions. Numbers are those of hccl_types.h.
#pragma once
#include <cstddef>
#include <cstdint>

namespace updraft::collective {

enum class Kind : uint8_t {
  AllReduce,
  ReduceScatter,
  AllGather,
  Broadcast,
  Reduce,
  Scatter,
  AllToAll,
  AllGatherV,
  ReduceScatterV,
  AllToAllV,
  AllToAllVC,
  Barrier,
  Send,
  Receive,
  BatchSendReceive,
};
constexpr const char* name_of(Kind kind) {
  constexpr const char* names[] = {"HcclAllReduce",      "HcclReduceScatter", "HcclAllGather",    "HcclBroadcast",
                                   "HcclReduce",         "HcclScatter",       "HcclAlltoAll",     "HcclAllGatherV",
                                   "HcclReduceScatterV", "HcclAlltoAllV",     "HcclAlltoAllVC",   "HcclBarrier",
                                   "HcclSend",           "HcclRecv",          "HcclBatchSendRecv"};
  return names[static_cast<int>(kind)];
}

/// True when elements of the ranks are combined by an Op.
constexpr bool reduces(Kind kind) {
  return kind == Kind::AllReduce || kind == Kind::Reduce || kind == Kind::ReduceScatter || kind == Kind::ReduceScatterV;
}
constexpr bool has_root(Kind kind) { return kind == Kind::Broadcast || kind == Kind::Reduce || kind == Kind::Scatter; }

/// HcclDataType.
enum class Type : uint8_t {
  Int8 = 0,
  Int16 = 1,
  Int32 = 2,
  Float16 = 3,
  Float32 = 4,
  Int64 = 5,
  UInt64 = 6,
  UInt8 = 7,
  UInt16 = 8,
  UInt32 = 9,
  Float64 = 10,
  BFloat16 = 11,
};
constexpr int kTypes = 12;
constexpr size_t size_of(Type type) {
  constexpr size_t sizes[] = {1, 2, 4, 2, 4, 8, 8, 1, 2, 4, 8, 2};
  return sizes[static_cast<int>(type)];
}
constexpr const char* name_of(Type type) {
  constexpr const char* names[] = {"int8",   "int16", "int32",  "fp16",   "fp32", "int64",
                                   "uint64", "uint8", "uint16", "uint32", "fp64", "bfp16"};
  return names[static_cast<int>(type)];
}

/// HcclReduceOp.
enum class Op : uint8_t { Sum = 0, Prod = 1, Max = 2, Min = 3 };
constexpr const char* name_of(Op op) {
  constexpr const char* names[] = {"sum", "prod", "max", "min"};
  return names[static_cast<int>(op)];
}

/// Algorithms between servers (HCCL_ALGO, level 1 and 2). Auto: the cost model chooses.
enum class Algorithm : uint8_t { Auto, Mesh, Ring, HalvingDoubling, NHR, NB, AHC, Pipeline, Pairwise };
constexpr const char* name_of(Algorithm a) {
  constexpr const char* names[] = {"auto", "mesh", "ring", "H-D_R", "NHR", "NB", "AHC", "pipeline", "pairwise"};
  return names[static_cast<int>(a)];
}

}  // namespace updraft::collective
