#include "ops/aclop.h"

#include "device/stream.h"

namespace updraft {
namespace {

AclopInfo* g_first = nullptr;

class AclopTask final : public Task {
 public:
  AclopTask(const AclopInfo& info, AclopCall&& call) : info_(info), call_(std::move(call)) {
    kind = TaskKind::Compute;
    work = INT64_MAX;
    // Host inputs belong to the client only during the call.
    for (AclopTensor& t : call_.inputs) {
      if (!t.on_host || !t.view.data) continue;
      t.constant.assign(t.view.as<char>(), t.view.bytes());
      t.view.data = t.constant.data();
    }
  }
  void run() override { info_.run(call_); }
  void release() override { delete this; }
  const char* name() const override { return info_.type; }

 private:
  const AclopInfo& info_;
  AclopCall call_;
};

}  // namespace

AclopInfo* register_aclop(AclopInfo* info) {
  info->next = g_first;
  return g_first = info;
}

const AclopInfo* find_aclop(const std::string& type) {
  for (const AclopInfo* info = g_first; info; info = info->next)
    if (type == info->type) return info;
  return nullptr;
}

void launch_aclop(const AclopInfo& info, AclopCall&& call, Stream& stream) {
  stream.submit(new AclopTask(info, std::move(call)));
}

}  // namespace updraft
