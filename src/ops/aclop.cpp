#include "ops/aclop.h"

#include <algorithm>
#include <sstream>
#include <string_view>

#include "base/config.h"
#include "base/error.h"
#include "base/parallel.h"
#include "device/soc.h"
#include "device/stream.h"
#include "ops/card.h"
#include "ops/op.h"

namespace updraft {
namespace {

AclopInfo* g_first = nullptr;
AclopAbout* g_about = nullptr;

Cost cost_of(const AclopCall& call) {
  Cost cost;
  for (const auto* tensors : {&call.inputs, &call.outputs}) {
    for (const AclopTensor& t : *tensors) {
      cost.flops = std::max(cost.flops, t.view.numel());
      cost.bytes += static_cast<int64_t>(t.view.bytes());
    }
  }
  if (const AclopAbout* known = find_aclop_about(call.type)) {
    cost.unit = known->about.unit;
    if (known->flops) cost.flops = known->flops(call);
  }
  return cost;
}

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
    cost = cost_of(call_);
  }
  void run() override {
    FixedSplit split(deterministic_);
    info_.run(call_);
  }
  void release() override { delete this; }
  const char* name() const override { return info_.type; }
  void arguments(ArgumentList& list) const override;

 private:
  const AclopInfo& info_;
  AclopCall call_;
  const bool deterministic_ = deterministic();
};

void AclopTask::arguments(ArgumentList& list) const {
  auto tensors = [&](Direction direction, const std::vector<AclopTensor>& all) {
    for (const AclopTensor& t : all) {
      Argument::Value value = AbsentArgument{};
      if (t.view.dtype != DType::Undefined) {
        TensorArgument tensor;
        tensor.view = t.view;
        tensor.format = t.format;
        tensor.on_host = t.on_host;
        value = tensor;
      }
      list.add(t.name.c_str(), direction, std::move(value));
    }
  };
  tensors(Direction::In, call_.inputs);
  tensors(Direction::Out, call_.outputs);
  for (const auto& [name, a] : call_.attributes) list.add(name.c_str(), Direction::In, a.given);
}

/// The aclnn operator that computes the same and, in the order of this one's tensors, the names that it has for them.
struct Twin {
  const char *type, *name, *inputs, *outputs;
};
constexpr Twin kTwins[] = {
    {"ApplyAdamD", "aclnnApplyAdam", "var m v beta1Power beta2Power lr beta1 beta2 epsilon grad", "var m v"},
    {"ApplyAdamW", "aclnnApplyAdamW",
     "var m v beta1Power beta2Power lr weightDecay beta1 beta2 epsilon grad maxGradNorm", "var m v"},
    {"CdistGrad", "aclnnCdistBackward", "grad x1 x2 cdist", "out"},
    {"ConfusionTransposeD", "aclnnConfusionTranspose", "self", "y"},
    {"ScaledMaskedSoftmax", "aclnnScaledMaskedSoftmax", "x mask", "y"},
    {"ScaledMaskedSoftmaxGrad", "aclnnScaledMaskedSoftmaxBackward", "yGrad y mask", "out"},
};

std::string refusal_of(const OpInfo& op, const char* names, const std::vector<AclopTensor>& tensors,
                       const SocProfile& product) {
  std::istringstream list(names);
  std::string name;
  for (size_t i = 0; i < tensors.size() && list >> name; ++i)
    if (const DType type = tensors[i].view.dtype; type != DType::Undefined && !tensors[i].on_host)
      if (std::string why = card_refusal(op, name.c_str(), type, product); !why.empty()) return why;
  return {};
}

}  // namespace

std::string aclop_refusal(const AclopCall& call, const SocProfile& product) {
  for (const Twin& twin : kTwins) {
    if (call.type != twin.type) continue;
    for (const OpInfo* op = first_op(); op; op = op->next)
      if (std::string_view(op->name) == twin.name) {
        std::string why = refusal_of(*op, twin.inputs, call.inputs, product);
        return why.empty() ? refusal_of(*op, twin.outputs, call.outputs, product) : why;
      }
  }
  return {};
}

AclopInfo* register_aclop(AclopInfo* info) {
  info->next = g_first;
  return g_first = info;
}

const AclopInfo* find_aclop(const std::string& type) {
  for (const AclopInfo* info = g_first; info; info = info->next)
    if (type == info->type) return info;
  return nullptr;
}

const AclopInfo* first_aclop() { return g_first; }

AclopAbout* register_aclop_about(AclopAbout* about) {
  about->next = g_about;
  return g_about = about;
}

const AclopAbout* find_aclop_about(const std::string& type) {
  for (const AclopAbout* about = g_about; about; about = about->next)
    if (type == about->type) return about;
  return nullptr;
}

void require_present(const AclopCall& call, std::initializer_list<size_t> inputs,
                     std::initializer_list<size_t> outputs) {
  auto check = [&](const char* kind, const std::vector<AclopTensor>& tensors, std::initializer_list<size_t> wanted) {
    for (size_t i : wanted) {
      if (i < tensors.size()) {
        const TensorView& v = tensors[i].view;
        if (v.dtype != DType::Undefined && (v.data || v.empty())) continue;
      }
      throw Error(code::kAclInvalidParam, "{}: {} {} is absent, want a tensor with a type and data", call.type, kind,
                  i);
    }
  };
  check("input", call.inputs, inputs);
  check("output", call.outputs, outputs);
}

void launch_aclop(const AclopInfo& info, AclopCall&& call, Stream& stream) {
  if (Config::get().card_fidelity)
    if (std::string why = aclop_refusal(call, soc()); !why.empty())
      throw Error(code::kAclInvalidParam, "{}: {}", call.type, why);
  stream.submit(new AclopTask(info, std::move(call)));
}

}  // namespace updraft
