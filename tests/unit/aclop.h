#pragma once
#include <cstdint>
#include <vector>

#include "acl/acl.h"
#include "acl/acl_op.h"

/// One operator by its type through the interface of the aclop era.
struct Aclop {
  std::vector<aclTensorDesc*> in, out;
  std::vector<aclDataBuffer*> in_data, out_data;
  aclopAttr* attributes = aclopCreateAttr();

  ~Aclop() {
    for (auto* list : {&in, &out})
      for (aclTensorDesc* d : *list) aclDestroyTensorDesc(d);
    for (auto* list : {&in_data, &out_data})
      for (aclDataBuffer* d : *list) aclDestroyDataBuffer(d);
    aclopDestroyAttr(attributes);
  }
  Aclop() = default;
  Aclop(const Aclop&) = delete;
  aclTensorDesc* add(bool output, const std::vector<int64_t>& dims, float* data, size_t elements) {
    aclTensorDesc* desc = aclCreateTensorDesc(ACL_FLOAT, static_cast<int>(dims.size()), dims.data(), ACL_FORMAT_NCHW);
    (output ? out : in).push_back(desc);
    (output ? out_data : in_data).push_back(aclCreateDataBuffer(data, elements * sizeof(float)));
    return desc;
  }
  int run(const char* type, aclrtStream stream) {
    return aclopExecuteV2(type, static_cast<int>(in.size()), in.data(), in_data.data(), static_cast<int>(out.size()),
                          out.data(), out_data.data(), attributes, stream);
  }
};
