// What a task works on as texts of the raw records (record.h says how they look).
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>

#include "device/observer.h"

namespace updraft::profiling {

/// The texts of shapes that a thread has met: hash_tensors() to the text's number.
using Shapes = std::unordered_map<uint64_t, uint64_t>;

bool is_collective(const TaskEvent& task);
/// A hash of directions, shapes, types and formats of the tensors.
uint64_t hash_tensors(std::span<const Argument> arguments);
/// `attributes`: also what is no tensor, by name.
std::string describe_tensor_task(std::span<const Argument> arguments, bool attributes = false);
std::string describe_collective_task(std::span<const Argument> arguments);

}  // namespace updraft::profiling
