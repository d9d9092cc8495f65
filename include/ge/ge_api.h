// Part of Updraft: a software implementation of the interfaces that Ascend programs use.
/** @file
 * Sessions: graphs that are compiled and run in the client's process.
 */
#ifndef UPDRAFT_GE_GE_API_H_
#define UPDRAFT_GE_GE_API_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ge/ge_allocator.h"
#include "graph/graph.h"
#include "graph/tensor.h"

namespace ge {

/** What is known of a compiled graph. */
class GE_FUNC_VISIBILITY CompiledGraphSummary {
 public:
  ~CompiledGraphSummary();
  /** True when all shapes are known. */
  bool IsStatic() const;
  /** Bytes for constants, for what lives during a run, and for what must stay where it is between runs. A client may
   * give memory for them; the engine has its own where it does not. */
  Status GetConstMemorySize(size_t& size) const;
  Status GetFeatureMemorySize(size_t& size) const;
  Status GetFixedFeatureMemorySize(size_t& size) const;
  /** True when the memory of a run may be another one each time. */
  Status GetFeatureMemoryBaseRefreshable(bool& refreshable) const;
  /** Of what lives during a run, the bytes that may be elsewhere in the next one: all where the base is refreshable. */
  Status GetRefreshableFeatureMemorySize(size_t& size) const;
  /** Streams and events that the graph needs beside the one that it runs on: one stream, no event. */
  Status GetStreamNum(size_t& count) const;
  Status GetEventNum(size_t& count) const;
  /** Inputs and outputs, by number, that must have the same memory: none. */
  Status GetIOIndexesWithSameAddr(std::vector<std::pair<uint32_t, uint32_t>>& pairs) const;
  /** Of the outputs; FAILED when the graph is not static. */
  Status GetOutputShapes(std::vector<Shape>& shapes) const;
  Status GetOutputDtypes(std::vector<DataType>& types) const;

 private:
  friend class Session;
  struct Data;
  CompiledGraphSummary() = default;
  std::unique_ptr<Data> data_;
};

/** Before the first session. Options: ge.exec.deviceId and others. Returns FAILED for a value that an option cannot
 * have. */
GE_FUNC_VISIBILITY Status GEInitialize(const std::map<AscendString, AscendString>& options);
inline Status GEInitialize(const std::map<std::string, std::string>& options) {
  std::map<AscendString, AscendString> shared;
  for (const auto& option : options) shared[option.first.c_str()] = option.second.c_str();
  return GEInitialize(shared);
}
GE_FUNC_VISIBILITY Status GEFinalize();
/** The text of the calling thread's latest failure, "" when there is none; reading clears it. */
GE_FUNC_VISIBILITY std::string GEGetErrorMsg();
/** Warnings of the calling thread's last call; "" when there are none. */
GE_FUNC_VISIBILITY AscendString GEGetWarningMsgV2();

class SessionImpl;
/** What a graph hands to the client: the number of the graph, and tensors by their names. */
using SessionCallback = std::function<Status(uint32_t, const std::map<AscendString, Tensor>&)>;
using RunAsyncCallback = std::function<void(Status, std::vector<Tensor>&)>;

/**
 * Graphs by numbers that the client chooses. Calls for different graphs may come from different threads.
 *
 * Variables (op::Variable) belong to the session: graphs that name the same variable share its memory on the device,
 * which keeps its value from run to run. A graph must give a variable its value (op::Assign, or its attribute value)
 * before one reads it. A node reads what the variable holds when the node runs. What data and control edges leave open
 * is settled so: reads come before writes, writes in the order in which their operators were made, and outputs are read
 * at the end. Runs that use the same variables belong on one stream.
 */
class GE_FUNC_VISIBILITY Session {
 public:
  /** ge.session_device_id, or else ge.exec.deviceId of GEInitialize, says on which device. */
  explicit Session(const std::map<AscendString, AscendString>& options);
  explicit Session(const std::map<std::string, std::string>& options) : Session(shared(options)) {}
  ~Session();
  Session(const Session&) = delete;

  Status AddGraph(uint32_t graph_id, const Graph& graph);
  Status AddGraph(uint32_t graph_id, const Graph& graph, const std::map<AscendString, AscendString>& options);
  /** After the runs of the graph are over. */
  Status RemoveGraph(uint32_t graph_id);
  Status CompileGraph(uint32_t graph_id);
  /** Null when the graph is not compiled. */
  std::shared_ptr<CompiledGraphSummary> GetCompiledGraphSummary(uint32_t graph_id);

  /**
   * Runs the graph on the session's device and waits for it. Inputs may lie on the host or on the device. Outputs
   * without memory get it on the host.
   */
  Status RunGraph(uint32_t graph_id, const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs);
  /**
   * The same without waiting: a thread of the session calls `callback` with status and outputs. Runs come one after the
   * other in the order of the calls; the inputs' elements must stay until then. ~Session waits for them.
   */
  Status RunGraphAsync(uint32_t graph_id, const std::vector<Tensor>& inputs, RunAsyncCallback callback);
  /**
   * Puts a run on the stream. Outputs without memory get it from the allocator of the stream, with shape, type and
   * placement. It waits for the stream only where values that are computed decide shapes.
   */
  Status RunGraphWithStreamAsync(uint32_t graph_id, void* stream, const std::vector<Tensor>& inputs,
                                 std::vector<Tensor>& outputs);
  Status RegisterExternalAllocator(const void* stream, std::shared_ptr<Allocator> allocator) const;
  Status UnregisterExternalAllocator(const void* stream) const;

  /**
   * For the nodes of type Save or Summary (the keys) of graphs. Graphs with such nodes are refused so far, so that no
   * callback is called. FAILED for another key.
   */
  Status RegisterCallBackFunc(const char* key, SessionCallback callback);

  /** Copies of variables on the host, as they are when what was put on the thread's default stream is over. */
  Status GetVariables(const std::vector<AscendString>& names, std::vector<Tensor>& values);

  /** Device memory of the client, of the sizes that the summary tells. Constants: once, before the first run. Memory
   * of runs: once, or before each run where the summary says that it is refreshable. FAILED or GRAPH_PARAM_INVALID for
   * memory that is too small or none of a device. */
  Status SetGraphConstMemoryBase(uint32_t graph_id, const void* memory, size_t size);
  Status SetGraphFixedFeatureMemoryBase(uint32_t graph_id, const void* memory, size_t size);
  Status UpdateGraphFeatureMemoryBase(uint32_t graph_id, const void* memory, size_t size);
  Status UpdateGraphRefreshableFeatureMemoryBase(uint32_t graph_id, const void* memory, size_t size);

 private:
  static std::map<AscendString, AscendString> shared(const std::map<std::string, std::string>& options) {
    std::map<AscendString, AscendString> all;
    for (const auto& option : options) all[option.first.c_str()] = option.second.c_str();
    return all;
  }
  std::unique_ptr<SessionImpl> impl_;
};

}  // namespace ge

#endif  // UPDRAFT_GE_GE_API_H_
