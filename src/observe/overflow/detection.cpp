#include "observe/overflow/detection.h"

#include <cmath>
#include <cstring>
#include <string_view>

#include "device/device.h"
#include "observe/dump/names.h"
#include "observe/dump/statistics.h"
#include "observe/overflow/integers.h"

namespace updraft::overflow {
namespace {

bool finite(const ScalarArgument& scalar) {
  TensorView view;
  view.data = const_cast<unsigned char*>(scalar.bytes);
  view.dtype = scalar.dtype;
  return dump::all_finite(view);
}

bool finite(const Argument& argument) {
  if (const TensorArgument* tensor = argument.tensor()) return dump::all_finite(tensor->view);
  if (const auto* scalar = std::get_if<ScalarArgument>(&argument.value)) return finite(*scalar);
  if (const auto* real = std::get_if<double>(&argument.value)) return std::isfinite(*real);
  if (const auto* reals = std::get_if<std::vector<double>>(&argument.value))
    for (double x : *reals)
      if (!std::isfinite(x)) return false;
  return true;
}

/// Operators that add into memory element by element where the card uses atomic adds.
bool adds_atomically(std::string_view name) {
  for (const char* part : {"ScatterAdd", "IndexAdd", "IndexPut", "Bincount", "EmbeddingDenseBackward", "HcclAllReduce",
                           "HcclReduce", "ScatterNdAdd", "UnsortedSegmentSum"})
    if (name.find(part) != std::string_view::npos) return true;
  return false;
}

uint64_t status_of(const TaskEvent& task, const Argument* output) {
  uint64_t status = 0x20;
  const TensorArgument* tensor = output ? output->tensor() : nullptr;
  const bool half = tensor && tensor->view.dtype == DType::Float16;
  const bool cube = task.cost.unit == Unit::Cube || task.cost.unit == Unit::MixCube;
  if (half && cube) status |= 0x400;
  const std::string_view name = task.name;
  if (half && (name.find("Cast") != std::string_view::npos || name.find("Copy") != std::string_view::npos))
    status |= 0x100;
  return status;
}

}  // namespace

Before look_before(const TaskEvent& task, bool integers) {
  Before before;
  if (integers) before.integers = integer_status(task);
  if (Device* device = task.device >= 0 ? Device::find(task.device) : nullptr) {
    before.saturating = device->saturation.load(std::memory_order_relaxed) != 0;
    before.flagged = device->float_status.load(std::memory_order_relaxed) != 0;
  }
  before.finite = true;
  for (const Argument& argument : task.arguments) {
    if (!dump::is_input(task, argument)) continue;
    before.finite = before.finite && finite(argument);
    const TensorArgument* tensor = argument.tensor();
    if (before.saturating && tensor) before.largest = before.largest || dump::has_largest(tensor->view);
  }
  return before;
}

std::optional<Finding> look_after(const TaskEvent& task, const Before& before) {
  const std::string_view name = task.name;
  if (name.find("FloatStatus") != std::string_view::npos) return {};  // it reads or clears the flag
  if (before.integers) {
    Finding finding;
    finding.status = before.integers;
    for (const Argument& argument : task.arguments)
      if (argument.tensor() && is_written(argument.direction) && !finding.output) finding.output = &argument;
    return finding;
  }
  if (!before.finite) return {};
  const Argument* found = nullptr;
  for (const Argument& argument : task.arguments) {
    const TensorArgument* tensor = argument.tensor();
    if (!tensor || !is_written(argument.direction)) continue;
    if (!dump::all_finite(tensor->view) || (before.saturating && !before.largest && dump::has_largest(tensor->view))) {
      found = &argument;
      break;
    }
  }
  if (!found) {
    if (!before.saturating || before.flagged) return {};
    Device* device = Device::find(task.device);
    if (!device || device->float_status.load(std::memory_order_relaxed) == 0) return {};
  }
  Finding finding;
  finding.output = found;
  if (adds_atomically(name)) {
    finding.part = Part::L2AtomicAdd;
    finding.status = 1u << 16;
  } else {
    finding.status = status_of(task, found);
  }
  return finding;
}

}  // namespace updraft::overflow
