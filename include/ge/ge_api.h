// Part of Updraft: a software implementation of the interfaces that Ascend programs use.
/** @file
 * Sessions: graphs that are compiled and run in the client's process.
 */
#ifndef UPDRAFT_GE_GE_API_H_
#define UPDRAFT_GE_GE_API_H_

#include <map>
#include <memory>
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
GE_FUNC_VISIBILITY Status GEFinalize();
/** Warnings of the calling thread's last call; "" when there are none. */
GE_FUNC_VISIBILITY AscendString GEGetWarningMsgV2();

class SessionImpl;

/** Graphs by numbers that the client chooses. Calls for different graphs may come from different threads. */
class GE_FUNC_VISIBILITY Session {
 public:
  /** ge.session_device_id, or else ge.exec.deviceId of GEInitialize, says on which device. */
  explicit Session(const std::map<AscendString, AscendString>& options);
  ~Session();
  Session(const Session&) = delete;

  Status AddGraph(uint32_t graph_id, const Graph& graph, const std::map<AscendString, AscendString>& options);
  /** After the runs of the graph are over. */
  Status RemoveGraph(uint32_t graph_id);
  Status CompileGraph(uint32_t graph_id);
  /** Null when the graph is not compiled. */
  std::shared_ptr<CompiledGraphSummary> GetCompiledGraphSummary(uint32_t graph_id);

  /** Runs the graph and waits for it. */
  Status RunGraph(uint32_t graph_id, const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs);
  /**
   * Puts a run on the stream. Outputs without memory get it from the allocator of the stream, with shape, type and
   * placement. It waits for the stream only where values that are computed decide shapes.
   */
  Status RunGraphWithStreamAsync(uint32_t graph_id, void* stream, const std::vector<Tensor>& inputs,
                                 std::vector<Tensor>& outputs);
  Status RegisterExternalAllocator(const void* stream, std::shared_ptr<Allocator> allocator) const;

  /** Device memory of the client, of the sizes that the summary tells. Constants: once, before the first run. Memory
   * of runs: once, or before each run where the summary says that it is refreshable. FAILED or GRAPH_PARAM_INVALID for
   * memory that is too small or none of a device. */
  Status SetGraphConstMemoryBase(uint32_t graph_id, const void* memory, size_t size);
  Status SetGraphFixedFeatureMemoryBase(uint32_t graph_id, const void* memory, size_t size);
  Status UpdateGraphFeatureMemoryBase(uint32_t graph_id, const void* memory, size_t size);
  Status UpdateGraphRefreshableFeatureMemoryBase(uint32_t graph_id, const void* memory, size_t size);

 private:
  std::unique_ptr<SessionImpl> impl_;
};

}  // namespace ge

#endif  // UPDRAFT_GE_GE_API_H_
