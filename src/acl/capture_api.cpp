// Stream capture and replay (aclmdlRI*): what torch.npu.NPUGraph uses.
#include <fstream>
#include <memory>

#include "acl/api.h"
#include "acl/shared_handles.h"
#include "base/log.h"
#include "device/capture.h"

using namespace updraft;

namespace {

SharedHandles<CapturedGraph>& pool() {
  static auto* p = new SharedHandles<CapturedGraph>(1 << 16);
  return *p;
}
std::shared_ptr<CapturedGraph> checked(const void* graph) {
  need(graph, "modelRI");
  if (auto g = pool().find(graph)) return g;
  throw Error(code::kRtInvalidHandle, "{} is not a captured model (destroyed, or never captured)", graph);
}

std::shared_ptr<CapturedGraph> finished(const void* graph) {
  auto g = checked(graph);
  if (g->capturing())
    throw Error(code::kRtFeatureNotSupport, "model {} is still being captured: call aclmdlRICaptureEnd first", g->id());
  return g;
}

thread_local int32_t t_mode = 0;

}  // namespace

ACL_API aclmdlRICaptureBegin(void* stream, int32_t mode) {
  return guard("aclmdlRICaptureBegin", [&] {
    need(stream, "stream");
    if (mode < 0 || mode > 2) throw Error(code::kRtParamInvalid, "capture mode {} is unknown, want 0 to 2", mode);
    Stream& s = stream_of(stream);
    if (s.capturing()) throw Error(code::kRtParamInvalid, "stream {} is being captured already", s.id());
    static std::atomic<uint32_t> next{1};
    auto graph = std::make_shared<CapturedGraph>(next++);
    graph->handle = pool().create(graph);  // clients ask for it while the capture goes on
    graph->begin(s);
  });
}

ACL_API aclmdlRICaptureGetInfo(void* stream, int32_t* status, void** graph) {
  return guard("aclmdlRICaptureGetInfo", [&] {
    const auto capture = stream_of(stream).capture();
    if (status) *status = !capture ? 0 : capture->invalid() ? 2 : 1;
    if (graph) *graph = capture ? capture->handle : nullptr;
  });
}

ACL_API aclmdlRICaptureEnd(void* stream, void** graph) {
  return guard("aclmdlRICaptureEnd", [&] {
    need(graph, "modelRI");
    *graph = nullptr;
    Stream& s = stream_of(stream);
    const auto capture = s.capture();
    if (!capture) throw Error(code::kRtParamInvalid, "stream {} is not being captured", s.id());
    void* handle = capture->handle;
    try {
      capture->end(s);
    } catch (...) {
      if (!capture->capturing()) pool().destroy(handle);
      throw;
    }
    *graph = handle;
  });
}

ACL_API aclmdlRICaptureThreadExchangeMode(int32_t* mode) {
  return guard("aclmdlRICaptureThreadExchangeMode", [&] {
    need(mode, "mode");
    if (*mode < 0 || *mode > 2) throw Error(code::kRtParamInvalid, "capture mode {} is unknown, want 0 to 2", *mode);
    std::swap(*mode, t_mode);
  });
}

ACL_API aclmdlRIExecuteAsync(void* graph, void* stream) {
  return guard("aclmdlRIExecuteAsync", [&] { CapturedGraph::launch(finished(graph), stream_of(stream)); });
}
ACL_API aclmdlRIDestroy(void* graph) {
  return guard("aclmdlRIDestroy", [&] {
    finished(graph);
    pool().destroy(graph);
  });
}
ACL_API aclmdlRIGetId(void* graph, uint32_t* id) {
  return guard("aclmdlRIGetId", [&] {
    need(id, "modelId");
    *id = checked(graph)->id();
  });
}
ACL_API aclmdlRIDebugPrint(void* graph) {
  return guard("aclmdlRIDebugPrint", [&] { UPDRAFT_LOG(kInfo, "ASCENDCL", "{}", checked(graph)->to_json()); });
}
ACL_API aclmdlRIDebugJsonPrint(void* graph, const char* path, uint32_t) {
  return guard("aclmdlRIDebugJsonPrint", [&] {
    need(path, "path");
    std::ofstream out(path);
    out << checked(graph)->to_json();
    if (!out) throw Error(code::kAclInvalidParam, "{} cannot be written", path);
  });
}
