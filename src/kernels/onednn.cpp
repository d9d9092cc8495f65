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

dnnl::memory scratchpad(const dnnl::memory::desc& desc, ScratchScope& scratch) {
  return {desc, engine(), scratch.take(desc.get_size())};
}

Reorder::Reorder(const dnnl::memory::desc& from, const dnnl::memory::desc& to) : from_(from), to_(to) {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);  // the library's own would belong to the creating thread
  const dnnl::reorder::primitive_desc pd(engine(), from, engine(), to, attr);
  scratchpad_ = pd.scratchpad_desc();
  primitive_ = dnnl::reorder(pd);
}

void Reorder::run(const void* from, void* to) const {
  ScratchScope scratch;
  // Through the base class: dnnl::reorder hides its const execute by one of its own.
  const dnnl::primitive& primitive = primitive_;
  primitive.execute(stream(), {{DNNL_ARG_FROM, dnnl::memory(from_, engine(), const_cast<void*>(from))},
                               {DNNL_ARG_TO, dnnl::memory(to_, engine(), to)},
                               {DNNL_ARG_SCRATCHPAD, scratchpad(scratchpad_, scratch)}});
}

Key::Key() { append(library_width()); }

Key& Key::add_view(const TensorView& v) {
  add(v.dtype, v.rank);
  for (int d = 0; d < v.rank; ++d) add(v.dims[d], v.strides[d]);
  return *this;
}

void Key::too_long() { throw Error(code::kAclnnInner, "a primitive depends on more than {} numbers", kMost); }

}  // namespace updraft::onednn
