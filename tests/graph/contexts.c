/* One loaded model, executed from several threads: each has a context, a stream, and memory of its own.
 *
 *   contexts MODEL.om THREADS EXECUTIONS
 *
 * Each thread first executes the model while nobody else does, and then all at once, in turn by aclmdlExecute and
 * aclmdlExecuteAsync: every result has to have the bits of the first. Prints executions per second, alone and together,
 * and a sum of the bits of all first results.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "acl/acl.h"

enum { kMost = 16 };
static const char* path;
static uint32_t model;
static int threads, executions;
static pthread_barrier_t barrier;

#define CHECK(call)                                                                                 \
  do {                                                                                              \
    const int code = (call);                                                                        \
    if (code != 0) {                                                                                \
      const char* text = aclGetRecentErrMsg();                                                      \
      fprintf(stderr, "%s:%d: %s gives %d: %s\n", __FILE__, __LINE__, #call, code, text ? text : ""); \
      exit(1);                                                                                      \
    }                                                                                               \
  } while (0)
#define FAIL(...) (fprintf(stderr, __VA_ARGS__), exit(1))

struct set {
  aclmdlDataset* dataset;
  void* memory[kMost];
  size_t bytes[kMost], count;
};

static void add(struct set* set, size_t bytes) {
  void* memory = NULL;
  if (set->count == kMost) FAIL("more than %d inputs or outputs\n", kMost);
  CHECK(aclrtMalloc(&memory, bytes ? bytes : 1, ACL_MEM_MALLOC_HUGE_FIRST));
  CHECK(aclmdlAddDatasetBuffer(set->dataset, aclCreateDataBuffer(memory, bytes)));
  set->memory[set->count] = memory;
  set->bytes[set->count++] = bytes;
}

/* Numbers of the thread's own: small ones of each type. */
static void fill(void* to, size_t bytes, aclDataType type, uint32_t seed) {
  for (size_t i = 0; i < bytes / aclDataTypeSize(type); ++i) {
    seed = seed * 1664525 + 1013904223;
    if (type == ACL_FLOAT) ((float*)to)[i] = (float)(seed >> 8) / (1 << 23) - 1;
    else if (type == ACL_INT64) ((int64_t*)to)[i] = seed >> 31;
    else if (type == ACL_INT32) ((int32_t*)to)[i] = (int32_t)(seed >> 31);
    else memset((char*)to + i * aclDataTypeSize(type), (int)(seed >> 28), aclDataTypeSize(type));
  }
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

struct result {
  double alone, together; /* seconds */
  uint64_t sum;
};

static void copy_out(const struct set* out, char* to) {
  for (size_t i = 0; i < out->count; to += out->bytes[i++])
    CHECK(aclrtMemcpy(to, out->bytes[i], out->memory[i], out->bytes[i], ACL_MEMCPY_DEVICE_TO_HOST));
}

static void* work(void* argument) {
  struct result* result = argument;
  const uint32_t number = (uint32_t)result->sum;
  aclrtContext context;
  aclrtStream stream;
  CHECK(aclrtCreateContext(&context, 0));
  CHECK(aclrtCreateStream(&stream));
  aclmdlDesc* desc = aclmdlCreateDesc();
  CHECK(aclmdlGetDesc(desc, model));
  struct set in = {aclmdlCreateDataset(), {0}, {0}, 0}, out = {aclmdlCreateDataset(), {0}, {0}, 0};
  size_t bytes = 0;
  for (size_t i = 0; i < aclmdlGetNumInputs(desc); ++i) {
    add(&in, aclmdlGetInputSizeByIndex(desc, i));
    void* values = calloc(in.bytes[i] + 8, 1);
    fill(values, in.bytes[i], aclmdlGetInputDataType(desc, i), 17 * number + (uint32_t)i);
    CHECK(aclrtMemcpy(in.memory[i], in.bytes[i], values, in.bytes[i], ACL_MEMCPY_HOST_TO_DEVICE));
    free(values);
  }
  for (size_t i = 0; i < aclmdlGetNumOutputs(desc); ++i) {
    add(&out, aclmdlGetOutputSizeByIndex(desc, i));
    bytes += out.bytes[i];
  }
  char *want = calloc(bytes + 1, 1), *got = calloc(bytes + 1, 1);
  for (int turn = 0; turn < threads; ++turn) {
    pthread_barrier_wait(&barrier);
    if (turn != (int)number) continue;
    CHECK(aclmdlExecute(model, in.dataset, out.dataset));
    copy_out(&out, want);
    const double begin = now();
    for (int i = 0; i < executions; ++i) CHECK(aclmdlExecute(model, in.dataset, out.dataset));
    result->alone = now() - begin;
  }
  pthread_barrier_wait(&barrier);
  double spent = 0;
  for (int i = 0; i < executions; ++i) {
    const double begin = now();
    if (i % 2 == 0) {
      CHECK(aclmdlExecute(model, in.dataset, out.dataset));
    } else {
      CHECK(aclmdlExecuteAsync(model, in.dataset, out.dataset, stream));
      CHECK(aclrtSynchronizeStream(stream));
    }
    spent += now() - begin;
    copy_out(&out, got);
    if (memcmp(want, got, bytes) != 0) FAIL("thread %u: result %d differs from that of an execution alone\n", number, i);
    for (size_t o = 0; o < out.count; ++o) CHECK(aclrtMemset(out.memory[o], out.bytes[o], 0xA5, out.bytes[o]));
  }
  result->together = spent;
  uint64_t sum = 1469598103934665603ull;
  for (size_t i = 0; i < bytes; ++i) sum = (sum ^ (unsigned char)want[i]) * 1099511628211ull;
  result->sum = sum;
  pthread_barrier_wait(&barrier);
  for (struct set* set = &in;; set = &out) {
    for (size_t i = 0; i < set->count; ++i) {
      CHECK(aclDestroyDataBuffer(aclmdlGetDatasetBuffer(set->dataset, i)));
      CHECK(aclrtFree(set->memory[i]));
    }
    CHECK(aclmdlDestroyDataset(set->dataset));
    if (set == &out) break;
  }
  CHECK(aclmdlDestroyDesc(desc));
  CHECK(aclrtDestroyStream(stream));
  CHECK(aclrtDestroyContext(context));
  free(want);
  free(got);
  return NULL;
}

int main(int argc, char** argv) {
  if (argc != 4) FAIL("usage: contexts MODEL.om THREADS EXECUTIONS\n");
  path = argv[1];
  threads = atoi(argv[2]);
  executions = atoi(argv[3]);
  if (threads < 1 || threads > 64 || executions < 1) FAIL("want 1 to 64 threads and an execution or more\n");
  CHECK(aclInit(NULL));
  CHECK(aclrtSetDevice(0));
  CHECK(aclmdlLoadFromFile(path, &model));
  pthread_barrier_init(&barrier, NULL, (unsigned)threads);
  pthread_t started[64];
  struct result results[64];
  for (int i = 0; i < threads; ++i) {
    results[i].sum = (uint64_t)i;
    if (pthread_create(&started[i], NULL, work, &results[i]) != 0) FAIL("no thread %d\n", i);
  }
  double alone = 0, together = 0;
  uint64_t sum = 0;
  for (int i = 0; i < threads; ++i) {
    pthread_join(started[i], NULL);
    alone += executions / results[i].alone / threads;
    together += executions / results[i].together;
    sum = sum * 31 + results[i].sum;
  }
  CHECK(aclmdlUnload(model));
  CHECK(aclrtResetDevice(0));
  CHECK(aclFinalize());
  printf("executions per second: %.1f alone, %.1f together (%.2f); results %016llx\n", alone, together, together / alone,
         (unsigned long long)sum);
  return 0;
}
