// Operators of the aclop era, found by type name ("Add", "OneHot"). An operator file adds one with
//   ABOUT_ACLOP("NPUGetFloatStatus", Vector, "in one line", "…in 中文…")
//   ACLOP("NPUGetFloatStatus", [](AclopCall& call) { … kernels on call.inputs[i].view … });
#pragma once
#include <initializer_list>
#include <map>
#include <string>
#include <vector>

#include "device/argument.h"
#include "device/memory.h"
#include "ops/about.h"
#include "tensor/view.h"

namespace updraft {

class Stream;
struct SocProfile;

struct AclopTensor {
  TensorView view;
  bool on_host = false;  ///< the data is a host constant (an attribute passed as a tensor)
  std::string name;
  std::string constant;  ///< aclSetTensorConst's bytes
  int32_t format = 2;    ///< aclFormat
};

struct AclopAttribute {
  int64_t integer = 0;
  float real = 0;
  std::string text;
  std::vector<int64_t> integers;
  std::vector<float> reals;
  Argument::Value given;  ///< as the client gave it, when observers want arguments
};

struct AclopCall {
  std::string type;
  std::vector<AclopTensor> inputs, outputs;
  std::map<std::string, AclopAttribute> attributes;
  int64_t integer(const char* name, int64_t fallback) const {
    auto it = attributes.find(name);
    return it == attributes.end() ? fallback : it->second.integer;
  }
};

struct AclopInfo {
  const char* type;
  void (*run)(AclopCall&);
  bool dynamic_shape;
  AclopInfo* next;
};

struct AclopAbout {
  const char* type;
  OpAbout about;
  const char* file;
  AclopAbout* next = nullptr;
  int64_t (*flops)(const AclopCall&) = nullptr;  ///< null: elements of the largest tensor
};

const AclopInfo* find_aclop(const std::string& type);
/// All of them, for tables and tests.
const AclopInfo* first_aclop();
/// Null where ABOUT_ACLOP is missing.
const AclopAbout* find_aclop_about(const std::string& type);
AclopAbout* register_aclop_about(AclopAbout* about);
AclopInfo* register_aclop(AclopInfo* info);
/// Throws 100000 when one of these inputs or outputs is absent: no data (but for an empty tensor) or no type.
void require_present(const AclopCall& call, std::initializer_list<size_t> inputs,
                     std::initializer_list<size_t> outputs);
/// Why the product that UPDRAFT_FIDELITY=card stands for does not take a tensor of the call: the sets of the aclnn
/// operator that computes the same (ops/card.h); empty: it does, or nobody has documented it.
std::string aclop_refusal(const AclopCall& call, const SocProfile& product);
/// Copies host inputs, then runs the operator on the stream. Throws 100000 for what UPDRAFT_FIDELITY=card refuses.
void launch_aclop(const AclopInfo& info, AclopCall&& call, Stream& stream);

}  // namespace updraft

#define UPDRAFT_JOIN2(a, b) a##b
#define UPDRAFT_JOIN(a, b) UPDRAFT_JOIN2(a, b)
/// What an operator is; a function that counts its operations may follow.
#define ABOUT_ACLOP(TYPE, UNIT, SUMMARY, SUMMARY_ZH, ...)                                                \
  static ::updraft::AclopAbout UPDRAFT_JOIN(aclop_about_, __LINE__){                                     \
      TYPE, {::updraft::Unit::UNIT, SUMMARY, SUMMARY_ZH}, __FILE__, nullptr __VA_OPT__(, ) __VA_ARGS__}; \
  [[maybe_unused]] static ::updraft::AclopAbout* const UPDRAFT_JOIN(aclop_described_, __LINE__) =        \
      ::updraft::register_aclop_about(&UPDRAFT_JOIN(aclop_about_, __LINE__));
#define ACLOP(TYPE, ...)                                                                              \
  static ::updraft::AclopInfo UPDRAFT_JOIN(aclop_info_, __LINE__){TYPE, __VA_ARGS__, false, nullptr}; \
  [[maybe_unused]] static ::updraft::AclopInfo* const UPDRAFT_JOIN(aclop_registered_, __LINE__) =     \
      ::updraft::register_aclop(&UPDRAFT_JOIN(aclop_info_, __LINE__));
