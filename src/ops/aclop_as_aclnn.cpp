#include "ops/aclop_as_aclnn.h"

#include "kernels/pipeline.h"

namespace updraft {

AclnnCall::~AclnnCall() {
  for (aclTensor* t : tensors_) tensor_pool().destroy(t);
  for (aclIntArray* a : ints_) int_array_pool().destroy(a);
  for (aclBoolArray* a : bools_) bool_array_pool().destroy(a);
}

AclnnCall::AnyTensor AclnnCall::tensor(const TensorView& view) {
  aclTensor* t = tensors_.emplace_back(tensor_pool().create());
  t->view = view;
  t->storage = view.data;
  t->storage_rank = 1;
  t->storage_dims[0] = view.numel();
  return {t};
}

AclnnCall::AnyTensor AclnnCall::in(size_t i) {
  if (i >= call_.inputs.size() || call_.inputs[i].view.dtype == DType::Undefined) return {nullptr};
  return tensor(call_.inputs[i].view);
}

AclnnCall::AnyTensor AclnnCall::out(size_t i) {
  if (i >= call_.outputs.size() || call_.outputs[i].view.dtype == DType::Undefined) return {nullptr};
  return tensor(call_.outputs[i].view);
}

AclnnCall::AnyInts AclnnCall::ints(std::vector<int64_t> values) {
  return {ints_.emplace_back(int_array_pool().create(aclIntArray{std::move(values)}))};
}

Bools AclnnCall::bools(std::vector<uint8_t> values) {
  return {bools_.emplace_back(bool_array_pool().create(aclBoolArray{std::move(values)}))};
}

const std::vector<int64_t>& AclnnCall::attribute(const char* name, size_t least) const {
  const auto at = call_.attributes.find(name);
  const size_t size = at == call_.attributes.end() ? 0 : at->second.integers.size();
  if (at == call_.attributes.end() || size < least)
    throw Error(code::kAclInvalidParam, "{}: attribute {} has {} values, want {}", call_.type, name, size, least);
  return at->second.integers;
}

std::vector<int64_t> AclnnCall::pads(const char* name, size_t spatial) const {
  const std::vector<int64_t>& both = attribute(name, 2 * spatial);
  std::vector<int64_t> before;
  for (size_t d = 0; d < spatial; ++d) before.push_back(both[2 * d]);
  return before;
}

std::vector<int64_t> AclnnCall::values(size_t input) const {
  require_present(call_, {input}, {});
  const TensorView& from = call_.inputs[input].view;
  std::vector<int64_t> values(static_cast<size_t>(from.numel()));
  if (!values.empty()) gather_to(values.data(), DType::Int64, from);
  return values;
}

void AclnnCall::finish(int code, aclOpExecutor* executor) {
  if (code) {
    // "[PID: …] … Title(EZ1001): aclnnAdd: what is wrong\n …": one line of it, without the stamp
    std::string why = take_error_text();
    why = why.substr(0, why.find('\n'));
    if (const size_t at = why.find("): "); at != std::string::npos) why.erase(0, at + 3);
    throw Error(code::kAclInvalidParam, "{} (as {})", call_.type, why);
  }
  if (!executor) return;
  struct Recycle {
    aclOpExecutor* executor;
    ~Recycle() { recycle_executor(executor); }
  } recycle{executor};
  executor->run();
}

}  // namespace updraft
