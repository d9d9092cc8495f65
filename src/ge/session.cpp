// Sessions of the graph engine: what TorchAir and C++ programs compile and run graphs with.
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>

#include "device/context.h"
#include "device/device.h"
#include "device/memory.h"
#include "device/observer.h"
#include "device/stream.h"
#include "ge/async_runs.h"
#include "ge/device_scope.h"
#include "ge/ge_api.h"
#include "ge/graph_impl.h"
#include "ge/network_analysis.h"
#include "ge/static_memory.h"
#include "ge/status.h"
#include "ge/tensor_impl.h"
#include "ge/torchair.h"
#include "graph/compile/compile.h"
#include "graph/compile/four_bits.h"
#include "graph/compile/option_names.h"
#include "graph/executor/loaded_model.h"
#include "graph/executor/variable_memory.h"
#include "om/compile_cache.h"

namespace ge {

namespace ir = updraft::graph;
using updraft::Error;
namespace code = updraft::code;

struct CompiledGraphSummary::Data {
  bool is_static = false, refreshable = false;
  size_t constants = 0, feature = 0;
  std::vector<Shape> shapes;
  std::vector<DataType> types;
};
CompiledGraphSummary::~CompiledGraphSummary() = default;
bool CompiledGraphSummary::IsStatic() const { return data_ && data_->is_static; }
Status CompiledGraphSummary::GetConstMemorySize(size_t& size) const {
  size = data_ ? data_->constants : 0;
  return SUCCESS;
}
Status CompiledGraphSummary::GetFeatureMemorySize(size_t& size) const {
  size = data_ ? data_->feature : 0;
  return SUCCESS;
}
// Nothing of a run must stay where it is from one run to the next.
Status CompiledGraphSummary::GetFixedFeatureMemorySize(size_t& size) const {
  size = 0;
  return SUCCESS;
}
Status CompiledGraphSummary::GetFeatureMemoryBaseRefreshable(bool& refreshable) const {
  refreshable = data_ && data_->refreshable;
  return SUCCESS;
}
Status CompiledGraphSummary::GetRefreshableFeatureMemorySize(size_t& size) const {
  size = data_ && data_->refreshable ? data_->feature : 0;
  return SUCCESS;
}
// A run is put on the stream of the client, node after node.
Status CompiledGraphSummary::GetStreamNum(size_t& count) const {
  count = 1;
  return SUCCESS;
}
Status CompiledGraphSummary::GetEventNum(size_t& count) const {
  count = 0;
  return SUCCESS;
}
Status CompiledGraphSummary::GetIOIndexesWithSameAddr(std::vector<std::pair<uint32_t, uint32_t>>& pairs) const {
  pairs.clear();
  return SUCCESS;
}
Status CompiledGraphSummary::GetOutputShapes(std::vector<Shape>& shapes) const {
  if (!IsStatic()) return FAILED;
  shapes = data_->shapes;
  return SUCCESS;
}
Status CompiledGraphSummary::GetOutputDtypes(std::vector<DataType>& types) const {
  if (!data_) return FAILED;
  types = data_->types;
  return SUCCESS;
}

namespace {

using Texts = std::map<std::string, std::string>;

std::mutex g_mutex;
Texts& global_options() {
  static auto* options = new Texts;
  return *options;
}
std::map<const void*, std::shared_ptr<Allocator>>& allocators() {
  static auto* all = new std::map<const void*, std::shared_ptr<Allocator>>;
  return *all;
}

/// "0,1|2,3": the outputs, each behind the input whose memory it has.
std::vector<size_t> late_outputs(const Texts& options) {
  std::vector<size_t> outputs;
  const auto found = options.find("ge.exec.outputReuseInputMemIndexes");
  if (found == options.end()) return outputs;
  const char *at = found->second.data(), *end = at + found->second.size();
  while (at < end) {
    size_t pair[2];
    for (size_t& number : pair) {
      const auto [next, error] = std::from_chars(at, end, number);
      if (error != std::errc())
        throw Error(code::kAclInvalidParam,
                    "ge.exec.outputReuseInputMemIndexes is '{}', want input,output|input,output", found->second);
      at = next < end ? next + 1 : next;
    }
    outputs.push_back(pair[1]);
  }
  return outputs;
}

struct Compiled {
  std::shared_ptr<const GraphImpl> graph;
  Texts options;
  std::shared_ptr<ir::LoadedModel> model;  ///< null: not compiled yet
  std::shared_ptr<CompiledGraphSummary> summary;
  std::vector<ir::Variable> variables;  ///< in the order of the model's last inputs
  std::string failure;                  ///< why it could not be compiled, where that counts as compiled all the same
  bool refreshable = false;             ///< each run may have another block
  bool has_constants = false;           ///< of the client
  std::byte* arena = nullptr;           ///< of the client
  bool ran = false;
};

uint32_t next_model_id() {
  static std::atomic<uint32_t> next{1u << 24};  // apart from those of aclmdlLoad…
  return next++;
}

ir::Dims dims_of(const Tensor& tensor) {
  ir::Dims dims;
  for (size_t i = 0; i < tensor.GetShapeDimNum(); ++i) dims.push_back(tensor.GetShapeDim(i));
  return dims;
}

bool has_dims(const Tensor& tensor, const ir::Dims& dims) {
  if (tensor.GetShapeDimNum() != dims.size()) return false;
  for (size_t i = 0; i < dims.size(); ++i)
    if (tensor.GetShapeDim(i) != dims[i]) return false;
  return true;
}

}  // namespace

class SessionImpl {
 public:
  SessionDevice device;
  Texts options;
  StaticMemory memory;
  /// Executions on streams share it.
  const std::shared_ptr<ir::VariableMemory> variables = std::make_shared<ir::VariableMemory>();
  std::mutex mutex;
  std::map<uint32_t, std::shared_ptr<Compiled>> graphs;
  std::map<std::string, SessionCallback> callbacks;
  std::string refusal;                      ///< of the options
  std::map<uint32_t, std::string> refused;  ///< why a graph was not added: clients go on, and ask for it later
  AsyncRuns runs;

  int64_t iterations(const Compiled& graph) const;
  /// Puts a run on the stream.
  void run_once(uint32_t id, const std::shared_ptr<Compiled>& graph, void* handle, const std::vector<Tensor>& inputs,
                std::vector<Tensor>& outputs);

  std::shared_ptr<Compiled> find(uint32_t id) {
    std::lock_guard lock(mutex);
    const auto found = graphs.find(id);
    if (found == graphs.end()) {
      const auto why = refused.find(id);
      if (why != refused.end())
        throw Error(code::kAclInvalidParam, "the session has no graph {}: AddGraph refused it: {}", id, why->second);
      throw Error(code::kAclInvalidParam, "the session has no graph {}: add it with AddGraph", id);
    }
    return found->second;
  }
};

Status GEInitialize(const Options& options) {
  return status("GEInitialize", [&] {
    Texts all = texts(options);
    ir::check_options(all);
    ir::tell_unknown_options(all, "GEInitialize");
    std::lock_guard lock(g_mutex);
    global_options() = std::move(all);
  });
}
Status GEFinalize() { return SUCCESS; }
AscendString GEGetWarningMsgV2() { return AscendString(""); }

namespace {

/// A constructor cannot fail: what it refused is what its functions fail with.
void check(const SessionImpl& session) {
  if (!session.refusal.empty()) throw Error(code::kAclInvalidParam, "the session was not made: {}", session.refusal);
}

}  // namespace

Session::Session(const Options& options) : impl_(std::make_unique<SessionImpl>()) {
  status("Session::Session", [&] {
    Texts all;
    {
      std::lock_guard lock(g_mutex);
      all = global_options();
    }
    const Texts own = texts(options);
    ir::tell_unknown_options(own, "Session::Session");
    for (const auto& [key, value] : own) all[key] = value;
    impl_->options = all;
    try {
      ir::check_options(all);
      impl_->memory = StaticMemory(all);
      for (const char* name : {"ge.exec.deviceId", "ge.session_device_id"})
        if (const auto found = all.find(name); found != all.end() && !found->second.empty()) {
          impl_->device.number = std::atoi(found->second.c_str());
          updraft::Device::get(impl_->device.number);
        }
    } catch (const Error& e) {
      impl_->refusal = e.text();
      throw;
    }
  });
}
Session::~Session() { impl_->runs.finish(); }

Status Session::AddGraph(uint32_t id, const Graph& graph) { return AddGraph(id, graph, {}); }

Status Session::AddGraph(uint32_t id, const Graph& graph, const Options& options) {
  return status("Session::AddGraph", [&] {
    check(*impl_);
    const GraphImpl* from = graph_impl(graph);
    ir::Model model;
    try {
      if (from) model = from->made();
    } catch (const Error& e) {
      std::lock_guard lock(impl_->mutex);
      impl_->refused[id] = e.text();
      throw;
    }
    if (!model.graph) throw Error(code::kAclInvalidParam, "graph {} has no nodes", id);
    adapt_torchair(model);
    auto made = std::make_shared<Compiled>();
    auto copied = std::make_shared<GraphImpl>(from->name);
    copied->model = std::move(model);
    copied->iterated = from->iterated;
    made->graph = std::move(copied);
    made->options = impl_->options;
    const Texts own = texts(options);
    ir::tell_unknown_options(own, "Session::AddGraph");
    for (const auto& [key, value] : own) made->options[key] = value;
    ir::check_options(made->options);
    updraft::om::CompileCache::of(made->options, from->name);
    const auto refreshable = made->options.find("ge.featureBaseRefreshable");
    made->refreshable = refreshable != made->options.end() && refreshable->second == "1";
    late_outputs(made->options);
    std::lock_guard lock(impl_->mutex);
    impl_->refused.erase(id);
    if (!impl_->graphs.emplace(id, std::move(made)).second)
      throw Error(code::kAclInvalidParam, "the session has a graph {} already: remove it first", id);
  });
}

Status Session::RemoveGraph(uint32_t id) {
  return status("Session::RemoveGraph", [&] {
    const auto removed = impl_->find(id);
    std::lock_guard lock(impl_->mutex);
    impl_->graphs.erase(id);
  });
}

namespace {

/// True when graphs that cannot be compiled are reported and the next ones go on.
bool analysing() {
  const char* value = std::getenv("ENABLE_NETWORK_ANALYSIS_DEBUG");
  return value && *value;
}

}  // namespace

Status Session::CompileGraph(uint32_t id) {
  return status("Session::CompileGraph", [&] {
    const auto graph = impl_->find(id);
    ir::Model model = graph->graph->model;
    std::vector<ir::Variable> variables;
    try {
      if (ir::has_variables(model)) {
        model.graph = ir::copy(*model.graph);
        ir::keep_four_bits_in_words(*model.graph);
        variables = ir::bind_variables(model);
        impl_->variables->declare(variables, updraft::Device::get(impl_->device.number));
      }
      model = updraft::om::compile_cached(model, graph->options, nullptr, id);
    } catch (const Error& e) {
      if (!analysing()) throw;
      graph->failure = e.text();
      report_failure(id, *graph->graph->model.graph, e.text());
      return;
    }
    auto loaded = std::make_shared<ir::LoadedModel>(std::move(model), updraft::Device::get(impl_->device.number),
                                                    next_model_id(), late_outputs(graph->options));
    auto summary = std::shared_ptr<CompiledGraphSummary>(new CompiledGraphSummary);
    summary->data_ = std::make_unique<CompiledGraphSummary::Data>();
    CompiledGraphSummary::Data& data = *summary->data_;
    data.is_static = loaded->is_static();
    data.constants = loaded->weight_bytes();
    // Blocks that the graphs of a session share are the session's own.
    data.feature = data.is_static && !impl_->memory.shared() ? loaded->work_bytes() : 0;
    data.refreshable = graph->refreshable && data.feature > 0;
    for (const ir::TensorDesc& output : loaded->outputs()) {
      data.shapes.emplace_back(output.dims);
      data.types.push_back(static_cast<DataType>(output.dtype));
    }
    std::lock_guard lock(impl_->mutex);
    graph->model = std::move(loaded);
    graph->variables = std::move(variables);
    graph->summary = std::move(summary);
  });
}

std::shared_ptr<CompiledGraphSummary> Session::GetCompiledGraphSummary(uint32_t id) {
  std::shared_ptr<CompiledGraphSummary> summary;
  status("Session::GetCompiledGraphSummary", [&] {
    const auto graph = impl_->find(id);
    summary = graph->summary;
    if (!graph->failure.empty())
      throw Error(code::kAclInvalidParam, "graph {} was not compiled: {}", id, graph->failure);
    if (!summary) throw Error(code::kAclInvalidParam, "graph {} is not compiled: call CompileGraph first", id);
  });
  return summary;
}

namespace {

void tell_block(updraft::OrderEvent::What what, const void* at) {
  updraft::observe_order({.what = what, .object = updraft::host_address(at), .client = at});
}

/// Memory for an output that has none, from the allocator of the stream.
void give_memory(Tensor& tensor, size_t bytes, const std::shared_ptr<Allocator>& allocator, updraft::Device& device) {
  const size_t want = bytes ? bytes : 1;
  if (!allocator) {
    void* p = device.memory().allocate(want);
    tensor.SetData(static_cast<uint8_t*>(p), bytes, [&device](uint8_t* at) { device.memory().free(at); });
    return;
  }
  MemBlock* block = allocator->Malloc(want);
  if (!block || !block->GetAddr())
    throw Error(code::kRtMemoryAllocation, "the allocator of the stream has no {} bytes for an output", want);
  tell_block(updraft::OrderEvent::What::BlockTaken, block->GetAddr());
  tensor.SetData(static_cast<uint8_t*>(block->GetAddr()), bytes, [allocator, block](uint8_t* at) {
    tell_block(updraft::OrderEvent::What::BlockFreed, at);  // before somebody else has it
    block->Free();
  });
}

void describe_output(Tensor& tensor, const ir::Known& known) {
  tensor.SetDataType(static_cast<DataType>(known.dtype));
  tensor.SetPlacement(tensor.GetData() && !updraft::Device::owner(tensor.GetData()) ? kPlacementHost
                                                                                    : kPlacementDevice);
  tensor.SetFormat(FORMAT_ND);
  tensor.SetShapeDimNum(known.dims->size());
  for (size_t d = 0; d < known.dims->size(); ++d) tensor.SetShapeDim(d, (*known.dims)[d]);
}

/// Formats of a card's units. Here what is in them lies as its origin does; clients may say the sizes it has on a card.
bool is_private(Format format) {
  return format == FORMAT_NC1HWC0 || format == FORMAT_FRACTAL_Z || format == FORMAT_FRACTAL_NZ ||
         format == FORMAT_NDC1HWC0 || format == FORMAT_FRACTAL_Z_3D;
}

/// `described`: what the graph says of the input.
void describe_input(ir::Buffer& buffer, const Tensor& tensor, const ir::TensorDesc& described) {
  buffer.data = const_cast<uint8_t*>(tensor.GetData());
  buffer.dtype = static_cast<updraft::DType>(tensor.GetDataType());
  bool as_described = described.known() && (has_dims(tensor, described.dims) || is_private(tensor.GetFormat()));
  if (!as_described) buffer.dims = dims_of(tensor);
  if (buffer.dtype == updraft::DType::Int4 && described.dtype == updraft::DType::Int32 && !buffer.dims.empty()) {
    buffer.dtype = updraft::DType::Int32;  // the words that its numbers lie in, as the graph has them
    buffer.dims.back() /= 8;
    as_described = described.known() && buffer.dims == described.dims;
  }
  const ir::Dims& dims = as_described ? described.dims : buffer.dims;
  buffer.bytes = static_cast<size_t>(ir::count_of(dims)) * updraft::size_of(buffer.dtype);
  if (tensor.GetPlacement() == kPlacementHost && !updraft::Device::owner(buffer.data)) {
    if (ir::count_of(dims) < 0 || tensor.GetSize() < buffer.bytes)
      throw Error(code::kAclInvalidParam, "an input is {}{}, which are {} bytes, and has {}",
                  updraft::name_of(buffer.dtype), ir::describe(dims), buffer.bytes, tensor.GetSize());
    // the client's memory is its own again when the call returns
    buffer.value = ir::Tensor{buffer.dtype, dims, ir::Bytes::copy_of(buffer.data, buffer.bytes)};
    buffer.data = const_cast<std::byte*>(buffer.value->data.data());
  }
}

std::shared_ptr<Allocator> allocator_of(const void* stream) {
  std::lock_guard lock(g_mutex);
  const auto found = allocators().find(stream);
  return found == allocators().end() ? nullptr : found->second;
}

}  // namespace

/// How often a run of the graph runs it: as often as MindSpore says by a variable of the session, which counts from 0.
int64_t SessionImpl::iterations(const Compiled& graph) const {
  static constexpr const char* kVariable = "npu_runconfig/iterations_per_loop";
  if (!graph.graph->iterated || !variables->has(kVariable)) return 1;
  updraft::Device::get(device.number).synchronize();  // whoever assigns it may still run
  const ir::VariableMemory::Content held = variables->content(kVariable);
  if (held.desc.dtype != updraft::DType::Int64 || held.desc.count() != 1) return 1;
  int64_t more = 0;
  std::memcpy(&more, updraft::host_address(held.data), sizeof more);
  return more + 1;
}

void SessionImpl::run_once(uint32_t id, const std::shared_ptr<Compiled>& graph, void* handle,
                           const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs) {
  graph->ran = true;
  ir::LoadedModel& model = *graph->model;
  updraft::Stream& stream = updraft::stream_of(handle);
  auto execution = std::make_shared<ir::Execution>();
  const size_t want = model.inputs().size() - graph->variables.size();
  if (inputs.size() != want)
    throw Error(code::kAclInvalidParam, "graph {} has {} inputs, got {}", id, want, inputs.size());
  execution->inputs.resize(want);
  for (size_t i = 0; i < want; ++i) {
    const ir::Node& input = *model.inputs()[i];
    describe_input(execution->inputs[i], inputs[i], input.output().desc);
    const updraft::DType type = execution->inputs[i].dtype;
    if (type != input.output().desc.dtype)
      throw Error(code::kAclInvalidParam, "input {} ({}) of graph {} is {}, got {}", i, input.name(), id,
                  updraft::name_of(input.output().desc.dtype), updraft::name_of(type));
  }
  if (!graph->variables.empty()) {
    for (ir::Buffer& buffer : variables->buffers(graph->variables, fmt::format("graph {}", id)))
      execution->inputs.push_back(std::move(buffer));
    execution->shared = variables;
  }
  if (outputs.empty()) outputs.resize(model.outputs().size());
  execution->outputs.resize(outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    execution->outputs[i].data = outputs[i].GetData();
    execution->outputs[i].bytes = outputs[i].GetSize();
  }
  const std::vector<ir::Known>* known = model.prepare(*execution);
  std::unique_lock<std::mutex> turn = memory.turn();
  execution->arena = graph->arena;
  if (memory.shared() && execution->program)
    execution->arena = memory.block(execution->program->most_bytes(), model.device(), stream);
  for (size_t i = 0; known && i < outputs.size(); ++i) {
    const ir::Known& k = (*known)[i];
    const size_t bytes = static_cast<size_t>(ir::count_of(*k.dims)) * updraft::size_of(k.dtype);
    if (!outputs[i].GetData()) give_memory(outputs[i], bytes, allocator_of(handle), model.device());
    execution->outputs[i].data = outputs[i].GetData();
    execution->outputs[i].bytes = std::max(execution->outputs[i].bytes, bytes);
    describe_output(outputs[i], k);
  }
  model.execute(execution, stream);
  if (turn) turn.unlock();
  variables->assigned(graph->variables);
  if (known) return;
  stream.synchronize();
  for (size_t i = 0; i < outputs.size(); ++i) {
    const ir::Buffer& made = execution->outputs[i];
    const size_t bytes = static_cast<size_t>(ir::count_of(made.dims)) * updraft::size_of(made.dtype);
    if (!outputs[i].GetData()) {
      give_memory(outputs[i], bytes, allocator_of(handle), model.device());
      if (bytes) std::memcpy(updraft::host_address(outputs[i].GetData()), updraft::host_address(made.data), bytes);
    }
    describe_output(outputs[i], {made.dtype, made.dims});
  }
}

Status Session::RunGraphWithStreamAsync(uint32_t id, void* handle, const std::vector<Tensor>& inputs,
                                        std::vector<Tensor>& outputs) {
  return status("Session::RunGraphWithStreamAsync", [&] {
    auto graph = impl_->find(id);
    if (!graph->failure.empty())
      throw Error(code::kAclInvalidParam, "graph {} was not compiled: {}", id, graph->failure);
    if (!graph->model) {
      if (CompileGraph(id) != SUCCESS) throw Error(code::kAclInternal, "{}", updraft::take_error_text());
      graph = impl_->find(id);
      if (!graph->model) throw Error(code::kAclInvalidParam, "graph {} was not compiled: {}", id, graph->failure);
    }
    for (int64_t left = impl_->iterations(*graph); left > 0; --left)
      impl_->run_once(id, graph, handle, inputs, outputs);
  });
}

namespace {

/// A tensor of the same description on the host, with a copy of `bytes` at `data`.
void copy_to_host(Tensor& to, const void* data, size_t bytes) {
  to.SetData(static_cast<const uint8_t*>(updraft::host_address(data)), bytes);
  to.SetPlacement(kPlacementHost);
}

}  // namespace

Status Session::RunGraph(uint32_t id, const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs) {
  Status done = FAILED;
  const Status failed = status("Session::RunGraph", [&] {
    check(*impl_);
    const SessionDevice::Scope scope(impl_->device);
    std::vector<bool> given;
    for (Tensor& output : outputs) {
      given.push_back(updraft::Device::owner(output.GetData()) != nullptr);
      if (!given.back()) output = Tensor();
    }
    done = RunGraphWithStreamAsync(id, nullptr, inputs, outputs);
    if (done != SUCCESS) return;  // its text stays
    updraft::stream_of(nullptr).synchronize();
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (i < given.size() && given[i]) continue;
      Tensor host(outputs[i].GetTensorDesc());
      copy_to_host(host, outputs[i].GetData(), outputs[i].GetSize());
      outputs[i] = std::move(host);
    }
  });
  return failed != SUCCESS ? failed : done;
}

Status Session::RunGraphAsync(uint32_t id, const std::vector<Tensor>& inputs, RunAsyncCallback callback) {
  return status("Session::RunGraphAsync", [&] {
    if (!callback) throw Error(code::kAclInvalidParam, "the callback is empty: nobody would hear of the outputs");
    impl_->find(id);
    impl_->runs.add([this, id, inputs, callback = std::move(callback)] {
      std::vector<Tensor> outputs;
      const Status done = RunGraph(id, inputs, outputs);
      callback(done, outputs);
    });
  });
}

Status Session::RegisterCallBackFunc(const char* key, SessionCallback callback) {
  return status("Session::RegisterCallBackFunc", [&] {
    check(*impl_);
    if (!key || (std::string_view(key) != "Save" && std::string_view(key) != "Summary"))
      throw Error(code::kAclInvalidParam, "the key is {}, want Save or Summary", key ? key : "null");
    if (!callback) throw Error(code::kAclInvalidParam, "the callback is empty");
    std::lock_guard lock(impl_->mutex);
    impl_->callbacks[key] = std::move(callback);
  });
}

Status Session::GetVariables(const std::vector<AscendString>& names, std::vector<Tensor>& values) {
  return status("Session::GetVariables", [&] {
    const SessionDevice::Scope scope(impl_->device);
    updraft::stream_of(nullptr).synchronize();
    std::vector<Tensor> all;
    for (const AscendString& name : names) {
      const ir::VariableMemory::Content variable = impl_->variables->content(name.GetString());
      all.emplace_back(described(variable.desc));
      copy_to_host(all.back(), variable.data,
                   static_cast<size_t>(variable.desc.count()) * updraft::size_of(variable.desc.dtype));
    }
    values = std::move(all);
  });
}

Status Session::RegisterExternalAllocator(const void* stream, std::shared_ptr<Allocator> allocator) const {
  return status("Session::RegisterExternalAllocator", [&] {
    std::lock_guard lock(g_mutex);
    if (allocator) allocators()[stream] = std::move(allocator);
    else allocators().erase(stream);
  });
}

Status Session::UnregisterExternalAllocator(const void* stream) const {
  return RegisterExternalAllocator(stream, nullptr);
}

namespace {

/// Memory that a client gives must be the device's, and as much as the summary says.
std::byte* checked_block(uint32_t id, const void* memory, size_t size, size_t want, const char* what) {
  if (size < want)
    throw Error(code::kAclInvalidParam,
                "graph {} wants {} bytes for {}, got {}: GetCompiledGraphSummary tells how many", id, want, what, size);
  if (want && !updraft::Device::owner(memory))
    throw Error(code::kAclInvalidParam, "the memory for {} of graph {} is {}, want memory of a device (aclrtMalloc)",
                what, id, memory);
  return static_cast<std::byte*>(const_cast<void*>(memory));
}

const std::shared_ptr<Compiled>& compiled(const std::shared_ptr<Compiled>& graph, uint32_t id) {
  if (!graph->summary) throw Error(code::kAclInvalidParam, "graph {} is not compiled: call CompileGraph first", id);
  return graph;
}

}  // namespace

Status Session::SetGraphConstMemoryBase(uint32_t id, const void* memory, size_t size) {
  return status("Session::SetGraphConstMemoryBase", [&] {
    const auto graph = compiled(impl_->find(id), id);
    if (graph->ran || graph->has_constants)
      throw Error(code::kAclInvalidParam,
                  "graph {} has memory for its constants already: give it once, before the first run", id);
    const size_t want = graph->model->weight_bytes();
    std::byte* block = checked_block(id, memory, size, want, "constants");
    if (want) graph->model->move_weights(block);
    graph->has_constants = true;
  });
}
Status Session::SetGraphFixedFeatureMemoryBase(uint32_t id, const void*, size_t) {
  return status("Session::SetGraphFixedFeatureMemoryBase", [&] { compiled(impl_->find(id), id); });
}
Status Session::UpdateGraphFeatureMemoryBase(uint32_t id, const void* memory, size_t size) {
  return status("Session::UpdateGraphFeatureMemoryBase", [&] {
    const auto graph = compiled(impl_->find(id), id);
    size_t want = 0;
    graph->summary->GetFeatureMemorySize(want);
    if (graph->arena && graph->arena != memory && !graph->refreshable)
      throw Error(code::kAclInvalidParam,
                  "graph {} has memory for its runs already: add it with ge.featureBaseRefreshable=1 to change that",
                  id);
    std::byte* block = checked_block(id, memory, size, want, "its runs");
    if (want) graph->arena = block;
  });
}
Status Session::UpdateGraphRefreshableFeatureMemoryBase(uint32_t id, const void* memory, size_t size) {
  return UpdateGraphFeatureMemoryBase(id, memory, size);
}

}  // namespace ge
