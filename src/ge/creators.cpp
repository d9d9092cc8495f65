#include "ge/creators.h"

#include <map>
#include <mutex>
#include <utility>

#include "base/boundary.h"

namespace ge {
namespace {

std::mutex g_mutex;
// They belong to libraries that register while they are loaded, and are kept until the process ends.
std::map<AscendString, Creator>& creators() {
  static auto* all = new std::map<AscendString, Creator>;
  return *all;
}

}  // namespace

void add_creator(const char* type, Creator creator) {
  if (!type || !creator) return;
  std::lock_guard lock(g_mutex);
  creators()[type] = std::move(creator);
}

Creator find_creator(const char* type) {
  if (!type) return {};
  std::lock_guard lock(g_mutex);
  const auto found = creators().find(type);
  return found == creators().end() ? Creator() : found->second;
}

// A constructor of a variable of the client, of which nobody knows the size: nothing is written into it.
UPDRAFT_API void register_creator(void* self, const char* type, const Creator& creator) __asm__(
    "_ZN2ge23OperatorCreatorRegisterC1EPKcRKSt8functionIFNS_8OperatorERKNS_12AscendStringEEE");
void register_creator(void*, const char* type, const Creator& creator) { add_creator(type, creator); }

}  // namespace ge
