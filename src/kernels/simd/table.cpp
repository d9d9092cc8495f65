// The table of one instruction set.
#include "kernels/table.h"

namespace updraft::UPDRAFT_ISA {

#define UPDRAFT_STRING2(x) #x
#define UPDRAFT_STRING(x) UPDRAFT_STRING2(x)

void make_table(KernelTable& t) {
  t = KernelTable{};
  t.isa = UPDRAFT_STRING(UPDRAFT_ISA);
  const EwRow** rows = t.rows;
#define FAMILY(name) *rows++ = name##_rows;
#include "kernels/rows/families.inc"
#undef FAMILY
  fill_casts(t);
#define KERNEL(ret, name, args) t.name = name;
#include "kernels/list.inc"
#undef KERNEL
}

}  // namespace updraft::UPDRAFT_ISA
