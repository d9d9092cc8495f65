// Graphs that are built of operators in C++: links, attributes, descriptions, what is refused and in which words.
#include <limits>
#include <thread>

#include "ge/ge_ir_build.h"
#include "ge/operator_impl.h"
#include "small_operators.h"

namespace ge {
namespace {

using Options = std::map<AscendString, AscendString>;
using Floats = std::vector<float>;

struct Operators : testing::Test {
  void SetUp() override {
    aclInit(nullptr);
    ASSERT_EQ(aclrtSetDevice(0), 0);
    last_error();
  }
  /// Why the graph is not taken.
  static std::string refusal(const Graph& graph) {
    last_error();
    Session session(Options{});
    EXPECT_NE(session.AddGraph(1, graph), SUCCESS);
    return last_error();
  }
  static void contains(const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
};

TEST_F(Operators, InputsByNameNumberAndPlace) {
  Operator x = data("x", {2, 3});
  Operator split("split", "SplitVD");
  struct Maker : Operator {  // as the classes of all_ops.h reach it
    using Operator::DynamicInputRegister;
    using Operator::DynamicInputRegisterByIndex;
    using Operator::DynamicOutputRegister;
    Maker(const char* name, const char* type) : Operator(name, type) {}
  };
  Maker halves("halves", "SplitD");
  halves.DynamicOutputRegister("y", 3, true);
  halves.SetInput("x", x).SetAttr("split_dim", 1).SetAttr("num_split", 3);
  EXPECT_EQ(halves.GetDynamicOutputNum("y"), 3);
  EXPECT_EQ(halves.GetOutputsSize(), 3U);
  Operator sum("sum", "Add");
  sum.SetInput("x1", halves, "y2").SetInput(1, halves, 0);
  Maker joined("joined", "ConcatD");
  joined.DynamicInputRegister("x", 3, true);
  joined.SetInput("x", 0, sum).SetInput("x", 1, halves, "y1").SetInput("x", 2, halves).SetAttr("concat_dim", 1);
  joined.SetAttr("N", 3);
  EXPECT_EQ(joined.GetDynamicInputNum("x"), 3);
  EXPECT_EQ(joined.GetInputsSize(), 3U);
  Maker attention("attention", "IncreFlashAttention");  // as MindSpore makes the places of its lists
  attention.DynamicInputRegisterByIndex("key", 1, 1);
  attention.DynamicInputRegisterByIndex("value", 1, 2);
  EXPECT_EQ(attention.GetDynamicInputNum("key"), 1);
  EXPECT_EQ(attention.GetDynamicInputNum("value"), 1);
  Graph graph("pieces");
  graph.SetInputs({x}).SetOutputs({joined});
  EXPECT_TRUE(graph.IsValid()) << last_error();
  Session session(Options{});
  ASSERT_EQ(session.AddGraph(1, graph), SUCCESS) << last_error();
  EXPECT_EQ(run(session, 1, {host_tensor<float>({2, 3}, {1, 2, 3, 4, 5, 6})}), (Floats{4, 2, 1, 10, 5, 4}))
      << last_error();
}

TEST_F(Operators, AttributesOfAllKindsAndDefaults) {
  Operator conv("conv", "Conv2D");
  int64_t groups = 0;
  std::string format;
  std::vector<int64_t> list;
  EXPECT_EQ(conv.GetAttr("groups", groups), GRAPH_SUCCESS);  // defaults count
  EXPECT_EQ(groups, 1);
  EXPECT_EQ(conv.GetAttr("data_format", format), GRAPH_SUCCESS);
  EXPECT_EQ(format, "NHWC");
  EXPECT_EQ(conv.GetAttr("dilations", list), GRAPH_SUCCESS);
  EXPECT_EQ(list, (std::vector<int64_t>{1, 1, 1, 1}));
  EXPECT_NE(conv.GetAttr("strides", list), GRAPH_SUCCESS);
  contains(last_error(), "conv (Conv2D): attribute strides has no value");
  conv.SetAttr("strides", std::vector<int32_t>{1, 1, 2, 2}).SetAttr("data_format", std::string("NCHW"));
  std::vector<int32_t> narrow;
  EXPECT_EQ(conv.GetAttr("strides", narrow), GRAPH_SUCCESS);
  EXPECT_EQ(narrow, (std::vector<int32_t>{1, 1, 2, 2}));
  conv.SetAttr("_own", 1.5F).SetAttr("_types", std::vector<DataType>{DT_INT8, DT_BF16});
  float real = 0;
  std::vector<DataType> types;
  EXPECT_EQ(conv.GetAttr("_own", real), GRAPH_SUCCESS);
  EXPECT_EQ(real, 1.5F);
  EXPECT_EQ(conv.GetAttr("_types", types), GRAPH_SUCCESS);
  EXPECT_EQ(types, (std::vector<DataType>{DT_INT8, DT_BF16}));
  conv.SetAttr("_bools", std::vector<bool>{true, false}).SetAttr("_names", std::vector<std::string>{"a", ""});
  conv.SetAttr("_lists", std::vector<std::vector<int64_t>>{{}, {1, 2}}).SetAttr("_reals", Floats{0.5F});
  std::vector<bool> bools;
  std::vector<std::string> names;
  std::vector<std::vector<int64_t>> lists;
  Floats reals;
  EXPECT_EQ(conv.GetAttr("_bools", bools), GRAPH_SUCCESS);
  EXPECT_EQ(conv.GetAttr("_names", names), GRAPH_SUCCESS);
  EXPECT_EQ(conv.GetAttr("_lists", lists), GRAPH_SUCCESS);
  EXPECT_EQ(conv.GetAttr("_reals", reals), GRAPH_SUCCESS);
  EXPECT_EQ(bools, (std::vector<bool>{true, false}));
  EXPECT_EQ(names, (std::vector<std::string>{"a", ""}));
  EXPECT_EQ(lists, (std::vector<std::vector<int64_t>>{{}, {1, 2}}));
  EXPECT_EQ(reals, Floats{0.5F});
  EXPECT_NE(conv.GetAttr("_bools", groups), GRAPH_SUCCESS);
  contains(last_error(), "attribute _bools is a list of bools");
  int8_t byte[4] = {1, 2, 3, 4};
  Operator held("held", "Const");
  held.SetAttr("value", Tensor(described_as({4}, DT_INT8), reinterpret_cast<const uint8_t*>(byte), 4));
  Tensor value;
  Operator cast("cast", "Cast");
  cast.SetInput("x", held).SetAttr("dst_type", DT_FLOAT);
  EXPECT_EQ(cast.GetInputConstData("x", value), GRAPH_SUCCESS);
  EXPECT_EQ(value.GetSize(), 4U);
  EXPECT_EQ(value.GetData()[2], 3);
  std::map<AscendString, AscendString> kinds;
  EXPECT_EQ(conv.GetAllIrAttrNamesAndTypes(kinds), GRAPH_SUCCESS);
  EXPECT_STREQ(kinds["pads"].GetString(), "VT_LIST_INT");
}

TEST_F(Operators, DescriptionsAreInferred) {
  Operator x = data("x", {2, -1, 4});
  Operator y = node("y", "Relu", "x", node("t", "Sigmoid", "x", x));
  EXPECT_EQ(y.GetOutputDescByName("y").GetDataType(), DT_UNDEFINED);
  ASSERT_EQ(y.InferShapeAndType(), GRAPH_SUCCESS) << last_error();
  EXPECT_EQ(y.GetOutputDesc(0).GetShape().GetDims(), (std::vector<int64_t>{2, -1, 4}));
  EXPECT_EQ(y.GetOutputDescByName("y").GetDataType(), DT_FLOAT);
  TensorDesc desc;
  EXPECT_EQ(y.TryGetInputDesc("x", desc), GRAPH_SUCCESS);
  EXPECT_NE(y.TryGetInputDesc("z", desc), GRAPH_SUCCESS);
  EXPECT_EQ(y.GetInputDescByName("nothing").GetDataType(), DT_UNDEFINED);
  EXPECT_NE(y.UpdateInputDesc("z", desc), GRAPH_SUCCESS);
  contains(last_error(), "y (Relu): it has no input z; its inputs are x");
  Operator product = node("product", "MatMulV2", "x1", data("a", {2, 3}), "x2", data("b", {4, 5}));
  EXPECT_NE(product.InferShapeAndType(), GRAPH_SUCCESS);
  contains(last_error(), "product (MatMulV2)");
}

TEST_F(Operators, DescriptionsCanBeChanged) {
  TensorDesc desc(Shape({2, 3}), FORMAT_NCHW, DT_INT32);
  EXPECT_EQ(desc.GetOriginFormat(), FORMAT_NCHW);
  Shape shape({2, -1});
  EXPECT_EQ(shape.GetShapeSize(), -1);
  EXPECT_EQ(shape.SetDim(1, 5), GRAPH_SUCCESS);
  EXPECT_NE(shape.SetDim(2, 5), GRAPH_SUCCESS);
  EXPECT_EQ(shape.GetShapeSize(), 10);
  EXPECT_EQ(shape.GetDim(1), 5);
  EXPECT_EQ(Shape().GetDimNum(), 0U);
  desc.SetShape(shape);
  EXPECT_NE(desc.SetShapeRange({{1, 2}}), GRAPH_SUCCESS);
  EXPECT_EQ(desc.SetShapeRange({{1, 2}, {1, -1}}), GRAPH_SUCCESS);
  std::vector<std::pair<int64_t, int64_t>> range;
  EXPECT_EQ(desc.GetShapeRange(range), GRAPH_SUCCESS);
  EXPECT_EQ(range.size(), 2U);
}

TEST_F(Operators, InputsFollowTheirIndex) {
  for (const bool indexed : {false, true}) {
    Operator a = data("a", {2}), b = data("b", {2});
    if (indexed) {
      a.SetAttr("index", 1);
      b.SetAttr("index", 0);
    }
    Graph graph("difference");
    graph.SetInputs({a, b}).SetOutputs({node("y", "Sub", "x1", a, "x2", b)});
    Session session(Options{});
    ASSERT_EQ(session.AddGraph(1, graph), SUCCESS);
    EXPECT_EQ(run(session, 1, {host_tensor<float>({2}, {5, 5}), host_tensor<float>({2}, {1, 2})}),
              indexed ? (Floats{-4, -3}) : (Floats{4, 3}));
  }
}

TEST_F(Operators, OutputsByNumberAndName) {
  Operator x = data("x", {2, 2}), labels = data("labels", {2, 2});
  Operator loss = node("loss", "SoftmaxCrossEntropyWithLogits", "features", x, "labels", labels);
  const auto sizes = [&](Graph& graph) {
    Session session(Options{});
    EXPECT_EQ(session.AddGraph(1, graph), SUCCESS) << last_error();
    std::vector<Tensor> outputs;
    EXPECT_EQ(session.RunGraph(1, {host_tensor<float>({2, 2}, {1, 2, 3, 4}), host_tensor<float>({2, 2}, {1, 0, 0, 1})},
                               outputs),
              SUCCESS)
        << last_error();
    std::vector<size_t> all;
    for (const Tensor& output : outputs) all.push_back(output.GetSize());
    return all;
  };
  Graph graph("both");
  graph.SetInputs({x, labels}).SetOutputs({loss});
  EXPECT_EQ(sizes(graph), (std::vector<size_t>{8, 16}));
  graph.SetOutputs(std::vector<std::pair<Operator, std::vector<size_t>>>{{loss, {1}}, {loss, {0}}});
  EXPECT_EQ(sizes(graph), (std::vector<size_t>{16, 8}));
  graph.SetOutputs(std::vector<std::pair<Operator, std::string>>{{loss, "backprop"}});
  EXPECT_EQ(sizes(graph), (std::vector<size_t>{16}));
}

TEST_F(Operators, FormatsSayWhereTheChannelsAre) {
  Operator x("x", "Data");
  x.UpdateOutputDesc("y", TensorDesc(Shape({1, 2, 3, 3}), FORMAT_NCHW, DT_FLOAT));
  Operator conv = node("conv", "Conv2D", "x", x, "filter", constant("w", {4, 2, 3, 3}, Floats(72, 1)));
  conv.SetAttr("strides", std::vector<int64_t>{1, 1, 1, 1}).SetAttr("pads", std::vector<int64_t>{0, 0, 0, 0});
  ASSERT_EQ(conv.InferShapeAndType(), GRAPH_SUCCESS) << last_error();
  EXPECT_EQ(conv.GetOutputDesc(0).GetShape().GetDims(), (std::vector<int64_t>{1, 4, 1, 1}));
}

TEST_F(Operators, WrongUsesAreRefusedWithNodeAndType) {
  Operator x = data("x", {2});
  const auto graph_of = [&](const Operator& y) {
    Graph graph("wrong");
    graph.SetInputs({x}).SetOutputs({y});
    return graph;
  };
  contains(refusal(graph_of(node("y", "Relu", "features", x))), "y (Relu): it has no input features; its inputs are x");
  contains(refusal(graph_of(node("y", "Add", "x1", x))), "y (Add): input x2 is missing: set_input_x2");
  contains(refusal(graph_of(node("y", "Cast", "x", x))), "y (Cast): attribute dst_type must be given");
  contains(refusal(graph_of(node("y", "ReduceSumD", "x", x).SetAttr("axes", "zero"))),
           "y (ReduceSumD): attribute axes is a text, want a list of integers");
  contains(refusal(graph_of(node("y", "Relu", "x", x).SetAttr("slope", 1.0F))), "it has no attribute slope");
  contains(refusal(graph_of(node("y", "NoSuchType", "x", x))),
           "y (NoSuchType): the virtual NPU has no operator of type");
  contains(refusal(graph_of(node("y", "Relu", "x", Operator()))), "the source is an operator without a type");
  contains(refusal(graph_of(Operator())), "one of the outputs is an operator without a type");
  Operator dynamic("y", "ConcatD");
  dynamic.SetInput("x", 0, x);
  contains(refusal(graph_of(dynamic)), "dynamic input x has 0 places, there is no place 0");
  contains(refusal(graph_of(node("y", "Add", "x1", x, "x2", node("y", "Relu", "x", x)))),
           "has the same name: names tell the nodes of a graph apart");
  contains(refusal(graph_of(node("y", "Add", "x1", x, "x2", data("other", {2})))),
           "other (Data): the graph needs it, and it is not among the operators of SetInputs");
  contains(refusal(graph_of(Operator("y", "Data"))), "y (Data): nobody says what it is");
  Graph none("none");
  none.SetInputs({x});
  contains(refusal(none), "neither outputs nor targets");
  contains(refusal(Graph("empty")), "graph 1 has no nodes");
  // a refusal of C++ is one of the graph's, however long ago: what was wrong stays wrong
  Operator once = node("once", "Relu", "x", x);
  once.SetAttr("nothing", true);
  once.SetInput("x", x);
  contains(refusal(graph_of(once)), "once (Relu): it has no attribute nothing");
}

TEST_F(Operators, CyclesAreNamed) {
  Operator x = data("x", {2});
  Operator a("a", "Add"), b("b", "Relu");
  a.SetInput("x1", x).SetInput("x2", b);
  b.SetInput("x", a);
  Graph graph("cycle");
  graph.SetInputs({x}).SetOutputs({b});
  contains(refusal(graph), "graph cycle has a cycle through a (Add)");
  a.SetInput("x2", x);  // what links the two goes
}

/// What a node waits for, those that read it wait for when it is taken out; not what it reads.
TEST_F(Operators, ControlInputsOfNodesThatGo) {
  Operator x = data("x", {2});
  const Operator relu = node("relu", "Relu", "x", x);
  Operator same = node("same", "Identity", "x", x);
  same.AddControlInput(relu);
  Graph graph("controlled");
  graph.SetInputs({x}).SetOutputs({node("y", "Neg", "x", same)});
  Session session(Options{});
  ASSERT_EQ(session.AddGraph(1, graph), SUCCESS) << last_error();
  EXPECT_EQ(run(session, 1, {host_tensor<float>({2}, {1, -2})}), (Floats{-1, 2})) << last_error();
}

TEST_F(Operators, LongChainsAreNoProblem) {
  Operator x = data("x", {2});
  Operator end = x;
  for (int i = 0; i < 50000; ++i) end = Operator("Relu").SetInput("x", end);
  Operator name = end;
  AscendString text;
  EXPECT_EQ(name.GetName(text), GRAPH_SUCCESS);
  EXPECT_STREQ(text.GetString(), "Relu");
}

TEST_F(Operators, BuildsModelsAndWritesThem) {
  Operator x = data("x", {2});
  Graph graph("small");
  graph.SetInputs({x}).SetOutputs({node("y", "Relu", "x", x)});
  AscendString name;
  EXPECT_EQ(graph.GetName(name), GRAPH_SUCCESS);
  EXPECT_STREQ(name.GetString(), "small");
  const std::vector<GNode> nodes = graph.GetAllNodes();
  ASSERT_EQ(nodes.size(), 3U);
  EXPECT_EQ(nodes[1].GetName(name), GRAPH_SUCCESS);
  EXPECT_STREQ(name.GetString(), "y");
  ModelBufferData model;
  EXPECT_EQ(aclgrphBuildModel(graph, {}, model), GRAPH_SUCCESS) << last_error();
  EXPECT_GT(model.length, 256U);
  Graph copy;
  EXPECT_EQ(copy.CopyFrom(graph), GRAPH_SUCCESS);
  EXPECT_EQ(copy.GetAllNodes().size(), 3U);
}

TEST_F(Operators, NodesAreWalkedAndChanged) {
  Operator x = data("x", {2});
  Operator first = node("first", "Relu", "x", x), second = node("second", "Identity", "x", first);
  Operator third = node("third", "Neg", "x", second);
  third.AddControlInput(first);
  Graph graph("walked");
  graph.SetInputs({x}).SetOutputs({third});
  std::map<std::string, GNode> nodes;
  for (const GNode& each : graph.GetDirectNode()) {
    AscendString name;
    ASSERT_EQ(each.GetName(name), GRAPH_SUCCESS);
    nodes[name.GetString()] = each;
  }
  const auto name_of = [](const GNodePtr& of) {
    AscendString name;
    return of && of->GetName(name) == GRAPH_SUCCESS ? std::string(name.GetString()) : "";
  };
  GNode &relu = nodes.at("first"), &same = nodes.at("second"), &end = nodes.at("third");
  EXPECT_EQ(same.GetInputsSize(), 1U);
  EXPECT_EQ(same.GetOutputsSize(), 1U);
  EXPECT_EQ(name_of(same.GetInDataNodesAndPortIndexs(0).first), "first");
  EXPECT_EQ(same.GetInDataNodesAndPortIndexs(1).second, -1);
  ASSERT_EQ(same.GetOutDataNodesAndPortIndexs(0).size(), 1U);
  EXPECT_EQ(name_of(same.GetOutDataNodesAndPortIndexs(0)[0].first), "third");
  ASSERT_EQ(end.GetInControlNodes().size(), 1U);
  EXPECT_EQ(name_of(relu.GetOutControlNodes()[0]), "third");

  EXPECT_NE(graph.AddDataEdge(relu, 0, end, 0), GRAPH_SUCCESS);
  EXPECT_NE(last_error().find("RemoveEdge first"), std::string::npos);
  EXPECT_NE(graph.RemoveEdge(relu, 0, end, 0), GRAPH_SUCCESS);
  ASSERT_EQ(graph.RemoveEdge(same, 0, end, 0), GRAPH_SUCCESS);
  ASSERT_EQ(graph.AddDataEdge(relu, 0, end, 0), GRAPH_SUCCESS);
  EXPECT_NE(graph.AddDataEdge(relu, 1, end, 0), GRAPH_SUCCESS);
  ASSERT_EQ(graph.AddControlEdge(nodes.at("x"), end), GRAPH_SUCCESS);
  EXPECT_EQ(end.GetInControlNodes().size(), 2U);
  ASSERT_EQ(graph.RemoveNode(same), GRAPH_SUCCESS);
  EXPECT_EQ(name_of(std::make_shared<GNode>(same)), "");
  EXPECT_NE(graph.RemoveNode(same), GRAPH_SUCCESS);
}

TEST_F(Operators, ControlEdgesLeadThroughNothing) {
  Operator x = data("x", {2});
  Operator first = node("first", "Abs", "x", x);
  Operator between("between", "NoOp"), again("again", "NoOp");
  between.AddControlInput(first);
  again.AddControlInput(between);
  Operator last = node("last", "Neg", "x", x);
  last.AddControlInput(again);
  Graph graph("through");
  graph.SetInputs({x}).SetOutputs({last});
  for (const GNode& each : graph.GetAllNodes()) {
    AscendString name;
    each.GetName(name);
    EXPECT_STRNE(name.GetString(), "between");
    EXPECT_EQ(each.GetInControlNodes().size(), std::string(name.GetString()) == "last" ? 1U : 0U);
  }
  ModelBufferData model;
  EXPECT_EQ(aclgrphBuildModel(graph, {}, model), GRAPH_SUCCESS) << last_error();
}

TEST_F(Operators, ConstantsWithoutATypeAreAbsentInputs) {
  Operator x = data("x", {2});
  Operator none = Operator("none", "Const")
                      .SetAttr("value", Tensor(TensorDesc(Shape(std::vector<int64_t>{}), FORMAT_ND, DT_UNDEFINED)));
  Operator y("y", "Sxpy");
  y.SetInput("x1", x).SetInput("x2", x).SetInput("alpha", none);
  Graph graph("absent");
  graph.SetInputs({x}).SetOutputs({y});
  EXPECT_TRUE(graph.IsValid()) << last_error();
  EXPECT_EQ(graph.GetAllNodes().size(), 3U);
  Operator must = node("must", "Add", "x1", x, "x2", none);
  Graph refused("refused");
  refused.SetInputs({x}).SetOutputs({must});
  EXPECT_FALSE(refused.IsValid());
  EXPECT_NE(last_error().find("input x2 is missing"), std::string::npos);
}

TEST_F(Operators, ModelsRunByAscendCL) {
  Operator x = data("x", {2, -1});
  Graph graph("offline");
  graph.SetInputs({x}).SetOutputs({node("y", "Abs", "x", x)});
  ModelBufferData model;
  ASSERT_EQ(aclgrphBuildModel(graph, {{"input_shape", "x:2,3"}}, model), GRAPH_SUCCESS) << last_error();
  uint32_t id = 0;
  ASSERT_EQ(aclmdlLoadFromMem(model.data.get(), model.length, &id), 0) << last_error();
  aclmdlDesc* desc = aclmdlCreateDesc();
  ASSERT_EQ(aclmdlGetDesc(desc, id), 0);
  EXPECT_EQ(aclmdlGetNumInputs(desc), 1U);
  EXPECT_STREQ(aclmdlGetInputNameByIndex(desc, 0), "x");
  EXPECT_EQ(aclmdlGetOutputSizeByIndex(desc, 0), 24U);
  aclmdlDestroyDesc(desc);
  EXPECT_EQ(aclmdlUnload(id), 0);
}

TEST_F(Operators, SizesComeWithTheInputs) {
  Operator x = data("x", {-1, 2});
  Graph graph("rows");
  graph.SetInputs({x}).SetOutputs({node("y", "Neg", "x", x)});
  Session session(Options{});
  ASSERT_EQ(session.AddGraph(1, graph), SUCCESS);
  std::vector<Tensor> outputs;
  for (const int64_t rows : {3, 0, 5}) {
    const Floats values(static_cast<size_t>(2 * rows), 1.5F);
    ASSERT_EQ(session.RunGraph(1, {host_tensor({rows, 2}, values)}, outputs), SUCCESS) << last_error();
    EXPECT_EQ(outputs[0].GetShapeDim(0), rows);
    EXPECT_EQ(floats(outputs[0]), Floats(values.size(), -1.5F));
  }
}

TEST_F(Operators, TensorsWithoutDimensionsAndWithoutElements) {
  for (const std::vector<int64_t>& dims : std::vector<std::vector<int64_t>>{{}, {0}, {2, 0, 3}}) {
    Operator x = data("x", dims);
    Graph graph("small");
    graph.SetInputs({x}).SetOutputs({node("y", "Exp", "x", x)});
    Session session(Options{});
    ASSERT_EQ(session.AddGraph(1, graph), SUCCESS);
    std::vector<Tensor> outputs;
    const Floats values(dims.empty() ? 1 : 0, std::numeric_limits<float>::infinity());
    ASSERT_EQ(session.RunGraph(1, {host_tensor(dims, values)}, outputs), SUCCESS) << last_error();
    EXPECT_EQ(outputs[0].GetShapeDimNum(), dims.size());
    EXPECT_EQ(floats(outputs[0]), values);
  }
}

TEST_F(Operators, ConstantsOfAllTypes) {
  for (const auto& [type, bytes] : std::map<DataType, size_t>{{DT_FLOAT, 4},
                                                              {DT_FLOAT16, 2},
                                                              {DT_BF16, 2},
                                                              {DT_DOUBLE, 8},
                                                              {DT_INT8, 1},
                                                              {DT_UINT8, 1},
                                                              {DT_INT16, 2},
                                                              {DT_INT32, 4},
                                                              {DT_INT64, 8},
                                                              {DT_BOOL, 1},
                                                              {DT_COMPLEX64, 8},
                                                              {DT_UINT32, 4},
                                                              {DT_UINT64, 8},
                                                              {DT_UINT16, 2},
                                                              {DT_COMPLEX128, 16}}) {
    std::vector<uint8_t> values(3 * bytes);
    for (size_t i = 0; i < values.size(); ++i) values[i] = type == DT_BOOL ? i % 2 : static_cast<uint8_t>(i + 1);
    const Tensor value(described_as({3}, type), values);
    Graph graph("held");
    graph.SetOutputs({node("y", "Identity", "x", Operator("c", "Const").SetAttr("value", value))});
    Session session(Options{});
    ASSERT_EQ(session.AddGraph(1, graph), SUCCESS) << last_error();
    std::vector<Tensor> outputs;
    ASSERT_EQ(session.RunGraph(1, {}, outputs), SUCCESS) << type << last_error();
    EXPECT_EQ(outputs[0].GetDataType(), type);
    EXPECT_EQ(std::vector<uint8_t>(outputs[0].GetData(), outputs[0].GetData() + outputs[0].GetSize()), values) << type;
  }
  const Tensor small(described_as({3}), std::vector<uint8_t>(8));
  Operator c("c", "Const");
  c.SetAttr("value", small);
  contains(last_error(), "which are 12 bytes, and has 8");
}

TEST_F(Operators, RunsWithoutAContextOfTheClient) {
  Operator x = data("x", {2});
  Graph graph("small");
  graph.SetInputs({x}).SetOutputs({node("y", "Relu", "x", x)});
  Floats y;
  std::string failure;
  std::thread([&] {  // a thread that never saw aclrtSetDevice
    Session session(Options{{"ge.session_device_id", "1"}});
    if (session.AddGraph(1, graph) != SUCCESS) failure = last_error();
    y = run(session, 1, {host_tensor<float>({2}, {-1, 2})});
    if (y.empty()) failure += last_error();
  })
      .join();
  EXPECT_EQ(failure, "");
  EXPECT_EQ(y, (Floats{0, 2}));
}

TEST_F(Operators, RunsAsynchronouslyInOrder) {
  Operator x = data("x", {1});
  Graph graph("small");
  graph.SetInputs({x}).SetOutputs({node("y", "Neg", "x", x)});
  Floats seen;
  Status wrong = SUCCESS;
  std::string text;
  {
    Session session(Options{});
    ASSERT_EQ(session.AddGraph(1, graph), SUCCESS);
    for (int i = 0; i < 8; ++i)
      ASSERT_EQ(session.RunGraphAsync(1, {host_tensor<float>({1}, {static_cast<float>(i)})},
                                      [&](Status status, std::vector<Tensor>& outputs) {
                                        if (status == SUCCESS) seen.push_back(floats(outputs[0])[0]);
                                      }),
                SUCCESS);
    ASSERT_EQ(session.RunGraphAsync(1, {},
                                    [&](Status status, std::vector<Tensor>&) {
                                      wrong = status;
                                      text = last_error();
                                    }),
              SUCCESS);
    EXPECT_NE(session.RunGraphAsync(2, {}, [](Status, std::vector<Tensor>&) {}), SUCCESS);
    EXPECT_NE(session.RunGraphAsync(1, {}, nullptr), SUCCESS);
  }
  EXPECT_EQ(seen, (Floats{0, -1, -2, -3, -4, -5, -6, -7}));
  EXPECT_NE(wrong, SUCCESS);
  contains(text, "graph 1 has 1 inputs, got 0");
}

TEST_F(Operators, InputsAreChecked) {
  Operator x = data("x", {2});
  Graph graph("small");
  graph.SetInputs({x}).SetOutputs({node("y", "Relu", "x", x)});
  Session session(Options{});
  ASSERT_EQ(session.AddGraph(1, graph), SUCCESS);
  EXPECT_TRUE(run(session, 1, {host_tensor<int32_t>({2}, {1, 2}, DT_INT32)}).empty());
  contains(last_error(), "input 0 (x) of graph 1 is FLOAT, got INT32");
  EXPECT_TRUE(run(session, 1, {host_tensor<float>({2}, {1})}).empty());
  contains(last_error(), "which are 8 bytes, and has 4");
  EXPECT_TRUE(run(session, 1, {host_tensor<float>({3}, {1, 2, 3})}).empty());
  contains(last_error(), "got the shape [3]");
  std::vector<Tensor> outputs;
  for (int i = 0; i < 2; ++i) {  // outputs of a run before are no places for the next
    ASSERT_EQ(session.RunGraph(1, {host_tensor<float>({2}, {-1.0F, static_cast<float>(i)})}, outputs), SUCCESS);
    EXPECT_EQ(floats(outputs[0])[1], static_cast<float>(i));
    EXPECT_EQ(outputs[0].GetPlacement(), kPlacementHost);
  }
}

TEST_F(Operators, OptionsAreChecked) {
  for (const auto& [name, value] : std::map<std::string, std::string>{{"ge.graphRunMode", "2"},
                                                                      {"ge.deterministic", "yes"},
                                                                      {"ge.topoSortingMode", "4"},
                                                                      {"ge.exec.deviceId", "first"},
                                                                      {"ge.enableSingleStream", "1"}}) {
    EXPECT_NE(GEInitialize(Options{{name.c_str(), value.c_str()}}), SUCCESS);
    contains(last_error(), (name + " is " + value).c_str());
  }
  EXPECT_EQ(GEInitialize(std::map<std::string, std::string>{{"ge.graphRunMode", "1"}}), SUCCESS);
  EXPECT_EQ(GEInitialize(Options{}), SUCCESS);
  Session session(Options{{"ge.session_device_id", "4000"}});
  Operator x = data("x", {2});
  Graph graph("small");
  graph.SetInputs({x}).SetOutputs({node("y", "Relu", "x", x)});
  EXPECT_NE(session.AddGraph(1, graph), SUCCESS);
  contains(last_error(), "the session was not made");
}

struct Branches : Operators {
  struct Maker : Operator {
    using Operator::DynamicInputRegister;
    using Operator::DynamicOutputRegister;
    using Operator::SetSubgraphBuilder;
    using Operator::SubgraphCountRegister;
    Maker(const char* name, const char* type) : Operator(name, type) {}
  };
  /// What one operator makes of the only input.
  static std::function<Graph()> graph_of(const std::function<Operator(const Operator&)>& make,
                                         const std::vector<int64_t>& dims = {2}) {
    return [make, dims] {
      Operator x = data("x", dims);
      Graph graph("part");
      graph.SetInputs({x}).SetOutputs({make(x)});
      return graph;
    };
  }
  static Maker control(const char* name, const char* type, const Operator& x, unsigned outputs = 1) {
    Maker made(name, type);
    made.DynamicInputRegister("input", 1, true);
    made.DynamicOutputRegister("output", outputs, true);
    made.SetInput("input", 0, x);
    return made;
  }
};

TEST_F(Branches, IfRunsOneOfThem) {
  Operator x = data("x", {2}), positive = data("positive", {}, DT_BOOL);
  Maker choice = control("choice", "If", x);
  choice.SetInput("cond", positive);
  const auto negated = graph_of([](const Operator& v) { return node("y", "Neg", "x", v); });
  choice.SetSubgraphBuilder("then_branch", 0, graph_of([](const Operator& v) { return node("y", "Square", "x", v); }));
  choice.SetSubgraphBuilder("else_branch", 0, [&] {  // one inside another
    Operator v = data("v", {2});
    Maker inner = control("choice", "If", v);
    inner.SetInput("cond", constant<uint8_t>("no", {}, {0}, DT_BOOL));
    inner.SetSubgraphBuilder("then_branch", 0, graph_of([](const Operator& u) { return node("y", "Exp", "x", u); }));
    inner.SetSubgraphBuilder("else_branch", 0, negated);
    Graph graph("outer");
    graph.SetInputs({v}).SetOutputs({inner});
    return graph;
  });
  Graph graph("branches");
  graph.SetInputs({x, positive}).SetOutputs({choice});
  ASSERT_EQ(choice.InferShapeAndType(), GRAPH_SUCCESS) << last_error();
  EXPECT_EQ(choice.GetOutputDesc(0).GetShape().GetDims(), std::vector<int64_t>{2});
  Session session(Options{});
  ASSERT_EQ(session.AddGraph(1, graph), SUCCESS) << last_error();
  const Tensor value = host_tensor<float>({2}, {3, -4});
  EXPECT_EQ(run(session, 1, {value, host_tensor<uint8_t>({}, {1}, DT_BOOL)}), (Floats{9, 16})) << last_error();
  EXPECT_EQ(run(session, 1, {value, host_tensor<uint8_t>({}, {0}, DT_BOOL)}), (Floats{-3, 4})) << last_error();
}

TEST_F(Branches, CaseRunsTheOneOfItsNumber) {
  Operator x = data("x", {2}), index = data("index", {}, DT_INT32);
  Maker choice = control("choice", "Case", x);
  choice.SetInput("branch_index", index);
  choice.SubgraphCountRegister("branches", 3);
  const char* types[] = {"Square", "Neg", "Abs"};
  for (unsigned i = 0; i < 3; ++i)
    choice.SetSubgraphBuilder("branches", i,
                              graph_of([type = types[i]](const Operator& v) { return node("y", type, "x", v); }));
  Graph graph("branches");
  graph.SetInputs({x, index}).SetOutputs({choice});
  ASSERT_EQ(choice.InferShapeAndType(), GRAPH_SUCCESS) << last_error();
  EXPECT_EQ(choice.GetOutputDesc(0).GetShape().GetDims(), std::vector<int64_t>{2});
  Session session(Options{});
  ASSERT_EQ(session.AddGraph(1, graph), SUCCESS) << last_error();
  const Tensor value = host_tensor<float>({2}, {3, -4});
  const Floats wanted[] = {{9, 16}, {-3, 4}, {3, 4}};
  for (int i : {0, 1, 2, 3, -1})  // what has no branch runs the last one
    EXPECT_EQ(run(session, 1, {value, host_tensor<int32_t>({}, {i}, DT_INT32)}), wanted[i >= 0 && i < 3 ? i : 2])
        << i << " " << last_error();
}

TEST_F(Branches, PartitionedCallRunsItsGraph) {
  Operator x = data("x", {2});
  Maker call("call", "PartitionedCall");
  call.DynamicInputRegister("args", 1, true);
  call.DynamicOutputRegister("output", 1, true);
  call.SetInput("args", 0, x);
  call.SetSubgraphBuilder("f", 0, graph_of([](const Operator& v) { return node("y", "Square", "x", v); }));
  Graph graph("calls");
  graph.SetInputs({x}).SetOutputs({node("z", "Neg", "x", call)});
  Session session(Options{});
  ASSERT_EQ(session.AddGraph(1, graph), SUCCESS) << last_error();
  EXPECT_EQ(run(session, 1, {host_tensor<float>({2}, {3, -4})}), (Floats{-9, -16})) << last_error();
}

TEST_F(Branches, WhileRunsTheBodyAgain) {
  Operator x = data("x", {1});
  Maker loop = control("loop", "While", x);
  loop.SetSubgraphBuilder("cond", 0,
                          graph_of(
                              [](const Operator& v) {
                                const Operator flat = node("flat", "Reshape", "x", v, "shape",
                                                           constant<int64_t>("sizes", {0}, {}, DT_INT64));
                                return node("less", "Less", "x1", flat, "x2", constant("most", {}, Floats{100}));
                              },
                              {1}));
  loop.SetSubgraphBuilder("body", 0,
                          graph_of([](const Operator& v) { return node("y", "Add", "x1", v, "x2", v); }, {1}));
  Graph graph("turns");
  graph.SetInputs({x}).SetOutputs({loop});
  Session session(Options{});
  ASSERT_EQ(session.AddGraph(1, graph), SUCCESS) << last_error();
  EXPECT_EQ(run(session, 1, {host_tensor<float>({1}, {3})}), Floats{192}) << last_error();
  EXPECT_EQ(run(session, 1, {host_tensor<float>({1}, {100})}), Floats{100}) << last_error();
}

TEST_F(Branches, GraphsThatDoNotFitAreRefused) {
  Operator x = data("x", {2});
  const auto graph_with = [&](Maker& choice) {
    choice.SetInput("cond", constant<uint8_t>("yes", {}, {1}, DT_BOOL));
    Graph graph("branches");
    graph.SetInputs({x}).SetOutputs({choice});
    return refusal(graph);
  };
  const auto same = graph_of([](const Operator& v) { return node("y", "Neg", "x", v); });
  Maker half = control("half", "If", x);
  half.SetSubgraphBuilder("then_branch", 0, same);
  contains(graph_with(half), "half (If): graph else_branch is missing: set_subgraph_builder_else_branch");
  Maker many = control("many", "If", x, 2);
  many.SetSubgraphBuilder("then_branch", 0, same);
  many.SetSubgraphBuilder("else_branch", 0, same);
  contains(graph_with(many), "many (If): graph then_branch has 1 outputs, want 2");
  Maker types = control("types", "If", x);
  types.SetSubgraphBuilder("then_branch", 0, same);
  types.SetSubgraphBuilder("else_branch", 0, graph_of([](const Operator& v) {
                             return node("y", "Cast", "x", v).SetAttr("dst_type", DT_INT32);
                           }));
  contains(graph_with(types), "types (If): output 0 is FLOAT[2] by one of its graphs and INT32[2] by another");
  Maker other = control("other", "If", x);
  other.SetSubgraphBuilder("body", 0, same);
  contains(last_error(), "other (If): it runs no graph body; its graphs are then_branch, else_branch");
  const auto several = [&](const char* name, unsigned count) {
    Maker made = control(name, "Case", x);
    made.SetInput("branch_index", constant<int32_t>("index", {}, {0}, DT_INT32));
    if (count) made.SubgraphCountRegister("branches", count);
    made.SetSubgraphBuilder("branches", 0, same);
    Graph graph("branches");
    graph.SetInputs({x}).SetOutputs({made});
    return refusal(graph);
  };
  contains(several("none", 0),
           "none (Case): it has no graph branches 0: create_dynamic_subgraph_branches says how many");
  contains(several("two", 2), "two (Case): graph branches1 is missing");
  contains(several("more", 5000), "more (Case): 5000 graphs branches, want 1 to 4096");
}

/// Every type of the IR can be made, and takes its own names.
TEST_F(Operators, EveryTypeIsThere) {
  for (const IrType& type : ir_types()) {
    Operator made(type.name);
    EXPECT_TRUE(OperatorFactory::IsExistOp(type.name));
    for (const IrPort& p : type.inputs)
      EXPECT_EQ(made.UpdateInputDesc(p.name, TensorDesc()), GRAPH_SUCCESS) << type.name;
    for (const IrAttribute& a : type.attributes) EXPECT_NE(std::string(kind_name(a.kind)), "") << type.name;
  }
  EXPECT_TRUE(OperatorFactory::CreateOperator("x", "NoSuchType").IsEmpty());
  EXPECT_FALSE(OperatorFactory::CreateOperator("x", "Relu").IsEmpty());
}

}  // namespace
}  // namespace ge
