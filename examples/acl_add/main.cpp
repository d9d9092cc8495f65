// The AscendCL flow from beginning to end: initialise, take a device, make a stream, copy in, run one aclnn operator
// (out = self + alpha * other), synchronise, copy out, and give everything back in reverse order.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "acl/acl.h"
#include "aclnnop/aclnn_add.h"

#define CHECK(call)                                                                      \
  do {                                                                                   \
    int code_ = static_cast<int>(call);                                                  \
    if (code_ != 0) {                                                                    \
      const char* text_ = aclGetRecentErrMsg();                                          \
      std::fprintf(stderr, "%s failed with %d\n%s\n", #call, code_, text_ ? text_ : ""); \
      return EXIT_FAILURE;                                                               \
    }                                                                                    \
  } while (0)

int main() {
  CHECK(aclInit(nullptr));
  CHECK(aclrtSetDevice(0));
  aclrtContext context = nullptr;
  CHECK(aclrtCreateContext(&context, 0));
  aclrtStream stream = nullptr;
  CHECK(aclrtCreateStream(&stream));

  const std::vector<int64_t> shape = {4, 2}, strides = {2, 1};
  std::vector<float> self = {0, 1, 2, 3, 4, 5, 6, 7}, other = {1, 1, 1, 2, 2, 2, 3, 3}, out(8, 0);
  const size_t bytes = self.size() * sizeof(float);
  void *self_device = nullptr, *other_device = nullptr, *out_device = nullptr;
  CHECK(aclrtMalloc(&self_device, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
  CHECK(aclrtMalloc(&other_device, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
  CHECK(aclrtMalloc(&out_device, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
  CHECK(aclrtMemcpy(self_device, bytes, self.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE));
  CHECK(aclrtMemcpy(other_device, bytes, other.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE));

  auto tensor = [&](void* data) {
    return aclCreateTensor(shape.data(), shape.size(), ACL_FLOAT, strides.data(), 0, ACL_FORMAT_ND, shape.data(),
                           shape.size(), data);
  };
  aclTensor *a = tensor(self_device), *b = tensor(other_device), *c = tensor(out_device);
  float alpha_value = 2.0f;
  aclScalar* alpha = aclCreateScalar(&alpha_value, ACL_FLOAT);

  uint64_t workspace_size = 0;
  aclOpExecutor* executor = nullptr;
  CHECK(aclnnAddGetWorkspaceSize(a, b, alpha, c, &workspace_size, &executor));
  void* workspace = nullptr;
  if (workspace_size > 0) CHECK(aclrtMalloc(&workspace, workspace_size, ACL_MEM_MALLOC_HUGE_FIRST));
  CHECK(aclnnAdd(workspace, workspace_size, executor, stream));
  CHECK(aclrtSynchronizeStream(stream));
  CHECK(aclrtMemcpy(out.data(), bytes, out_device, bytes, ACL_MEMCPY_DEVICE_TO_HOST));

  bool right = true;
  for (size_t i = 0; i < out.size(); ++i) {
    std::printf("%g + 2 * %g = %g\n", self[i], other[i], out[i]);
    right = right && out[i] == self[i] + 2 * other[i];
  }

  aclDestroyTensor(a);
  aclDestroyTensor(b);
  aclDestroyTensor(c);
  aclDestroyScalar(alpha);
  if (workspace) CHECK(aclrtFree(workspace));
  CHECK(aclrtFree(self_device));
  CHECK(aclrtFree(other_device));
  CHECK(aclrtFree(out_device));
  CHECK(aclrtDestroyStream(stream));
  CHECK(aclrtDestroyContext(context));
  CHECK(aclrtResetDevice(0));
  CHECK(aclFinalize());
  std::printf("%s on %s\n", right ? "right" : "WRONG", aclrtGetSocName());
  return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
