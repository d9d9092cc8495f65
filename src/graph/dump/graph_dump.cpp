#include "graph/dump/graph_dump.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "graph/compile/option_error.h"
#include "graph/proto/dump.h"
#include "graph/proto/model_proto.h"

namespace updraft::graph {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

/// The digit that a variable has, 0 where it is not set.
int digit(const char* name, int most, const char* wanted) {
  const std::string value = variable(name);
  if (value.empty()) return 0;
  if (value.size() != 1 || value[0] < '1' || value[0] > '0' + most) throw OptionError(name, value, wanted);
  return value[0] - '0';
}

void write(const std::string& path, std::string_view text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  if (!file)
    throw Error(code::kAclInvalidFile, "{}: the {} bytes of a graph's dump cannot be written", path, text.size());
}

/// Files of a process are numbered in the order in which they are written.
int next_number() {
  static std::atomic<int> next{0};
  return next++;
}

}  // namespace

GraphDump::GraphDump(uint32_t graph_id) : graph_id_(graph_id) {
  const int detail = digit("DUMP_GE_GRAPH", 3, "want 1 (all), 2 (without weights) or 3 (nodes and edges)");
  if (detail == 0) return;
  const int level = digit("DUMP_GRAPH_LEVEL", 4,
                          "want 1 (all graphs), 2 (all but subgraphs), 3 (the last stage) or 4 (the first stage)");
  folder_ = variable("DUMP_GRAPH_PATH");
  if (folder_.empty()) folder_ = ".";
  if (!std::filesystem::is_directory(folder_))
    throw OptionError("DUMP_GRAPH_PATH", folder_, "there is no such folder: make it before");
  if (access(folder_.c_str(), R_OK | W_OK | X_OK) != 0)
    throw OptionError("DUMP_GRAPH_PATH", folder_, "want a folder that you may read, write and enter");
  detail_ = static_cast<Detail>(detail);
  if (level) level_ = static_cast<Level>(level);
}

void GraphDump::stage(const Model& model, const char* name) {
  if (!on()) return;
  if (level_ == Level::Last && std::string_view(name) != kLast) return;
  if (level_ == Level::First && std::string_view(name) != kFirst) return;
  Model shown = model;
  if (level_ != Level::All) shown.subgraphs.clear();
  // Constants stay out of the message where it need not have them, because a copy of all weights takes long.
  WeightBytes weights;
  const std::string message = write_model(shown, detail_ == Detail::Full ? nullptr : &weights);
  const std::string end = fmt::format("_{:05}_graph_{}_{}", next_number(), graph_id_, name);
  const bool edges_only = detail_ == Detail::EdgesOnly;
  write(folder_ + "/ge_proto" + end + ".txt", message_to_text(message, edges_only));
  write(folder_ + "/ge_onnx" + end + ".pbtxt", onnx_text(shown, !edges_only));
}

}  // namespace updraft::graph
