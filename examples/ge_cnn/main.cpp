// A small convolutional network on the graph engine, built of operators of the Ascend IR. Three graphs of a session
// share its variables: one gives them their first values, one makes a step of training (the gradients are written out),
// one infers.
//
//   ge_cnn [steps]       prints the loss of each step, then how many of new images are recognised
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "all_ops.h"
#include "ge/ge_api.h"

namespace op = ge::op;

#define CHECK(call)                                                                \
  do {                                                                             \
    if ((call) != ge::SUCCESS) {                                                   \
      std::fprintf(stderr, "%s failed\n%s\n", #call, ge::GEGetErrorMsg().c_str()); \
      return EXIT_FAILURE;                                                         \
    }                                                                              \
  } while (0)

namespace {

using Dims = std::vector<int64_t>;
using Floats = std::vector<float>;

constexpr int64_t kBatch = 16, kSize = 12, kClasses = 4;
constexpr float kRate = 0.05f, kMomentum = 0.9f;

ge::TensorDesc desc(const Dims& dims, ge::DataType type = ge::DT_FLOAT) {
  return ge::TensorDesc(ge::Shape(dims), ge::FORMAT_NCHW, type);
}

ge::Tensor tensor(const Dims& dims, const Floats& values) {
  return ge::Tensor(desc(dims), reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(float));
}

// --- made data: each class is a wave of its own, with noise -------------------------------------------------------

/// Numbers from 0 to 1 that are the same everywhere.
class Numbers {
 public:
  explicit Numbers(uint32_t seed) : state_(seed) {}
  float next() {
    state_ = state_ * 1664525u + 1013904223u;
    return static_cast<float>(state_ >> 8) / 16777216.0f;
  }

 private:
  uint32_t state_;
};

struct Batch {
  Floats images, labels;
};

Batch make_batch(uint32_t seed) {
  Numbers numbers(seed);
  Batch batch;
  for (int64_t i = 0; i < kBatch; ++i) {
    const int64_t label = i % kClasses;
    for (int64_t row = 0; row < kSize; ++row)
      for (int64_t column = 0; column < kSize; ++column) {
        const double across = label % 2 ? row : column;
        const double wave = std::sin(across * (label < 2 ? 0.7 : 1.9));
        batch.images.push_back(static_cast<float>(wave) + 0.5f * (numbers.next() - 0.5f));
      }
    for (int64_t c = 0; c < kClasses; ++c) batch.labels.push_back(c == label ? 1.0f : 0.0f);
  }
  return batch;
}

// --- the network --------------------------------------------------------------------------------------------------

struct Parameter {
  const char* name;
  Dims dims;
  float spread;  ///< of the first values, which are evenly spread around 0
};

const Parameter kParameters[] = {
    {"conv1/weight", {4, 1, 3, 3}, 0.6f}, {"conv1/bias", {4}, 0.0f},
    {"conv2/weight", {8, 4, 3, 3}, 0.3f}, {"conv2/bias", {8}, 0.0f},
    {"fc/weight", {72, 4}, 0.2f},         {"fc/bias", {4}, 0.0f},
};

int64_t count(const Dims& dims) {
  int64_t n = 1;
  for (int64_t d : dims) n *= d;
  return n;
}

std::string slot(const std::string& parameter) { return parameter + "/momentum"; }

op::Variable variable(const std::string& name, const Dims& dims) {
  op::Variable made(name);
  made.update_output_desc_y(desc(dims));
  return made;
}

/// Parameters and what the optimizer keeps of them, by their names.
std::map<std::string, op::Variable> variables() {
  std::map<std::string, op::Variable> all;
  for (const Parameter& p : kParameters) {
    all[p.name] = variable(p.name, p.dims);
    all[slot(p.name)] = variable(slot(p.name), p.dims);
  }
  return all;
}

op::Const constant(const std::string& name, const Dims& dims, const Floats& values) {
  return op::Const(name).set_attr_value(tensor(dims, values));
}

/// What the forward pass makes, as far as the gradients need it.
struct Layers {
  op::Conv2D conv1, conv2;
  op::BiasAdd sum1, sum2;
  op::Relu relu1, relu2;
  op::MaxPool pool1, pool2;
  op::Flatten flat;
  op::MatMulV2 product;
  op::Add logits;
};

op::Conv2D convolution(const std::string& name, const ge::Operator& x, const ge::Operator& filter) {
  return op::Conv2D(name)
      .set_input_x(x)
      .set_input_filter(filter)
      .set_attr_strides({1, 1, 1, 1})
      .set_attr_pads({1, 1, 1, 1})
      .set_attr_data_format("NCHW");
}

op::MaxPool pool(const std::string& name, const ge::Operator& x) {
  return op::MaxPool(name)
      .set_input_x(x)
      .set_attr_ksize({1, 1, 2, 2})
      .set_attr_strides({1, 1, 2, 2})
      .set_attr_padding("VALID")
      .set_attr_data_format("NCHW");
}

Layers forward(const ge::Operator& x, std::map<std::string, op::Variable>& v) {
  Layers l;
  l.conv1 = convolution("conv1", x, v["conv1/weight"]);
  l.sum1 = op::BiasAdd("conv1_bias").set_input_x(l.conv1).set_input_bias(v["conv1/bias"]).set_attr_data_format("NCHW");
  l.relu1 = op::Relu("relu1").set_input_x(l.sum1);
  l.pool1 = pool("pool1", l.relu1);
  l.conv2 = convolution("conv2", l.pool1, v["conv2/weight"]);
  l.sum2 = op::BiasAdd("conv2_bias").set_input_x(l.conv2).set_input_bias(v["conv2/bias"]).set_attr_data_format("NCHW");
  l.relu2 = op::Relu("relu2").set_input_x(l.sum2);
  l.pool2 = pool("pool2", l.relu2);
  l.flat = op::Flatten("flat").set_input_x(l.pool2);
  l.product = op::MatMulV2("fc").set_input_x1(l.flat).set_input_x2(v["fc/weight"]);
  l.logits = op::Add("logits").set_input_x1(l.product).set_input_x2(v["fc/bias"]);
  return l;
}

op::Data input(const std::string& name, const Dims& dims) {
  op::Data data(name);
  data.update_output_desc_y(desc(dims));
  return data;
}

ge::Graph initial_graph() {
  Numbers numbers(7);
  std::map<std::string, op::Variable> v = variables();
  std::vector<ge::Operator> assignments;
  for (const Parameter& p : kParameters) {
    Floats values(static_cast<size_t>(count(p.dims)));
    const Floats zeros(values.size(), 0.0f);
    for (float& value : values) value = p.spread * (2.0f * numbers.next() - 1.0f);
    const std::string name = p.name;
    assignments.push_back(
        op::Assign("assign/" + name).set_input_ref(v[name]).set_input_value(constant("first/" + name, p.dims, values)));
    assignments.push_back(op::Assign("assign/" + slot(name))
                              .set_input_ref(v[slot(name)])
                              .set_input_value(constant("zeros/" + name, p.dims, zeros)));
  }
  ge::Graph graph("initial");
  graph.SetTargets(assignments);
  return graph;
}

/// Gradient of a convolution for its filter.
op::Conv2DBackpropFilterD filter_gradient(const std::string& name, const ge::Operator& x, const ge::Operator& gradient,
                                          const Dims& size) {
  return op::Conv2DBackpropFilterD(name)
      .set_input_x(x)
      .set_input_out_backprop(gradient)
      .set_attr_filter_size(size)
      .set_attr_strides({1, 1, 1, 1})
      .set_attr_pads({1, 1, 1, 1})
      .set_attr_data_format("NCHW");
}

op::MaxPoolGrad pool_gradient(const std::string& name, const ge::Operator& x, const ge::Operator& y,
                              const ge::Operator& gradient) {
  return op::MaxPoolGrad(name)
      .set_input_x1(x)
      .set_input_x2(y)
      .set_input_grad(gradient)
      .set_attr_ksize({1, 1, 2, 2})
      .set_attr_strides({1, 1, 2, 2})
      .set_attr_padding("VALID")
      .set_attr_data_format("NCHW");
}

ge::Graph training_graph() {
  op::Data x = input("x", {kBatch, 1, kSize, kSize}), labels = input("labels", {kBatch, kClasses});
  std::map<std::string, op::Variable> v = variables();
  Layers l = forward(x, v);
  auto entropy = op::SoftmaxCrossEntropyWithLogits("entropy").set_input_features(l.logits).set_input_labels(labels);
  auto loss = op::ReduceMeanD("loss").set_input_x(entropy, "loss").set_attr_axes({0});

  // backwards, from the mean of the losses
  auto d_logits = op::Muls("d_logits").set_input_x(entropy, "backprop").set_attr_value(1.0f / kBatch);
  auto d_flat = op::MatMulV2("d_flat").set_input_x1(d_logits).set_input_x2(v["fc/weight"]).set_attr_transpose_x2(true);
  auto d_pool2 = op::Reshape("d_pool2").set_input_x(d_flat).set_input_shape(op::Const("pool2_shape").set_attr_value([] {
    const int64_t sizes[] = {kBatch, 8, 3, 3};
    return ge::Tensor(ge::TensorDesc(ge::Shape({4}), ge::FORMAT_ND, ge::DT_INT64),
                      reinterpret_cast<const uint8_t*>(sizes), sizeof sizes);
  }()));
  auto d_relu2 = pool_gradient("d_relu2", l.relu2, l.pool2, d_pool2);
  auto d_conv2 = op::ReluGrad("d_conv2").set_input_gradients(d_relu2).set_input_features(l.relu2);
  auto d_pool1 = op::Conv2DBackpropInputD("d_pool1")
                     .set_input_filter(v["conv2/weight"])
                     .set_input_out_backprop(d_conv2)
                     .set_attr_input_size({kBatch, 4, 6, 6})
                     .set_attr_strides({1, 1, 1, 1})
                     .set_attr_pads({1, 1, 1, 1})
                     .set_attr_data_format("NCHW");
  auto d_relu1 = pool_gradient("d_relu1", l.relu1, l.pool1, d_pool1);
  auto d_conv1 = op::ReluGrad("d_conv1").set_input_gradients(d_relu1).set_input_features(l.relu1);
  std::map<std::string, ge::Operator> gradients;
  gradients["conv1/weight"] = filter_gradient("d_conv1_weight", x, d_conv1, {4, 1, 3, 3});
  gradients["conv1/bias"] = op::BiasAddGrad("d_conv1_bias").set_input_x(d_conv1).set_attr_data_format("NCHW");
  gradients["conv2/weight"] = filter_gradient("d_conv2_weight", l.pool1, d_conv2, {8, 4, 3, 3});
  gradients["conv2/bias"] = op::BiasAddGrad("d_conv2_bias").set_input_x(d_conv2).set_attr_data_format("NCHW");
  gradients["fc/weight"] =
      op::MatMulV2("d_fc_weight").set_input_x1(l.flat).set_input_x2(d_logits).set_attr_transpose_x1(true);
  gradients["fc/bias"] = op::ReduceSumD("d_fc_bias").set_input_x(d_logits).set_attr_axes({0});

  // The steps of the optimizer are no outputs: as targets they run all the same, behind all that reads the parameters.
  op::Const rate = constant("rate", {}, {kRate}), momentum = constant("momentum", {}, {kMomentum});
  std::vector<ge::Operator> steps;
  for (const Parameter& p : kParameters)
    steps.push_back(op::ApplyMomentum("step/" + std::string(p.name))
                        .set_input_var(v[p.name])
                        .set_input_accum(v[slot(p.name)])
                        .set_input_lr(rate)
                        .set_input_grad(gradients[p.name])
                        .set_input_momentum(momentum));
  ge::Graph graph("training");
  graph.SetInputs({x, labels}).SetOutputs({loss}).SetTargets(steps);
  return graph;
}

ge::Graph inference_graph() {
  op::Data x = input("x", {kBatch, 1, kSize, kSize});
  std::map<std::string, op::Variable> v = variables();
  auto classes = op::ArgMaxD("classes").set_input_x(forward(x, v).logits).set_attr_dimension(1);
  ge::Graph graph("inference");
  graph.SetInputs({x}).SetOutputs({classes});
  return graph;
}

}  // namespace

int main(int argc, char** argv) {
  const int steps = argc > 1 ? std::atoi(argv[1]) : 20;
  const std::map<ge::AscendString, ge::AscendString> options = {{"ge.exec.deviceId", "0"}, {"ge.graphRunMode", "1"}};
  CHECK(ge::GEInitialize(options));
  {
    ge::Session session(options);
    CHECK(session.AddGraph(0, initial_graph()));
    CHECK(session.AddGraph(1, training_graph()));
    CHECK(session.AddGraph(2, inference_graph()));
    std::vector<ge::Tensor> outputs;
    CHECK(session.RunGraph(0, {}, outputs));
    for (int step = 0; step < steps; ++step) {
      const Batch batch = make_batch(100 + static_cast<uint32_t>(step));
      CHECK(session.RunGraph(
          1, {tensor({kBatch, 1, kSize, kSize}, batch.images), tensor({kBatch, kClasses}, batch.labels)}, outputs));
      float loss = 0;
      std::memcpy(&loss, outputs[0].GetData(), sizeof loss);
      std::printf("step %d loss %.9g\n", step, static_cast<double>(loss));
    }
    CHECK(session.RunGraph(2, {tensor({kBatch, 1, kSize, kSize}, make_batch(99).images)}, outputs));
    const int64_t* classes = reinterpret_cast<const int64_t*>(outputs[0].GetData());
    int right = 0;
    for (int64_t i = 0; i < kBatch; ++i) right += classes[i] == i % kClasses;
    std::printf("%d of %d images recognised\n", right, static_cast<int>(kBatch));
  }
  CHECK(ge::GEFinalize());
  return EXIT_SUCCESS;
}
