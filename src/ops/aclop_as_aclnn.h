// An aclop that an aclnn operator computes: its tensors and attributes become that one's arguments.
//   AclnnCall as(call);
//   as.run(aclnnSiluGetWorkspaceSize, as.in(0), as.out(0));
#pragma once
#include <utility>
#include <vector>

#include "ops/aclop.h"
#include "ops/op.h"
#include "ops/reach.h"

namespace updraft {

class AclnnCall {
 public:
  /// A handle in the form that the operator's parameter has; null where the tensor is absent.
  struct AnyTensor {
    aclTensor* handle;
    operator In() const { return {handle}; }
    operator OptIn() const { return {handle}; }
    operator Out() const { return {handle}; }
    operator OptOut() const { return {handle}; }
  };
  struct AnyInts {
    aclIntArray* handle;
    operator Ints() const { return {handle}; }
    operator OptInts() const { return {handle}; }
  };

  explicit AclnnCall(const AclopCall& call) : call_(call) {}
  AclnnCall(const AclnnCall&) = delete;
  ~AclnnCall();

  AnyTensor in(size_t i);
  AnyTensor out(size_t i);
  AnyTensor tensor(const TensorView& view);
  AnyInts ints(std::vector<int64_t> values);
  Bools bools(std::vector<uint8_t> values);
  /// The values of an attribute, or an error that names it.
  const std::vector<int64_t>& attribute(const char* name, size_t least) const;
  /// Of an attribute of two values a dimension (before and after), those before.
  std::vector<int64_t> pads(const char* name, size_t spatial) const;
  /// Integers that are an input (a shape, dimensions).
  std::vector<int64_t> values(size_t input) const;

  /// Plans with these arguments and computes at once; a refusal becomes the error of the aclop.
  template <class... P, class... A>
  void run(int (*plan)(P...), A... arguments) {
    uint64_t workspace = 0;
    aclOpExecutor* executor = nullptr;
    const OwnScratch scratch;
    const int code = plan(arguments..., &workspace, &executor);
    finish(code, executor);
  }

 private:
  void finish(int code, aclOpExecutor* executor);

  const AclopCall& call_;
  std::vector<aclTensor*> tensors_;
  std::vector<aclIntArray*> ints_;
  std::vector<aclBoolArray*> bools_;
};

}  // namespace updraft
