// One launch over lists of tensors. Tensors whose operands lie in memory alike are flat arrays: they are cut into
// units of a fixed size, and units of all tensors share one parallel region, so a hundred biases cost one region and
// one large weight still feeds every thread. The others take the strided pipeline, one after the other.
#pragma once
#include <vector>

#include "base/parallel.h"
#include "device/chain/flat_chain.h"
#include "kernels/foreach.h"
#include "kernels/pipeline.h"
#include "ops/elementwise/elementwise.h"
#include "ops/op.h"

namespace updraft {

inline constexpr int64_t kListBlock = 1024;     ///< elements that are converted at a time
inline constexpr int64_t kListUnit = 8 * 1024;  ///< elements of one unit

inline Params with_scalar(const aclScalar& scalar) { return params_of(scalar); }

/// Cuts arrays of n[i] elements into units and runs them in parallel. Boundaries depend on the sizes alone.
class ListUnits {
 public:
  void add(int64_t n) {
    sizes_.push_back(n);
    first_.push_back(units_);
    units_ += (n + kListUnit - 1) / kListUnit;
    elements_ += n;
  }
  int64_t units() const { return units_; }
  int64_t elements() const { return elements_; }
  /// First unit of array i.
  int64_t first(size_t i) const { return first_[i]; }
  size_t arrays() const { return sizes_.size(); }
  /// body(array, unit, begin, n) for every unit.
  void run(FunctionRef<void(size_t array, int64_t unit, int64_t begin, int64_t n)> body) const;

 private:
  std::vector<int64_t> sizes_, first_;
  int64_t units_ = 0, elements_ = 0;
};

/// True when all views are one dense array in the same order of memory.
bool lie_alike(const TensorView* const* v, int count);

/// The function of a row, of kernels/rows or of kernels/foreach.h; throws 161002 where it has none.
BlockFn list_kernel(Ew row, Compute compute);
BlockFn list_kernel(ForeachRow row, Compute compute);

/// out[i] = fn(in[0][i], in[1][i], …; params[i]) for lists.
class ListJob final : public FlatWork {
 public:
  static constexpr int kMaxInputs = 3;

  ListJob(BlockFn fn, Compute compute, int inputs) : fn_(fn), compute_(compute), inputs_(inputs), params_(1) {}
  /// Parameters of all tensors, or of each.
  Params& params() { return params_[0]; }
  void set_params(std::vector<Params> each) { params_ = std::move(each); }
  /// Scalar 0 of all tensors (one element) or of each (as many as there are) is read from the device.
  void read_params(const TensorView& from) { scalars_ = from; }
  void add(const TensorView* const* in, const TensorView& out);
  /// Inputs are copied to outputs, no function in between.
  void copy_only() { copy_ = true; }
  int64_t elements() const { return elements_; }
  void run();

  /// All of it is flat arrays and numbers that are known: others may be done together with it.
  bool flat() const { return strided_.empty() && !scalars_.data; }
  void operator()() { run(); }
  size_t rows() const override { return rows_.size(); }
  int64_t elements(size_t row) const override { return rows_[row].elements; }
  int arrays(size_t row, FlatArray* to) const override;
  void run_piece(size_t row, int64_t begin, int64_t n) const override { run_unit(rows_[row], begin, n); }

 private:
  struct Row {
    void* in[kMaxInputs];
    void* out;
    int64_t elements;
    int32_t tensor;
  };
  struct Strided {
    TensorView in[kMaxInputs], out;
    int32_t tensor;
  };
  const Params& params_of(int32_t tensor) const {
    return params_[params_.size() == 1 ? 0 : static_cast<size_t>(tensor)];
  }
  void run_unit(const Row& row, int64_t begin, int64_t n) const;

  BlockFn fn_;
  Compute compute_;
  int inputs_;
  bool copy_ = false;
  int32_t tensors_ = 0;
  int64_t elements_ = 0;
  DType in_type_[kMaxInputs] = {};
  DType out_type_ = DType::Undefined;
  std::vector<Params> params_;
  TensorView scalars_;
  ListUnits units_;
  std::vector<Row> rows_;
  std::vector<Strided> strided_;
};

/// The type in which a list is computed: of its first tensors.
Compute list_compute(const Tensors& in, const Tensors& out);

/// Checks that lists have equal lengths and shapes; a list handle that is empty is fine.
void require_lists(const Op& op, std::initializer_list<std::pair<const char*, const Tensors*>> lists);

/// Inference: out[i] has the shape of in[…][i] and the type that type_of gives for their common one.
void suggest_list(const Op& op, std::initializer_list<const Tensors*> in, const Tensors& out,
                  FunctionRef<DType(DType)> type_of);
/// The type of a row's results.
inline DType list_type(Ew row, DType common) { return natural_type(row, common); }
DType list_type(ForeachRow row, DType common);

/// Fills a job with the tensors and leaves it to the stream.
void launch_list(Op& op, ListJob&& job, std::initializer_list<const Tensors*> in, const Tensors& out);

/// out[i] = row(in[0][i], …).
template <class R>
void plan_list(Op& op, R row, std::initializer_list<const Tensors*> in, const Tensors& out, const Params& params = {}) {
  if (out.size() == 0) return;
  if (op.inferring()) suggest_list(op, in, out, [row](DType common) { return list_type(row, common); });
  const Compute compute = list_compute(**in.begin(), out);
  ListJob job(list_kernel(row, compute), compute, static_cast<int>(in.size()));
  job.params() = params;
  launch_list(op, std::move(job), in, out);
}
/// The same with a scalar for each tensor.
template <class R>
void plan_list(Op& op, R row, std::initializer_list<const Tensors*> in, const Tensors& out, const Scalars& scalars) {
  if (out.size() == 0) return;
  op.require(scalars.size() == out.size(), "scalars has {} elements, want {}", scalars.size(), out.size());
  if (op.inferring()) suggest_list(op, in, out, [row](DType common) { return list_type(row, common); });
  const Compute compute = list_compute(**in.begin(), out);
  ListJob job(list_kernel(row, compute), compute, static_cast<int>(in.size()));
  std::vector<Params> each(out.size());
  for (size_t i = 0; i < each.size(); ++i) set_param(each[i], 0, scalars[i]);
  job.set_params(std::move(each));
  launch_list(op, std::move(job), in, out);
}
/// The same with scalars in device memory: one for all tensors or one for each.
template <class R>
void plan_list(Op& op, R row, std::initializer_list<const Tensors*> in, const Tensors& out, const TensorView& scalars) {
  if (out.size() == 0) return;
  const int64_t n = scalars.numel();
  op.require(n == 1 || n == static_cast<int64_t>(out.size()), "scalars is {}, want 1 or {} elements", describe(scalars),
             out.size());
  if (op.inferring()) suggest_list(op, in, out, [row](DType common) { return list_type(row, common); });
  const Compute compute = list_compute(**in.begin(), out);
  ListJob job(list_kernel(row, compute), compute, static_cast<int>(in.size()));
  job.read_params(scalars);
  launch_list(op, std::move(job), in, out);
}

}  // namespace updraft
