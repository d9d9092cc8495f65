// How many devices the machine has, as drivers tell it.
#include "acl/api.h"
#include "base/config.h"

using namespace updraft;

// How many there are on the machine, whatever ASCEND_RT_VISIBLE_DEVICES leaves of them.
ACL_API drvGetDevNum(uint32_t* count) {
  return guard("drvGetDevNum", [&] {
    need(count, "count");
    *count = static_cast<uint32_t>(Config::get().installed);
  });
}
