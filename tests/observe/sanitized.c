// Faults for the sanitizer through AscendCL alone: sanitized NAME wrong|clean
#include <acl/acl.h>
#include <aclnnop/aclnn_add.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(call)                                                                         \
  do {                                                                                      \
    int code_ = (call);                                                                     \
    if (code_) fprintf(stderr, "%s: %d %s\n", #call, code_, aclGetRecentErrMsg()), exit(9); \
  } while (0)

enum { kCount = 256, kBytes = kCount * sizeof(float) };
static aclrtStream s, t;
static float *a, *b, *c;
static int wrong;

static aclTensor* tensor(void* at, int64_t count, int64_t storage) {
  int64_t strides[] = {1};
  return aclCreateTensor(&count, 1, ACL_FLOAT, strides, 0, ACL_FORMAT_ND, &storage, 1, at);
}

// out = x + y on the stream; the code of the first phase that fails.
static int add_views(aclTensor* x, aclTensor* y, aclTensor* out, aclrtStream stream) {
  float one = 1;
  aclScalar* alpha = aclCreateScalar(&one, ACL_FLOAT);
  uint64_t bytes = 0;
  aclOpExecutor* executor = NULL;
  int code = aclnnAddGetWorkspaceSize(x, y, alpha, out, &bytes, &executor);
  if (code == 0) code = aclnnAdd(NULL, bytes, executor, stream);
  aclDestroyScalar(alpha);
  aclDestroyTensor(x);
  aclDestroyTensor(y);
  aclDestroyTensor(out);
  return code;
}
static int add(void* x, void* y, void* out, aclrtStream stream) {
  return add_views(tensor(x, kCount, kCount), tensor(y, kCount, kCount), tensor(out, kCount, kCount), stream);
}
static void order(aclrtStream first, aclrtStream then) {
  aclrtEvent event;
  CHECK(aclrtCreateEvent(&event));
  CHECK(aclrtRecordEvent(event, first));
  CHECK(aclrtStreamWaitEvent(then, event));
  CHECK(aclrtSynchronizeStream(then));
  CHECK(aclrtDestroyEvent(event));
}

static void write_read(void) {
  CHECK(aclrtMemsetAsync(a, kBytes, 1, kBytes, s));
  if (!wrong) order(s, t);
  CHECK(add(a, b, c, t));
}
static void read_write(void) {
  CHECK(add(a, b, c, s));
  if (!wrong) order(s, t);
  CHECK(aclrtMemsetAsync(a, kBytes, 1, kBytes, t));
}
static void write_write(void) {
  CHECK(aclrtMemsetAsync(a, kBytes, 1, wrong ? kBytes : kBytes / 2, s));
  CHECK(aclrtMemsetAsync(a + kCount / 2, kBytes / 2, 2, kBytes / 2, t));
}
static void event_too_early(void) {
  aclrtEvent event;
  CHECK(aclrtCreateEvent(&event));
  if (wrong) CHECK(aclrtRecordEvent(event, s));
  CHECK(aclrtMemsetAsync(a, kBytes, 1, kBytes, s));
  if (!wrong) CHECK(aclrtRecordEvent(event, s));
  CHECK(aclrtStreamWaitEvent(t, event));
  CHECK(add(a, b, c, t));
  CHECK(aclrtSynchronizeStream(t));
  CHECK(aclrtDestroyEvent(event));
}
static void no_notify(void) {
  aclrtNotify notify;
  CHECK(aclrtCreateNotify(&notify, 0));
  CHECK(aclrtMemsetAsync(a, kBytes, 1, kBytes, s));
  CHECK(aclrtRecordNotify(notify, s));
  if (!wrong) CHECK(aclrtWaitAndResetNotify(notify, t, 0));
  CHECK(add(a, b, c, t));
  CHECK(aclrtSynchronizeStream(t));
  CHECK(aclrtSynchronizeStream(s));
  CHECK(aclrtDestroyNotify(notify));
}
static void value_not_waited_for(void) {
  uint64_t* flag;
  CHECK(aclrtMalloc((void**)&flag, 64, 0));
  CHECK(aclrtMemset(flag, 64, 0, 64));
  CHECK(aclrtMemsetAsync(a, kBytes, 1, kBytes, s));
  CHECK(aclrtValueWrite(flag, 1, 0, s));
  if (!wrong) CHECK(aclrtValueWait(flag, 1, 1, t));
  CHECK(add(a, b, c, t));
  CHECK(aclrtSynchronizeStream(t));
  CHECK(aclrtSynchronizeStream(s));
  CHECK(aclrtFree(flag));
}
static void host_copy_before_the_stream(void) {
  float host[kCount];
  CHECK(add(a, b, c, s));
  if (!wrong) CHECK(aclrtSynchronizeStream(s));
  CHECK(aclrtMemcpy(host, kBytes, c, kBytes, ACL_MEMCPY_DEVICE_TO_HOST));
}
static void captured_graph(void) {
  aclmdlRI graph;
  CHECK(aclmdlRICaptureBegin(s, 0));
  CHECK(add(a, b, c, s));
  CHECK(aclmdlRICaptureEnd(s, &graph));
  CHECK(aclmdlRIExecuteAsync(graph, s));
  if (!wrong) order(s, t);
  CHECK(aclrtMemsetAsync(c, kBytes, 1, kBytes, t));
  CHECK(aclrtSynchronizeDevice());
  CHECK(aclmdlRIDestroy(graph));
}
// c = a + b on s, then a = c + b on t, in one graph.
static void streams_of_one_graph(void) {
  aclmdlRI graph;
  aclrtEvent fork, between, join;
  CHECK(aclrtCreateEvent(&fork));
  CHECK(aclrtCreateEvent(&between));
  CHECK(aclrtCreateEvent(&join));
  CHECK(aclmdlRICaptureBegin(s, 0));
  CHECK(aclrtRecordEvent(fork, s));
  CHECK(aclrtStreamWaitEvent(t, fork));
  CHECK(add(a, b, c, s));
  if (!wrong) {
    CHECK(aclrtRecordEvent(between, s));
    CHECK(aclrtStreamWaitEvent(t, between));
  }
  CHECK(add(c, b, a, t));
  CHECK(aclrtRecordEvent(join, t));
  CHECK(aclrtStreamWaitEvent(s, join));
  CHECK(add(a, c, b, s));
  CHECK(aclmdlRICaptureEnd(s, &graph));
  for (int i = 0; i < 2; ++i) CHECK(aclmdlRIExecuteAsync(graph, s));
  CHECK(aclrtMemsetAsync(a, kBytes, 1, kBytes, s));
  CHECK(aclrtSynchronizeStream(s));
  CHECK(aclmdlRIDestroy(graph));
  CHECK(aclrtDestroyEvent(fork));
  CHECK(aclrtDestroyEvent(between));
  CHECK(aclrtDestroyEvent(join));
}
static void freed_under_a_stream(void) {
  float* d;
  CHECK(aclrtMalloc((void**)&d, kBytes, 0));
  CHECK(add(a, b, d, s));
  if (!wrong) CHECK(aclrtSynchronizeStream(s));
  CHECK(aclrtFree(d));
}
static void used_after_free(void) {
  float* d;
  CHECK(aclrtMalloc((void**)&d, kBytes, 0));
  CHECK(aclrtMemset(d, kBytes, 0, kBytes));
  if (!wrong) CHECK(add(a, d, c, s));
  CHECK(aclrtSynchronizeStream(s));
  CHECK(aclrtFree(d));
  if (wrong && add(a, d, c, s) == 0) exit(8);
}
static void pinned_freed_under_a_copy(void) {
  void* host;
  CHECK(aclrtMallocHost(&host, kBytes));
  CHECK(aclrtMemcpyAsync(host, kBytes, a, kBytes, ACL_MEMCPY_DEVICE_TO_HOST, s));
  if (!wrong) CHECK(aclrtSynchronizeStream(s));
  CHECK(aclrtFreeHost(host));
}
static void never_written(void) {
  float* d;
  CHECK(aclrtMalloc((void**)&d, kBytes, 0));
  if (!wrong) CHECK(aclrtMemset(d, kBytes, 0, kBytes));
  CHECK(add(a, d, c, s));
  CHECK(aclrtSynchronizeStream(s));
  CHECK(aclrtFree(d));
}
static void half_written(void) {
  float* d;
  CHECK(aclrtMalloc((void**)&d, kBytes, 0));
  CHECK(aclrtMemsetAsync(d, kBytes, 0, wrong ? kBytes / 2 : kBytes, s));
  CHECK(add(a, d, c, s));
  CHECK(aclrtSynchronizeStream(s));
  CHECK(aclrtFree(d));
}
static void unwritten_to_the_host(void) {
  float host[kCount], *d;
  CHECK(aclrtMalloc((void**)&d, kBytes, 0));
  if (!wrong) CHECK(aclrtMemcpy(d, kBytes, host, kBytes, ACL_MEMCPY_HOST_TO_DEVICE));
  CHECK(aclrtMemcpy(host, kBytes, d, kBytes, ACL_MEMCPY_DEVICE_TO_HOST));
  CHECK(aclrtFree(d));
}
static void beyond_the_allocation(void) {
  const int64_t many = wrong ? kCount * 64 : kCount;
  const int code = add_views(tensor(a, many, many), tensor(a, many, many), tensor(a, many, many), s);
  if ((code != 0) != wrong) exit(8);
}
static void beyond_the_storage(void) {
  CHECK(add_views(tensor(a, kCount, wrong ? kCount / 2 : kCount), tensor(b, kCount, kCount), tensor(c, kCount, kCount),
                  s));
}
static void copy_of_too_much(void) {
  static char host[1 << 16];
  const int code = aclrtMemcpy(a, sizeof host, host, wrong ? sizeof host : kBytes, ACL_MEMCPY_HOST_TO_DEVICE);
  if ((code != 0) != wrong) exit(8);
}
static void leaked_stream(void) {
  aclrtStream made;
  CHECK(aclrtCreateStream(&made));
  if (!wrong) CHECK(aclrtDestroyStream(made));
}
static void leaked_event(void) {
  aclrtEvent made;
  CHECK(aclrtCreateEvent(&made));
  if (!wrong) CHECK(aclrtDestroyEvent(made));
}
static void leaked_context(void) {
  aclrtContext made, before;
  CHECK(aclrtGetCurrentContext(&before));
  CHECK(aclrtCreateContext(&made, 0));
  CHECK(aclrtSetCurrentContext(before));
  if (!wrong) CHECK(aclrtDestroyContext(made));
}
static void leaked_memory(void) {
  void* d;
  CHECK(aclrtMalloc(&d, kBytes, 0));
  if (!wrong) CHECK(aclrtFree(d));
}
static void leaked_pinned_memory(void) {
  void* d;
  CHECK(aclrtMallocHost(&d, kBytes));
  if (!wrong) CHECK(aclrtFreeHost(d));
}
static void leaked_tensor(void) {
  aclTensor* made = tensor(a, kCount, kCount);
  if (!wrong) CHECK(aclDestroyTensor(made));
}
static void leaked_scalar(void) {
  float one = 1;
  aclScalar* made = aclCreateScalar(&one, ACL_FLOAT);
  if (!wrong) CHECK(aclDestroyScalar(made));
}
static void leaked_tensor_list(void) {
  const aclTensor* both[] = {tensor(a, kCount, kCount), tensor(b, kCount, kCount)};
  aclTensorList* made = aclCreateTensorList(both, 2);
  if (!wrong) {
    CHECK(aclDestroyTensorList(made));
    return;
  }
  for (int i = 0; i < 2; ++i) CHECK(aclDestroyTensor(both[i]));
}
static void leaked_executor(void) {
  float one = 1;
  aclTensor *x = tensor(a, kCount, kCount), *y = tensor(b, kCount, kCount), *out = tensor(c, kCount, kCount);
  aclScalar* alpha = aclCreateScalar(&one, ACL_FLOAT);
  uint64_t bytes = 0;
  aclOpExecutor* executor = NULL;
  CHECK(aclnnAddGetWorkspaceSize(x, y, alpha, out, &bytes, &executor));
  if (!wrong) CHECK(aclDestroyAclOpExecutor(executor));
  for (int i = 0; i < 3; ++i) CHECK(aclDestroyTensor((aclTensor*[]){x, y, out}[i]));
  CHECK(aclDestroyScalar(alpha));
}
static void pinned_used_twice(void) {
  float* host;
  CHECK(aclrtMallocHost((void**)&host, kBytes));
  CHECK(aclrtMemcpyAsync(host, kBytes, a, kBytes, ACL_MEMCPY_DEVICE_TO_HOST, s));
  if (!wrong) CHECK(aclrtSynchronizeStream(s));
  CHECK(aclrtMemcpyAsync(c, kBytes, host, kBytes, ACL_MEMCPY_HOST_TO_DEVICE, t));
  CHECK(aclrtSynchronizeDevice());
  CHECK(aclrtFreeHost(host));
}
static void pinned_read_too_early(void) {
  float *host, *rest;
  CHECK(aclrtMallocHost((void**)&host, kBytes));
  CHECK(aclrtMallocHost((void**)&rest, kBytes));
  rest[0] = 3; /* nothing is on its way there */
  CHECK(aclrtMemcpyAsync(host, kBytes, a, kBytes, ACL_MEMCPY_DEVICE_TO_HOST, s));
  if (!wrong) CHECK(aclrtSynchronizeStream(s));
  volatile float* from = host;
  printf("%f %f\n", (double)from[3], (double)rest[0]);
  CHECK(aclrtSynchronizeStream(s));
  host[3] = 1;
  CHECK(aclrtFreeHost(host));
  CHECK(aclrtFreeHost(rest));
}
static void pinned_changed_too_early(void) {
  float* host;
  aclrtEvent event;
  CHECK(aclrtCreateEvent(&event));
  CHECK(aclrtMallocHost((void**)&host, kBytes));
  memset(host, 0, kBytes);
  for (int i = 0; i < 3; ++i) {
    CHECK(aclrtMemcpyAsync(c, kBytes, host, kBytes, ACL_MEMCPY_HOST_TO_DEVICE, s));
    CHECK(aclrtRecordEvent(event, s));
    volatile float* look = host; /* a card may read it, too */
    if (look[1] > 8) exit(9);
    if (!wrong) CHECK(aclrtSynchronizeEvent(event));
    host[1] = (float)i;
  }
  CHECK(aclrtSynchronizeStream(s));
  float seen[kCount];
  CHECK(aclrtMemcpy(seen, kBytes, c, kBytes, ACL_MEMCPY_DEVICE_TO_HOST));
  if (!wrong && seen[1] != 1) exit(9);
  CHECK(aclrtFreeHost(host));
  CHECK(aclrtDestroyEvent(event));
}
static void host_function(void* data) { ((float*)data)[2] += 1; }
static void pinned_part_read_too_early(void) {
  /* a part of it, in and out, with a host function in between, which the stream orders */
  enum { kMany = 8192 };
  float *host, *d;
  CHECK(aclrtMallocHost((void**)&host, kMany * 4));
  CHECK(aclrtMalloc((void**)&d, kMany * 4, 0));
  CHECK(aclrtMemset(d, kMany * 4, 0, kMany * 4));
  CHECK(aclrtMemcpyAsync(host, kMany * 4, d, kMany * 4, ACL_MEMCPY_DEVICE_TO_HOST, s));
  CHECK(aclrtMemcpyAsync(d, kMany * 2, host, kMany * 2, ACL_MEMCPY_HOST_TO_DEVICE, s));
  CHECK(aclrtMemcpyAsync(host, kMany * 2, d, kMany * 2, ACL_MEMCPY_DEVICE_TO_HOST, s));
  if (!wrong) CHECK(aclrtLaunchHostFunc(s, host_function, host));
  if (!wrong) CHECK(aclrtSynchronizeDevice());
  float copy[64];
  memcpy(copy, host + kMany - 64, sizeof copy);
  CHECK(aclrtSynchronizeDevice());
  if (copy[0] != 0 || host[2] != (wrong ? 0 : 1)) exit(9);
  CHECK(aclrtFreeHost(host));
  CHECK(aclrtFree(d));
}
static void host_reads_the_device(void) {
  float host[kCount];
  CHECK(aclrtMemcpy(host, kBytes, a, kBytes, ACL_MEMCPY_DEVICE_TO_HOST));
  volatile float* from = wrong ? a : host;
  printf("%f\n", (double)from[3]);
}

#define CASE(name) \
  { #name, name }
static const struct {
  const char* name;
  void (*run)(void);
} kCases[] = {CASE(write_read),
              CASE(read_write),
              CASE(write_write),
              CASE(event_too_early),
              CASE(no_notify),
              CASE(value_not_waited_for),
              CASE(host_copy_before_the_stream),
              CASE(captured_graph),
              CASE(streams_of_one_graph),
              CASE(freed_under_a_stream),
              CASE(used_after_free),
              CASE(pinned_freed_under_a_copy),
              CASE(never_written),
              CASE(half_written),
              CASE(unwritten_to_the_host),
              CASE(beyond_the_allocation),
              CASE(beyond_the_storage),
              CASE(copy_of_too_much),
              CASE(leaked_stream),
              CASE(leaked_event),
              CASE(leaked_context),
              CASE(leaked_memory),
              CASE(leaked_pinned_memory),
              CASE(leaked_tensor),
              CASE(leaked_scalar),
              CASE(leaked_tensor_list),
              CASE(leaked_executor),
              CASE(pinned_used_twice),
              CASE(pinned_read_too_early),
              CASE(pinned_changed_too_early),
              CASE(pinned_part_read_too_early),
              CASE(host_reads_the_device)};

int main(int argc, char** argv) {
  if (argc < 3) return 7;
  wrong = strcmp(argv[2], "wrong") == 0;
  CHECK(aclInit(NULL));
  CHECK(aclrtSetDevice(0));
  CHECK(aclrtCreateStream(&s));
  CHECK(aclrtCreateStream(&t));
  float** all[] = {&a, &b, &c};
  for (int i = 0; i < 3; ++i) {
    CHECK(aclrtMalloc((void**)all[i], kBytes, 0));
    CHECK(aclrtMemset(*all[i], kBytes, 0, kBytes));
  }
  int known = 0;
  for (size_t i = 0; i < sizeof kCases / sizeof *kCases; ++i)
    if (strcmp(argv[1], kCases[i].name) == 0) kCases[i].run(), known = 1;
  CHECK(aclrtSynchronizeDevice());
  for (int i = 0; i < 3; ++i) CHECK(aclrtFree(*all[i]));
  CHECK(aclrtDestroyStream(s));
  CHECK(aclrtDestroyStream(t));
  CHECK(aclrtResetDevice(0));
  CHECK(aclFinalize());
  return known ? 0 : 6;
}
