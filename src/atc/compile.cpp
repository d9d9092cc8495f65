// Mode 0: a model becomes an om.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "atc/modes.h"
#include "atc/refusal.h"
#include "base/log.h"
#include "device/soc.h"
#include "frontends/caffe/import.h"
#include "frontends/onnx/import.h"
#include "frontends/tensorflow/import.h"
#include "graph/compile/compile.h"
#include "graph/compile/option_error.h"
#include "graph/planner/program.h"
#include "graph/proto/model_proto.h"
#include "om/compile_cache.h"
#include "om/external_weight.h"
#include "om/om_file.h"

namespace updraft::atc {
namespace {

/// What the engine's compiler knows of the options.
constexpr const char* kCompileOptions[] = {"input_shape",
                                           "input_format",
                                           "input_fp16_nodes",
                                           "dynamic_batch_size",
                                           "dynamic_image_size",
                                           "dynamic_dims",
                                           "insert_op_conf",
                                           "output_type",
                                           "precision_mode",
                                           "precision_mode_v2",
                                           "modify_mixlist",
                                           "keep_dtype",
                                           "customize_dtypes",
                                           "fusion_switch_file",
                                           "optimization_switch",
                                           "soc_version",
                                           "op_compiler_cache_mode",
                                           "op_compiler_cache_dir",
                                           "op_debug_level",
                                           "op_debug_config",
                                           "debug_dir"};

std::string product_of(const Arguments& arguments) {
  const std::string& name = arguments.need("soc_version", "a product such as Ascend910B2");
  if (names_product(name)) return name;
  throw invalid("soc_version", name, fmt::format("there is no such product; there are {}", product_names()),
                "npu-smi info names the product.");
}

/// "x:[1~10,3,224]" of the older option, in the words of input_shape.
std::string ranges_in_new_words(const Arguments& arguments) {
  std::string shapes = arguments.get("input_shape");
  if (!arguments.has("input_shape_range")) return shapes;
  if (arguments.has("input_shape"))
    throw invalid("input_shape_range", arguments.get("input_shape_range"), "input_shape is given, too",
                  "Write ranges into input_shape.");
  const std::string text = arguments.get("input_shape_range");
  int open = 0;
  for (const char c : text) {
    open += (c == '[') - (c == ']');
    if (open < 0 || open > 1) break;
    if (c != '[' && c != ']') shapes += c;
  }
  if (open)
    throw invalid("input_shape_range", text, "brackets are not in pairs", "Write name:[1~10,3,224];other:[2,-1].");
  return shapes;
}

onnx::ImportOptions import_options(const Arguments& arguments, const std::string& path) {
  onnx::ImportOptions options;
  options.directory = std::filesystem::path(path).parent_path().string();
  options.input_shapes = graph::parse_input_shapes(ranges_in_new_words(arguments), &options.input_ranges);
  options.output_nodes = split(arguments.get("out_nodes"), ';');
  // the sizes of the gears are the ones that unknown dimensions have
  graph::OptionTexts texts;
  for (const char* name : {"dynamic_batch_size", "dynamic_image_size", "dynamic_dims"})
    texts[name] = arguments.get(name);
  const auto gears = graph::parse_gears(texts);
  if (!gears) return options;
  size_t next = 0;
  for (auto& [input, dims] : options.input_shapes) {
    auto& ranges = options.input_ranges[input];
    if (ranges.empty())
      for (const int64_t d : dims) ranges.emplace_back(d < 0 ? 1 : d, d);
    for (size_t d = 0; d < dims.size(); ++d) {
      if (dims[d] >= 0 || gears->kind == graph::Gears::Kind::Dims) continue;
      const size_t number = gears->kind == graph::Gears::Kind::Batch ? 0 : next++ % 2;
      const auto [least, most] =
          std::ranges::minmax(gears->values, {}, [&](const graph::Dims& v) { return v[number]; });
      ranges[d] = {least[number], most[number]};
    }
  }
  return options;
}

/// Outputs of a graph of the IR: "node:0;…".
void set_outputs(graph::Graph& graph, const std::string& text) {
  std::vector<graph::Endpoint> outputs;
  const auto names = split(text, ';');
  for (const std::string& name : names) {
    const size_t colon = name.rfind(':');
    graph::Node* node = graph.find(std::string_view(name).substr(0, colon));
    const int index = colon == std::string::npos ? 0 : std::atoi(name.c_str() + colon + 1);
    if (!node || index < 0 || static_cast<size_t>(index) >= node->outputs().size())
      throw invalid("out_nodes", name, "no node of the graph has such an output",
                    "Take names of nodes, as node:0; atc --mode=1 --dump_mode=1 lists them.");
    outputs.push_back(node->out(index));
  }
  if (graph::Node* old = graph.net_output()) graph.remove(*old);
  graph::Node& end = graph.make_net_output();
  for (const graph::Endpoint from : outputs) graph.add_input(end, "x" + std::to_string(end.inputs().size()), from);
  graph.attributes["output_names"] = names;
}

graph::Model read_air(const Arguments& arguments, const std::string& path) {
  graph::Model model = graph::read_model(graph::Bytes::of_file(path));
  const std::string directory = std::filesystem::path(path).parent_path().string();
  om::bring_weights_in(model, directory.empty() ? "." : directory);
  if (arguments.has("out_nodes")) set_outputs(*model.graph, arguments.get("out_nodes"));
  if (!model.graph->net_output())
    throw invalid("model", path, "the graph has no outputs", "Name them with --out_nodes=\"node:0\".");
  return model;
}

/// The sentences of the engine in the words of the command line.
template <class F>
auto in_own_words(const Arguments& arguments, F&& f, const std::string& model = "model") {
  try {
    return f();
  } catch (const graph::OptionError& e) {
    throw invalid(e.option, e.value, e.reason, "docs/reference/atc-options.md tells what each option takes.");
  } catch (const Refusal&) { throw; } catch (const Error& e) {
    const std::string& text = e.text();
    const std::string solution =
        "docs/reference/onnx-operators.md, tensorflow-operators.md, caffe-layers.md and operators.md list what there "
        "is; atc --mode=3 --framework=… --model=… checks a whole model.";
    if (text.find("there is no converter") != std::string::npos ||
        text.find("it is converted from version") != std::string::npos)
      throw Refusal("E19010", fmt::format("No parser is registered for an operator: {}.", text), solution);
    if (text.find("the virtual NPU has no") != std::string::npos)
      throw Refusal("EZ3003", fmt::format("No supported kernel is found: {}.", text), solution);
    static constexpr std::pair<const char*, const char*> kOptions[] = {{"a shape is given for", "input_shape"},
                                                                       {"is to have shape", "input_shape"},
                                                                       {"is asked for; no node", "out_nodes"}};
    for (const auto& [words, option] : kOptions)
      if (text.find(words) != std::string::npos)
        throw invalid(option, arguments.get(option), text,
                      "atc --mode=1 --dump_mode=1 shows the model's inputs and nodes.");
    throw invalid(model, arguments.get(model), text,
                  "atc --mode=3 --framework=… --model=… --check_report=… says it of every node.");
  }
}

std::string name_of_outputs(const graph::Model& model) {
  return fmt::format(
      "{}", fmt::join(graph::find_or(model.graph->attributes, "output_names", std::vector<std::string>()), ";"));
}

/// What mode 6 and Netron show of a model.
void describe_model(graph::Model& model, const Arguments& arguments) {
  int64_t weights = 0;
  for (const auto& node : model.graph->nodes())
    if (const graph::Tensor* constant = node->constant()) weights += static_cast<int64_t>(constant->data.size());
  std::vector<graph::Known> sizes;
  bool known = true;
  for (const graph::Node* input : model.graph->inputs()) {
    const graph::TensorDesc& desc = input->output().desc;
    known = known && desc.known();
    sizes.emplace_back(desc.dtype, desc.dims);
  }
  int64_t memory = 0;
  if (known)
    if (const auto program = graph::plan(*model.graph, sizes)) memory = static_cast<int64_t>(program->arena_bytes);
  model.attributes["atc_cmdline"] = arguments.line();
  model.attributes["atc_version"] = "Updraft 0.1.0";
  model.attributes["framework_type"] = arguments.get("framework");
  model.attributes["memory_size"] = memory;
  model.attributes["weight_size"] = weights;
  model.attributes["stream_num"] = 1;
  model.attributes["event_num"] = 0;
  model.attributes["attr_model_out_nodes_name"] = split(name_of_outputs(model), ';');
}

}  // namespace

void write_file(const std::string& path, std::string_view content, const char* option) {
  const auto refuse = [&](const std::string& what, int why) {
    throw invalid(option, path, fmt::format("{}: {}", what, std::strerror(why)),
                  "Give a folder that exists and that you may write to.");
  };
  const std::string part = path + ".part" + std::to_string(getpid());
  const int fd = open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) refuse(part, errno);
  for (size_t done = 0; done < content.size();) {
    const ssize_t n = write(fd, content.data() + done, content.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      const int why = errno;
      close(fd);
      unlink(part.c_str());
      refuse(fmt::format("{} of {} bytes are written", done, content.size()), why);
    }
    done += static_cast<size_t>(n);
  }
  close(fd);
  if (rename(part.c_str(), path.c_str()) != 0) {
    const int why = errno;
    unlink(part.c_str());
    refuse(path, why);
  }
}

graph::Model read_source(const Arguments& arguments, bool whole, const std::string& option) {
  const std::string& framework = arguments.need("framework", kFrameworks);
  const std::string& path = arguments.need(option, "the path of a model");
  if (framework == "0") arguments.need("weight", kWeights);
  else if (arguments.has("weight"))
    throw invalid("weight", arguments.get("weight"),
                  fmt::format("--framework is {}, and its models hold their weights", framework),
                  "Leave it out, or write --framework=0 for a prototxt of Caffe.");
  return in_own_words(
      arguments,
      [&] {
        if (framework == "1") return read_air(arguments, path);
        const graph::Bytes bytes = graph::Bytes::of_file(path);
        if (framework == "0") {
          caffe::ImportOptions options = import_options(arguments, path);
          if (!whole) options.output_nodes.clear();
          return caffe::import(bytes, graph::Bytes::of_file(arguments.get("weight")), options);
        }
        if (framework == "3") {
          if (!tensorflow::looks_like_graph(bytes.span()))
            throw invalid(
                option, path, "the file does not begin as a GraphDef of TensorFlow",
                "Freeze the model (convert_variables_to_constants_v2) and write its graph_def as bytes (.pb), not as "
                "text; a SavedModel is a folder, whose saved_model.pb is another format.");
          tensorflow::ImportOptions options = import_options(arguments, path);
          if (!whole) options.output_nodes.clear();
          return tensorflow::import(bytes, options);
        }
        if (!onnx::looks_like_onnx(bytes.span()))
          throw invalid(option, path, "the file does not begin as an ONNX model",
                        "Export the model with torch.onnx.export or the like.");
        onnx::ImportOptions options = import_options(arguments, path);
        if (!whole) options.output_nodes.clear();
        return onnx::import(bytes, options);
      },
      option);
}

void compile_model(const Arguments& arguments, Progress& progress) {
  const std::string& framework = arguments.need("framework", kFrameworks);
  arguments.need("model", "the path of a model");
  std::string output = arguments.need("output", "the path of the om file, without .om");
  if (!output.ends_with(".om")) output += ".om";
  (void)framework;
  const std::string product = product_of(arguments);
  progress.stage("reading the model");
  const graph::Model source = read_source(arguments);
  progress.stage("compiling");
  graph::OptionTexts options;
  for (const char* name : kCompileOptions)
    if (arguments.has(name)) options[name] = arguments.get(name);
  if (arguments.has("input_shape_range")) options["input_shape"] = ranges_in_new_words(arguments);
  if (!arguments.has("precision_mode") && !arguments.has("precision_mode_v2"))
    options["precision_mode"] = arguments.get("precision_mode");
  options["soc_version"] = product;
  graph::CompileReport report;
  graph::Model compiled = in_own_words(arguments, [&] { return om::compile_cached(source, options, &report); });
  compiled.name = std::filesystem::path(output).stem().string();
  progress.stage("planning");
  in_own_words(arguments, [&] { describe_model(compiled, arguments); });
  for (const graph::PassCount& pass : report.passes)
    UPDRAFT_LOG(kInfo, "GE", "{} changed {} places", pass.name, pass.changes);
  UPDRAFT_LOG(kInfo, "GE", "types of {} nodes are changed, {} have no kernel for it", report.precision.changed,
              report.precision.kept);
  if (report.precision.saturated)
    report.notes.push_back(
        fmt::format("{} numbers of weights are beyond FLOAT16's range and became +-65504: take "
                    "--precision_mode=must_keep_origin_dtype where they matter",
                    report.precision.saturated));
  progress.stage("writing");
  if (arguments.flag("external_weight")) {
    const std::string directory = std::filesystem::path(output).parent_path().string();
    om::move_weights_out(compiled, directory.empty() ? "." : directory);
  }
  write_file(output, om::write(compiled).text());
  for (const std::string& note : report.notes) std::printf("WARNING: %s.\n", note.c_str());
  if (arguments.flag("display_model_info")) print_model(output);
}

}  // namespace updraft::atc
