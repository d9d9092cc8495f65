// Stream capture and replay (aclmdlRI*): what torch.npu.NPUGraph uses.
#include <fstream>
#include <map>
#include <memory>
#include <mutex>

#include "acl/api.h"
#include "acl/shared_handles.h"
#include "base/log.h"
#include "device/capture/capture.h"

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

/// Tasks of a graph that updates replace. The graph owns the handles.
struct TaskGroup {
  std::weak_ptr<CapturedGraph> graph;
  uint32_t number;
};
SharedHandles<TaskGroup>& groups() {
  static auto* p = new SharedHandles<TaskGroup>(1 << 20);
  return *p;
}

std::mutex g_mutex;
std::multimap<void*, void*>& groups_of_graphs() {
  static auto* m = new std::multimap<void*, void*>;
  return *m;
}
void destroy_groups(void* graph) {
  std::lock_guard lock(g_mutex);
  const auto [begin, end] = groups_of_graphs().equal_range(graph);
  for (auto it = begin; it != end; ++it) groups().destroy(it->second);
  groups_of_graphs().erase(begin, end);
}

struct Update {
  std::shared_ptr<CapturedGraph> graph, recorder;
  uint32_t group;
};
/// Updates that streams have begun.
std::map<Stream*, Update>& updates() {
  static auto* m = new std::map<Stream*, Update>;
  return *m;
}

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
    const bool captured = capture && capture->handle;  // an update of a task group is no capture
    if (status) *status = !captured ? 0 : capture->invalid() ? 2 : 1;
    if (graph) *graph = captured ? capture->handle : nullptr;
  });
}

ACL_API aclmdlRICaptureEnd(void* stream, void** graph) {
  return guard("aclmdlRICaptureEnd", [&] {
    need(graph, "modelRI");
    *graph = nullptr;
    Stream& s = stream_of(stream);
    const auto capture = s.capture();
    if (!capture) throw Error(code::kRtParamInvalid, "stream {} is not being captured", s.id());
    if (!capture->handle)
      throw Error(code::kRtParamInvalid, "stream {} updates a task group: end that by aclmdlRICaptureTaskUpdateEnd",
                  s.id());
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

// --- groups of tasks whose arguments change between replays -------------------------------------------------------
ACL_API aclmdlRICaptureTaskGrpBegin(void* stream) {
  return guard("aclmdlRICaptureTaskGrpBegin", [&] {
    Stream& s = stream_of(stream);
    const auto capture = s.capture();
    if (!capture || !capture->handle)
      throw Error(code::kRtParamInvalid, "stream {} is not being captured: a task group is part of a capture", s.id());
    capture->begin_group(s);
  });
}
ACL_API aclmdlRICaptureTaskGrpEnd(void* stream, void** handle) {
  return guard("aclmdlRICaptureTaskGrpEnd", [&] {
    need(handle, "handle");
    Stream& s = stream_of(stream);
    const auto capture = s.capture();
    if (!capture || !capture->handle)
      throw Error(code::kRtParamInvalid, "stream {} is not being captured: a task group is part of a capture", s.id());
    void* made = groups().create(std::make_shared<TaskGroup>(TaskGroup{capture, capture->end_group(s)}));
    std::lock_guard lock(g_mutex);
    groups_of_graphs().emplace(capture->handle, made);
    *handle = made;
  });
}
ACL_API aclmdlRICaptureTaskUpdateBegin(void* stream, void* handle) {
  return guard("aclmdlRICaptureTaskUpdateBegin", [&] {
    need(handle, "handle");
    const auto group = groups().find(handle);
    const auto graph = group ? group->graph.lock() : nullptr;
    if (!graph) throw Error(code::kRtInvalidHandle, "{} is not a task group (of a graph that is there)", handle);
    if (graph->capturing())
      throw Error(code::kRtFeatureNotSupport, "graph {} is still being captured: update its tasks later", graph->id());
    Stream& s = stream_of(stream);
    if (s.capturing()) throw Error(code::kRtParamInvalid, "stream {} is being captured or updates already", s.id());
    auto recorder = std::make_shared<CapturedGraph>(graph->id());
    recorder->begin(s);
    std::lock_guard lock(g_mutex);
    updates()[&s] = {graph, recorder, group->number};
  });
}
ACL_API aclmdlRICaptureTaskUpdateEnd(void* stream) {
  return guard("aclmdlRICaptureTaskUpdateEnd", [&] {
    Stream& s = stream_of(stream);
    Update update;
    {
      std::lock_guard lock(g_mutex);
      const auto it = updates().find(&s);
      if (it == updates().end() || s.capture() != it->second.recorder)
        throw Error(code::kRtParamInvalid, "stream {} updates no task group: begin that before", s.id());
      update = std::move(it->second);
      updates().erase(it);
    }
    update.recorder->end(s);
    update.graph->replace_group(s, update.group, *update.recorder);
  });
}

ACL_API aclmdlRIExecuteAsync(void* graph, void* stream) {
  return guard("aclmdlRIExecuteAsync", [&] { CapturedGraph::launch(finished(graph), stream_of(stream)); });
}
ACL_API aclmdlRIDestroy(void* graph) {
  return guard("aclmdlRIDestroy", [&] {
    finished(graph);
    destroy_groups(graph);
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
