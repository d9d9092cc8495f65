// Constants, and tensors that say nothing but a shape and a value.
#include "frontends/tensorflow/convert/families.h"

namespace updraft::tensorflow {
namespace {

void constant(Conversion& c) {
  const AttrValue& a = c.attribute("value", AttrValue::Kind::Tensor);
  c.require(a.tensor->type != ElementType::String, "the constant holds texts, which the virtual NPU has not");
  c.require(dtype_of(a.tensor->type) != DType::Undefined, "the constant is {}, a type that the virtual NPU has not",
            name_of(a.tensor->type));
  c.give(c.build.constant(c.name, a.tensor->value));
}

void placeholder_with_default(Conversion& c) {
  c.ignore("shape");
  pass(c);
}

void fill(Conversion& c) { c.result("Fill", {c.in(0), c.in(1)}); }

void range(Conversion& c) { c.result("Range", {c.in(0), c.in(1), c.in(2)}); }

void zeros_like(Conversion& c) { c.result("ZerosLike", {c.in(0)}); }
void ones_like(Conversion& c) { c.result("OnesLike", {c.in(0)}); }

constexpr Row kRows[] = {
    {"Const", constant, "Const", "no texts", "不支持文本"},
    {"Fill", fill, "Fill"},
    {"OnesLike", ones_like, "OnesLike"},
    {"PlaceholderWithDefault", placeholder_with_default, "", "always the default", "总是取默认值"},
    {"Range", range, "Range"},
    {"ZerosLike", zeros_like, "ZerosLike"},
};

}  // namespace

std::span<const Row> constant_rows() { return kRows; }

}  // namespace updraft::tensorflow
