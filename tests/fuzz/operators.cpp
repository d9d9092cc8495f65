// Every aclnn operator with arguments made from the input: absurd shapes, types, strides, handles and numbers. The
// table of an operator's parameters says what to make.
//
// Tensors lie in memory of the host that AddressSanitizer watches, or, where they reach out of it, on the device.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "acl/acl.h"
#include "aclnn/acl_meta.h"
#include "input.h"
#include "ops/infer.h"
#include "ops/op.h"
#include "tensor/extent.h"

using namespace updraft;

namespace {

const std::vector<const OpInfo*>& operators() {
  static const auto* all = [] {
    auto* list = new std::vector<const OpInfo*>;
    for (const OpInfo* op = first_op(); op; op = op->next) list->push_back(op);
    std::sort(list->begin(), list->end(), [](auto* a, auto* b) { return std::strcmp(a->name, b->name) < 0; });
    return list;
  }();
  return *all;
}

class Call {
 public:
  explicit Call(fuzz::Input& in) : in_(in) {
    static constexpr int32_t common[] = {0, 0, 0, 1, 27, 9, 3, 12, 11, 4, 16};
    dtype_ = common[in_.below(11)];
    rank_ = in_.below(5);
    for (int64_t& dim : dims_) dim = in_.below(8) ? 1 + in_.below(4) : 0;
  }
  ~Call() {
    for (auto* list : lists_) aclDestroyTensorList(list);
    for (auto* list : scalar_lists_) aclDestroyScalarList(list);
    for (auto* t : tensors_) aclDestroyTensor(t);
    for (auto* s : scalars_) aclDestroyScalar(s);
    for (auto* a : ints_) aclDestroyIntArray(a);
    for (auto* a : bools_) aclDestroyBoolArray(a);
    for (auto* a : floats_) aclDestroyFloatArray(a);
  }

  Value value(const Parameter& p) {
    switch (p.kind) {
      case Kind::Double: return real();
      case Kind::Float: return static_cast<float>(real());
      case Kind::Tensor: return pointer(in_.one_in(p.optional ? 3 : 24) ? nullptr : tensor());
      case Kind::Tensors: return pointer(in_.one_in(24) ? nullptr : tensors());
      case Kind::Scalar: return pointer(in_.one_in(16) ? nullptr : scalar());
      case Kind::Scalars: {
        std::vector<aclScalar*> items;
        for (int n = in_.below(4); n-- > 0;) items.push_back(scalar());
        scalar_lists_.push_back(aclCreateScalarList(items.data(), items.size()));
        std::erase_if(scalars_, [&](auto* s) { return std::find(items.begin(), items.end(), s) != items.end(); });
        return pointer(scalar_lists_.back());
      }
      case Kind::Ints: {
        std::vector<int64_t> values(static_cast<size_t>(in_.below(6)));
        for (int64_t& v : values) v = in_.one_in(3) ? in_.odd_number() : in_.below(4);
        ints_.push_back(aclCreateIntArray(values.data(), values.size()));
        return pointer(in_.one_in(16) ? nullptr : ints_.back());
      }
      case Kind::Bools: {
        bool values[4];
        for (bool& v : values) v = in_.byte() & 1;
        bools_.push_back(aclCreateBoolArray(values, static_cast<uint64_t>(in_.below(5))));
        return pointer(bools_.back());
      }
      case Kind::Text: {
        static const char* const texts[] = {nullptr,  "",         "none",     "sum",  "ij",
                                            "linear", "bilinear", "\xff\xfe", "BSND", "BNSD"};
        return pointer(texts[in_.below(10)]);
      }
      case Kind::Bool: return (in_.byte() & 1) != 0;
      case Kind::Type: return static_cast<int32_t>(in_.one_in(2) ? dtype_ : in_.below(40) - 2);
      case Kind::Int8: return static_cast<int8_t>(integer());
      case Kind::Int32: return static_cast<int32_t>(integer());
      default: return integer();
    }
  }

 private:
  static Value pointer(const void* p) { return Value(p); }
  int64_t integer() { return in_.one_in(2) ? in_.odd_number() : in_.below(5) - 1; }

  double real() {
    static constexpr double values[] = {0, 1, -1, 0.5, 2, 1e30, -1e300, 1e-300, __builtin_inf(), __builtin_nan("")};
    return values[in_.below(10)];
  }

  aclScalar* scalar() {
    alignas(16) char value[16] = {};
    double d = real();
    int64_t n = in_.odd_number();
    int32_t type = in_.one_in(2) ? dtype_ : in_.below(35) - 1;
    std::memcpy(value, in_.one_in(2) ? static_cast<void*>(&d) : static_cast<void*>(&n), 8);
    aclScalar* s = aclCreateScalar(value, static_cast<aclDataType>(type));
    if (s) scalars_.push_back(s);
    return s;
  }

  aclTensor* tensor() {
    int64_t dims[kMaxDims], strides[kMaxDims];
    int rank = rank_;
    std::copy_n(dims_, 5, dims);
    int32_t type = in_.one_in(5) ? in_.below(36) - 1 : dtype_;
    const int how = in_.below(8);
    if (how >= 5) {  // another shape: a few dimensions changed
      if (how == 7) rank = in_.below(6);
      dims[in_.below(5)] = in_.below(5);
    }
    TensorView v = TensorView::contiguous(nullptr, static_cast<DType>(type), dims, rank);
    std::copy_n(v.strides, rank, strides);
    int64_t offset = 0;
    const bool odd = in_.one_in(10);
    if (odd) {
      for (int i = 0; i < rank; ++i) {
        dims[i] = in_.odd_number();
        strides[i] = in_.odd_number();
      }
      offset = in_.odd_number();
    } else if (rank > 1 && in_.one_in(4)) {
      int a = in_.below(rank), b = in_.below(rank);
      std::swap(dims[a], dims[b]);
      std::swap(strides[a], strides[b]);
    } else if (rank && in_.one_in(8)) {
      strides[in_.below(rank)] = 0;
    }
    int64_t elements = 1;  // broadcasts of a lifetime's length are slow, not wrong
    for (int i = 0; i < rank; ++i)
      if (dims[i] < 0 || __builtin_mul_overflow(elements, dims[i], &elements)) elements = -1, i = rank;
    if (odd && elements > 4096 && std::find(strides, strides + rank, 0) != strides + rank) return nullptr;
    void* data = nullptr;
    if (odd && !in_.one_in(8)) {
      data = device_memory();
    } else if (elements >= 0 && !odd) {
      // exactly as large as the view, so that AddressSanitizer sees a byte too many
      const size_t bytes = static_cast<size_t>(elements) * size_of(static_cast<DType>(type));
      memory_.emplace_back(new uint8_t[bytes]);
      for (size_t i = 0; i < bytes; ++i) memory_.back()[i] = in_.empty() ? 1 : in_.byte();
      if (static_cast<DType>(type) == DType::Bool)
        for (size_t i = 0; i < bytes; ++i) memory_.back()[i] &= 1;
      data = memory_.back().get();
    }
    static constexpr int32_t formats[] = {2, 2, 2, 0, 1, 3, 29, -1, 30, 32};
    aclTensor* t =
        aclCreateTensor(dims, static_cast<uint64_t>(rank), static_cast<aclDataType>(type), strides, offset,
                        static_cast<aclFormat>(formats[in_.below(10)]), dims, static_cast<uint64_t>(rank), data);
    if (t) {
      // Nothing may read what lies beyond the dimensions, which is of the handle's last use otherwise.
      std::fill(t->view.dims + rank, t->view.dims + kMaxDims, int64_t{1} << 40);
      std::fill(t->view.strides + rank, t->view.strides + kMaxDims, int64_t{1} << 40);
      tensors_.push_back(t);
    }
    return t;
  }

  aclTensorList* tensors() {
    std::vector<aclTensor*> items;
    for (int n = in_.below(5); n-- > 0;) items.push_back(in_.one_in(20) ? nullptr : tensor());
    lists_.push_back(aclCreateTensorList(items.data(), items.size()));
    std::erase_if(tensors_, [&](auto* t) { return std::find(items.begin(), items.end(), t) != items.end(); });
    return lists_.back();
  }

  static void* device_memory() {
    static void* p = [] {
      void* made = nullptr;
      aclrtMalloc(&made, 16384, ACL_MEM_MALLOC_HUGE_FIRST);
      return made;
    }();
    return p;
  }

  fuzz::Input& in_;
  int32_t dtype_;
  int rank_;
  int64_t dims_[5];
  std::vector<std::unique_ptr<uint8_t[]>> memory_;
  std::vector<aclTensor*> tensors_;
  std::vector<aclTensorList*> lists_;
  std::vector<aclScalar*> scalars_;
  std::vector<aclScalarList*> scalar_lists_;
  std::vector<aclIntArray*> ints_;
  std::vector<aclBoolArray*> bools_;
  std::vector<aclFloatArray*> floats_;
};

/// What inference says of the same arguments, with outputs that ask for their shapes.
int infer_outputs(const OpInfo& op, std::vector<Value> values) {
  std::vector<std::unique_ptr<aclTensor>> outputs;
  std::vector<std::unique_ptr<aclTensorList>> lists;
  auto asked = [&] {
    outputs.push_back(std::make_unique<aclTensor>());
    outputs.back()->view.dtype = DType::Undefined;
    return outputs.back().get();
  };
  for (size_t i = 0; i < values.size(); ++i) {
    const Parameter& p = op.parameters[i];
    if (p.direction != Direction::Out || !is_tensor(p.kind) || !values[i].pointer()) continue;
    if (p.kind == Kind::Tensor) {
      values[i] = Value(static_cast<const void*>(asked()));
      continue;
    }
    lists.push_back(std::make_unique<aclTensorList>());
    for (const aclTensor* t : values[i].tensors()->items) lists.back()->items.push_back({t ? asked() : nullptr});
    values[i] = Value(static_cast<const void*>(lists.back().get()));
  }
  return guard(op.name, [&] { infer(op, values.data()); });
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  fuzz::environment();
  aclInit(nullptr);
  aclrtSetDevice(0);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const char* only = std::getenv("FUZZ_OPERATOR");
  fuzz::Input in(data, size);
  const auto& all = operators();
  const OpInfo* op = all[in.number<uint16_t>() % all.size()];
  if (only)
    if (const OpInfo* found = find_op(only)) op = found;
  static const bool verbose = std::getenv("FUZZ_VERBOSE") != nullptr;
  if (std::strcmp(op->name, "aclnnSleep") == 0) return 0;  // it does what it is asked to
  if (verbose) std::fprintf(stderr, "%s\n", op->name);
  Call call(in);
  std::vector<Value> values;
  for (const Parameter& p : op->parameters) values.push_back(call.value(p));
  fuzz::documented(op->name, infer_outputs(*op, values));
  uint64_t workspace = 0;
  aclOpExecutor* executor = nullptr;
  const int code = plan_op(*op, values.data(), &workspace, &executor);
  fuzz::documented(op->name, code);
  if (code == 0) {
    fuzz::documented(op->name, launch_op(*op, nullptr, 0, executor, nullptr));
    fuzz::documented(op->name, aclrtSynchronizeStream(nullptr));
    if (find_executor(executor) && launch_op(*op, nullptr, 0, executor, nullptr) == 0)
      fuzz::wrong("an executor ran twice", 0);
  } else {
    if (executor) fuzz::wrong("an executor of a refused call", code);
    if (!aclGetRecentErrMsg()) fuzz::wrong("no text", code);
  }
  return 0;
}
