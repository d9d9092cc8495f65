#include "graph/compile/external_weight.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>

#include "base/error.h"

namespace updraft::graph {
namespace {

constexpr const char* kFolder = "tmp_weight";

std::mutex g_mutex;
std::set<std::string> g_files;
pid_t g_process = 0;  // that made them

/// A file with the bytes of one constant, as long as somebody holds them.
class WeightFile {
 public:
  explicit WeightFile(const Bytes& data) {
    static std::atomic<uint64_t> numbers{0};
    std::error_code error;
    const auto folder = std::filesystem::absolute(kFolder, error);
    std::filesystem::create_directories(folder, error);
    if (error) throw Error(code::kAclInvalidFile, "{}: {}", folder.string(), error.message());
    path_ = (folder / fmt::format("weight_{}_{}", getpid(), ++numbers)).string();
    remember();
    std::ofstream file(path_, std::ios::binary | std::ios::trunc);
    file.write(reinterpret_cast<const char*>(data.data()), static_cast<std::streamsize>(data.size()));
    file.close();
    if (!file) {
      remove();
      throw Error(code::kAclInvalidFile, "{}: the {} bytes of a weight cannot be written", path_, data.size());
    }
    bytes_ = Bytes::of_file(path_);
  }
  ~WeightFile() { remove(); }
  /// Of models that live until the program ends: static objects are not taken apart in an order that would serve.
  static void remove_all() {
    std::set<std::string> left;
    {
      const std::lock_guard lock(g_mutex);
      if (g_process == getpid()) left.swap(g_files);  // in a child of fork() they are the parent's
    }
    for (const std::string& path : left) remove_file(path);
  }
  WeightFile(const WeightFile&) = delete;

  const std::string& path() const { return path_; }
  const Bytes& bytes() const { return bytes_; }

 private:
  void remember() const {
    static const bool at_exit = std::atexit(remove_all) == 0;
    const std::lock_guard lock(g_mutex);
    g_process = getpid();
    if (at_exit) g_files.insert(path_);
  }
  void remove() const {
    {
      const std::lock_guard lock(g_mutex);
      if (g_process != getpid()) return;
      g_files.erase(path_);
    }
    remove_file(path_);
  }
  static void remove_file(const std::string& path) {
    std::error_code error;
    std::filesystem::remove(path, error);
    rmdir(std::filesystem::path(path).parent_path().c_str());  // stays while it holds others
  }

  std::string path_;
  Bytes bytes_;
};

template <class F>
void for_nodes(Model& model, F&& f) {
  for (Graph* graph : model.graphs())
    for (const auto& node : graph->nodes()) f(*graph, *node);
}

}  // namespace

void move_weights_to_files(Model& model) {
  for_nodes(model, [&](Graph& graph, Node& node) {
    const Tensor* constant = node.constant();
    if (!constant || constant->data.size() < kLeastExternalWeight) return;
    Tensor value = *constant;
    auto file = std::make_shared<WeightFile>(value.data);
    const Bytes& bytes = file->bytes();
    node.attributes["location"] = file->path();
    node.attributes["offset"] = 0;
    node.attributes["length"] = static_cast<int64_t>(bytes.size());
    model.files.push_back(file);
    value.data = Bytes(file, bytes.data(), bytes.size());
    node.attributes["value"] = std::move(value);
    graph.set_type(node, "FileConstant");
  });
}

void name_weights_constants(Model& model) {
  for_nodes(model, [](Graph& graph, Node& node) {
    if (node.type() != "FileConstant" || !find<Tensor>(node.attributes, "value")) return;
    for (const char* name : {"location", "offset", "length"}) node.attributes.erase(name);
    graph.set_type(node, "Const");
  });
}

}  // namespace updraft::graph
