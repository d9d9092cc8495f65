#include <dlfcn.h>

#include <new>

#include "atb/interface.h"
#include "atb/older_text.h"

namespace updraft::atb_ops {

void take_older_characters(void* place, void (*take)(void*, const char*), void* to);

std::string take_older_text(void* place) {
  std::string text;
  take_older_characters(
      place, [](void* to, const char* from) { *static_cast<std::string*>(to) = from; }, &text);
  return text;
}

namespace {
/// Whether PyTorch, whose plug-in the client is, was built with the older ABI: its c10::Error takes such a string.
bool older_abi() {
  static const bool is = [] {
    void* c10 = dlopen("libc10.so", RTLD_LAZY | RTLD_NOLOAD);
    const bool found = c10 && dlsym(c10, "_ZN3c105ErrorC1ENS_14SourceLocationESs");
    if (c10) dlclose(c10);
    return found;
  }();
  return is;
}
}  // namespace

}  // namespace updraft::atb_ops

namespace atb {

using namespace updraft::atb_ops;

Text::Text(const std::string& text) {
  if (older_abi()) make_older_text(older_, text.c_str());
  else new (&text_) std::string(text);
}
Text::~Text() {
  if (older_abi()) take_older_text(older_);
  else text_.~basic_string();
}
std::string Text::str() const {
  return older_abi() ? std::string(*reinterpret_cast<const char* const*>(older_)) : text_;
}

}  // namespace atb
