// The keys under which processes import each other's memory.
#include <string>

#include "acl/acl.h"
#include "input.h"

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  fuzz::environment();
  aclInit(nullptr);
  aclrtSetDevice(0);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static void* memory = [] {
    void* p = nullptr;
    aclrtMalloc(&p, 1 << 20, ACL_MEM_MALLOC_HUGE_FIRST);
    return p;
  }();
  // Half of the inputs are the end of a key that is right so far: the process and its file.
  char key[128] = {};
  fuzz::documented("aclrtIpcMemGetExportKey", aclrtIpcMemGetExportKey(memory, 1 << 20, key, sizeof key, 0));
  std::string text(reinterpret_cast<const char*>(data), size);
  if (size && data[0] & 1) {
    std::string right = key;
    right.resize(right.rfind(':', right.rfind(':') - 1) + 1);
    text = right + text.substr(1);
  }
  void* p = nullptr;
  int code = aclrtIpcMemImportByKey(&p, text.c_str(), 0);
  fuzz::documented("aclrtIpcMemImportByKey", code);
  if (code == 0) {
    char back = 0;
    fuzz::documented("aclrtMemcpy", aclrtMemcpy(&back, 1, p, 1, ACL_MEMCPY_DEVICE_TO_HOST));
    if (int end = aclrtIpcMemClose(text.c_str())) fuzz::wrong("aclrtIpcMemClose", end);
  }
  return 0;
}
