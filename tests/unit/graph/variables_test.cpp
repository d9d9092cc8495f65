// Variables of a session: what runs read and write, in which order, and what is refused.
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <thread>

#include "ge/ge_ir_build.h"
#include "small_operators.h"

namespace ge {
namespace {

using Options = std::map<AscendString, AscendString>;
using Floats = std::vector<float>;

struct SessionVariables : testing::Test {
  void SetUp() override {
    aclInit(nullptr);
    ASSERT_EQ(aclrtSetDevice(0), 0);
    last_error();
  }
  static Operator variable(const char* name, const std::vector<int64_t>& dims = {2}, DataType type = DT_FLOAT) {
    Operator made(name, "Variable");
    made.UpdateOutputDesc("y", described_as(dims, type));
    return made;
  }
  static Operator assign(const char* name, const Operator& to, const Operator& value) {
    return node(name, "Assign", "ref", to, "value", value);
  }
  static Graph graph_of(const std::vector<Operator>& outputs, const std::vector<Operator>& targets = {},
                        const std::vector<Operator>& inputs = {}) {
    Graph graph("graph");
    if (!inputs.empty()) graph.SetInputs(inputs);
    graph.SetOutputs(outputs);
    if (!targets.empty()) graph.SetTargets(targets);
    return graph;
  }
  void add(uint32_t id, const Graph& graph) { ASSERT_EQ(session.AddGraph(id, graph), SUCCESS) << last_error(); }
  /// w = [first, first + 1]
  void give(const char* name, float first) {
    const uint32_t id = next_++;
    add(id, graph_of({}, {assign("give", variable(name), constant("value", {2}, Floats{first, first + 1}))}));
    std::vector<Tensor> outputs;
    ASSERT_EQ(session.RunGraph(id, {}, outputs), SUCCESS) << last_error();
    EXPECT_TRUE(outputs.empty());
  }
  Floats value(const char* name) {
    std::vector<Tensor> values;
    return session.GetVariables({name}, values) == SUCCESS ? floats(values[0]) : Floats();
  }
  static void contains(const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }

  Session session{Options{}};
  uint32_t next_ = 1000;
};

TEST_F(SessionVariables, AreSharedAndKept) {
  give("w", 1);
  EXPECT_EQ(value("w"), (Floats{1, 2}));
  const Operator w = variable("w");
  add(1, graph_of({node("more", "AssignAdd", "ref", w, "value", constant("ten", {2}, Floats{10, 10}))}));
  add(2, graph_of({node("double", "Add", "x1", w, "x2", w)}));
  for (float step = 1; step <= 3; ++step) {
    EXPECT_EQ(run(session, 1), (Floats{1 + 10 * step, 2 + 10 * step})) << last_error();
    EXPECT_EQ(run(session, 2), (Floats{2 + 20 * step, 4 + 20 * step}));
  }
  ASSERT_EQ(session.RemoveGraph(1), SUCCESS);
  EXPECT_EQ(value("w"), (Floats{31, 32}));
}

TEST_F(SessionVariables, StepsOfOptimizers) {
  give("w", 1);
  give("m", 0);
  const Operator x = data("x", {2}), rate = constant("rate", {}, Floats{0.5F}),
                 keep = constant("keep", {}, Floats{0.9F});
  Operator step("step", "ApplyMomentum");
  step.SetInput("var", variable("w")).SetInput("accum", variable("m")).SetInput("lr", rate).SetInput("grad", x);
  step.SetInput("momentum", keep);
  add(1, graph_of({}, {step}, {x}));
  Operator descent("descent", "ApplyGradientDescent");
  descent.SetInput("var", variable("w")).SetInput("alpha", rate).SetInput("delta", x);
  add(2, graph_of({}, {descent}, {x}));
  std::vector<Tensor> outputs;
  double w[2] = {1, 2}, m[2] = {0, 1};
  for (const Floats& gradient : {Floats{1, 2}, Floats{-3, 0.25F}}) {
    ASSERT_EQ(session.RunGraph(1, {host_tensor({2}, gradient)}, outputs), SUCCESS) << last_error();
    ASSERT_EQ(session.RunGraph(2, {host_tensor({2}, gradient)}, outputs), SUCCESS) << last_error();
    for (size_t i = 0; i < 2; ++i) {
      m[i] = m[i] * 0.9 + static_cast<double>(gradient[i]);
      w[i] -= 0.5 * m[i] + 0.5 * static_cast<double>(gradient[i]);
    }
  }
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_NEAR(value("w")[i], w[i], 1e-5);
    EXPECT_NEAR(value("m")[i], m[i], 1e-5);
  }
}

TEST_F(SessionVariables, ReadsComeBeforeWrites) {
  give("w", 1);
  const Operator w = variable("w"), ten = constant("ten", {2}, Floats{10, 10});
  // the write is made first: only the rule puts it behind the read
  const Operator more = node("more", "AssignAdd", "ref", w, "value", ten);
  const Operator before = node("before", "Mul", "x1", w, "x2", constant("two", {2}, Floats{2, 2}));
  add(1, graph_of({before}, {more}));
  EXPECT_EQ(run(session, 1), (Floats{2, 4})) << last_error();
  EXPECT_EQ(run(session, 1), (Floats{22, 24}));
  // an edge says otherwise
  Operator after = node("after", "Mul", "x1", w, "x2", constant("three", {2}, Floats{3, 3}));
  after.AddControlInput(more);
  add(2, graph_of({after}, {more}));
  EXPECT_EQ(run(session, 2), (Floats{93, 96}));
  EXPECT_EQ(value("w"), (Floats{31, 32}));
}

TEST_F(SessionVariables, GraphsWithoutOutputsGiveThemValues) {
  const Operator w = variable("w");
  const Operator given = assign("give", w, constant("value", {2}, Floats{5, 6}));
  Graph graph("init");
  graph.SetInputs({w});
  add(1, graph);
  std::vector<Tensor> outputs;
  ASSERT_EQ(session.RunGraph(1, {}, outputs), SUCCESS) << last_error();
  EXPECT_EQ(value("w"), (Floats{5, 6}));
}

TEST_F(SessionVariables, SayHowOftenAGraphRuns) {
  give("w", 1);
  Graph graph =
      graph_of({node("more", "AssignAdd", "ref", variable("w"), "value", constant("ten", {2}, Floats{10, 10}))});
  graph.SetNeedIteration(true);
  add(1, graph);
  EXPECT_EQ(run(session, 1), (Floats{11, 12})) << last_error();
  const Operator loops = variable("npu_runconfig/iterations_per_loop", {1}, DT_INT64);
  add(2, graph_of({}, {assign("set", loops, constant<int64_t>("two", {1}, {2}, DT_INT64))}));
  std::vector<Tensor> outputs;
  ASSERT_EQ(session.RunGraph(2, {}, outputs), SUCCESS) << last_error();
  EXPECT_EQ(run(session, 1), (Floats{41, 42})) << last_error();  // two more than one
}

TEST_F(SessionVariables, OutputsAreReadAtTheEnd) {
  give("w", 1);
  const Operator w = variable("w"), ten = constant("ten", {2}, Floats{10, 10});
  add(1, graph_of({w}, {node("more", "AssignAdd", "ref", w, "value", ten)}));
  EXPECT_EQ(run(session, 1), (Floats{11, 12})) << last_error();
  // what Identity read is what was there when it ran
  add(2, graph_of({node("old", "Identity", "x", w)}, {node("more", "AssignAdd", "ref", w, "value", ten)}));
  EXPECT_EQ(run(session, 2), (Floats{11, 12})) << last_error();
  EXPECT_EQ(value("w"), (Floats{21, 22}));
}

TEST_F(SessionVariables, OldValuesAreCopiedWhereTheyAreWantedBehindAWrite) {
  give("w", 1);
  const Operator w = variable("w"), ten = constant("ten", {2}, Floats{10, 10});
  const Operator more = node("more", "AssignAdd", "ref", w, "value", ten);
  // new value - old value, the old one by Identity, by Reshape, and by Identity behind a control edge
  add(1, graph_of({node("change", "Sub", "x1", more, "x2", node("old", "Identity", "x", w))}));
  EXPECT_EQ(run(session, 1), (Floats{10, 10})) << last_error();
  Operator flat = node("flat", "Reshape", "x", w, "shape", constant<int64_t>("sizes", {1}, {2}, DT_INT64));
  add(2, graph_of({node("change", "Sub", "x1", more, "x2", flat)}));
  EXPECT_EQ(run(session, 2), (Floats{10, 10})) << last_error();
  Operator now = node("now", "Identity", "x", w);
  now.AddControlInput(more);
  add(3, graph_of({node("change", "Sub", "x1", more, "x2", now)}));
  EXPECT_EQ(run(session, 3), (Floats{0, 0})) << last_error();
  EXPECT_EQ(value("w"), (Floats{31, 32}));
  // nodes that give what they read, and so would be taken out, keep it
  Operator cast = node("cast", "Cast", "x", w).SetAttr("dst_type", DT_FLOAT);
  add(4, graph_of({node("change", "Sub", "x1", more, "x2", cast)}));
  EXPECT_EQ(run(session, 4), (Floats{10, 10})) << last_error();
  const Operator same = node("same", "Mul", "x1", w, "x2", constant("one", {}, Floats{1}));
  add(5, graph_of({node("change", "Sub", "x1", more, "x2", same)}));
  EXPECT_EQ(run(session, 5), (Floats{10, 10})) << last_error();
}

TEST_F(SessionVariables, TwoVariablesChangePlaces) {
  give("a", 1);
  give("b", 5);
  const Operator a = variable("a"), b = variable("b");
  add(1, graph_of({}, {assign("to_a", a, b), assign("to_b", b, a)}));
  std::vector<Tensor> outputs;
  ASSERT_EQ(session.RunGraph(1, {}, outputs), SUCCESS) << last_error();
  EXPECT_EQ(value("a"), (Floats{5, 6}));
  EXPECT_EQ(value("b"), (Floats{1, 2}));
}

TEST_F(SessionVariables, WritesFollowInTheOrderOfTheProgram) {
  give("w", 1);
  const Operator w = variable("w"), two = constant("two", {2}, Floats{2, 2});
  const Operator first = node("first", "AssignAdd", "ref", w, "value", two);
  const Operator second = assign("second", w, constant("zero", {2}, Floats{0, 0}));
  const Operator third = node("third", "AssignSub", "var", w, "value", two);
  std::vector<Tensor> outputs;
  add(1, graph_of({}, {third, second, first}));
  ASSERT_EQ(session.RunGraph(1, {}, outputs), SUCCESS) << last_error();
  EXPECT_EQ(value("w"), (Floats{-2, -2}));
}

TEST_F(SessionVariables, KeepTheirTypeInMixedPrecision) {
  give("w", 1);
  const Operator x = data("x", {1, 2}), square = constant("square", {2, 2}, Floats{1, 2, 3, 4});
  const Operator sizes = constant<int64_t>("sizes", {1}, {2}, DT_INT64);
  const Operator step =
      node("step", "Reshape", "x", node("product", "MatMulV2", "x1", x, "x2", square), "shape", sizes);
  Graph graph("half");
  graph.SetInputs({x}).SetTargets({node("more", "AssignAdd", "ref", variable("w"), "value", step)});
  for (const char* mode : {"force_fp16", "allow_mix_precision"}) {
    const uint32_t id = next_++;
    ASSERT_EQ(session.AddGraph(id, graph, {{"ge.exec.precision_mode", mode}}), SUCCESS) << last_error();
    std::vector<Tensor> outputs;
    ASSERT_EQ(session.RunGraph(id, {host_tensor<float>({1, 2}, {1, 1})}, outputs), SUCCESS) << last_error();
  }
  EXPECT_EQ(value("w"), (Floats{9, 14}));  // twice [4, 6] on top of [1, 2]
}

TEST_F(SessionVariables, ShapesThatValuesDecide) {
  give("w", 1);
  const Operator w = variable("w");
  const Operator found = node("found", "NonZero", "x", w);
  const Operator more = node("more", "AssignAdd", "ref", w, "value", constant("one", {2}, Floats{-1, -1}));
  add(1, graph_of({found}, {more}));
  for (const int64_t rows : {2, 1}) {  // w is [1, 2], then [0, 1]
    std::vector<Tensor> outputs;
    ASSERT_EQ(session.RunGraph(1, {}, outputs), SUCCESS) << last_error();
    EXPECT_EQ(outputs[0].GetShapeDim(0) * outputs[0].GetShapeDim(1), rows);
  }
  EXPECT_EQ(value("w"), (Floats{-1, 0}));
}

TEST_F(SessionVariables, ValuesOfTheVariableItself) {
  Operator w = variable("w");
  w.SetAttr("value", host_tensor<float>({2}, {7, 8}));
  add(1, graph_of({node("y", "Neg", "x", w)}));
  EXPECT_EQ(run(session, 1), (Floats{-7, -8})) << last_error();
  EXPECT_EQ(value("w"), (Floats{7, 8}));
  add(2, graph_of({}, {node("more", "AssignAdd", "ref", w, "value", constant("one", {2}, Floats{1, 1}))}));
  std::vector<Tensor> outputs;
  ASSERT_EQ(session.RunGraph(2, {}, outputs), SUCCESS) << last_error();
  EXPECT_EQ(run(session, 1), (Floats{-8, -9}));  // only the first graph gave it its value
}

TEST_F(SessionVariables, OtherTypesAndNoElements) {
  const Operator half = variable("half", {}, DT_INT64), none = variable("none", {0, 3}, DT_FLOAT16);
  add(1, graph_of({}, {assign("a", half, constant<int64_t>("five", {}, {5}, DT_INT64)),
                       assign("b", none, constant<uint16_t>("nothing", {0, 3}, {}, DT_FLOAT16))}));
  std::vector<Tensor> outputs;
  ASSERT_EQ(session.RunGraph(1, {}, outputs), SUCCESS) << last_error();
  std::vector<Tensor> values;
  ASSERT_EQ(session.GetVariables({"half", "none"}, values), SUCCESS) << last_error();
  EXPECT_EQ(*reinterpret_cast<const int64_t*>(values[0].GetData()), 5);
  EXPECT_EQ(values[1].GetSize(), 0U);
  EXPECT_EQ(values[1].GetShapeDim(1), 3);
  EXPECT_EQ(values[1].GetDataType(), DT_FLOAT16);
}

TEST_F(SessionVariables, WrongUsesAreRefused) {
  const Operator w = variable("w");
  add(1, graph_of({node("y", "Neg", "x", w)}));
  EXPECT_TRUE(run(session, 1).empty());
  contains(last_error(), "graph 1 reads variable w, which has no value yet");
  EXPECT_TRUE(value("w").empty());
  contains(last_error(), "variable w has no value yet");
  EXPECT_TRUE(value("v").empty());
  contains(last_error(), "the session has no variable v; it has w");
  // AssignAdd reads
  add(2, graph_of({node("more", "AssignAdd", "ref", w, "value", constant("one", {2}, Floats{1, 1}))}));
  EXPECT_TRUE(run(session, 2).empty());
  contains(last_error(), "graph 2 reads variable w");
  // a graph that assigns first may read
  const Operator given = assign("given", w, constant("one", {2}, Floats{1, 1}));
  add(3, graph_of({node("y", "Neg", "x", given)}));
  EXPECT_EQ(run(session, 3), (Floats{-1, -1})) << last_error();
  EXPECT_EQ(run(session, 1), (Floats{-1, -1}));
  // another session has variables of its own
  Session other{Options{}};
  ASSERT_EQ(other.AddGraph(1, graph_of({node("y", "Neg", "x", w)})), SUCCESS);
  EXPECT_TRUE(run(other, 1).empty());
  contains(last_error(), "has no value yet");
  // one name, one tensor
  ASSERT_EQ(session.AddGraph(4, graph_of({node("y", "Neg", "x", variable("w", {3}))})), SUCCESS);
  EXPECT_NE(session.CompileGraph(4), SUCCESS);
  contains(last_error(), "variable w is FLOAT[3] here and FLOAT[2] in a graph before");
  ASSERT_EQ(session.AddGraph(5, graph_of({node("y", "Neg", "x", variable("u", {-1}))})), SUCCESS);
  EXPECT_NE(session.CompileGraph(5), SUCCESS);
  contains(last_error(), "u (Variable) is FLOAT[-1]: a variable needs a type and sizes that are known");
  Operator odd = variable("odd");
  odd.SetAttr("value", host_tensor<float>({3}, {1, 2, 3}));
  ASSERT_EQ(session.AddGraph(6, graph_of({node("y", "Neg", "x", odd)})), SUCCESS);
  EXPECT_NE(session.CompileGraph(6), SUCCESS);
  contains(last_error(), "odd (Variable) is FLOAT[2], and its value FLOAT[3]");
  ModelBufferData model;
  EXPECT_NE(aclgrphBuildModel(graph_of({node("y", "Neg", "x", w)}), {}, model), GRAPH_SUCCESS);
  contains(last_error(), "w (Variable): a model that is alone in a file keeps no variables");
  EXPECT_TRUE(run(session, 3, {host_tensor<float>({2}, {1, 2})}).empty());
  contains(last_error(), "graph 3 has 0 inputs, got 1");
}

TEST_F(SessionVariables, GraphsInFilesHaveThem) {
  give("w", 1);
  const Operator x = data("x", {2}), w = variable("w");
  const Graph graph =
      graph_of({node("old", "Identity", "x", w)}, {node("more", "AssignAdd", "ref", w, "value", x)}, {x});
  const std::string file = testing::TempDir() + "variables.air";
  ASSERT_EQ(graph.SaveToFile(file.c_str()), GRAPH_SUCCESS) << last_error();
  std::ifstream stream(file, std::ios::binary);
  const std::string message((std::istreambuf_iterator<char>(stream)), {});
  std::remove(file.c_str());
  Graph read("read");
  ASSERT_EQ(read.LoadFromSerializedModelArray(message.data(), message.size()), GRAPH_SUCCESS) << last_error();
  add(1, read);
  EXPECT_EQ(run(session, 1, {host_tensor<float>({2}, {1, 2})}), (Floats{1, 2})) << last_error();
  EXPECT_EQ(run(session, 1, {host_tensor<float>({2}, {1, 2})}), (Floats{2, 4}));
}

TEST_F(SessionVariables, CompiledGraphsOnDiskHaveThem) {
  const std::string folder = testing::TempDir() + "variables_cache" + std::to_string(getpid());
  std::filesystem::create_directories(folder);
  for (int i = 0; i < 2; ++i) {  // the second session reads what the first compiled
    Session own{Options{}};
    const Operator w = variable("w"), x = data("x", {2});
    Graph graph = graph_of({node("more", "AssignAdd", "ref", assign("give", w, x), "value", x)}, {}, {x});
    ASSERT_EQ(own.AddGraph(1, graph, {{"ge.graph_compiler_cache_dir", folder.c_str()}, {"ge.graph_key", "key"}}),
              SUCCESS);
    EXPECT_EQ(run(own, 1, {host_tensor<float>({2}, {1, 2})}), (Floats{2, 4})) << last_error();
    EXPECT_EQ(run(own, 1, {host_tensor<float>({2}, {3, 4})}), (Floats{6, 8})) << last_error();
    EXPECT_FALSE(std::filesystem::is_empty(folder));
  }
  std::filesystem::remove_all(folder);
}

TEST_F(SessionVariables, RunsOnAStream) {
  give("w", 1);
  const Operator w = variable("w");
  add(1, graph_of({node("more", "AssignAdd", "ref", w, "value", constant("ten", {2}, Floats{10, 10}))}));
  aclrtStream stream = nullptr;
  ASSERT_EQ(aclrtCreateStream(&stream), 0);
  for (int i = 0; i < 3; ++i) {
    std::vector<Tensor> outputs;
    ASSERT_EQ(session.RunGraphWithStreamAsync(1, stream, {}, outputs), SUCCESS) << last_error();
    ASSERT_EQ(aclrtSynchronizeStream(stream), 0);
    EXPECT_EQ(outputs[0].GetPlacement(), kPlacementDevice);
  }
  EXPECT_EQ(value("w"), (Floats{31, 32}));
  aclrtDestroyStream(stream);
}

/// What is updated is then another tensor: constants stay as they are, also those that are computed while compiling.
TEST_F(SessionVariables, ConstantsAreNone) {
  const Operator x = data("x", {2}), c = constant("c", {2}, Floats{1, 2});
  const Operator folded = node("folded", "Add", "x1", c, "x2", constant("d", {2}, Floats{1, 1}));
  add(1, graph_of({node("more", "AssignAdd", "ref", c, "value", x)}, {}, {x}));
  add(2, graph_of({node("more", "AssignAdd", "ref", folded, "value", x)}, {}, {x}));
  const Operator more = node("more", "AssignAdd", "ref", c, "value", x);
  add(3, graph_of({node("both", "Sub", "x1", more, "x2", node("neg", "Neg", "x", c))}, {}, {x}));
  // where values decide shapes, nodes are run one by one
  add(4, graph_of({node("found", "NonZero", "x", node("more", "AssignAdd", "ref", c, "value", x))}, {}, {x}));
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(run(session, 1, {host_tensor<float>({2}, {1, 1})}), (Floats{2, 3})) << last_error();
    EXPECT_EQ(run(session, 2, {host_tensor<float>({2}, {1, 1})}), (Floats{3, 4})) << last_error();
    EXPECT_EQ(run(session, 3, {host_tensor<float>({2}, {1, 1})}), (Floats{3, 5})) << last_error();
    std::vector<Tensor> outputs;
    ASSERT_EQ(session.RunGraph(4, {host_tensor<float>({2}, {-1, 0})}, outputs), SUCCESS) << last_error();
    EXPECT_EQ(outputs[0].GetShapeDim(0) * outputs[0].GetShapeDim(1), 1);  // of [0, 2]
  }
}

TEST_F(SessionVariables, TwoThreadsOfOneSession) {
  std::atomic<int> wrong{0};
  for (const char* name : {"a", "b"}) give(name, 0);
  add(1, graph_of({node("more", "AssignAdd", "ref", variable("a"), "value", constant("step", {2}, Floats{1, 1}))}));
  add(2, graph_of({node("less", "AssignSub", "var", variable("b"), "value", constant("step", {2}, Floats{1, 1}))}));
  const auto count = [&](uint32_t id, float step) {
    for (int i = 1; i <= 50; ++i) {
      const float n = step * static_cast<float>(i);
      wrong += run(session, id) != Floats{n, n + 1};
    }
  };
  std::thread first(count, 1U, 1.0F), second(count, 2U, -1.0F);
  first.join();
  second.join();
  EXPECT_EQ(wrong, 0);
}

/// Two threads with a session each, whose variables have the same names.
TEST_F(SessionVariables, SessionsOfTwoThreads) {
  std::atomic<int> wrong{0};
  const auto count = [&](float step) {
    Session own{Options{}};
    const Operator w = variable("w");
    wrong += own.AddGraph(1, graph_of({}, {assign("give", w, constant("zero", {2}, Floats{0, 0}))})) != SUCCESS;
    wrong += own.AddGraph(2, graph_of({node("more", "AssignAdd", "ref", w, "value",
                                            constant("step", {2}, Floats{step, 2 * step}))})) != SUCCESS;
    std::vector<Tensor> outputs;
    wrong += own.RunGraph(1, {}, outputs) != SUCCESS;
    for (int i = 1; i <= 50; ++i) {
      const auto n = static_cast<float>(i);
      wrong += run(own, 2) != Floats{n * step, 2 * n * step};
    }
  };
  std::thread first(count, 1.0F), second(count, 100.0F);
  first.join();
  second.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace ge
