// Operations over operators of ours, and what clients do with them.
#include <cstdio>
#include <cstring>
#include <utility>

#include "atb/atb_op.h"
#include "base/api_call.h"
#include "base/boundary.h"
#include "device/context.h"
#include "device/device.h"
#include "device/stream.h"
#include "tensor/extent.h"

namespace atb {
Operation::~Operation() = default;
}  // namespace atb

namespace updraft::atb_ops {
namespace {

/// A plan that is given back unless a stream takes it.
class Plan {
 public:
  Plan() = default;
  Plan(const Plan&) = delete;
  ~Plan() { set(nullptr); }
  void set(aclOpExecutor* made) {
    if (aclOpExecutor* old = std::exchange(made_, made)) recycle_executor(old);
  }
  explicit operator bool() const { return made_ != nullptr; }
  aclOpExecutor& take() { return *std::exchange(made_, nullptr); }

 private:
  aclOpExecutor* made_ = nullptr;
};

Stream& stream_of(atb::Context* context);

/// Everything but the work.
class Planned : public atb::Operation {
 public:
  explicit Planned(const char* name) : name_(name) {}

  /// Clients put the name before "setup failed!", and ask for nothing else: the reason follows it.
  atb::Text GetName() const override { return atb::Text(refusal_.empty() ? name_ : name_ + " (" + refusal_ + ")"); }
  const std::string& refusal() const { return refusal_; }
  atb::Status reserved1() override { return code::kAclApiNotSupport; }
  atb::Status reserved2() override { return code::kAclApiNotSupport; }
  atb::Status reserved3() override { return code::kAclApiNotSupport; }

 protected:
  template <class F>
  atb::Status guarded(const char* what, F&& body) noexcept {
    refusal_.clear();
    return guard(what, [&] {
      try {
        body();
      } catch (const std::exception& e) {
        refusal_ = e.what();
        throw;
      }
    });
  }
  void start(atb::Context* context) {
    Stream& stream = stream_of(context);
    launch_plan(plan_.take(), stream);
  }

  Plan plan_;
  std::string name_, refusal_;
};

/// Made from parameters; the tensors come with each call.
class OfPack final : public Planned {
 public:
  explicit OfPack(Recipe recipe) : Planned(recipe.name), recipe_(std::move(recipe)) {}

  atb::Status Setup(const atb::VariantPack& pack, uint64_t& workspace, atb::Context*) override {
    return guarded("atb::Operation::Setup", [&] {
      workspace = 0;  // the engine has memory of its own
      plan_.set(nullptr);
      plan_.set(planned(pack));
      pack_ = tensors_of(pack);
    });
  }

  atb::Status Execute(const atb::VariantPack& pack, uint8_t*, uint64_t, atb::Context* context) override {
    return guarded("atb::Operation::Execute", [&] {
      // What Setup() has planned counts for the same tensors, once.
      if (!plan_ || pack_ != tensors_of(pack)) plan_.set(planned(pack));
      start(context);
    });
  }

 private:
  static std::string tensors_of(const atb::VariantPack& pack) {
    std::string all;
    for (const auto* list : {&pack.inTensors, &pack.outTensors})
      all.append(reinterpret_cast<const char*>(list->begin()), list->size() * sizeof(atb::Tensor));
    return all;
  }

  aclOpExecutor* planned(const atb::VariantPack& pack) const {
    OpCall call(*recipe_.info);
    add(call, "inputs", recipe_.inputs, pack.inTensors);
    add(call, "outputs", recipe_.outputs, pack.outTensors);
    recipe_.set(call);
    return call.make();
  }

  void add(OpCall& call, const char* what, const std::vector<const char*>& names,
           const atb::SVector<atb::Tensor>& tensors) const {
    if (tensors.size() != names.size())
      throw Error(code::kAclnnParamInvalid, "{} {} are given, want {}: {}", tensors.size(), what, names.size(),
                  fmt::join(names, ", "));
    for (size_t i = 0; i < names.size(); ++i) {
      const atb::Tensor& t = tensors[i];
      const auto dtype = static_cast<DType>(t.desc.dtype);
      if (dtype == DType::Undefined) continue;  // OpCall says so of what must not be absent
      if (t.desc.shape.dimNum > std::size(t.desc.shape.dims))
        throw Error(code::kAclnnParamInvalid, "{} has {} dimensions, the most is {}", names[i], t.desc.shape.dimNum,
                    std::size(t.desc.shape.dims));
      CallTensor made;
      made.dtype = dtype;
      made.dims.assign(t.desc.shape.dims, t.desc.shape.dims + t.desc.shape.dimNum);
      made.on_host = !t.deviceData && t.hostData;
      made.data = made.on_host ? t.hostData : t.deviceData;
      const Parameter* p = find_parameter(*recipe_.info, names[i]);
      // What is read and written is both an input and an output.
      if (p->direction == Direction::InOut && &names == &recipe_.outputs) {
        if (call.tensors(p->name).empty() || call.tensors(p->name)[0].data != made.data)
          throw Error(code::kAclnnParamInvalid, "{} is updated in place: give the output the memory of the input",
                      p->name);
        continue;
      }
      call.add_tensor(names[i], std::move(made));
    }
  }

  const Recipe recipe_;
  std::string pack_;  ///< the tensors of plan_
};

/// Made by a C function, which plans it anew at each call.
class OfFunction final : public Planned {
 public:
  OfFunction(const char* name, const OpInfo& info) : Planned(name), info_(info) {}

  const OpInfo& info() const { return info_; }
  atb::Status plan(const Value* values) {
    return guarded(name_.c_str(), [&] {
      plan_.set(nullptr);
      mark_host_tensors(values);
      plan_.set(make_plan(info_, values, true));
    });
  }
  atb::Status run(atb::Context* context) {
    return guarded(name_.c_str(), [&] {
      if (!plan_) throw Error(code::kAclnnParamInvalid, "the plan has run: call {}GetWorkspaceSize before", name_);
      start(context);
    });
  }

  atb::Status Setup(const atb::VariantPack&, uint64_t&, atb::Context*) override {
    return guarded("atb::Operation::Setup", [&] {
      throw Error(code::kAclnnParamInvalid, "{} was made by a C function: call {}GetWorkspaceSize", name_, name_);
    });
  }
  atb::Status Execute(const atb::VariantPack&, uint8_t*, uint64_t, atb::Context* context) override {
    return run(context);
  }

 private:
  /// Lengths lie on the host; nothing but the address says so.
  void mark_host_tensors(const Value* values) const {
    for (size_t i = 0; i < info_.parameters.size(); ++i) {
      const Parameter& p = info_.parameters[i];
      if (p.kind != Kind::Tensor || p.direction != Direction::In) continue;
      aclTensor* t = tensor_pool().get(values[i].pointer());
      if (t && t->storage && !Device::owner(t->storage)) t->on_host = true;
    }
  }

  const OpInfo& info_;
};

/// Clients print a number alone.
int told(const char* name, const Planned& operation, int status) {
  if (status) std::fprintf(stderr, "updraft: %s: %s\n", name, operation.refusal().c_str());
  return status;
}

}  // namespace

atb::Status make(Recipe recipe, atb::Operation** operation) noexcept {
  return guard("atb::CreateOperation", [&] {
    require_pointer(operation, "operation");
    *operation = new OfPack(std::move(recipe));
  });
}

int plan(const char* name, const OpInfo& info, const Value* values, uint64_t* workspace,
         atb::Operation** operation) noexcept {
  const int status = guard(name, [&] {
    require_pointer(workspace, "workspaceSize");
    require_pointer(operation, "operation");
    *workspace = 0;  // the engine has memory of its own
    if (!*operation) *operation = new OfFunction(name, info);
    auto* made = dynamic_cast<OfFunction*>(*operation);
    if (!made || &made->info() != &info)
      throw Error(code::kAclnnParamInvalid, "operation is {}, want null or what {} made", (*operation)->GetName().str(),
                  name);
  });
  if (status) return status;
  auto& made = static_cast<OfFunction&>(**operation);
  return told(name, made, made.plan(values));
}

int run(const char* name, const OpInfo& info, atb::Operation* operation, atb::Context* context) noexcept {
  OfFunction* made = nullptr;
  const int status = guard(name, [&] {
    require_pointer(operation, "operation");
    made = dynamic_cast<OfFunction*>(operation);
    if (!made || &made->info() != &info)
      throw Error(code::kAclnnParamInvalid, "operation is {}, want one of {}GetWorkspaceSize",
                  operation->GetName().str(), name);
  });
  return status ? status : told(name, *made, made->run(context));
}

namespace {

class StreamContext final : public atb::Context {
 public:
  atb::Status SetExecuteStream(void* stream) override {
    stream_ = stream;
    return 0;
  }
  atb::Status reserved1() override { return code::kAclApiNotSupport; }
  atb::Status reserved2() override { return code::kAclApiNotSupport; }
  atb::Status reserved3() override { return code::kAclApiNotSupport; }
  atb::Status reserved4() override { return code::kAclApiNotSupport; }
  void* stream() const { return stream_; }

 private:
  std::atomic<void*> stream_ = nullptr;  ///< clients set it in one thread and run in another
};

Stream& stream_of(atb::Context* context) {
  require_pointer(context, "context");
  return updraft::stream_of(static_cast<StreamContext*>(context)->stream());
}

}  // namespace
}  // namespace updraft::atb_ops

namespace atb {

using namespace updraft;

Context::~Context() = default;

Status CreateContext(Context** context) {
  return guard("atb::CreateContext", [&] {
    require_pointer(context, "context");
    *context = new atb_ops::StreamContext;
  });
}
Status DestroyContext(Context* context) {
  return guard("atb::DestroyContext", [&] {
    require_pointer(context, "context");
    delete context;
  });
}
Status DestroyOperation(Operation* operation) {
  return guard(
      "atb::DestroyOperation",
      [&] {
        require_pointer(operation, "operation");
        delete operation;
      },
      Forked::Allowed);
}

uint64_t Utils::GetTensorSize(const Tensor& tensor) {
  const auto dtype = static_cast<DType>(tensor.desc.dtype);
  uint64_t bytes = 0;
  if (guard("atb::Utils::GetTensorSize", [&] {
        if (std::string why = refusal_of(dtype); !why.empty()) throw Error(code::kAclnnParamInvalid, "tensor {}", why);
        const Dims& shape = tensor.desc.shape;
        if (shape.dimNum > std::size(shape.dims))
          throw Error(code::kAclnnParamInvalid, "tensor has {} dimensions, the most is {}", shape.dimNum,
                      std::size(shape.dims));
        int64_t elements = 1;
        for (uint64_t d = 0; d < shape.dimNum; ++d)
          if (shape.dims[d] < 0 || __builtin_mul_overflow(elements, shape.dims[d], &elements))
            throw Error(code::kAclnnParamInvalid, "tensor has {}, which no memory holds",
                        describe_shape(shape.dims, static_cast<int>(shape.dimNum)));
        bytes = static_cast<uint64_t>(elements) * size_of(dtype);
      }))
    return 0;
  return bytes;
}

}  // namespace atb
