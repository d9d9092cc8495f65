// Single operators that are prepared before they run: handles, Cast, and what a compiler of operators would do.
#include <sys/stat.h>

#include <memory>

#include "acl/aclop.h"
#include "acl/api.h"
#include "base/accepted.h"
#include "base/handle_pool.h"

using namespace updraft;

extern "C" {
aclTensorDesc* aclCreateTensorDesc(int32_t type, int rank, const int64_t* dims, int32_t format);
void aclDestroyTensorDesc(const aclTensorDesc* desc);
aclopAttr* aclopCreateAttr();
void aclopDestroyAttr(const aclopAttr* attr);
int aclopSetAttrInt(aclopAttr* attr, const char* name, int64_t value);
}

namespace {

struct Descs {
  std::vector<const aclTensorDesc*> all;

  Descs(int count, const aclTensorDesc* const* from) {
    for (int i = 0; i < count; ++i) all.push_back(from[i] ? copy(live(from[i])) : nullptr);
  }
  Descs(Descs&& from) noexcept : all(std::exchange(from.all, {})) {}
  Descs(const Descs&) = delete;
  ~Descs() {
    for (const aclTensorDesc* desc : all)
      if (desc) aclDestroyTensorDesc(desc);
  }
  int count() const { return static_cast<int>(all.size()); }

 private:
  static const aclTensorDesc* copy(const aclTensorDesc& desc) {
    aclTensorDesc* made = aclCreateTensorDesc(0, 0, nullptr, 0);
    if (!made) throw Error(code::kAclBadAlloc, "there is no room for another tensor description");
    live(made) = desc;
    return made;
  }
};

using Attributes = std::unique_ptr<aclopAttr, void (*)(const aclopAttr*)>;

Attributes copy_of(const aclopAttr* attributes) {
  Attributes made(aclopCreateAttr(), aclopDestroyAttr);
  if (!made) throw Error(code::kAclBadAlloc, "there is no room for more attributes");
  if (attributes) const_cast<aclopAttr&>(live(made.get())).values = live(attributes).values;
  return made;
}

Attributes cast_to(const aclTensorDesc* target) {
  need(target, "dstDesc");
  Attributes made = copy_of(nullptr);
  aclopSetAttrInt(made.get(), "dst_type", static_cast<int64_t>(live(target).dtype));
  return made;
}

void check_truncate(uint8_t truncate) {
  if (truncate)
    throw Error(code::kAclInvalidParam, "truncate is {}, want 0: values that do not fit are as aclnnCast makes them",
                truncate);
}

}  // namespace

/// What aclopCreateHandle keeps: copies, since the client destroys its own.
struct aclopHandle {
  std::string type;
  Descs in, out;
  Attributes attributes;
};

namespace {

HandlePool<aclopHandle>& handles() {
  static auto* p = new HandlePool<aclopHandle>(1 << 16);
  return *p;
}

aclopHandle* create(const char* type, int inputs, const aclTensorDesc* const* in, int outputs,
                    const aclTensorDesc* const* out, Attributes attributes) {
  require_operator(type, inputs, in, outputs, out);
  return handles().create(aclopHandle{type, Descs(inputs, in), Descs(outputs, out), std::move(attributes)});
}

}  // namespace

ACL_API aclopCreateHandle(const char* type, int inputs, const aclTensorDesc* const* in, int outputs,
                          const aclTensorDesc* const* out, const aclopAttr* attributes, aclopHandle** handle) {
  return guard("aclopCreateHandle", [&] {
    need(handle, "handle");
    *handle = create(type, inputs, in, outputs, out, copy_of(attributes));
  });
}
ACL_API aclopCreateHandleForCast(aclTensorDesc* from, aclTensorDesc* to, uint8_t truncate, aclopHandle** handle) {
  return guard("aclopCreateHandleForCast", [&] {
    need(handle, "handle");
    check_truncate(truncate);
    const aclTensorDesc *in = from, *out = to;
    *handle = create("Cast", 1, &in, 1, &out, cast_to(to));
  });
}
extern "C" UPDRAFT_API void aclopDestroyHandle(aclopHandle* handle) {
  guard("aclopDestroyHandle", [&] { handles().destroy(handle); });
}
ACL_API aclopExecWithHandle(aclopHandle* handle, int inputs, const aclDataBuffer* const* in, int outputs,
                            aclDataBuffer* const* out, void* stream) {
  return guard("aclopExecWithHandle", [&] {
    need(handle, "handle");
    const aclopHandle* h = handles().get(handle);
    if (!h)
      throw Error(code::kAclInvalidParam, "handle {} is none (destroyed, or never created)",
                  static_cast<const void*>(handle));
    if (inputs != h->in.count() || outputs != h->out.count())
      throw Error(code::kAclInvalidParam, "{}: {} inputs and {} outputs are given, the handle was made for {} and {}",
                  h->type, inputs, outputs, h->in.count(), h->out.count());
    execute_operator(h->type.c_str(), inputs, h->in.all.data(), in, outputs, h->out.all.data(), out,
                     h->attributes.get(), stream);
  });
}

ACL_API aclopCast(const aclTensorDesc* from, const aclDataBuffer* data, const aclTensorDesc* to, aclDataBuffer* result,
                  uint8_t truncate, void* stream) {
  return guard("aclopCast", [&] {
    check_truncate(truncate);
    const Attributes attributes = cast_to(to);
    execute_operator("Cast", 1, &from, &data, 1, &to, &result, attributes.get(), stream);
  });
}

ACL_API aclopExecute(const char* type, int inputs, const aclTensorDesc* const* in, const aclDataBuffer* const* in_data,
                     int outputs, const aclTensorDesc* const* out, aclDataBuffer* const* out_data,
                     const aclopAttr* attributes, void* stream) {
  return guard("aclopExecute",
               [&] { execute_operator(type, inputs, in, in_data, outputs, out, out_data, attributes, stream); });
}

// Operators are part of the library: there is nothing to compile, only to know the operator.
ACL_API aclopCompile(const char* type, int inputs, const aclTensorDesc* const* in, int outputs,
                     const aclTensorDesc* const* out, const aclopAttr* attributes, int32_t, int32_t, const char*) {
  return guard("aclopCompile", [&] {
    require_operator(type, inputs, in, outputs, out);
    if (attributes) live(attributes);
  });
}
ACL_API aclopUpdateParams(const char* type, int inputs, const aclTensorDesc* const* in, int outputs,
                          const aclTensorDesc* const* out, const aclopAttr* attributes) {
  return guard("aclopUpdateParams", [&] {
    require_operator(type, inputs, in, outputs, out);
    if (attributes) live(attributes);
  });
}

/// Operators are found by their types wherever this folder is; one that does not exist is a mistake all the same.
ACL_API aclopSetModelDir(const char* folder) {
  return guard("aclopSetModelDir", [&] {
    need(folder, "modelDir");
    struct stat found {};
    if (stat(folder, &found) != 0 || !S_ISDIR(found.st_mode))
      throw Error(code::kAclInvalidFile, "{} is not a folder: want the folder of the models of single operators",
                  folder);
  });
}
ACCEPTED(aclopSetMaxOpQueueNum, "operators are part of the library, and none is unloaded to make room for another",
         "算子是库的一部分，不会为腾出空间而卸载")
ACL_API aclopSetMaxOpQueueNum(uint64_t) { return 0; }
