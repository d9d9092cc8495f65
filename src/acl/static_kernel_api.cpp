// Descriptions of the operators that a program calls, from which a card's compiler makes kernels of fixed sizes.
#include "acl/api.h"
#include "base/refused.h"

using namespace updraft;

namespace {

[[noreturn]] void refuse() {
  throw Error(code::kAclApiNotSupport,
              "kernels of fixed sizes are not compiled: operators are compiled already, and none is described for "
              "op_compiler; the option static_kernel_compile changes no result and may be left out");
}

}  // namespace

REFUSED(aclopStartDumpArgs)
ACL_API aclopStartDumpArgs(uint32_t, const char* path) {
  return guard("aclopStartDumpArgs", [&] {
    need(path, "path");
    refuse();
  });
}

REFUSED(aclopStopDumpArgs)
ACL_API aclopStopDumpArgs(uint32_t) {
  return guard("aclopStopDumpArgs", [] { refuse(); });
}
