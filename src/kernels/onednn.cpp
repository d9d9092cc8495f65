#include "kernels/onednn.h"

#include <cstdlib>
#include <new>

#include "base/parallel.h"
#include "base/team.h"

namespace updraft::onednn {

const dnnl::engine& engine() {
  static auto* e = new dnnl::engine(dnnl::engine::kind::cpu, 0);  // primitives may outlive static destruction
  return *e;
}

dnnl::stream& stream() {
  thread_local dnnl::stream s(engine());
  end_team();
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

Key::Key() { append(library_width()); }

namespace {
constexpr int kSlots = 16;
struct Scratch {
  void* data[kSlots] = {};
  size_t size[kSlots] = {};
  ~Scratch() {
    for (void* p : data) std::free(p);
  }
};
}  // namespace

void* scratch(int slot, size_t bytes) {
  thread_local Scratch s;
  if (s.size[slot] < bytes) {
    std::free(s.data[slot]);
    size_t size = (bytes + bytes / 4 + (2u << 20) - 1) / (2u << 20) * (2u << 20);
    s.data[slot] = std::aligned_alloc(64, size);
    s.size[slot] = s.data[slot] ? size : 0;
    if (!s.data[slot]) throw std::bad_alloc();
  }
  return s.data[slot];
}

}  // namespace updraft::onednn
