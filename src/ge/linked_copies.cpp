// Constructors that the headers leave to the compiler, which clients that were compiled against other headers link.
// src/ge/string_forms.cpp says why they are functions under the constructors' names.
#include <new>
#include <utility>

#include "base/boundary.h"
#include "graph/tensor.h"

namespace ge::linked_copies {

UPDRAFT_API void make(Shape* self) __asm__("_ZN2ge5ShapeC1Ev");
void make(Shape* self) { new (self) Shape(); }
UPDRAFT_API void copy(TensorDesc* self, const TensorDesc& other) __asm__("_ZN2ge10TensorDescC1ERKS0_");
void copy(TensorDesc* self, const TensorDesc& other) { new (self) TensorDesc(other); }
UPDRAFT_API void move(TensorDesc* self, TensorDesc&& other) __asm__("_ZN2ge10TensorDescC1EOS0_");
void move(TensorDesc* self, TensorDesc&& other) { new (self) TensorDesc(std::move(other)); }

}  // namespace ge::linked_copies
