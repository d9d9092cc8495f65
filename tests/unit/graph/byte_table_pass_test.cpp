// Chains between numbers of eight bits become tables, with the same bits.
#include "passes_fixture.h"

namespace updraft::graph {
namespace {

struct ByteTables : Passes {
  Endpoint quantize(const std::string& name, Endpoint x, float scale, uint8_t zero) {
    const Endpoint made = build("QuantizeLinear", name, {x, number(scale), byte(zero)});
    made.node->attributes["dtype"] = static_cast<int64_t>(DType::UInt8);
    return made;
  }
  Endpoint real(const std::string& name, Endpoint x, float scale, uint8_t zero) {
    return build("DequantizeLinear", name, {x, number(scale), byte(zero)});
  }
  Endpoint byte(uint8_t value) {
    return build.constant("z" + std::to_string(bytes_++), {DType::UInt8, {}, Bytes::copy_of(&value, 1)});
  }
  int bytes_ = 0;
};

TEST_F(ByteTables, TakeTheirWholeChainAndNoMore) {
  // numbers come from a sum of two inputs, which is no function of one number
  const Endpoint a = build.input("a", 0, {DType::Float, {256}}), b = build.input("b", 1, {DType::Float, {256}});
  const Endpoint x = quantize("x", build("Add", "sum", {a, b}), 0.05F, 128);
  const Endpoint r = real("r", x, 0.05F, 128);
  const Endpoint inner = quantize("inner", build("Tanh", "tanh", {r}), 0.01F, 100);
  const Endpoint product = build("Mul", "product", {real("back", inner, 0.01F, 100), r});
  build.outputs({real("y", quantize("end", product, 0.03F, 7), 0.03F, 7)});
  const Model fused = compiled();
  EXPECT_EQ(types(fused), (std::vector<std::string>{"Add", "QuantizeLinear", "ByteTable", "DequantizeLinear"}));
  const Model plain = compiled({{"optimization_switch", "ByteTableFusionPass:off"}});
  EXPECT_EQ(types(plain).size(), 9u);
  Floats all(256);
  for (size_t i = 0; i < 256; ++i) all[i] = (static_cast<float>(i) - 128) * 0.05F;
  const std::vector<std::pair<Dims, Floats>> inputs = {{{256}, all}, {{256}, Floats(256, 0)}};
  const Floats want = run(plain, inputs);
  EXPECT_EQ(run(fused, inputs), want);
  EXPECT_NE(want.front(), want.back());
}

TEST_F(ByteTables, WhatOthersReadStays) {
  const Endpoint x = build.input("x", 0, {DType::UInt8, {8}});
  const Endpoint shared = build("Tanh", "tanh", {real("r", x, 0.05F, 128)});
  build.outputs({build("Add", "sum", {real("back", quantize("end", shared, 0.01F, 100), 0.01F, 100), shared})});
  EXPECT_EQ(types(compiled()),
            (std::vector<std::string>{"DequantizeLinear", "Tanh", "QuantizeLinear", "DequantizeLinear", "Add"}));
}

}  // namespace
}  // namespace updraft::graph
