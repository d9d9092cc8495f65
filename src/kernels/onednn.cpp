#include "kernels/onednn.h"

#include "base/error.h"

namespace updraft::onednn {

const dnnl::engine& engine() {
  static auto* e = [] {
    // The library keeps the last used primitives, too: what ours have dropped, and those within others.
    dnnl::set_primitive_cache_capacity(256);
    return new dnnl::engine(dnnl::engine::kind::cpu, 0);  // primitives may outlive static destruction
  }();
  return *e;
}

dnnl::stream& stream() {
  thread_local dnnl::stream s(engine());
  return s;
}

dnnl::memory::data_type type_of(DType t) {
  using D = dnnl::memory::data_type;
  switch (t) {
    case DType::Float: return D::f32;
    case DType::BFloat16: return D::bf16;
    case DType::Float16: return D::f16;
    case DType::Int32: return D::s32;
    case DType::Int8: return D::s8;
    case DType::UInt8: return D::u8;
    default: return D::undef;
  }
}

bool native_bf16() {
  static const bool yes = dnnl::get_effective_cpu_isa() >= dnnl::cpu_isa::avx512_core_bf16;
  return yes;
}

struct Primitive::Shared {
  dnnl::primitive primitive;
  std::vector<Description> arguments;  // the last one is the scratchpad, where there is one
  size_t scratchpad;                   // bytes

  /// What one call is made with.
  struct Set {
    std::vector<dnnl::memory> memories;
    std::vector<dnnl_exec_arg_t> given;
    explicit Set(const std::vector<Description>& arguments) {
      for (const Description& a : arguments) {
        memories.emplace_back(a.desc, engine(), nullptr);
        given.push_back({a.name, memories.back().get()});
      }
    }
  };
  std::mutex mutex;
  std::vector<std::unique_ptr<Set>> idle;

  std::unique_ptr<Set> take() {
    {
      std::lock_guard lock(mutex);
      if (!idle.empty()) {
        auto set = std::move(idle.back());
        idle.pop_back();
        return set;
      }
    }
    return std::make_unique<Set>(arguments);
  }
  void give(std::unique_ptr<Set> set) {
    std::lock_guard lock(mutex);
    idle.push_back(std::move(set));
  }
};

Primitive::Primitive(dnnl::primitive made, std::vector<Description> arguments, const dnnl::memory::desc& scratchpad)
    : shared_(std::make_shared<Shared>()) {
  shared_->primitive = std::move(made);
  shared_->arguments = std::move(arguments);
  shared_->scratchpad = scratchpad.get_size();
  if (shared_->scratchpad) shared_->arguments.push_back({DNNL_ARG_SCRATCHPAD, scratchpad});
}

size_t Primitive::scratch_bytes() const { return scratch_size(shared_->scratchpad); }

void Primitive::run(std::span<const Argument> arguments) const {
  std::unique_ptr<Shared::Set> set = shared_->take();
  const auto give = [&](size_t i, const void* data) {
    dnnl::error::wrap_c_api(dnnl_memory_set_data_handle(set->given[i].memory, const_cast<void*>(data)),
                            "could not give a primitive its memory");
  };
  const size_t count = set->given.size() - (shared_->scratchpad ? 1 : 0);
  if (count != arguments.size())
    throw Error(code::kAclnnInner, "a primitive of {} arguments is given {}", count, arguments.size());
  for (size_t i = 0; i < count; ++i) {
    if (set->given[i].arg != arguments[i].name)
      throw Error(code::kAclnnInner, "argument {} of a primitive is {}, want {}", i, arguments[i].name,
                  set->given[i].arg);
    give(i, arguments[i].data);
  }
  ScratchScope scratch;
  if (shared_->scratchpad) give(count, scratch.take(shared_->scratchpad));
  dnnl::error::wrap_c_api(dnnl_primitive_execute(shared_->primitive.get(), stream().get(),
                                                 static_cast<int>(set->given.size()), set->given.data()),
                          "could not execute a primitive");
  shared_->give(std::move(set));
}

Reorder::Reorder(const dnnl::memory::desc& from, const dnnl::memory::desc& to) {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);  // the library's own would belong to the creating thread
  const dnnl::reorder::primitive_desc pd(engine(), from, engine(), to, attr);
  primitive_ = Primitive(dnnl::reorder(pd), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}}, pd.scratchpad_desc());
}

Key::Key() { append(library_width()); }

Key& Key::add_view(const TensorView& v) {
  add(v.dtype, v.rank);
  for (int d = 0; d < v.rank; ++d) add(v.dims[d], v.strides[d]);
  return *this;
}

void Key::too_long() { throw Error(code::kAclnnInner, "a primitive depends on more than {} numbers", kMost); }

}  // namespace updraft::onednn
