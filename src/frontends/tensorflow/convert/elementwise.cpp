// Elementwise arithmetic, comparisons, logic, types.
#include "frontends/tensorflow/convert/families.h"

namespace updraft::tensorflow {
namespace {

void cast(Conversion& c) {
  c.ignore("Truncate");  // of halves: nobody sets it
  const DType to = c.element_type("DstT");
  if (c.type(c.in(0)) == to) return pass(c);
  c.result("Cast", {c.in(0)}, {{"dst_type", static_cast<int64_t>(to)}});
}

void bitcast(Conversion& c) { c.result("Bitcast", {c.in(0)}, {{"type", c.element_type("type")}}); }

/// A condition of one dimension chooses whole rows.
void select(Conversion& c) {
  Endpoint condition = c.in(0);
  const int64_t rank = c.rank(c.in(1));
  if (c.rank(condition) == 1 && rank > 1) {
    Dims axes;
    for (int64_t d = 1; d < rank; ++d) axes.push_back(d);
    condition = c.unsqueeze(condition, axes);
  }
  c.result("SelectV2", {condition, c.in(1), c.in(2)});
}

void sum_of_all(Conversion& c) {
  const auto count = static_cast<int64_t>(c.inputs());
  c.require(count >= 1, "there are no inputs");
  if (count == 1) return pass(c);
  c.result("AddN", {c.all()}, {{"N", count}});
}

/// Integers are divided towards zero, as in C.
void divide(Conversion& c) {
  c.result(is_floating(c.type(c.in(0))) || is_complex(c.type(c.in(0))) ? "RealDiv" : "TruncateDiv", {c.in(0), c.in(1)});
}

/// The sign of NaN is NaN.
void sign(Conversion& c) {
  const Endpoint x = c.in(0);
  if (!is_floating(c.type(x))) return same(c);
  c.result("SelectV2", {c.emit("NotEqual", {x, x}), x, c.emit("Sign", {x})});
}

/// Complex numbers from their parts, and parts of them: `Tout` is the type of the result.
void of_parts(Conversion& c) {
  const bool makes = c.row.type == std::string_view("Complex");
  same_inputs(c, {{"Tout", c.element_type("Tout", makes ? DType::Complex64 : DType::Float)}});
}

void nearly_equal(Conversion& c) { same_inputs(c, {{"tolerance", c.real("tolerance", 1e-5f)}}); }

/// Numbers as a network in few bits will have them, and its gradient: `min` and `max` are inputs, or attributes.
void fake_quant(Conversion& c) {
  Attributes attributes = {{"num_bits", c.integer("num_bits", 8)}, {"narrow_range", c.flag("narrow_range")}};
  const std::string_view type = c.row.type;
  if (type.find("Args") != std::string_view::npos) {
    attributes["min"] = c.real("min", -6.0f);
    attributes["max"] = c.real("max", 6.0f);
  }
  const bool three = type.ends_with("Gradient") && !type.starts_with("FakeQuantWithMinMaxArgs");
  c.result(c.row.ascend, c.operands(), std::move(attributes), three ? 3 : 1);
}

constexpr Row kRows[] = {
    {"Abs", same, "Abs"},
    {"AccumulateNV2", sum_of_all, "AddN"},
    {"Acos", same, "Acos"},
    {"Acosh", same, "Acosh"},
    {"Add", same, "Add"},
    {"AddN", sum_of_all, "AddN"},
    {"AddV2", same, "Add"},
    {"Angle", of_parts, "Angle"},
    {"ApproximateEqual", nearly_equal, "ApproximateEqual"},
    {"Asin", same, "Asin"},
    {"Asinh", same, "Asinh"},
    {"Atan", same, "Atan"},
    {"Atan2", same, "Atan2"},
    {"Atanh", same, "Atanh"},
    {"BesselI0e", same, "BesselI0e"},
    {"BesselI1e", same, "BesselI1e"},
    {"Betainc", same, "Betainc"},
    {"Bitcast", bitcast, "Bitcast"},
    {"BitwiseAnd", same, "BitwiseAnd"},
    {"BitwiseOr", same, "BitwiseOr"},
    {"BitwiseXor", same, "BitwiseXor"},
    {"Cast", cast, "Cast"},
    {"Ceil", same, "Ceil"},
    {"ClipByValue", same, "ClipByValue"},
    {"Complex", of_parts, "Complex"},
    {"ComplexAbs", of_parts, "ComplexAbs"},
    {"Conj", same, "Conj"},
    {"Cos", same, "Cos"},
    {"Cosh", same, "Cosh"},
    {"Digamma", same, "Digamma"},
    {"Div", divide, "RealDiv, TruncateDiv"},
    {"DivNoNan", same, "DivNoNan"},
    {"Equal", same, "Equal"},
    {"Erf", same, "Erf"},
    {"Erfc", same, "Erfc"},
    {"Erfinv", same, "Erfinv"},
    {"Exp", same, "Exp"},
    {"Expm1", same, "Expm1"},
    {"FakeQuantWithMinMaxArgs", fake_quant, "FakeQuantWithMinMaxArgs"},
    {"FakeQuantWithMinMaxArgsGradient", fake_quant, "FakeQuantWithMinMaxArgsGradient"},
    {"FakeQuantWithMinMaxVars", fake_quant, "FakeQuantWithMinMaxVars"},
    {"FakeQuantWithMinMaxVarsGradient", fake_quant, "FakeQuantWithMinMaxVarsGradient"},
    {"FakeQuantWithMinMaxVarsPerChannel", fake_quant, "FakeQuantWithMinMaxVarsPerChannel"},
    {"FakeQuantWithMinMaxVarsPerChannelGradient", fake_quant, "FakeQuantWithMinMaxVarsPerChannelGradient"},
    {"Floor", same, "Floor"},
    {"FloorDiv", same, "FloorDiv"},
    {"FloorMod", same, "FloorMod"},
    {"Greater", same, "Greater"},
    {"GreaterEqual", same, "GreaterEqual"},
    {"GuaranteeConst", pass, ""},
    {"Igamma", same, "Igamma"},
    {"IgammaGradA", same, "IgammaGradA"},
    {"Igammac", same, "Igammac"},
    {"Imag", of_parts, "Imag"},
    {"Inv", same, "Reciprocal"},
    {"InvGrad", same, "ReciprocalGrad"},
    {"Invert", same, "Invert"},
    {"IsFinite", same, "IsFinite"},
    {"IsInf", same, "IsInf"},
    {"IsNan", same, "IsNan"},
    {"LeftShift", same, "LeftShift"},
    {"Less", same, "Less"},
    {"LessEqual", same, "LessEqual"},
    {"Lgamma", same, "Lgamma"},
    {"Log", same, "Log"},
    {"Log1p", same, "Log1p"},
    {"LogicalAnd", same, "LogicalAnd"},
    {"LogicalNot", same, "LogicalNot"},
    {"LogicalOr", same, "LogicalOr"},
    {"Maximum", same, "Maximum"},
    {"Minimum", same, "Minimum"},
    {"Mod", same, "TruncateMod"},
    {"Mul", same, "Mul"},
    {"MulNoNan", same, "MulNoNan"},
    {"Neg", same, "Neg"},
    {"NextAfter", same, "NextAfter"},
    {"NotEqual", same, "NotEqual"},
    {"PopulationCount", same, "PopulationCount", "of 8 or 16 bits", "仅 8 或 16 位整数"},
    {"Pow", same, "Pow"},
    {"Real", of_parts, "Real"},
    {"RealDiv", same, "RealDiv"},
    {"Reciprocal", same, "Reciprocal"},
    {"ReciprocalGrad", same, "ReciprocalGrad"},
    {"RightShift", same, "RightShift"},
    {"Rint", same, "Rint"},
    {"Round", same, "Round"},
    {"Rsqrt", same, "Rsqrt"},
    {"RsqrtGrad", same, "RsqrtGrad"},
    {"Select", select, "SelectV2"},
    {"SelectV2", same, "SelectV2"},
    {"Sign", sign, "Sign"},
    {"Sin", same, "Sin"},
    {"Sinh", same, "Sinh"},
    {"Sqrt", same, "Sqrt"},
    {"SqrtGrad", same, "SqrtGrad"},
    {"Square", same, "Square"},
    {"SquaredDifference", same, "SquaredDifference"},
    {"Sub", same, "Sub"},
    {"Tan", same, "Tan"},
    {"TruncateDiv", same, "TruncateDiv"},
    {"TruncateMod", same, "TruncateMod"},
    {"Xdivy", same, "Xdivy"},
    {"Xlog1py", same, "Xlog1py"},
    {"Xlogy", same, "Xlogy"},
    {"Zeta", same, "Zeta"},
};

}  // namespace

std::span<const Row> elementwise_rows() { return kRows; }

}  // namespace updraft::tensorflow
