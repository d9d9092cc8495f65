// What the classes of all_ops.h offer beside what examples/ge_cnn uses: dynamic inputs and outputs, outputs by name and
// number, attributes that are read back, descriptions, graphs of control flow. Prints what it finds (test_ge_cpp.py).
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "all_ops.h"
#include "ge/ge_api.h"

namespace op = ge::op;

static void check(ge::Status status) {
  if (status == ge::SUCCESS) return;
  std::fprintf(stderr, "%s\n", ge::GEGetErrorMsg().c_str());
  std::exit(1);
}

static ge::TensorDesc desc(const std::vector<int64_t>& dims, ge::DataType type = ge::DT_FLOAT) {
  return ge::TensorDesc(ge::Shape(dims), ge::FORMAT_ND, type);
}

static op::Data data(const char* name, const std::vector<int64_t>& dims) {
  op::Data made(name);
  made.update_output_desc_y(desc(dims));
  return made;
}

static void print(const char* what, const ge::Tensor& tensor) {
  const float* values = reinterpret_cast<const float*>(tensor.GetData());
  std::printf("%s", what);
  for (size_t i = 0; i < tensor.GetSize() / sizeof(float); ++i) std::printf(" %g", static_cast<double>(values[i]));
  std::printf("\n");
}

/// A branch that takes one of what its node gives.
static ge::Graph branch(int64_t index, const ge::Operator& (*make)(const op::Data&)) {
  op::Data x = data("x", {2, 2});
  x.set_attr_index(index);
  ge::Graph graph("branch");
  graph.SetInputs({x}).SetOutputs({make(x)});
  return graph;
}

int main() {
  const bool any = ge::GEInitialize(std::map<std::string, std::string>{{"ge.socVersion", "Ascend77"}}) == ge::SUCCESS;
  const bool listed = ge::GEGetErrorMsg().find("there is no such product; there are Ascend910") != std::string::npos;
  std::printf("product %s\n", !any && listed ? "refused" : "taken");
  check(ge::GEInitialize(std::map<ge::AscendString, ge::AscendString>{}));
  op::Data x = data("x", {2, 4});
  auto halves =
      op::SplitD("halves").create_dynamic_output_y(2).set_input_x(x).set_attr_split_dim(1).set_attr_num_split(2);
  auto joined = op::ConcatD(std::string("joined"))
                    .create_dynamic_input_x(2)
                    .set_dynamic_input_x(0, halves, "y1")
                    .set_dynamic_input_x(1, halves)
                    .set_attr_concat_dim(1)
                    .set_attr_N(2);
  auto first = op::Relu(ge::AscendString("first")).set_input_x_by_name(halves, "y0");
  auto second = op::Neg().set_input_x(halves, 1U);

  op::If choice("choice");
  choice.create_dynamic_input_input(2)
      .create_dynamic_output_output(1)
      .set_dynamic_input_input(0, second)
      .set_dynamic_input_input(1, first);
  const bool yes = true;
  choice.set_input_cond(
      op::Const("yes").set_attr_value(ge::Tensor(desc({}, ge::DT_BOOL), reinterpret_cast<const uint8_t*>(&yes), 1)));
  choice.set_subgraph_builder_then_branch([] {
    return branch(1, [](const op::Data& v) -> const ge::Operator& {
      static op::Square made;
      return made = op::Square("y").set_input_x(v);
    });
  });
  choice.set_subgraph_builder_else_branch([] {
    return branch(0, [](const op::Data& v) -> const ge::Operator& {
      static op::Exp made;
      return made = op::Exp("y").set_input_x(v);
    });
  });

  check(joined.InferShapeAndType());
  const std::vector<int64_t> dims = joined.get_output_desc_y().GetShape().GetDims();
  std::printf("joined [%ld, %ld]\n", static_cast<long>(dims[0]), static_cast<long>(dims[1]));
  std::printf("concat_dim %ld N %ld\n", static_cast<long>(joined.get_attr_concat_dim()),
              static_cast<long>(joined.get_attr_N()));
  op::Conv2D conv;
  std::printf("data_format %s groups %ld dilations %zu %s\n", conv.get_attr_data_format().c_str(),
              static_cast<long>(conv.get_attr_groups()), conv.get_attr_dilations().size(),
              op::Conv2D::name_attr_groups());
  auto cast = op::ArgMaxD("largest").set_input_x(x).set_attr_dimension(1).set_attr_dtype(ge::DT_INT32);
  std::printf("dtype %d\n", static_cast<int>(cast.get_attr_dtype()));

  ge::Session session(std::map<std::string, std::string>{{"ge.graphRunMode", "0"}});
  ge::Graph graph(std::string("classes"));
  graph.SetInputs({x}).SetOutputs({joined, second, choice});
  check(session.AddGraph(1, graph));
  const ge::Status taken = session.RegisterCallBackFunc(
      "Nobody", [](uint32_t, const std::map<ge::AscendString, ge::Tensor>&) { return ge::SUCCESS; });
  const bool told = ge::GEGetErrorMsg().find("the key is Nobody, want Save or Summary") != std::string::npos;
  std::printf("callback %s\n", taken != ge::SUCCESS && told ? "refused" : "taken");
  std::vector<ge::Tensor> outputs;
  const std::vector<float> values = {1, -2, 3, 4, 5, 6, 7, 8};
  const ge::Tensor input(desc({2, 4}), reinterpret_cast<const uint8_t*>(values.data()), 32);
  check(session.RunGraph(1, {input}, outputs));
  print("joined", outputs[0]);
  print("second", outputs[1]);
  print("choice", outputs[2]);
}
