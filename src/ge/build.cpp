// Graphs from models of ONNX and Caffe and offline models from graphs, in the client's process (aclgrph…).
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "base/boundary.h"
#include "base/error.h"
#include "frontends/caffe/import.h"
#include "frontends/onnx/import.h"
#include "ge/build.h"
#include "ge/ge_ir_build.h"
#include "ge/graph_impl.h"
#include "graph/compile/compile.h"
#include "graph/compile/option_names.h"
#include "graph/compile/variables.h"
#include "om/compile_cache.h"
#include "om/om_file.h"
#include "parser/caffe_parser.h"
#include "parser/onnx_parser.h"

namespace ge {
namespace {

using updraft::Error;
namespace code = updraft::code;

std::map<std::string, std::string>& global_options() {
  static auto* options = new std::map<std::string, std::string>;
  return *options;
}

updraft::onnx::ImportOptions import_options(const Options& params) {
  updraft::onnx::ImportOptions options;
  const auto all = texts(params);
  if (const auto shapes = all.find("input_shape"); shapes != all.end())
    options.input_shapes = updraft::graph::parse_input_shapes(shapes->second);
  return options;
}

updraft::graph::Model named(updraft::graph::Model model, const std::string& name) {
  if (!name.empty()) {
    model.name = name;
    model.graph->rename(name);
  }
  return model;
}

template <class O>
O with_shapes(O options, const std::map<std::string, updraft::graph::Dims>& shapes) {
  for (const auto& [input, dims] : shapes) options.input_shapes[input] = dims;
  return options;
}

/// Models are often exported with unknown sizes that no other size than one fits. The build may say which, so only then
/// is the model refused.
void parse(updraft::graph::Bytes bytes, const updraft::onnx::ImportOptions& options, Graph& graph) {
  GraphImpl& impl = graph_impl(graph);
  impl.model = {};
  impl.operators = {};
  impl.with_sizes = nullptr;
  const updraft::onnx::Source source(std::move(bytes), options.directory);
  const bool open = source.has_unknown_sizes(options);
  if (open)
    impl.with_sizes = [source, options, name = impl.name](const std::map<std::string, updraft::graph::Dims>& shapes) {
      return named(source.import(with_shapes(options, shapes)), name);
    };
  try {
    impl.model = named(source.import(options), impl.name);
  } catch (const Error& e) {
    if (!open || e.code() != code::kAclnnParamInvalid) throw;
  }
}

}  // namespace

graphStatus aclgrphBuildInitialize(std::map<AscendString, AscendString>& options) {
  return build_status("aclgrphBuildInitialize", [&] {
    auto all = texts(options);
    updraft::graph::check_options(all);
    updraft::graph::tell_unknown_options(all, "aclgrphBuildInitialize");
    global_options() = std::move(all);
  });
}

graphStatus build_status(const char* name, updraft::FunctionRef<void()> body) {
  std::string text;
  const int failed = updraft::guard(name, [&] {
    try {
      body();
    } catch (const Error& e) {
      text = e.text();
      throw;
    }
  });
  if (failed == 0) return GRAPH_SUCCESS;
  if (!text.empty()) std::fprintf(stderr, "updraft: %s: %s\n", name, text.c_str());
  return failed == code::kAclInvalidParam ? GRAPH_PARAM_INVALID : GRAPH_FAILED;
}

void aclgrphBuildFinalize() { global_options().clear(); }

graphStatus aclgrphParseONNX(const char* file, const std::map<AscendString, AscendString>& params, Graph& graph) {
  return build_status("aclgrphParseONNX", [&] {
    if (!file) throw Error(code::kAclInvalidParam, "model_file is null");
    auto options = import_options(params);
    options.directory = std::filesystem::path(file).parent_path().string();
    parse(updraft::graph::Bytes::of_file(file), options, graph);
  });
}

graphStatus aclgrphParseONNXFromMem(const char* buffer, size_t size, const std::map<AscendString, AscendString>& params,
                                    Graph& graph) {
  return build_status("aclgrphParseONNXFromMem", [&] {
    if (!buffer) throw Error(code::kAclInvalidParam, "buffer is null");
    parse(updraft::graph::Bytes::copy_of(buffer, size), import_options(params), graph);
  });
}

graphStatus aclgrphParseCaffe(const char* model_file, const char* weights_file,
                              const std::map<AscendString, AscendString>& params, Graph& graph) {
  return build_status("aclgrphParseCaffe", [&] {
    if (!model_file || !weights_file)
      throw Error(code::kAclInvalidParam, "{} is null", model_file ? "weights_file" : "model_file");
    const updraft::caffe::ImportOptions options = import_options(params);
    const auto prototxt = updraft::graph::Bytes::of_file(model_file);
    const auto caffemodel = updraft::graph::Bytes::of_file(weights_file);
    GraphImpl& impl = graph_impl(graph);
    impl.model = {};
    impl.with_sizes = nullptr;
    const auto import = [=, name = impl.name](const std::map<std::string, updraft::graph::Dims>& shapes) {
      return named(updraft::caffe::import(prototxt, caffemodel, with_shapes(options, shapes)), name);
    };
    impl.model = import({});
    impl.with_sizes = import;  // a prototxt has one size, and the build may ask for another
  });
}

graphStatus aclgrphParseCaffe(const char* model_file, const char* weights_file, Graph& graph) {
  return aclgrphParseCaffe(model_file, weights_file, {}, graph);
}

updraft::graph::Model compiled(const char* door, const Graph& graph,
                               const std::map<AscendString, AscendString>& options, const Prepare& prepare) {
  const auto own = texts(options);
  updraft::graph::tell_unknown_options(own, door);
  const GraphImpl* impl = graph_impl(graph);
  const updraft::graph::Model made = impl ? impl->made() : updraft::graph::Model();
  if (!impl || (!made.graph && !impl->with_sizes))
    throw Error(code::kAclInvalidParam,
                "the graph has no nodes: parse a model, or give it operators by SetInputs and SetOutputs");
  auto all = global_options();
  for (const auto& [key, value] : own) all[key] = value;
  const auto shapes = all.find("input_shape");
  const bool sized = impl->with_sizes && (shapes != all.end() || !made.graph);
  auto source =
      sized ? impl->with_sizes(updraft::graph::parse_input_shapes(shapes != all.end() ? shapes->second : "")) : made;
  prepare(source);
  return updraft::om::compile_cached(source, all);
}

void give(ModelBufferData& model, updraft::graph::Bytes bytes) {
  const auto file = std::make_shared<updraft::graph::Bytes>(std::move(bytes));
  model.data = {file, const_cast<uint8_t*>(reinterpret_cast<const uint8_t*>(file->data()))};
  model.length = file->size();
}

graphStatus aclgrphBuildModel(const Graph& graph, const std::map<AscendString, AscendString>& options,
                              ModelBufferData& model) {
  return build_status("aclgrphBuildModel", [&] {
    give(model, updraft::om::write(compiled("aclgrphBuildModel", graph, options,
                                            [](updraft::graph::Model& m) { updraft::graph::refuse_variables(m); })));
  });
}

void save(const char* output_file, const ModelBufferData& model) {
  if (!output_file || !model.data) throw Error(code::kAclInvalidParam, "output_file or the model is null");
  std::string name = output_file;
  if (!name.ends_with(".om")) name += ".om";
  // into a file beside it first: a reader never sees half a model
  const std::string part = name + ".part" + std::to_string(getpid());
  const int fd = open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) throw Error(code::kAclInvalidFile, "{}: {}", part, std::strerror(errno));
  const auto* at = model.data.get();
  uint64_t left = model.length;
  while (left > 0) {
    const ssize_t n = write(fd, at, left);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      const int why = errno;
      close(fd);
      unlink(part.c_str());
      throw Error(code::kAclInvalidFile, "{}: {} after {} of {} bytes", name, std::strerror(why), model.length - left,
                  model.length);
    }
    at += n;
    left -= static_cast<uint64_t>(n);
  }
  close(fd);
  if (rename(part.c_str(), name.c_str()) != 0) {
    const int why = errno;
    unlink(part.c_str());
    throw Error(code::kAclInvalidFile, "{}: {}", name, std::strerror(why));
  }
}

graphStatus aclgrphSaveModel(const char* output_file, const ModelBufferData& model) {
  return build_status("aclgrphSaveModel", [&] { save(output_file, model); });
}

}  // namespace ge
