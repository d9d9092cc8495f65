#include "base/heap_room.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace updraft {

// What is freed at the end of a heap becomes room there, for which the C library has asked the system already. From
// the first to the last, because it looks at the end after each free.
void make_heap_room(size_t bytes) {
  constexpr size_t kPiece = 96 << 10, kMost = 16 << 20;  // larger pieces are mapped, each by itself
  std::vector<void*> pieces(std::min(bytes, kMost) / kPiece + 1);
  for (void*& piece : pieces) piece = std::malloc(kPiece);
  for (void* piece : pieces) std::free(piece);
}

}  // namespace updraft
