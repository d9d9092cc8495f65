// Whether an operator makes numbers that are not finite, or too large, out of sane ones.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "device/observer.h"

namespace updraft::overflow {

/// What is looked at before the operator runs.
struct Before {
  bool finite = false;      ///< all that it reads is finite: tensors, scalars, numbers
  bool largest = false;     ///< some float16 input has the largest magnitude, 65504
  bool saturating = false;  ///< the device is in saturation mode
  bool flagged = false;     ///< the device's sticky overflow flag was set already
  uint64_t integers = 0;    ///< bits of the AI Core's status that integers will set (integers.h)
};
/// `integers`: looks at them as well, which is not about what is finite.
Before look_before(const TaskEvent& task, bool integers = false);

/// The part of the device that CANN would blame.
enum class Part : uint8_t { AiCore, L2AtomicAdd };

struct Finding {
  const Argument* output = nullptr;  ///< the first that shows it; null where only the device's flag does
  Part part = Part::AiCore;
  /// Bits of the AI Core: 0x8, 0x10, 0x80 integers (integers.h), 0x20 floating point, 0x100 conversion to float16,
  /// 0x400 sum of the Cube unit; from bit 16 on those of atomic adds: 1 over.
  uint64_t status = 0x20;
};
/// After it has run. In INF_NAN mode: some output is not finite and all inputs were. In saturation mode as well: the
/// device's flag was set by it, or a float16 output has the largest magnitude and no input had.
std::optional<Finding> look_after(const TaskEvent& task, const Before& before);

}  // namespace updraft::overflow
