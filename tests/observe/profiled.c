/* A C program that profiles itself: operators, steps, marks and ranges; then every call in the wrong order. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pthread.h>

#include "acl/acl.h"
#include "acl/acl_prof.h"
#include "aclnnop/aclnn_add.h"

#define WANT(call, code)                                                                                    \
  do {                                                                                                      \
    const int got = (int)(call);                                                                            \
    if (got != (code)) {                                                                                    \
      const char* text = aclGetRecentErrMsg();                                                              \
      fprintf(stderr, "%d: %s gave %d, want %d: %s\n", __LINE__, #call, got, (code), text ? text : "");     \
      exit(1);                                                                                              \
    }                                                                                                       \
  } while (0)
#define OK(call) WANT(call, 0)

static aclrtStream stream;

static void add(int64_t n) {
  void *a, *b;
  OK(aclrtMalloc(&a, (size_t)n * 4, ACL_MEM_MALLOC_HUGE_FIRST));
  OK(aclrtMalloc(&b, (size_t)n * 4, ACL_MEM_MALLOC_HUGE_FIRST));
  const int64_t stride = 1;
  aclTensor* x = aclCreateTensor(&n, 1, ACL_FLOAT, &stride, 0, ACL_FORMAT_ND, &n, 1, a);
  aclTensor* y = aclCreateTensor(&n, 1, ACL_FLOAT, &stride, 0, ACL_FORMAT_ND, &n, 1, b);
  float one = 1;
  aclScalar* alpha = aclCreateScalar(&one, ACL_FLOAT);
  uint64_t size = 0;
  aclOpExecutor* executor = NULL;
  OK(aclnnAddGetWorkspaceSize(x, y, alpha, y, &size, &executor));
  OK(aclnnAdd(NULL, size, executor, stream));
  OK(aclrtSynchronizeStream(stream));
  aclDestroyTensor(x);
  aclDestroyTensor(y);
  aclDestroyScalar(alpha);
  OK(aclrtFree(a));
  OK(aclrtFree(b));
}

static void* other_thread(void* unused) {
  (void)unused;
  OK(aclrtSetDevice(0));
  for (int i = 0; i < 100; ++i) add(16);
  return NULL;
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const char* out = argv[1];
  OK(aclInit(NULL));
  OK(aclrtSetDevice(0));
  OK(aclrtCreateStream(&stream));
  uint32_t device = 0, none = 99;
  const uint64_t all = 0x1 | 0x2 | 0x4 | 0x20 | 0x80;

  /* before anything runs */
  WANT(aclprofFinalize(), 100043);
  WANT(aclprofInit(NULL, 3), 107000);
  WANT(aclprofInit("", 0), 100000);
  WANT(aclprofInit("/proc/nowhere", 13), 100003);
  if (aclprofCreateConfig(&none, 1, ACL_AICORE_NONE, NULL, all)) return 3;
  if (aclprofCreateConfig(&device, 1, (aclprofAicoreMetrics)77, NULL, all)) return 4;
  aclprofConfig* config = aclprofCreateConfig(&device, 1, ACL_AICORE_PIPE_UTILIZATION, NULL, all);
  if (!config) return 5;
  WANT(aclprofStart(config), 100043);
  WANT(aclprofStart((aclprofConfig*)&device), 100000);
  WANT(aclprofSetConfig(ACL_PROF_SYS_HARDWARE_MEM_FREQ, "101", 3), 100010);
  WANT(aclprofSetConfig(ACL_PROF_STORAGE_LIMIT, "199MB", 5), 100010);
  WANT(aclprofSetConfig((aclprofConfigType)99, "1", 1), 100000);
  WANT(aclprofSetConfig(ACL_PROF_LOW_POWER_FREQ, "1", 1), 200007);
  OK(aclprofSetConfig(ACL_PROF_SYS_HARDWARE_MEM_FREQ, "50", 2));
  OK(aclprofSetConfig(ACL_PROF_HOST_SYS, "cpu,mem", 7));
  aclprofStepInfo* step = aclprofCreateStepInfo();
  OK(aclprofGetStepTimestamp(step, ACL_STEP_START, stream)); /* nobody profiles: no error, no record */

  OK(aclprofInit(out, strlen(out)));
  WANT(aclprofInit(out, strlen(out)), 100042);
  OK(aclprofStart(config));
  WANT(aclprofStart(config), 100042);

  void* tools = dlopen("libms_tools_ext.so", RTLD_NOW | RTLD_LOCAL);
  if (!tools) return fprintf(stderr, "%s\n", dlerror()), 6;
  void (*mark)(const char*, void*) = (void (*)(const char*, void*))dlsym(tools, "mstxMarkA");
  uint64_t (*start)(const char*, void*) = (uint64_t(*)(const char*, void*))dlsym(tools, "mstxRangeStartA");
  void (*end)(uint64_t) = (void (*)(uint64_t))dlsym(tools, "mstxRangeEnd");
  void* (*domain)(const char*) = (void* (*)(const char*))dlsym(tools, "mstxDomainCreateA");
  uint64_t (*domain_start)(void*, const char*, void*) = (uint64_t(*)(void*, const char*, void*))dlsym(tools, "mstxDomainRangeStartA");
  void (*domain_end)(void*, uint64_t) = (void (*)(void*, uint64_t))dlsym(tools, "mstxDomainRangeEnd");
  void (*destroy)(void*) = (void (*)(void*))dlsym(tools, "mstxDomainDestroy");

  OK(aclprofGetStepTimestamp(step, ACL_STEP_START, stream));
  add(1000);
  mark("a \"mark\", with a comma", NULL);
  const uint64_t range = start("on the stream", stream);
  add(2000);
  end(range);
  end(range);    /* twice */
  end(12345678); /* never begun */
  mark(NULL, NULL);
  void* own = domain("own");
  const uint64_t inside = domain_start(own, "in a domain", NULL);
  domain_end(own, inside);
  destroy(own);
  domain_start(own, "gone", NULL);
  OK(aclprofGetStepTimestamp(step, ACL_STEP_END, stream));
  OK(aclprofMarkEx("extended", 8, stream));
  WANT(aclprofMarkEx("extended", 0, stream), 100000);

  void* stamp = aclprofCreateStamp();
  OK(aclprofSetStampTraceMessage(stamp, "pushed", 6));
  OK(aclprofMark(stamp));
  OK(aclprofPush(stamp));
  OK(aclprofPop());
  WANT(aclprofPop(), 100000);
  uint32_t id;
  OK(aclprofRangeStart(stamp, &id));
  OK(aclprofRangeStop(id));
  WANT(aclprofRangeStop(id), 100000);
  aclprofDestroyStamp(stamp);
  WANT(aclprofMark(stamp), 100000);

  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, other_thread, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);

  OK(aclprofStop(config));
  WANT(aclprofStop(config), 100043);
  add(3000); /* not recorded */
  OK(aclprofStart(config));
  add(4000); /* goes on in the same folder */
  OK(aclprofStop(config));
  aclprofDestroyStepInfo(step);
  OK(aclprofDestroyConfig(config));
  WANT(aclprofDestroyConfig(config), 100000);
  OK(aclprofFinalize());
  OK(aclrtDestroyStream(stream));
  OK(aclrtResetDevice(0));
  OK(aclFinalize());
  puts("done");
  return 0;
}
