// Sequences of AscendCL calls with absurd values: stale, null and foreign handles, double frees, wrong sizes and
// offsets, captures that end anyhow. Nothing crashes, nothing hangs, every code is one that is documented.
#include <vector>

#include "acl/acl.h"
#include "acl/acl_op_compiler.h"
#include "aclnn/acl_meta.h"
#include "input.h"

extern "C" int aclnnInplaceAddsGetWorkspaceSize(aclTensor*, const aclScalar*, const aclScalar*, uint64_t*,
                                                aclOpExecutor**);
extern "C" int aclnnInplaceAdds(void*, uint64_t, aclOpExecutor*, aclrtStream);

namespace {

#define CALL(function, ...) fuzz::documented(#function, function(__VA_ARGS__))

class Session {
 public:
  explicit Session(fuzz::Input& in) : in_(in) {}

  void run() {
    for (int calls = 0; !in_.empty() && calls < 200; ++calls) step();
    for (void* s : streams_) {
      aclmdlRI graph = nullptr;
      aclmdlRICaptureEnd(s, &graph);
      graphs_.push_back(graph);
    }
    aclrtSynchronizeDevice();
    for (aclOpExecutor* e : executors_) aclDestroyAclOpExecutor(e);
    for (void* s : streams_) aclrtDestroyStream(s);
    for (void* g : graphs_) aclmdlRIDestroy(g);
    for (void* e : events_) aclrtDestroyEvent(e);
    for (void* p : memory_) aclrtFree(p);
    for (void* p : host_) aclrtFreeHost(p);
    for (void* p : mapped_) aclrtUnmapMem(p);
    for (void* p : reserved_) aclrtReleaseMemAddress(p);
    for (void* p : physical_) aclrtFreePhysical(p);
    for (aclTensor* t : tensors_) aclDestroyTensor(t);
    for (aclTensorDesc* d : descs_) aclDestroyTensorDesc(d);
    for (void* c : contexts_) aclrtDestroyContext(c);
    aclrtSetDevice(0);
    fuzz::documented("aclrtSynchronizeDevice", aclrtSynchronizeDevice());
  }

 private:
  // A handle that was made once (alive or not), sometimes null, foreign or beside a real one.
  template <class T>
  T any(const std::vector<T>& made) {
    static char foreign[64];
    if (made.empty() || in_.one_in(16)) return nullptr;
    T handle = made[in_.byte() % made.size()];
    if (in_.one_in(24)) return reinterpret_cast<T>(foreign);
    if (in_.one_in(24))
      return reinterpret_cast<T>(reinterpret_cast<uintptr_t>(handle) + static_cast<uintptr_t>(in_.odd_number()));
    return handle;
  }
  template <class T>
  void keep(std::vector<T>& made, T handle) {
    if (handle && made.size() < 24) made.push_back(handle);
  }
  size_t bytes() {
    return in_.one_in(4) ? static_cast<size_t>(in_.odd_number()) : static_cast<size_t>(in_.below(200)) * 16;
  }
  // An address in a device's window: allocated, freed, mapped or none of them. (What lies outside would be memory of
  // the host, which is the client's own.)
  void* address() {
    static constexpr uintptr_t offsets[] = {0, 0, 0, 1, 8, 255, 512, 65536, 1 << 20, 1 << 27};
    const auto& made = in_.one_in(4) ? mapped_ : memory_;
    if (made.empty() || in_.one_in(16)) return nullptr;
    return static_cast<char*>(made[in_.byte() % made.size()]) + offsets[in_.below(10)];
  }
  static constexpr size_t kHost = 1 << 16;
  static char* host() {
    static char memory[kHost];
    return memory;
  }
  aclrtMemcpyKind kind() { return static_cast<aclrtMemcpyKind>(in_.below(10) - 1); }

  void step() {
    void* made = nullptr;
    switch (in_.below(60)) {
      case 0:
        CALL(aclrtMalloc, &made, bytes(), static_cast<aclrtMemMallocPolicy>(in_.byte()));
        keep(memory_, made);
        break;
      case 1: CALL(aclrtFree, any(memory_)); break;
      case 2:
        CALL(aclrtMallocHost, &made, bytes());
        keep(host_, made);
        break;
      case 3: CALL(aclrtFreeHost, any(host_)); break;
      case 4:
        CALL(aclrtCreateStream, &made);
        keep(streams_, made);
        break;
      case 5:
        CALL(aclrtCreateStreamWithConfig, &made, in_.number<uint32_t>(), in_.number<uint32_t>());
        keep(streams_, made);
        break;
      case 6: CALL(aclrtDestroyStream, any(streams_)); break;
      case 7: CALL(aclrtDestroyStreamForce, any(streams_)); break;
      case 8: CALL(aclrtSynchronizeStream, any(streams_)); break;
      case 9: CALL(aclrtSynchronizeStreamWithTimeout, any(streams_), in_.below(4) - 2); break;
      case 10: CALL(aclrtStreamAbort, any(streams_)); break;
      case 11:
        CALL(aclrtCreateEvent, &made);
        keep(events_, made);
        break;
      case 12:
        CALL(aclrtCreateEventExWithFlag, &made, in_.number<uint32_t>());
        keep(events_, made);
        break;
      case 13: CALL(aclrtDestroyEvent, any(events_)); break;
      case 14:
      case 15: CALL(aclrtRecordEvent, any(events_), any(streams_)); break;
      case 16:
      case 17: CALL(aclrtStreamWaitEvent, any(streams_), any(events_)); break;
      case 18: CALL(aclrtResetEvent, any(events_), any(streams_)); break;
      case 19: CALL(aclrtSynchronizeEvent, any(events_)); break;
      case 20: {
        float ms = 0;
        CALL(aclrtEventElapsedTime, &ms, any(events_), any(events_));
        break;
      }
      case 21: {
        aclrtEventRecordedStatus status;
        CALL(aclrtQueryEventStatus, any(events_), in_.one_in(16) ? nullptr : &status);
        break;
      }
      case 22:
      case 23: {  // host side within its buffer, device side anywhere
        size_t n = std::min(bytes(), kHost);
        bool to = in_.byte() & 1;
        void* p = address();
        CALL(aclrtMemcpy, to ? p : host(), bytes() | n, to ? host() : p, n, kind());
        break;
      }
      case 24:
      case 25: {
        size_t n = std::min(bytes(), kHost);
        bool to = in_.byte() & 1;
        void* p = address();
        CALL(aclrtMemcpyAsync, to ? p : host(), bytes(), to ? host() : p, n, kind(), any(streams_));
        break;
      }
      case 26: CALL(aclrtMemcpy, address(), bytes(), address(), bytes(), kind()); break;
      case 27: CALL(aclrtMemset, address(), bytes(), in_.byte(), bytes()); break;
      case 28: CALL(aclrtMemsetAsync, address(), bytes(), in_.byte(), bytes(), any(streams_)); break;
      case 29: {
        size_t width = static_cast<size_t>(in_.below(64)), height = static_cast<size_t>(in_.below(16));
        CALL(aclrtMemcpy2d, address(), bytes(), host(), width + static_cast<size_t>(in_.below(64)), width, height,
             kind());
        break;
      }
      case 30:
        CALL(aclrtMemcpy2dAsync, address(), bytes(), address(), bytes(), bytes(), bytes(), kind(), any(streams_));
        break;
      case 31:
      case 32: CALL(aclmdlRICaptureBegin, any(streams_), static_cast<aclmdlRICaptureMode>(in_.below(5) - 1)); break;
      case 33:
      case 34:
        CALL(aclmdlRICaptureEnd, any(streams_), &made);
        keep(graphs_, made);
        break;
      case 35: {
        aclmdlRICaptureStatus status;
        CALL(aclmdlRICaptureGetInfo, any(streams_), &status, &made);
        keep(graphs_, made);
        break;
      }
      case 36:
      case 37: CALL(aclmdlRIExecuteAsync, any(graphs_), any(streams_)); break;
      case 38: CALL(aclmdlRIDestroy, any(graphs_)); break;
      case 39:
      case 40: keep(tensors_, tensor()); break;
      case 41: CALL(aclDestroyTensor, any(tensors_)); break;
      case 42:
      case 43: {
        float one = 1;
        aclScalar* scalar = aclCreateScalar(&one, ACL_FLOAT);
        uint64_t workspace = 0;
        aclOpExecutor* executor = nullptr;
        CALL(aclnnInplaceAddsGetWorkspaceSize, any(tensors_), scalar, scalar, &workspace, &executor);
        aclDestroyScalar(scalar);
        keep(executors_, executor);
        break;
      }
      case 44:
      case 45: CALL(aclnnInplaceAdds, nullptr, 0, any(executors_), any(streams_)); break;
      case 46: CALL(aclSetAclOpExecutorRepeatable, any(executors_)); break;
      case 47: CALL(aclDestroyAclOpExecutor, any(executors_)); break;
      case 48:
        CALL(aclrtReserveMemAddress, &made, in_.one_in(2) ? bytes() << 17 : bytes(), 0, nullptr, 0);
        keep(reserved_, made);
        break;
      case 49: CALL(aclrtReleaseMemAddress, any(reserved_)); break;
      case 50: {
        aclrtPhysicalMemProp property = {};
        property.location.id = in_.one_in(8) ? in_.number<uint32_t>() : 0;
        CALL(aclrtMallocPhysical, &made, in_.one_in(4) ? bytes() : size_t{2} << (20 + in_.below(3)), &property, 0);
        keep(physical_, made);
        break;
      }
      case 51: CALL(aclrtFreePhysical, any(physical_)); break;
      case 52:
      case 53: {
        void* at = any(reserved_);
        size_t size = in_.one_in(4) ? bytes() : size_t{2} << (20 + in_.below(3));
        int code = aclrtMapMem(at, size, in_.one_in(4) ? bytes() : 0, any(physical_), 0);
        fuzz::documented("aclrtMapMem", code);
        if (code == 0) keep(mapped_, at);
        break;
      }
      case 54: CALL(aclrtUnmapMem, any(mapped_)); break;
      case 55: {
        int64_t dims[4] = {in_.odd_number(), in_.odd_number(), in_.odd_number(), in_.odd_number()};
        keep(descs_, aclCreateTensorDesc(static_cast<aclDataType>(in_.below(40) - 2),
                                         in_.below(6) - 1 > 4 ? 4 : in_.below(5), dims, ACL_FORMAT_ND));
        break;
      }
      case 56: {
        static const char* const types[] = {"NPUGetFloatStatus", "NPUClearFloatStatus", "CdistGrad", "Nothing",
                                            nullptr};
        aclTensorDesc* in[2] = {any(descs_), any(descs_)};
        aclTensorDesc* out[2] = {any(descs_), any(descs_)};
        aclDataBuffer* buffers[2] = {aclCreateDataBuffer(address(), bytes()), nullptr};
        CALL(aclopExecuteV2, types[in_.below(5)], in_.below(4) - 1 > 2 ? 2 : in_.below(3), in, buffers, in_.below(3),
             out, buffers, nullptr, any(streams_));
        aclDestroyDataBuffer(buffers[0]);
        break;
      }
      case 57: CALL(aclrtSetDevice, in_.below(5) - 1); break;
      case 58:
        if (in_.byte() & 1) {
          CALL(aclrtCreateContext, &made, in_.below(4) - 1);
          keep(contexts_, made);
        } else {
          CALL(aclrtSetCurrentContext, any(contexts_));
        }
        break;
      default: CALL(aclrtSynchronizeDevice); break;
    }
  }

  aclTensor* tensor() {
    int64_t dims[18], strides[18];
    auto rank = static_cast<uint64_t>(in_.one_in(8) ? in_.below(18) : in_.below(4));
    bool broadcast = false;
    int64_t elements = 1;
    for (uint64_t i = 0; i < rank; ++i) {
      dims[i] = in_.one_in(6) ? in_.odd_number() : in_.below(5);
      strides[i] = in_.one_in(6) ? in_.odd_number() : in_.below(20);
      broadcast = broadcast || strides[i] == 0;
      if (__builtin_mul_overflow(elements, dims[i], &elements)) elements = INT64_MAX;
    }
    if (broadcast && (elements > 4096 || elements < 0)) return nullptr;  // slow, not wrong
    return aclCreateTensor(dims, rank, static_cast<aclDataType>(in_.one_in(6) ? in_.below(40) - 2 : 0),
                           in_.one_in(3) ? nullptr : strides, in_.one_in(4) ? in_.odd_number() : 0,
                           static_cast<aclFormat>(in_.below(40) - 2), dims, rank, address());
  }

  fuzz::Input& in_;
  std::vector<void*> memory_, host_, streams_, events_, graphs_, reserved_, physical_, mapped_, contexts_;
  std::vector<aclTensor*> tensors_;
  std::vector<aclTensorDesc*> descs_;
  std::vector<aclOpExecutor*> executors_;
};

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  fuzz::environment();
  aclInit(nullptr);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input in(data, size);
  aclrtSetDevice(0);
  Session(in).run();
  return 0;
}
