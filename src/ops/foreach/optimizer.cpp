#include "ops/foreach/optimizer.h"

#include <cmath>

namespace updraft {
namespace {

struct AdamArrays {
  void* data[5];  // var, mean, square, largest (or null), grad
  DType type[5];
};

// Elements [begin, begin + n) in the compute type T, converted at the edges.
template <class T>
void adam_unit(const AdamArrays& a, const T* c, bool nesterov, int64_t begin, int64_t n) {
  const KernelTable& table = kernels();
  constexpr Compute compute = sizeof(T) == 4 ? Compute::F32 : Compute::F64;
  constexpr int kType = static_cast<int>(compute);
  alignas(64) T buffer[5][kListBlock];
  for (int64_t at = begin; at < begin + n; at += kListBlock) {
    const int64_t m = std::min(kListBlock, begin + n - at);
    T* p[5] = {};
    for (int k = 0; k < 5; ++k) {
      if (!a.data[k]) continue;
      char* from = static_cast<char*>(a.data[k]) + at * static_cast<int64_t>(size_of(a.type[k]));
      if (a.type[k] == storage_of(compute)) {
        p[k] = reinterpret_cast<T*>(from);
      } else {
        table.load[static_cast<int>(a.type[k])][kType](buffer[k], from, 1, m);
        p[k] = buffer[k];
      }
    }
    if constexpr (sizeof(T) == 4) table.adam_f32(p[0], p[1], p[2], p[3], p[4], c, nesterov, m);
    else table.adam_f64(p[0], p[1], p[2], p[3], p[4], c, nesterov, m);
    for (int k = 0; k < 4; ++k)
      if (p[k] == buffer[k])
        table.store[kType][static_cast<int>(a.type[k])](
            static_cast<char*>(a.data[k]) + at * static_cast<int64_t>(size_of(a.type[k])), 1, buffer[k], m);
  }
}

template <class T>
void adam_flat(const AdamArrays& a, const AdamNumbers& numbers, bool nesterov, int64_t n) {
  T c[kAdamNumbers];
  for (int i = 0; i < kAdamNumbers; ++i) c[i] = static_cast<T>(numbers[static_cast<size_t>(i)]);
  ListUnits units;
  units.add(n);
  units.run([&](size_t, int64_t, int64_t begin, int64_t m) { adam_unit<T>(a, c, nesterov, begin, m); });
}

}  // namespace

double number_at(const TensorView& v) {
  if (v.empty()) fail_kernel("a number is asked for and its tensor " + describe(v).text() + " has none");
  double value = 0;
  kernels().load[static_cast<int>(v.dtype)][static_cast<int>(Compute::F64)](&value, v.data, 0, 1);
  return value;
}

void run_adam(const AdamStep& step, const AdamNumbers& numbers) {
  const int64_t n = step.var.numel();
  const bool largest = step.largest.data != nullptr;
  const TensorView* all[] = {&step.var, &step.mean, &step.square, &step.grad, &step.largest};
  const TensorView* views[5] = {&step.var, &step.mean, &step.square, largest ? &step.largest : nullptr, &step.grad};
  AdamArrays a{};
  std::vector<char> hold[5];
  const bool alike = lie_alike(all, largest ? 5 : 4);
  for (int k = 0; k < 5; ++k) {
    if (!views[k]) continue;
    a.type[k] = views[k]->dtype;
    a.data[k] = views[k]->data;
    if (alike) continue;
    hold[k].resize(views[k]->bytes());
    gather_to(hold[k].data(), a.type[k], *views[k]);
    a.data[k] = hold[k].data();
  }
  if (step.var.dtype == DType::Double) adam_flat<double>(a, numbers, step.nesterov, n);
  else adam_flat<float>(a, numbers, step.nesterov, n);
  if (alike) return;
  for (int k = 0; k < 4; ++k)
    if (views[k])
      copy_elements(*views[k], TensorView::contiguous(a.data[k], a.type[k], views[k]->dims, views[k]->rank));
}

AdamNumbers adamw_numbers(double lr, double beta1, double beta2, double beta1_power, double beta2_power, double decay,
                          double epsilon, bool maximize) {
  AdamNumbers c{};
  c[kDecay] = 1 - lr * decay;
  c[kSign] = maximize ? -1 : 1;
  c[kMean] = 1 - beta1;
  c[kBeta2] = beta2;
  c[kSquare] = 1 - beta2;
  c[kStep] = lr / (1 - beta1_power);
  c[kRootScale] = std::sqrt(1 - beta2_power);
  c[kEpsilon] = epsilon;
  c[kBeta1] = beta1;
  return c;
}

AdamNumbers adam_numbers(double lr, double beta1, double beta2, double beta1_power, double beta2_power,
                         double epsilon) {
  AdamNumbers c = adamw_numbers(lr, beta1, beta2, beta1_power, beta2_power, 0, epsilon, false);
  c[kStep] = lr * std::sqrt(1 - beta2_power) / (1 - beta1_power);
  c[kRootScale] = 1;
  return c;
}

}  // namespace updraft
