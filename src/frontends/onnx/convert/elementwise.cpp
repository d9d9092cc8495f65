// Element by element: arithmetic, comparisons, bits, types.
#include "frontends/onnx/convert/families.h"

namespace updraft::onnx {

void same(Conversion& c) {
  std::vector<Operand> operands;
  for (size_t i = 0; i < c.inputs(); ++i) operands.emplace_back(c.maybe(i));
  c.result(c.row.ascend, operands);
}

namespace {

/// Max, Min and Sum: two at a time.
void fold(Conversion& c) {
  const std::vector<Endpoint> x = c.all();
  c.require(!x.empty(), "there are no inputs");
  if (x.size() == 1) return c.pass(x[0]);
  Endpoint sum = x[0];
  for (size_t i = 1; i + 1 < x.size(); ++i) sum = c.emit(c.row.ascend, {sum, x[i]});
  c.result(c.row.ascend, {sum, x.back()});
}
void mean(Conversion& c) {
  const std::vector<Endpoint> x = c.all();
  c.require(!x.empty(), "there are no inputs");
  Endpoint sum = x[0];
  for (size_t i = 1; i < x.size(); ++i) sum = c.add(sum, x[i]);
  c.result("RealDiv", {sum, c.scalar_like(static_cast<double>(x.size()), sum)});
}

/// The result has the type of the base.
void power(Conversion& c) {
  const Endpoint base = c.in(0), exponent = c.in(1);
  const DType type = c.type(base), other = c.type(exponent);
  if (type == other) {
    c.result("Pow", {base, exponent});
    return;
  }
  if (is_floating(type)) {
    c.result("Pow", {base, c.cast(exponent, type)});
    return;
  }
  const DType wide = is_floating(other) ? (size_of(type) > 2 ? DType::Double : other) : DType::Int64;
  const Endpoint y = c.emit("Pow", {c.cast(base, wide), c.cast(exponent, wide)});
  c.result("Cast", {y}, {{"dst_type", static_cast<int64_t>(type)}});
}

void remainder(Conversion& c) { c.result(c.flag("fmod") ? "Mod" : "FloorMod", {c.in(0), c.in(1)}); }

void shift(Conversion& c) {
  const std::string direction = c.text("direction", "");
  c.require(direction == "LEFT" || direction == "RIGHT", "attribute direction is \"{}\", want LEFT or RIGHT",
            direction);
  c.result(direction == "LEFT" ? "LeftShift" : "RightShift", {c.in(0), c.in(1)});
}

void cast(Conversion& c) {
  c.ignore("saturate");  // of types of eight bits, which are refused
  c.ignore("round_mode");
  const Endpoint x = c.in(0);
  const DType to = c.element_type(c.integer("to"), "attribute to");
  if (c.type(x) == to) return c.pass(x);
  c.result("Cast", {x}, {{"dst_type", static_cast<int64_t>(to)}});
}
void cast_like(Conversion& c) {
  c.ignore("saturate");
  c.ignore("round_mode");
  const Endpoint x = c.in(0);
  const DType to = c.type(c.in(1));
  if (c.type(x) == to) return c.pass(x);
  c.result("Cast", {x}, {{"dst_type", static_cast<int64_t>(to)}});
}

/// Bounds are attributes before version 11.
void clip_by_attributes(Conversion& c) {
  const Endpoint x = c.in(0);
  const DType type = c.type(x);
  c.result("ClipByValueV2",
           {x, c.scalar(c.real("min", -3.402823466e+38f), type), c.scalar(c.real("max", 3.402823466e+38f), type)});
}
void clip(Conversion& c) {
  const Endpoint x = c.in(0), low = c.maybe(1), high = c.maybe(2);
  if (!low && !high) return c.pass(x);
  if (low && high) c.result("ClipByValueV2", {x, low, high});
  else if (low) c.result("Maximum", {x, low});
  else c.result("Minimum", {x, high});
}

void is_infinite(Conversion& c) {
  const Endpoint x = c.in(0);
  const bool negative = c.flag("detect_negative", true), positive = c.flag("detect_positive", true);
  if (negative && positive) c.result("IsInf", {x});
  else if (negative) c.result("IsNegInf", {x});
  else if (positive) c.result("IsPosInf", {x});
  else c.result("Less", {x, x});  // neither is asked for: false everywhere
}

void identity(Conversion& c) { c.give(0, c.value_in(0)); }

void negative(Conversion& c) { c.result("Neg", {c.in(0)}); }

constexpr Row kRows[] = {
    {"Abs", 6, same, "Abs"},
    {"Acos", 7, same, "Acos"},
    {"Acosh", 9, same, "Acosh"},
    {"Add", 7, same, "Add"},
    {"And", 7, same, "LogicalAnd"},
    {"Asin", 7, same, "Asin"},
    {"Asinh", 9, same, "Asinh"},
    {"Atan", 7, same, "Atan"},
    {"Atanh", 9, same, "Atanh"},
    {"BitShift", 11, shift, "LeftShift, RightShift"},
    {"BitwiseAnd", 18, same, "BitwiseAnd"},
    {"BitwiseNot", 18, same, "Invert"},
    {"BitwiseOr", 18, same, "BitwiseOr"},
    {"BitwiseXor", 18, same, "BitwiseXor"},
    {"Cast", 6, cast, "Cast", "no types of eight bits or less but INT8, UINT8 and BOOL", "不支持 8 位浮点与更窄的类型"},
    {"CastLike", 15, cast_like, "Cast"},
    {"Ceil", 6, same, "Ceil"},
    {"Clip", 6, clip_by_attributes, "ClipByValueV2"},
    {"Clip", 11, clip, "ClipByValueV2, Maximum, Minimum"},
    {"Cos", 7, same, "Cos"},
    {"Cosh", 9, same, "Cosh"},
    {"Div", 7, same, "Div"},
    {"Equal", 7, same, "Equal"},
    {"Erf", 9, same, "Erf"},
    {"Exp", 6, same, "Exp"},
    {"Floor", 6, same, "Floor"},
    {"Greater", 7, same, "Greater"},
    {"GreaterOrEqual", 12, same, "GreaterEqual"},
    {"Identity", 1, identity, ""},
    {"IsInf", 10, is_infinite, "IsInf, IsNegInf, IsPosInf"},
    {"IsNaN", 9, same, "IsNan"},
    {"Less", 7, same, "Less"},
    {"LessOrEqual", 12, same, "LessEqual"},
    {"Log", 6, same, "Log"},
    {"Max", 6, fold, "Maximum"},
    {"Mean", 6, mean, "Add, RealDiv"},
    {"Min", 6, fold, "Minimum"},
    {"Mod", 10, remainder, "FloorMod, Mod"},
    {"Mul", 7, same, "Mul"},
    {"Neg", 6, negative, "Neg"},
    {"Not", 1, same, "LogicalNot"},
    {"Or", 7, same, "LogicalOr"},
    {"Pow", 7, power, "Pow"},
    {"Reciprocal", 6, same, "Reciprocal"},
    {"Round", 11, same, "Round"},
    {"Sign", 9, same, "Sign"},
    {"Sin", 7, same, "Sin"},
    {"Sinh", 9, same, "Sinh"},
    {"Sqrt", 6, same, "Sqrt"},
    {"Sub", 7, same, "Sub"},
    {"Sum", 6, fold, "Add"},
    {"Tan", 7, same, "Tan"},
    {"Where", 9, same, "SelectV2"},
    {"Xor", 7, same, "NotEqual"},
};

}  // namespace

std::span<const Row> elementwise_rows() { return kRows; }

}  // namespace updraft::onnx
