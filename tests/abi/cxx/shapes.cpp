// The library's side of shapes.h: the implementation, and the runtime's answers for stubs, which note the name.
#include "shapes.h"

namespace shapes {

int Shape::made = 0;
const int Shape::limits[3] = {3, 4, 5};

Shape::Shape(int sides) : sides_(sides) { ++made; }
Shape::~Shape() = default;
int Shape::sides() const { return sides_; }
Square::Square() : Shape(4) {}
Square::~Square() = default;
Shape* make(int sides) { return sides == 4 ? new Square : new Shape(sides); }
int sides_of(const Shape& shape) { return shape.sides(); }
int made_so_far() { return Shape::made; }
Refusal::~Refusal() = default;
const char* Refusal::what() const noexcept { return "refused"; }
void refuse() { throw Refusal(); }

}  // namespace shapes

extern "C" {
const char* g_missing = "";
VISIBLE const char* last_missing() {
  const char* name = g_missing;
  g_missing = "";
  return name;
}
#define ANSWER(result, name, value)  \
  result name(const char* missing) { \
    g_missing = missing;             \
    return value;                    \
  }
ANSWER(int, updraft_stub_int, 7)
ANSWER(int, updraft_stub_aclnn, 8)
ANSWER(int, updraft_stub_hccl, 9)
ANSWER(void*, updraft_stub_pointer, nullptr)
ANSWER(unsigned long, updraft_stub_u64, 0)
ANSWER(void, updraft_stub_void, (void)0)
}
