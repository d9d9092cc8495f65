// What makes and destroys the older std::string. No header of ours that holds a std::string may come before.
#define _GLIBCXX_USE_CXX11_ABI 0
#include <new>
#include <string>

namespace updraft::atb_ops {

static_assert(sizeof(std::string) == 8);

void make_older_text(void* place, const char* text) { new (place) std::string(text); }

/// Hands the characters on, since the caller's std::string is another.
void take_older_characters(void* place, void (*take)(void*, const char*), void* to) {
  auto* text = static_cast<std::string*>(place);
  take(to, text->c_str());
  text->~basic_string();
}

}  // namespace updraft::atb_ops
