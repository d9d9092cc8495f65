#include "acl/observed_copies.h"

#include "device/device.h"
#include "device/memory.h"
#include "device/observer.h"

namespace updraft {
namespace {

const Device* device_of(const void* to, const void* from) {
  const Device* device = Device::owner(to);
  return device ? device : Device::owner(from);
}

TensorArgument rows(const void* data, size_t pitch, size_t width, size_t height) {
  const int64_t dims[] = {static_cast<int64_t>(height), static_cast<int64_t>(width)};
  TensorArgument tensor;
  tensor.view = TensorView::contiguous(const_cast<void*>(data), DType::UInt8, dims, 2);
  tensor.view.strides[0] = static_cast<int64_t>(pitch);
  return tensor;
}

}  // namespace

Cost copy_cost(size_t n) { return {0, static_cast<int64_t>(2 * n), Unit::SDMA}; }
Cost set_cost(size_t n) { return {0, static_cast<int64_t>(n), Unit::SDMA}; }

void copy_arguments(ArgumentList& list, void* to, const void* from, size_t n, int32_t kind) {
  list.add_bytes("src", Direction::In, from, n);
  list.add_bytes("dst", Direction::Out, to, n);
  list.add("kind", Direction::In, int64_t{kind});
}

void copy_2d_arguments(ArgumentList& list, void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                       size_t height, int32_t kind) {
  list.add("src", Direction::In, rows(from, from_pitch, width, height));
  list.add("dst", Direction::Out, rows(to, to_pitch, width, height));
  list.add("kind", Direction::In, int64_t{kind});
}

void set_arguments(ArgumentList& list, void* to, int value, size_t n) {
  list.add_bytes("devPtr", Direction::Out, to, n);
  list.add("value", Direction::In, int64_t{value});
}

void run_observed_copy(void* to, const void* from, size_t n, int32_t kind, FunctionRef<void()> run) {
  run_observed(
      "MEMCPY", device_of(to, from), copy_cost(n),
      [&](ArgumentList& list) { copy_arguments(list, host_address(to), host_address(from), n, kind); }, run);
}

void run_observed_copy_2d(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                          int32_t kind, FunctionRef<void()> run) {
  run_observed(
      "MEMCPY", device_of(to, from), copy_cost(width * height),
      [&](ArgumentList& list) {
        copy_2d_arguments(list, host_address(to), to_pitch, host_address(from), from_pitch, width, height, kind);
      },
      run);
}

void run_observed_set(void* to, int value, size_t n, FunctionRef<void()> run) {
  run_observed(
      "MEMSET", device_of(to, nullptr), set_cost(n),
      [&](ArgumentList& list) { set_arguments(list, host_address(to), value, n); }, run);
}

}  // namespace updraft
