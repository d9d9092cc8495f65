// Opens a client by dlopen, as Python and ONNX Runtime do: nothing of C++ is in the process before.
#include <dlfcn.h>
#include <stdio.h>

int main(int count, char** words) {
  void* client = dlopen(words[count - 1], RTLD_NOW | RTLD_LOCAL);
  if (!client) return puts(dlerror()), 1;
  int (*run)(void) = (int (*)(void))dlsym(client, "run");
  return run ? run() : (puts(dlerror()), 1);
}
