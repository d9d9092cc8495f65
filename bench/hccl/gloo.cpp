// One rank of a group over gloo's own C++ interface: gloo FOLDER RANK RANKS. Reads `["operation", bytes, repeat]` a
// line and prints the seconds of one operation. `bytes` is the size of the larger buffer, as everywhere in this
// benchmark.
#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/alltoall.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/math.h>
#include <gloo/reduce_scatter.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using Context = std::shared_ptr<gloo::Context>;
using Work = std::function<void()>;

Work AllReduce(const Context& context, std::vector<float>& large) {
  return [&] {
    gloo::AllreduceOptions options(context);
    options.setOutput(large.data(), large.size());
    options.setReduceFunction(static_cast<void (*)(void*, const void*, const void*, size_t)>(&gloo::sum<float>));
    gloo::allreduce(options);
  };
}

// All-gather and all-to-all.
template <class Options>
Work Exchange(void (*run)(Options&), const Context& context, std::vector<float>& in, std::vector<float>& out) {
  return [&, run] {
    Options options(context);
    options.setInput(in.data(), in.size());
    options.setOutput(out.data(), out.size());
    run(options);
  };
}

Work Broadcast(const Context& context, std::vector<float>& large) {
  return [&] {
    gloo::BroadcastOptions options(context);
    options.setOutput(large.data(), large.size());
    options.setRoot(0);
    gloo::broadcast(options);
  };
}

// The buffers have room for every rank's part.
Work WorkOf(const std::string& operation, const Context& context, std::vector<float>& large, std::vector<float>& part,
            std::vector<float>& other) {
  if (operation == "all_reduce") return AllReduce(context, large);
  if (operation == "all_gather") return Exchange(gloo::allgather, context, part, large);
  if (operation == "broadcast") return Broadcast(context, large);
  if (operation == "alltoall") return Exchange(gloo::alltoall, context, large, other);
  if (operation == "reduce_scatter") {
    // In place, and an object of its own per buffer: this one is of gloo's older interface.
    const auto algorithm = std::make_shared<gloo::ReduceScatterHalvingDoubling<float>>(
        context, std::vector<float*>{large.data()}, static_cast<int>(large.size()),
        std::vector<int>(static_cast<size_t>(context->size), static_cast<int>(part.size())));
    return [algorithm] { algorithm->run(); };
  }
  throw std::invalid_argument(operation);
}

void Barrier(const Context& context) {
  gloo::BarrierOptions options(context);
  gloo::barrier(options);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const int rank = std::atoi(argv[2]), ranks = std::atoi(argv[3]);
  gloo::rendezvous::FileStore store(argv[1]);
  auto device = gloo::transport::tcp::CreateDevice("127.0.0.1");
  const auto context = std::make_shared<gloo::rendezvous::Context>(rank, ranks);
  context->connectFullMesh(store, device);
  char operation[64];
  size_t bytes = 0;
  int repeat = 0;
  while (std::scanf(" [\"%63[^\"]\", %zu, %d]", operation, &bytes, &repeat) == 3) {
    const size_t part = std::max<size_t>(1, bytes / sizeof(float) / static_cast<size_t>(ranks));
    std::vector<float> small(part), large(part * static_cast<size_t>(ranks)), other(large.size());
    const Work work = WorkOf(operation, context, large, small, other);
    work();  // warms up
    Barrier(context);
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < repeat; ++i) work();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    std::printf("%.9f\n", seconds.count() / repeat);
    std::fflush(stdout);
  }
  return 0;
}
