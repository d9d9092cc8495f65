// Elements as bits, whatever their type.
#pragma once
#include <cstddef>
#include <cstdint>

namespace updraft {

struct Block16 {
  uint64_t low, high;
};
/// Calls f.template operator()<T>() with an unsigned type of the element's size.
template <class F>
void visit_size(size_t size, F&& f) {
  switch (size) {
    case 1: return f.template operator()<uint8_t>();
    case 2: return f.template operator()<uint16_t>();
    case 4: return f.template operator()<uint32_t>();
    case 8: return f.template operator()<uint64_t>();
    default: return f.template operator()<Block16>();
  }
}

}  // namespace updraft
