// The collectives that have schedules, and their algorithms: what suites run over.
#pragma once
#include "collective/algorithm/schedule.h"

namespace updraft::collective {

constexpr Kind kKinds[] = {Kind::AllReduce, Kind::ReduceScatter, Kind::AllGather,
                           Kind::Broadcast, Kind::Reduce,        Kind::Scatter};
constexpr Algorithm kAlgorithms[] = {Algorithm::Mesh, Algorithm::Ring, Algorithm::HalvingDoubling, Algorithm::NHR,
                                     Algorithm::NB,   Algorithm::AHC,  Algorithm::Pipeline};

}  // namespace updraft::collective
