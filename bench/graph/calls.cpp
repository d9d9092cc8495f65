// What a call of a compiled graph costs without its client's Python: a graph of ten small operators on a stream
// (RunGraphWithStreamAsync, as TorchAir does), and the same ten by the aclnn interface, in turn. See calls.py.
//
//   calls ROUNDS CALLS      a line a round: nanoseconds a call of the graph, nanoseconds of the ten operators
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "acl/acl.h"
#include "aclnnop/aclnn_add.h"
#include "aclnnop/aclnn_relu.h"
#include "all_ops.h"
#include "ge/ge_api.h"

namespace op = ge::op;

namespace {

constexpr int64_t kRows = 4, kColumns = 8;
constexpr size_t kBytes = sizeof(float) * kRows * kColumns;
constexpr int kPairs = 5;  // of relu and add: as the model calls-10 of compiled.py has them

void must(int64_t code, const char* what) {
  if (code == 0) return;
  std::fprintf(stderr, "%s returned %lld\n%s\n", what, static_cast<long long>(code), ge::GEGetErrorMsg().c_str());
  std::exit(EXIT_FAILURE);
}
#define MUST(call) must(call, #call)

ge::TensorDesc desc() {
  ge::TensorDesc made(ge::Shape({kRows, kColumns}), ge::FORMAT_ND, ge::DT_FLOAT);
  made.SetPlacement(ge::kPlacementDevice);
  return made;
}

ge::Graph chain() {
  op::Data x("x"), y("y");
  x.update_output_desc_y(desc());
  y.update_output_desc_y(desc());
  ge::Operator last = x;
  for (int i = 0; i < kPairs; ++i) {
    auto relu = op::Relu(("relu" + std::to_string(i)).c_str()).set_input_x(last);
    last = op::Add(("add" + std::to_string(i)).c_str()).set_input_x1(relu).set_input_x2(y);
  }
  ge::Graph graph("chain");
  graph.SetInputs({x, y}).SetOutputs({last});
  return graph;
}

ge::Tensor on_device(void* memory) {
  ge::Tensor made(desc());
  made.SetData(static_cast<uint8_t*>(memory), kBytes, [](uint8_t*) {});
  return made;
}

void* device_memory(const std::vector<float>& values) {
  void* memory = nullptr;
  MUST(aclrtMalloc(&memory, kBytes, ACL_MEM_MALLOC_NORMAL_ONLY));
  MUST(aclrtMemcpy(memory, kBytes, values.data(), kBytes, ACL_MEMCPY_HOST_TO_DEVICE));
  return memory;
}

aclTensor* view(void* memory) {
  const int64_t sizes[] = {kRows, kColumns}, strides[] = {kColumns, 1};
  return aclCreateTensor(sizes, 2, ACL_FLOAT, strides, 0, ACL_FORMAT_ND, sizes, 2, memory);
}

/// The ten operators, each planned and launched anew, as a framework's eager mode does; the result is in `steps[1]`.
struct Eager {
  aclrtStream stream;
  aclTensor *x, *y, *steps[2];
  aclScalar* one;

  void operator()() const {
    aclTensor* last = x;
    uint64_t bytes = 0;
    aclOpExecutor* executor = nullptr;
    for (int i = 0; i < kPairs; ++i) {
      MUST(aclnnReluGetWorkspaceSize(last, steps[0], &bytes, &executor));
      MUST(aclnnRelu(nullptr, 0, executor, stream));
      MUST(aclnnAddGetWorkspaceSize(steps[0], y, one, steps[1], &bytes, &executor));
      MUST(aclnnAdd(nullptr, 0, executor, stream));
      last = steps[1];
    }
  }
};

template <class Call>
double nanoseconds(const Call& call, int calls, aclrtStream stream) {
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i) call();
  MUST(aclrtSynchronizeStream(stream));
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count() / calls;
}

std::vector<float> values_of(const void* memory) {
  std::vector<float> values(kRows * kColumns);
  MUST(aclrtMemcpy(values.data(), kBytes, memory, kBytes, ACL_MEMCPY_DEVICE_TO_HOST));
  return values;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: calls ROUNDS CALLS\n");
    return 2;
  }
  const int rounds = std::atoi(argv[1]), calls = std::atoi(argv[2]);
  const std::map<ge::AscendString, ge::AscendString> options = {{"ge.exec.deviceId", "0"}, {"ge.graphRunMode", "0"}};
  MUST(ge::GEInitialize(options));
  {
    MUST(aclrtSetDevice(0));
    aclrtStream stream = nullptr;
    MUST(aclrtCreateStream(&stream));
    std::vector<float> a, b;
    for (int i = 0; i < kRows * kColumns; ++i) {
      a.push_back(static_cast<float>(i % 7) - 3.0f);
      b.push_back(static_cast<float>(i % 5) - 2.0f);
    }
    void *x = device_memory(a), *y = device_memory(b), *result = device_memory(a);
    void *first = device_memory(a), *second = device_memory(a);

    ge::Session session(options);
    MUST(session.AddGraph(0, chain()));
    const std::vector<ge::Tensor> inputs = {on_device(x), on_device(y)};
    std::vector<ge::Tensor> outputs = {on_device(result)};
    const auto graph = [&] { MUST(session.RunGraphWithStreamAsync(0, stream, inputs, outputs)); };
    const float one = 1;
    const Eager eager = {
        stream, view(x), view(y), {view(first), view(second)}, aclCreateScalar(const_cast<float*>(&one), ACL_FLOAT)};

    nanoseconds(graph, 10, stream);
    nanoseconds(eager, 10, stream);
    if (values_of(result) != values_of(second)) {
      std::fprintf(stderr, "the graph's result is not that of the operators\n");
      return EXIT_FAILURE;
    }
    for (int round = 0; round < rounds; ++round) {
      double times[2];
      for (int k = 0; k < 2; ++k)
        times[(round ^ k) & 1] =
            (round ^ k) & 1 ? nanoseconds(eager, calls, stream) : nanoseconds(graph, calls, stream);
      std::printf("%.1f %.1f\n", times[0], times[1]);
    }
  }
  MUST(ge::GEFinalize());
  return EXIT_SUCCESS;
}
