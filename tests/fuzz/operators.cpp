// Every aclnn operator with arguments made from the input: absurd shapes, types, strides, handles and numbers. The
// signature of an operator is known as text, and the calling convention of x86-64 and AArch64 passes integers and
// floating-point numbers in separate registers: so one call with enough of both serves every operator.
//
// Tensors lie in memory of the host that AddressSanitizer watches, or, where they reach out of it, on the device.
#include <dlfcn.h>

#include <memory>
#include <vector>

#include "acl/acl.h"
#include "aclnn/acl_meta.h"
#include "input.h"
#include "ops/op.h"
#include "tensor/extent.h"

using namespace updraft;

namespace {

constexpr int kIntegers = 40;
using First = int (*)(double, double, double, double, double, double, double, double, uint64_t, uint64_t, uint64_t,
                      uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                      uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                      uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                      uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                      uint64_t);
using Second = int (*)(void*, uint64_t, aclOpExecutor*, aclrtStream);

struct Operator {
  const char* name;
  std::vector<std::string> types;
  First first;
  Second second;
};

std::vector<std::string> types_of(const char* signature) {
  std::vector<std::string> types;
  for (const char* at = std::strchr(signature, '('); at; at = std::strchr(at + 1, '('))
    types.emplace_back(at + 1, std::strcspn(at + 1, ","));
  return types;
}

const std::vector<Operator>& operators() {
  static const auto* all = [] {
    auto* list = new std::vector<Operator>;
    for (const OpInfo* op = first_op(); op; op = op->next) {
      auto first = reinterpret_cast<First>(dlsym(RTLD_DEFAULT, (std::string(op->name) + "GetWorkspaceSize").c_str()));
      auto second = reinterpret_cast<Second>(dlsym(RTLD_DEFAULT, op->name));
      if (!first || !second) fuzz::wrong(op->name, 0);
      list->push_back({op->name, types_of(op->signature), first, second});
    }
    std::sort(list->begin(), list->end(), [](auto& a, auto& b) { return std::strcmp(a.name, b.name) < 0; });
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

  void add(const std::string& type) {
    if (type == "Double") {
      reals_.push_back(real());
    } else if (type == "Float") {
      float value = static_cast<float>(real());
      double slot = 0;
      std::memcpy(&slot, &value, sizeof value);
      reals_.push_back(slot);
    } else if (type == "In" || type == "Out" || type == "OptIn" || type == "OptOut") {
      pass(in_.one_in(type[0] == 'O' && type[1] == 'p' ? 3 : 24) ? nullptr : tensor());
    } else if (type == "Tensors" || type == "OptTensors") {
      pass(in_.one_in(24) ? nullptr : tensors());
    } else if (type == "Scalar" || type == "OptScalar") {
      pass(in_.one_in(16) ? nullptr : scalar());
    } else if (type == "Scalars") {
      std::vector<aclScalar*> items;
      for (int n = in_.below(4); n-- > 0;) items.push_back(scalar());
      scalar_lists_.push_back(aclCreateScalarList(items.data(), items.size()));
      std::erase_if(scalars_, [&](auto* s) { return std::find(items.begin(), items.end(), s) != items.end(); });
      pass(scalar_lists_.back());
    } else if (type == "Ints" || type == "OptInts") {
      std::vector<int64_t> values(static_cast<size_t>(in_.below(6)));
      for (int64_t& v : values) v = in_.one_in(3) ? in_.odd_number() : in_.below(4);
      ints_.push_back(aclCreateIntArray(values.data(), values.size()));
      pass(in_.one_in(16) ? nullptr : ints_.back());
    } else if (type == "Bools") {
      bool values[4];
      for (bool& v : values) v = in_.byte() & 1;
      bools_.push_back(aclCreateBoolArray(values, static_cast<uint64_t>(in_.below(5))));
      pass(bools_.back());
    } else if (type == "Text") {
      static const char* const texts[] = {nullptr,  "",         "none",     "sum",  "ij",
                                          "linear", "bilinear", "\xff\xfe", "BSND", "BNSD"};
      pass(texts[in_.below(10)]);
    } else if (type == "Bool") {
      pass(reinterpret_cast<void*>(static_cast<uintptr_t>(in_.byte() & 1)));
    } else if (type == "Type") {
      pass(reinterpret_cast<void*>(static_cast<intptr_t>(in_.one_in(2) ? dtype_ : in_.below(40) - 2)));
    } else {
      pass(reinterpret_cast<void*>(static_cast<intptr_t>(in_.one_in(2) ? in_.odd_number() : in_.below(5) - 1)));
    }
  }

#ifdef __clang__
  __attribute__((no_sanitize("function")))  // operators are called by one type, whatever theirs is
#endif
  int plan(const Operator& op, uint64_t* workspace, aclOpExecutor** executor) {
    pass(workspace);
    pass(executor);
    double d[8] = {};
    uint64_t i[kIntegers] = {};
    if (integers_.size() > kIntegers || reals_.size() > 8) return -1;
    std::copy(reals_.begin(), reals_.end(), d);
    std::copy(integers_.begin(), integers_.end(), i);
    return op.first(d[0], d[1], d[2], d[3], d[4], d[5], d[6], d[7], i[0], i[1], i[2], i[3], i[4], i[5], i[6], i[7],
                    i[8], i[9], i[10], i[11], i[12], i[13], i[14], i[15], i[16], i[17], i[18], i[19], i[20], i[21],
                    i[22], i[23], i[24], i[25], i[26], i[27], i[28], i[29], i[30], i[31], i[32], i[33], i[34], i[35],
                    i[36], i[37], i[38], i[39]);
  }

 private:
  void pass(const void* p) { integers_.push_back(reinterpret_cast<uint64_t>(p)); }

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
    if (t) tensors_.push_back(t);
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
  std::vector<uint64_t> integers_;
  std::vector<double> reals_;
  std::vector<std::unique_ptr<uint8_t[]>> memory_;
  std::vector<aclTensor*> tensors_;
  std::vector<aclTensorList*> lists_;
  std::vector<aclScalar*> scalars_;
  std::vector<aclScalarList*> scalar_lists_;
  std::vector<aclIntArray*> ints_;
  std::vector<aclBoolArray*> bools_;
  std::vector<aclFloatArray*> floats_;
};

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
  const Operator* op = &all[in.number<uint16_t>() % all.size()];
  if (only)
    for (const Operator& o : all)
      if (std::strcmp(o.name, only) == 0) op = &o;
  static const bool verbose = std::getenv("FUZZ_VERBOSE") != nullptr;
  if (verbose) std::fprintf(stderr, "%s\n", op->name);
  Call call(in);
  for (const std::string& type : op->types) call.add(type);
  uint64_t workspace = 0;
  aclOpExecutor* executor = nullptr;
  int code = call.plan(*op, &workspace, &executor);
  if (code == -1) return 0;
  fuzz::documented(op->name, code);
  if (code == 0) {
    fuzz::documented(op->name, op->second(nullptr, workspace, executor, nullptr));
    fuzz::documented(op->name, aclrtSynchronizeStream(nullptr));
    if (op->second(nullptr, workspace, executor, nullptr) == 0) fuzz::wrong("an executor ran twice", 0);
  } else {
    if (executor) fuzz::wrong("an executor of a refused call", code);
    if (!aclGetRecentErrMsg()) fuzz::wrong("no text", code);
  }
  return 0;
}
