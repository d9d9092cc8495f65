#include "om/external_weight.h"

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "base/sha256.h"
#include "device/memory.h"
#include "graph/compile/external_weight.h"

namespace updraft::om {
namespace {

using graph::Attribute;
using graph::Bytes;
using graph::Graph;
using graph::Node;
using graph::Tensor;

/// By the content, so that equal weights are one file.
std::string name_of(const Bytes& data) {
  std::string name;
  for (const uint8_t byte : sha256(data.data(), data.size())) name += fmt::format("{:02x}", byte);
  return name.substr(0, 32);
}

void write(const std::string& path, const Bytes& data) {
  if (std::error_code error; std::filesystem::file_size(path, error) == data.size() && !error) return;
  const std::string part = path + ".part";
  std::ofstream file(part, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(data.data()), static_cast<std::streamsize>(data.size()));
  file.close();
  if (!file || std::rename(part.c_str(), path.c_str()) != 0)
    throw Error(code::kAclInvalidFile, "{}: the {} bytes of a weight cannot be written", path, data.size());
}

}  // namespace

void move_weights_out(graph::Model& model, const std::string& directory) {
  const std::string folder = directory + "/weight";
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw Error(code::kAclInvalidFile, "{}: {}", folder, error.message());
  for (Graph* graph : model.graphs())
    for (const auto& node : graph->nodes()) {
      const Tensor* constant = node->constant();
      if (!constant || constant->data.size() < graph::kLeastExternalWeight) continue;
      const Tensor value = *constant;
      const std::string name = name_of(value.data);
      write(folder + "/" + name, value.data);
      node->attributes = {{"location", "weight/" + name},
                          {"offset", 0},
                          {"length", static_cast<int64_t>(value.data.size())},
                          {"dtype", value.dtype},
                          {"shape", value.dims}};
      graph->set_type(*node, "FileConstant");
    }
}

void bring_weights_in(graph::Model& model, const std::string& directory,
                      const std::map<std::string, std::pair<const void*, size_t>, std::less<>>& loaded) {
  for (Graph* graph : model.graphs())
    for (const auto& node : graph->nodes()) {
      if (node->type() != "FileConstant") continue;
      const auto refuse = [&](const std::string& why) {
        throw Error(100013, "{} (FileConstant): {}", node->name(), why);
      };
      std::string path = graph::find_or(node->attributes, "location", std::string());
      if (path.empty()) path = graph::find_or(node->attributes, "file_path", std::string());
      if (path.empty()) refuse("it does not say in which file its weight lies");
      const auto there = loaded.find(std::filesystem::path(path).filename().string());
      if (there == loaded.end() && path[0] != '/') {
        if (directory.empty())
          refuse(fmt::format("its weight lies in {} beside the om: load the model by its file", path));
        path = directory + "/" + path;
      }
      DType type = graph::find_or(node->attributes, "dtype", DType::Undefined);
      if (const auto* number = graph::find<int64_t>(node->attributes, "dtype")) type = static_cast<DType>(*number);
      const auto* shape = graph::find<graph::Dims>(node->attributes, "shape");
      Tensor value;
      value.dtype = type == DType::Undefined && !node->outputs().empty() ? node->output().desc.dtype : type;
      value.dims = shape ? *shape : node->outputs().empty() ? graph::Dims{} : node->output().desc.dims;
      const int64_t count = graph::count_of(value.dims);
      if (count < 0 || size_of(value.dtype) == 0) refuse("it does not say the type and the shape of its weight");
      const size_t wanted = static_cast<size_t>(count) * size_of(value.dtype);
      const auto offset = static_cast<size_t>(graph::find_or<int64_t>(node->attributes, "offset", 0));
      if (wanted) {
        const Bytes file = there == loaded.end()
                               ? Bytes::of_file(path)
                               : Bytes(nullptr, host_address(there->second.first), there->second.second);
        if (offset > file.size() || file.size() - offset < wanted)
          throw Error(code::kAclInvalidFile, "{}: {} bytes, {} wants {} from {} on", path, file.size(), node->name(),
                      wanted, offset);
        value.data = file.part(offset, wanted);
      }
      node->attributes = {{"value", std::move(value)}};
      graph->set_type(*node, "Const");
    }
}

}  // namespace updraft::om
