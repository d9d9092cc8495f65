/* What a tiny operator costs a C program: both phases of aclnnAdd on 4x4, in the calling thread, through one libupdraft.so.
 *
 *   cc -O2 bench/runtime/adds.c -ldl -o build/adds
 *   build/adds build/release/cann/lib64/libupdraft.so [another libupdraft.so]
 *
 * With two libraries each gets a process of its own and they take turns. The time is the tenth percentile of the rounds,
 * since what others do on the machine only makes rounds slower; the last line is the ratio of both.
 * -DCALLS=… -DROUNDS=… : calls of a round, and rounds, for runs that count instructions (run.py --instructions). */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#ifndef CALLS
#define CALLS 20000
#define ROUNDS 401
#endif
enum { kCalls = CALLS, kRounds = ROUNDS };

static void* symbol(void* library, const char* name) {
  void* p = dlsym(library, name);
  if (!p) {
    fprintf(stderr, "%s\n", dlerror());
    exit(1);
  }
  return p;
}

static void must(int code, const char* what) {
  if (code == 0) return;
  fprintf(stderr, "%s returned %d\n", what, code);
  exit(1);
}

typedef int (*Plan)(void*, void*, void*, void*, uint64_t*, void**);
typedef int (*Launch)(void*, uint64_t, void*, void*);

/* A round for each byte that arrives: answers with nanoseconds a call. */
static void serve(const char* path, int from, int to) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    fprintf(stderr, "%s\n", dlerror());
    exit(1);
  }
  must(((int (*)(const char*))symbol(library, "aclInit"))(NULL), "aclInit");
  must(((int (*)(int))symbol(library, "aclrtSetDevice"))(0), "aclrtSetDevice");
  void *memory = NULL, *stream = NULL, *executor = NULL;
  must(((int (*)(void**, size_t, int))symbol(library, "aclrtMalloc"))(&memory, 64, 0), "aclrtMalloc");
  must(((int (*)(void*, size_t, int, size_t))symbol(library, "aclrtMemset"))(memory, 64, 0, 64), "aclrtMemset");
  must(((int (*)(void**))symbol(library, "aclrtCreateStream"))(&stream), "aclrtCreateStream");
  const int64_t dims[] = {4, 4};
  float one = 1;
  void* tensor = ((void* (*)(const int64_t*, uint64_t, int, const int64_t*, int64_t, int, const int64_t*, uint64_t,
                             void*))symbol(library, "aclCreateTensor"))(dims, 2, 0, NULL, 0, 2, dims, 2, memory);
  void* scalar = ((void* (*)(void*, int))symbol(library, "aclCreateScalar"))(&one, 0);
  const Plan plan = (Plan)symbol(library, "aclnnAddGetWorkspaceSize");
  const Launch launch = (Launch)symbol(library, "aclnnAdd");
  int (*wait)(void*) = (int (*)(void*))symbol(library, "aclrtSynchronizeStream");
  char go;
  while (read(from, &go, 1) == 1) {
    struct timespec a, b;
    uint64_t bytes = 0;
    clock_gettime(CLOCK_MONOTONIC, &a);
    for (int i = 0; i < kCalls; ++i) {
      must(plan(tensor, tensor, scalar, tensor, &bytes, &executor), "aclnnAddGetWorkspaceSize");
      must(launch(NULL, 0, executor, stream), "aclnnAdd");
    }
    must(wait(stream), "aclrtSynchronizeStream");
    clock_gettime(CLOCK_MONOTONIC, &b);
    const double ns = ((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec)) / kCalls;
    if (write(to, &ns, sizeof ns) != sizeof ns) exit(1);
  }
}

static int ascending(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    fprintf(stderr, "usage: adds LIBRARY [OTHER LIBRARY]\n");
    return 2;
  }
  const int libraries = argc - 1;
  int ask[2][2], answer[2][2];
  static double times[2][kRounds];
  for (int l = 0; l < libraries; ++l) {
    if (pipe(ask[l]) || pipe(answer[l])) return 1;
    if (fork() == 0) {
      close(ask[l][1]);
      close(answer[l][0]);
      if (l) close(ask[0][1]);
      serve(argv[1 + l], ask[l][0], answer[l][1]);
      _exit(0);
    }
    close(ask[l][0]);
    close(answer[l][1]);
  }
  for (int round = -1; round < kRounds; ++round) /* the first round warms up */
    for (int k = 0; k < libraries; ++k) {
      const int l = round & 1 ? libraries - 1 - k : k;
      double ns;
      if (write(ask[l][1], "g", 1) != 1 || read(answer[l][0], &ns, sizeof ns) != sizeof ns) return 1;
      if (round >= 0) times[l][round] = ns;
    }
  for (int l = 0; l < libraries; ++l) {
    qsort(times[l], kRounds, sizeof(double), ascending);
    printf("%.1f ns a call (fastest %.1f, slowest %.1f): %s\n", times[l][kRounds / 10], times[l][0], times[l][kRounds - 1],
           argv[1 + l]);
  }
  if (libraries == 2) printf("%.4f\n", times[1][kRounds / 10] / times[0][kRounds / 10]);
  return 0;
}
