// Who touches an argument.
#pragma once
#include <cstdint>

namespace updraft {

enum class Direction : uint8_t {
  In,    ///< read
  Out,   ///< written
  InOut  ///< read and written
};
constexpr bool is_read(Direction d) { return d != Direction::Out; }
constexpr bool is_written(Direction d) { return d != Direction::In; }

}  // namespace updraft
