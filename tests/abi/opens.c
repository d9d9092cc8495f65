// Opens libraries by dlopen and makes calls through their handles that are refused, in the ways that clients do.
// usage: opens lazy|now local|global NAME PATH   one library: calls NAME, then aclrtMalloc without a device
//        opens threads PATH…                     all libraries, in two threads at once, in opposite orders
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int (*Call)(void*, void*, void*, void*, void*, void*, void*, void*);

static void* find(void* library, const char* name) {
  void* symbol = dlsym(library, name);
  if (!symbol) {
    fprintf(stderr, "%s\n", dlerror());
    exit(3);
  }
  return symbol;
}

static void* open_library(const char* path, int flags) {
  void* library = dlopen(path, flags);
  if (!library) {
    fprintf(stderr, "%s\n", dlerror());
    exit(3);
  }
  return library;
}

static const char* error_text(void* library) {
  const char* (*recent)(void) = (const char* (*)(void))find(library, "aclGetRecentErrMsg");
  const char* text = recent();
  return text ? text : "";
}

static int allocate(void* library) {
  int (*allocate)(void**, size_t, int) = (int (*)(void**, size_t, int))find(library, "aclrtMalloc");
  void* memory = NULL;
  return allocate(&memory, 16, 0);
}

// 0 when the unwinder knows the code at this address (glibc 2.35 and later).
static int unknown_to_unwinder(void* address) {
  char object[256];
  int (*lookup)(void*, void*) = (int (*)(void*, void*))dlsym(RTLD_DEFAULT, "_dl_find_object");
  return lookup && lookup(address, object) != 0;
}

static int one(int flags, const char* name, const char* path) {
  void* library = open_library(path, flags);
  Call refused = (Call)find(library, name);
  Dl_info where;
  if (!dladdr((void*)refused, &where) || !strstr(where.dli_fname, "/libupdraft.so")) {
    fprintf(stderr, "%s is not in libupdraft.so\n", name);
    return 4;
  }
  if (unknown_to_unwinder((void*)refused)) {
    fprintf(stderr, "the unwinder does not know %s\n", where.dli_fname);
    return 5;
  }
  int code = refused(0, 0, 0, 0, 0, 0, 0, 0);
  printf("%d %s\n", code, error_text(library));
  code = allocate(library);
  printf("%d %s\n", code, error_text(library));
  return 0;
}

struct Work {
  char** paths;
  int count, backwards, failed;
};

static pthread_barrier_t together;

static void* open_all(void* argument) {
  struct Work* work = argument;
  pthread_barrier_wait(&together);
  for (int i = 0; i < work->count; ++i) {
    void* library = open_library(work->paths[work->backwards ? work->count - 1 - i : i], work->backwards ? RTLD_NOW : RTLD_LAZY);
    if (allocate(library) != 107002 || !strstr(error_text(library), "aclrtMalloc")) ++work->failed;
  }
  return NULL;
}

static int threads(int count, char** paths) {
  struct Work work[2] = {{paths, count, 0, 0}, {paths, count, 1, 0}};
  pthread_t thread[2];
  pthread_barrier_init(&together, NULL, 2);
  for (int i = 0; i < 2; ++i) pthread_create(&thread[i], NULL, open_all, &work[i]);
  for (int i = 0; i < 2; ++i) pthread_join(thread[i], NULL);
  printf("%d %d\n", work[0].failed, work[1].failed);
  return work[0].failed + work[1].failed != 0;
}

int main(int count, char** arguments) {
  if (count > 2 && !strcmp(arguments[1], "threads")) return threads(count - 2, arguments + 2);
  if (count != 5) return 2;
  int flags = strcmp(arguments[1], "now") ? RTLD_LAZY : RTLD_NOW;
  flags |= strcmp(arguments[2], "global") ? RTLD_LOCAL : RTLD_GLOBAL;
  return one(flags, arguments[3], arguments[4]);
}
