// Convolutions of eight bits have the channels innermost, as those of FLOAT, and so has what lies between them.
#include "graph/planner/program.h"
#include "passes_fixture.h"

namespace updraft::graph {
namespace {

struct QuantizedLayouts : Passes {
  Endpoint number_of(DType type, uint8_t value) {
    return build.constant("z" + std::to_string(bytes_++), {type, {}, Bytes::copy_of(&value, 1)});
  }
  Endpoint real(const std::string& name, Endpoint x, float scale, DType type = DType::UInt8) {
    return build("DequantizeLinear", name, {x, number(scale), number_of(type, 0)});
  }
  Endpoint quantized(const std::string& name, Endpoint x) {
    const Endpoint made = build("QuantizeLinear", name, {x, number(0.05), number_of(DType::UInt8, 0)},
                                {{"dtype", static_cast<int64_t>(DType::UInt8)}});
    return real(name + "_real", made, 0.05F);
  }
  Endpoint convolution(const std::string& name, Endpoint x, int64_t channels) {
    std::vector<int8_t> values(static_cast<size_t>(channels * 16 * 9));
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int8_t>(i * 37 % 251 - 125);
    const Endpoint w =
        build.constant(name + "_w", {DType::Int8, {channels, 16, 3, 3}, Bytes::copy_of(values.data(), values.size())});
    const Endpoint y =
        build("Conv2D", name, {x, real(name + "_filter", w, 0.002F, DType::Int8)},
              {{"strides", Ints{1, 1, 1, 1}}, {"pads", Ints{1, 1, 1, 1}}, {"data_format", std::string("NCHW")}});
    return quantized(name + "_q", build("Relu", name + "_relu", {y}));
  }
  int bytes_ = 0;
};

TEST_F(QuantizedLayouts, ChannelsAreInnermostBetweenConvolutions) {
  const Endpoint x = quantized("x", build.input("image", 0, {DType::Float, {1, 16, 12, 10}}));
  const Endpoint a = convolution("a", x, 16), b = convolution("b", a, 16);
  const Endpoint sum = quantized("sum", build("Add", "add", {a, b}));
  const Endpoint pooled = build("MaxPoolV3", "pool", {sum}, {{"ksize", Ints{2, 2}}, {"strides", Ints{2, 2}}});
  build.outputs({convolution("c", quantized("pooled", pooled), 32)});
  const Model model = compiled();
  const auto program = plan(*model.graph, std::vector<Known>{{DType::Float, {1, 16, 12, 10}}});
  ASSERT_TRUE(program);
  int convolutions = 0, sums = 0, pools = 0;
  for (const Step& step : program->steps) {
    const std::string type = step.node ? step.node->type() : "";
    convolutions += type == "RequantConv2D";
    sums += type == "RequantAdd";
    pools += type == "MaxPoolV3";
    if (type == "RequantConv2D" || type == "RequantAdd" || type == "MaxPoolV3") {
      EXPECT_TRUE(step.outputs[0].channels_last) << step.node->name();
      const bool first = type == "RequantConv2D" && convolutions == 1;  // what a client gives is row-major
      EXPECT_NE(step.inputs[0].channels_last, first) << step.node->name();
    }
  }
  EXPECT_EQ(convolutions, 3);
  EXPECT_EQ(sums, 1);
  EXPECT_EQ(pools, 1);
}

}  // namespace
}  // namespace updraft::graph
