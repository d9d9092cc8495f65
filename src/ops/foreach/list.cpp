#include "ops/foreach/list.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/overflow.h"
#include "kernels/watched.h"

namespace updraft {

void ListUnits::run(FunctionRef<void(size_t, int64_t, int64_t, int64_t)> body) const {
  if (units_ == 0) return;
  // Small arrays make small units: a thread gets enough of them to be worth waking.
  const int64_t average = std::max<int64_t>(1, elements_ / units_);
  const int64_t grain = std::max<int64_t>(1, 2 * kListUnit / average);
  parallel_for(units_, grain, [&](int64_t begin, int64_t end) {
    size_t i = static_cast<size_t>(std::upper_bound(first_.begin(), first_.end(), begin) - first_.begin()) - 1;
    while (begin < end) {
      const int64_t count = (sizes_[i] + kListUnit - 1) / kListUnit;
      for (; begin < end && begin - first_[i] < count; ++begin) {
        const int64_t at = (begin - first_[i]) * kListUnit;
        body(i, begin, at, std::min(kListUnit, sizes_[i] - at));
      }
      ++i;
    }
  });
}

bool lie_alike(const TensorView* const* v, int count) {
  const TensorView& first = *v[0];
  int order[kMaxDims], kept = 0;
  for (int d = 0; d < first.rank; ++d)
    if (first.dims[d] != 1) order[kept++] = d;
  for (int k = 1; k < count; ++k)
    for (int i = 0; i < kept; ++i)
      if (v[k]->strides[order[i]] != first.strides[order[i]]) return false;
  std::sort(order, order + kept, [&](int a, int b) { return first.strides[a] < first.strides[b]; });
  int64_t expected = 1;
  for (int i = 0; i < kept; ++i) {
    if (first.strides[order[i]] != expected) return false;
    expected *= first.dims[order[i]];
  }
  return true;
}

BlockFn list_kernel(Ew row, Compute compute) { return elementwise_kernel(row, compute); }
BlockFn list_kernel(ForeachRow row, Compute compute) {
  BlockFn fn = kernels().foreach_kernel(static_cast<int>(row), static_cast<int>(compute));
  if (!fn)
    throw Error(code::kAclnnParamInvalid, "not defined for elements computed as {}", name_of(storage_of(compute)));
  return fn;
}

void ListJob::add(const TensorView* const* in, const TensorView& out) {
  const int32_t tensor = tensors_++;
  if (tensor == 0) {
    for (int k = 0; k < inputs_; ++k) in_type_[k] = in[k]->dtype;
    out_type_ = out.dtype;
  }
  const int64_t n = out.numel();
  if (n == 0) return;
  elements_ += n;
  const TensorView* views[kMaxInputs + 1] = {&out};
  bool alike = out.dtype == out_type_;
  for (int k = 0; k < inputs_; ++k) {
    views[k + 1] = in[k];
    alike = alike && in[k]->dtype == in_type_[k];
  }
  if (alike && lie_alike(views, inputs_ + 1)) {
    Row row{};
    for (int k = 0; k < inputs_; ++k) row.in[k] = in[k]->data;
    row.out = out.data;
    row.elements = n;
    row.tensor = tensor;
    rows_.push_back(row);
    units_.add(n);
  } else {
    Strided& s = strided_.emplace_back();
    for (int k = 0; k < inputs_; ++k) s.in[k] = *in[k];
    s.out = out;
    s.tensor = tensor;
  }
}

void ListJob::run_unit(const Row& row, int64_t begin, int64_t n) const {
  const KernelTable& table = kernels();
  const DType native = storage_of(compute_);
  const int c = static_cast<int>(compute_);
  const int64_t out_size = static_cast<int64_t>(size_of(out_type_));
  int64_t in_size[kMaxInputs] = {};
  bool direct = out_type_ == native;
  for (int k = 0; k < inputs_; ++k) {
    in_size[k] = static_cast<int64_t>(size_of(in_type_[k]));
    direct = direct && in_type_[k] == native;
  }
  auto input = [&](int k, int64_t at) { return static_cast<char*>(row.in[k]) + at * in_size[k]; };
  auto output = [&](int64_t at) { return static_cast<char*>(row.out) + at * out_size; };
  if (copy_ && in_type_[0] == out_type_) {
    if (row.in[0] != row.out) std::memcpy(output(begin), input(0, begin), static_cast<size_t>(n * out_size));
    return;
  }
  if (copy_ && in_type_[0] == native) {
    table.store[c][static_cast<int>(out_type_)](output(begin), 1, input(0, begin), n);
    return;
  }
  if (copy_ && out_type_ == native) {
    table.load[static_cast<int>(in_type_[0])][c](output(begin), input(0, begin), 1, n);
    return;
  }
  if (direct) {
    const bool watch = saturating() && compute_ == Compute::F32;
    const int64_t block = watch ? kWatchedBlock : n;
    for (int64_t at = begin; at < begin + n; at += block) {
      const int64_t m = std::min(block, begin + n - at);
      const void* from[kMaxInputs];
      for (int k = 0; k < inputs_; ++k) from[k] = input(k, at);
      void* to = output(at);
      run_watched(from, inputs_, &to, 1, watch, m, [&] { fn_(from, &to, m, params_of(row.tensor)); });
    }
    return;
  }
  alignas(64) char buffers[kMaxInputs + 1][kListBlock * 16];
  for (int64_t at = begin; at < begin + n; at += kListBlock) {
    const int64_t m = std::min(kListBlock, begin + n - at);
    const void* from[kMaxInputs];
    for (int k = 0; k < inputs_; ++k) {
      if (in_type_[k] == native) {
        from[k] = input(k, at);
        continue;
      }
      table.load[static_cast<int>(in_type_[k])][c](buffers[k], input(k, at), 1, m);
      from[k] = buffers[k];
    }
    void* to = out_type_ == native ? static_cast<void*>(output(at)) : buffers[kMaxInputs];
    fn_(from, &to, m, params_of(row.tensor));
    if (out_type_ != native) table.store[c][static_cast<int>(out_type_)](output(at), 1, to, m);
  }
}

int ListJob::arrays(size_t row, FlatArray* to) const {
  const Row& r = rows_[row];
  const auto n = static_cast<size_t>(r.elements);
  for (int k = 0; k < inputs_; ++k) to[k] = {static_cast<const char*>(r.in[k]), n * size_of(in_type_[k])};
  to[inputs_] = {static_cast<const char*>(r.out), n * size_of(out_type_)};
  return inputs_ + 1;
}

void ListJob::run() {
  if (scalars_.data) {
    // The value in double and in int64: whichever the kernel's type is, it finds its own.
    const int64_t n = scalars_.numel();
    params_.assign(static_cast<size_t>(n), Params{});
    const bool integer = is_integral(scalars_.dtype, true), complex = is_complex(scalars_.dtype);
    const Compute as = complex ? Compute::C128 : integer ? Compute::I64 : Compute::F64;
    for (int64_t i = 0; i < n; ++i) {
      alignas(16) char value[16];
      const char* at = scalars_.as<char>() + scalars_.offset_of(i) * static_cast<int64_t>(size_of(scalars_.dtype));
      kernels().load[static_cast<int>(scalars_.dtype)][static_cast<int>(as)](value, at, 0, 1);
      Params& p = params_[static_cast<size_t>(i)];
      if (complex) p.set(0, *reinterpret_cast<complex128*>(value));
      else if (integer) p.set(0, *reinterpret_cast<int64_t*>(value));
      else p.set(0, *reinterpret_cast<double*>(value));
    }
  }
  units_.run([&](size_t i, int64_t, int64_t begin, int64_t n) { run_unit(rows_[i], begin, n); });
  for (const Strided& s : strided_) {
    if (copy_) copy_elements(s.out, s.in[0]);
    else run_elementwise(fn_, compute_, s.in, inputs_, &s.out, 1, params_of(s.tensor), false);
  }
}

Compute list_compute(const Tensors& in, const Tensors& out) {
  const DType a = in[0].dtype, b = out[0].dtype;
  return compute_of(a == b ? a : promote(a, b));
}

void require_lists(const Op& op, std::initializer_list<std::pair<const char*, const Tensors*>> lists) {
  const auto& [first_name, first] = *lists.begin();
  for (const auto& [name, list] : lists) {
    op.require(list->size() == first->size(), "{} has {} tensors and {} has {}: want equal numbers", name, list->size(),
               first_name, first->size());
    for (size_t i = 0; i < list->size(); ++i) {
      op.require(list->item(i) != nullptr, "{}[{}] is null", name, i);
      if (!(*list)[i].same_shape((*first)[i]))
        op.refuse("{}[{}] is {} and {}[{}] is {}: want equal shapes", name, i, describe((*list)[i]), first_name, i,
                  describe((*first)[i]));
    }
  }
}

void suggest_list(const Op& op, std::initializer_list<const Tensors*> in, const Tensors& out,
                  FunctionRef<DType(DType)> type_of) {
  for (size_t i = 0; i < out.size(); ++i) {
    DType common = DType::Undefined;
    const TensorView* first = nullptr;
    for (const Tensors* list : in) {
      if (i >= list->size() || !list->item(i)) continue;
      const TensorView& v = (*list)[i];
      if (!first) first = &v;
      common = common == DType::Undefined ? v.dtype : promote(common, v.dtype);
    }
    if (first && out.item(i)) op.suggest_like(out[i], *first, type_of(common));
  }
}

DType list_type(ForeachRow row, DType common) {
  const bool integers = kernels().foreach_kernel(static_cast<int>(row), static_cast<int>(Compute::I64)) != nullptr;
  return is_integral(common, true) && !integers ? DType::Float : common;
}

void launch_list(Op& op, ListJob&& job, std::initializer_list<const Tensors*> in, const Tensors& out) {
  int number = 0;
  for (const Tensors* list : in) {
    const std::string name = fmt::format("input {}", ++number);
    require_lists(op, {{"out", &out}, {name.c_str(), list}});
  }
  for (size_t i = 0; i < out.size(); ++i) {
    const TensorView* views[ListJob::kMaxInputs];
    int k = 0;
    for (const Tensors* list : in) views[k++] = &(*list)[i];
    job.add(views, out[i]);
  }
  if (job.elements() == 0) return;
  op.work(job.elements());
  if (job.flat()) op.launch_flat(std::move(job));
  else op.launch([job = std::move(job)]() mutable { job.run(); });
}

}  // namespace updraft
