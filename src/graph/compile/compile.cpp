#include "graph/compile/compile.h"

#include <algorithm>
#include <atomic>
#include <charconv>

#include "device/soc.h"
#include "graph/compile/aipp.h"
#include "graph/compile/external_weight.h"
#include "graph/compile/four_bits.h"
#include "graph/compile/option_error.h"
#include "graph/compile/prints.h"
#include "graph/dump/graph_dump.h"
#include "graph/dump/kernel_meta.h"
#include "graph/node_call.h"
#include "graph/passes/switches.h"
#include "graph/planner/program.h"
#include "graph/shape/probe.h"

namespace updraft::graph {
namespace {

std::string_view trim(std::string_view s) {
  while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
  while (!s.empty() && s.back() == ' ') s.remove_suffix(1);
  return s;
}

/// Calls f with each part; no parts in an empty text.
template <class F>
void split(std::string_view text, char at, F&& f) {
  while (!text.empty()) {
    const size_t end = text.find(at);
    f(trim(text.substr(0, end)));
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

const std::string* option(const OptionTexts& options, std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (const auto found = options.find(name); found != options.end() && !found->second.empty()) return &found->second;
  return nullptr;
}

/// "3", "-1" or "1~10" as the smallest and the largest size; -1: any.
std::pair<int64_t, int64_t> size_or_range(std::string_view part, std::string_view text) {
  auto number = [&](std::string_view digits) {
    int64_t size = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), size);
    if (error != std::errc() || end != digits.data() + digits.size() || size < -1)
      throw OptionError("input_shape", std::string(part),
                        fmt::format("'{}' is no size, want numbers, -1 and ranges, as in x:1,3,-1,1~10", text));
    return size;
  };
  const size_t tilde = text.find('~');
  const int64_t low = number(trim(text.substr(0, tilde)));
  if (tilde == std::string_view::npos) return {low, low};
  const int64_t high = number(trim(text.substr(tilde + 1)));
  if (low < 0 || (high >= 0 && high < low))
    throw OptionError("input_shape", std::string(part),
                      fmt::format("'{}' is no range, want the smaller size first, as in 1~10", text));
  return {low, high};
}

/// The Data nodes have these sizes from now on.
void set_input_shapes(const Graph& graph, const std::map<std::string, Dims>& shapes, const InputRanges& ranges) {
  std::string names;
  for (const Node* node : graph.inputs()) names += (names.empty() ? "" : ", ") + node->name();
  for (const auto& [name, dims] : shapes) {
    Node* node = graph.find(name);
    if (!node || !node->is_data())
      throw OptionError("input_shape", name, fmt::format("the model has no such input; its inputs are {}", names));
    TensorDesc& desc = node->output_desc();
    bool fits = !desc.rank_known() || desc.dims.size() == dims.size();
    for (size_t d = 0; fits && desc.rank_known() && d < dims.size(); ++d)
      fits = desc.dims[d] < 0 || dims[d] < 0 || desc.dims[d] == dims[d];
    if (!fits)
      throw OptionError("input_shape", fmt::format("{}:{}", name, fmt::join(dims, ",")),
                        fmt::format("the model says that input {} is {}", name, describe(desc)));
    if (!desc.rank_known()) desc.dims = dims;
    for (size_t d = 0; d < dims.size(); ++d)
      if (desc.dims[d] < 0) desc.dims[d] = dims[d];
    desc.origin_dims = desc.dims;
    if (const auto bounds = ranges.find(name); bounds != ranges.end()) desc.ranges = bounds->second;
    if (!node->inputs().empty()) node->input_desc(0) = desc;
  }
}

}  // namespace

std::map<std::string, Dims> parse_input_shapes(const std::string& text, InputRanges* ranges) {
  std::map<std::string, Dims> shapes;
  split(text, ';', [&](std::string_view part) {
    if (part.empty()) return;
    const size_t colon = part.rfind(':');
    const std::string name(trim(part.substr(0, colon)));
    if (shapes.contains(name)) throw OptionError("input_shape", text, fmt::format("input {} is given twice", name));
    Dims& dims = shapes[name];
    if (colon == std::string_view::npos) return;
    std::vector<std::pair<int64_t, int64_t>> bounds;
    bool ranged = false;
    split(part.substr(colon + 1), ',', [&](std::string_view number) {
      const auto [low, high] = size_or_range(part, number);
      ranged = ranged || (low != high && low >= 0);
      dims.push_back(low == high ? low : kUnknownDim);
      bounds.emplace_back(low < 0 ? 0 : low, high);
    });
    if (ranges && ranged) (*ranges)[name] = std::move(bounds);
  });
  return shapes;
}

namespace {

/// Options that have certain values, whichever door they come through.
void check_values(const OptionTexts& options) {
  static const struct {
    const char* name;
    std::initializer_list<std::string_view> values;
  } kOptions[] = {{"ge.graphRunMode", {"0", "1"}},
                  {"ge.externalWeight", {"0", "1"}},
                  {"ge.deterministic", {"0", "1"}},
                  {"ge.topoSortingMode", {"0", "1", "2", "3"}},
                  {"ge.featureBaseRefreshable", {"0", "1"}},
                  {"ge.exec.allTensorNotEmpty", {"0", "1"}},
                  {"ge.exec.reuseZeroCopyMemory", {"0", "1"}},
                  {"ge.exec.enableEngineParallel", {"0", "1"}},
                  {"ge.exportCompileStat", {"0", "1", "2"}},
                  {"ge.enableSingleStream", {"true", "false"}}};
  for (const auto& [name, values] : kOptions)
    if (const auto* value = option(options, {name}); value && std::ranges::find(values, *value) == values.end())
      throw OptionError(name, *value, fmt::format("want one of {}", fmt::join(values, ", ")));
  for (const char* name : {"ge.exec.deviceId", "ge.session_device_id"})
    if (const auto* value = option(options, {name});
        value && (value->size() > 4 || !std::ranges::all_of(*value, [](char c) { return c >= '0' && c <= '9'; })))
      throw OptionError(name, *value, "want the number of a device");
}

}  // namespace

void check_options(const OptionTexts& options) {
  check_values(options);
  for (const char* name : {"ge.socVersion", "soc_version"})
    if (const auto* product = option(options, {name}); product && !names_product(*product))
      throw OptionError(name, *product, fmt::format("there is no such product; there are {}", product_names()));
  Precision::parse(options);
  KernelMeta::parse(options);
  static constexpr std::string_view kImplementation[] = {"high_precision", "high_performance", "high_precision_for_all",
                                                         "high_performance_for_all"};
  if (const auto* mode = option(options, {"ge.opSelectImplmode", "op_select_implmode"}))
    if (std::ranges::find(kImplementation, std::string_view(*mode)) == std::end(kImplementation))
      throw OptionError("op_select_implmode", *mode, fmt::format("want one of {}", fmt::join(kImplementation, ", ")));
  if (const auto* cores = option(options, {"ge.aicoreNum"}); cores && !cores->empty()) {  // all of the host's are used
    const auto number = [](std::string_view text) {
      return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
    };
    const std::string_view text = *cores;
    const size_t bar = text.find('|');
    if (!(number(text.substr(0, bar)) && (bar == std::string_view::npos || number(text.substr(bar + 1)))))
      throw OptionError("ge.aicoreNum", *cores, "want a number, or two with | between (Cube and Vector cores)");
  }
}

std::optional<Gears> parse_gears(const OptionTexts& options) {
  static constexpr struct {
    const char* name;
    Gears::Kind kind;
  } kOptions[] = {{"dynamic_batch_size", Gears::Kind::Batch},
                  {"dynamic_image_size", Gears::Kind::Image},
                  {"dynamic_dims", Gears::Kind::Dims}};
  std::optional<Gears> gears;
  const char* first = nullptr;
  for (const auto& [name, kind] : kOptions) {
    const auto* text = option(options, {name});
    if (!text) continue;
    if (first) throw OptionError(name, *text, fmt::format("{} is given, too: give one of them", first));
    first = name;
    gears = Gears{kind, {}};
    const auto refuse = [&](const std::string& why) { throw OptionError(name, *text, why); };
    split(*text, kind == Gears::Kind::Batch ? ',' : ';', [&](std::string_view gear) {
      Dims& value = gears->values.emplace_back();
      split(gear, ',', [&](std::string_view number) {
        int64_t size = 0;
        const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), size);
        if (error != std::errc() || end != number.data() + number.size() || size < 1)
          refuse(fmt::format("'{}' is no size, want whole numbers from 1 on", number));
        value.push_back(size);
      });
      const size_t numbers = kind == Gears::Kind::Batch ? 1 : kind == Gears::Kind::Image ? 2 : gears->values[0].size();
      if (value.size() != numbers || value.empty())
        refuse(fmt::format("gear '{}' has {} numbers, want {}{}", gear, value.size(), numbers,
                           kind == Gears::Kind::Image ? " (height,width)" : ""));
    });
    if (gears->values.size() < 2 || gears->values.size() > kMostGears)
      refuse(fmt::format("there are {} gears, want 2 to 100", gears->values.size()));
    for (size_t i = 0; i < gears->values.size(); ++i)
      if (*gears->find(gears->values[i]) != i)
        refuse(fmt::format("gear {} comes twice", fmt::join(gears->values[i], ",")));
  }
  return gears;
}

namespace {

/// Clients give these inputs as FLOAT16.
void set_half_inputs(Graph& graph, const std::string& names) {
  split(names, ';', [&](std::string_view name) {
    Node* input = graph.find(name);
    if (!input || input->type() != "Data")
      throw OptionError("input_fp16_nodes", std::string(name), "the model has no such input");
    TensorDesc& desc = input->output_desc();
    if (desc.dtype == DType::Float16) return;
    if (desc.dtype != DType::Float)
      throw OptionError("input_fp16_nodes", std::string(name),
                        fmt::format("the input is {}, want FLOAT", describe(desc)));
    const std::vector<Use> readers = input->output().uses;
    desc.dtype = DType::Float16;
    Node& cast = graph.add("Cast", input->name() + "_from_fp16");
    cast.attributes["dst_type"] = static_cast<int64_t>(DType::Float);
    graph.add_input(cast, "x", input->out());
    graph.add_output(cast, "y");
    for (const Use& use : readers) graph.connect(*use.node, use.index, cast.out());
  });
}

/// The stages read the outputs without asking whether they are there.
void require_outputs(const Graph& graph) {
  const Node* end = graph.net_output();
  if (!end) throw Error(code::kAclnnParamInvalid, "graph {} has no outputs: give it a node NetOutput", graph.name());
  for (size_t i = 0; i < end->inputs().size(); ++i)
    if (!end->inputs()[i].from)
      throw Error(code::kAclnnParamInvalid, "output {} of graph {} is not connected", i, graph.name());
}

/// The outputs as "node:index"; passes may give them other nodes later.
std::vector<std::string> output_places(const Graph& graph) {
  std::vector<std::string> places;
  for (const Input& input : graph.net_output()->inputs())
    places.push_back(fmt::format("{}:{}", input.from.node->name(), input.from.index));
  return places;
}

/// "FP16", or "node:0:FP16;name:FP32".
void set_output_types(Graph& graph, const std::string& text, const std::vector<std::string>& places) {
  static constexpr std::pair<std::string_view, DType> kTypes[] = {
      {"FP32", DType::Float}, {"FP16", DType::Float16}, {"UINT8", DType::UInt8}, {"INT8", DType::Int8}};
  Node& end = *graph.net_output();
  const auto names = find_or(graph.attributes, "output_names", std::vector<std::string>());
  split(text, ';', [&](std::string_view part) {
    const size_t colon = part.rfind(':');
    const std::string_view wanted = colon == std::string_view::npos ? part : trim(part.substr(colon + 1));
    const auto* type = std::ranges::find(kTypes, wanted, &std::pair<std::string_view, DType>::first);
    if (type == std::end(kTypes))
      throw OptionError("output_type", std::string(part), "want FP32, FP16, UINT8 or INT8, or NODE:INDEX:TYPE");
    bool found = false;
    for (int i = 0; i < static_cast<int>(end.inputs().size()); ++i) {
      const Endpoint from = end.input(i).from;
      const std::string_view name = part.substr(0, colon);
      const bool named = colon == std::string_view::npos ||
                         (static_cast<size_t>(i) < names.size() && names[static_cast<size_t>(i)] == name) ||
                         (static_cast<size_t>(i) < places.size() && places[static_cast<size_t>(i)] == name);
      if (!named) continue;
      found = true;
      if (from.node->output(from.index).desc.dtype == type->second) continue;
      Node& cast = graph.add("Cast", fmt::format("{}_{}_output", from.node->name(), from.index));
      cast.attributes["dst_type"] = static_cast<int64_t>(type->second);
      graph.add_input(cast, "x", from);
      graph.add_output(cast, "y");
      graph.connect(end, i, cast.out());
    }
    if (!found)
      throw OptionError("output_type", std::string(part),
                        fmt::format("the model has no such output; its outputs are {} ({})", fmt::join(names, ", "),
                                    fmt::join(places, ", ")));
  });
}

void set_input_format(const Graph& graph, const std::string& text) {
  const Format format = format_named(text);
  if (format == Format::Undefined) throw OptionError("input_format", text, "want NCHW, NHWC, NCDHW, NDHWC or ND");
  const size_t rank = text == "ND" ? 0 : text.size();
  for (Node* input : graph.inputs()) {
    TensorDesc& desc = input->output_desc();
    if (rank && desc.dims.size() != rank) continue;
    desc.format = desc.origin_format = format;
  }
}

PassSwitches switches_of(const OptionTexts& options, CompileReport& report) {
  PassSwitches switches;
  if (const auto* path = option(options, {"fusion_switch_file", "ge.fusionSwitchFile"}))
    switches = PassSwitches::of_file(*path);
  if (const auto* text = option(options, {"optimization_switch", "ge.optimizationSwitch"}))
    switches.add(PassSwitches::of_text("optimization_switch", *text));
  for (const std::string& name : switches.unknown())
    report.notes.push_back(fmt::format("there is no pass {} here: its switch has no effect", name));
  return switches;
}

/// What is refused because of the gears is the option's fault.
template <class F>
void about_gears(const OptionTexts& options, const Gears& gears, F&& f) {
  const char* name = gears.kind == Gears::Kind::Batch   ? "dynamic_batch_size"
                     : gears.kind == Gears::Kind::Image ? "dynamic_image_size"
                                                        : "dynamic_dims";
  try {
    f();
  } catch (const Error& e) { throw OptionError(name, options.at(name), e.text()); }
}

/// Every gear must be one that the operators accept.
void try_gears(const Graph& graph, const Gears& gears) {
  for (size_t g = 0; g < gears.values.size(); ++g) {
    const auto shapes = gear_shapes(graph, gears, g);
    try {
      World world;
      size_t i = 0;
      for (const Node* input : graph.inputs()) world.feed(*input, Known(input->output().desc.dtype, shapes[i++]));
      for (const Node* node : graph.needed_in_order())
        if (is_control_flow(*node)) break;
        else if (node->type() != "NetOutput" && node->type() != "Data") world.infer(*node);
    } catch (const Error& e) { throw Error(e.code(), "gear [{}]: {}", fmt::join(gears.values[g], ", "), e.text()); }
  }
}

constexpr int kInvalidProfiling = 100010;  // ACL_ERROR_INVALID_PROFILING_CONFIG
std::atomic<bool> g_trace{false}, g_points{false};

void check_trace(const Graph& graph, const OptionTexts& options, uint32_t graph_id) {
  if (!g_trace.load(std::memory_order_relaxed)) return;
  if (const auto* mode = option(options, {"ge.graphRunMode"}); mode && *mode == "0")
    throw Error(
        kInvalidProfiling,
        "graph {} is one of inference (ge.graphRunMode is 0), and training_trace of the profile is on: there are "
        "no iterations of training; remove training_trace",
        graph_id);
  if (g_points.load(std::memory_order_relaxed)) return;
  for (const Node* input : graph.inputs())
    for (const int64_t size : input->output().desc.dims)
      if (size < 0)
        throw Error(kInvalidProfiling,
                    "graph {}: the input {} has unknown sizes ({}), and training_trace of the profile finds the first "
                    "and the last operator of an iteration by itself only where sizes are known: name them by fp_point "
                    "and bp_point",
                    graph_id, input->name(), describe(input->output().desc));
}

}  // namespace

void set_iteration_trace(IterationTrace trace) {
  g_points = trace.points;
  g_trace = trace.on;
}

Model compile(const Model& model, const OptionTexts& options, CompileReport* wanted_report, uint32_t graph_id) {
  CompileReport own;
  CompileReport& report = wanted_report ? *wanted_report : own;
  check_options(options);
  require_outputs(*model.graph);
  const Precision precision = Precision::parse(options);
  const PassSwitches switches = switches_of(options, report);
  const KernelMeta kernel_meta = KernelMeta::parse(options);
  GraphDump dump(graph_id);
  dump.stage(model, GraphDump::kFirst);
  Model compiled = model;
  compiled.graph = copy(*model.graph);
  for (auto& [name, subgraph] : compiled.subgraphs) subgraph = copy(*subgraph);
  Graph& graph = *compiled.graph;
  join_prints(graph);
  for (Graph* each : compiled.graphs()) keep_four_bits_in_words(*each);
  InputRanges ranges;
  if (const auto* shapes = option(options, {"input_shape", "ge.inputShape"})) {
    const auto parsed = parse_input_shapes(*shapes, &ranges);
    set_input_shapes(graph, parsed, ranges);
  }
  if (const auto* format = option(options, {"input_format"})) set_input_format(graph, *format);
  const auto gears = parse_gears(options);
  check_trace(graph, options, graph_id);
  if (gears) about_gears(options, *gears, [&] { set_gears(graph, *gears); });
  if (const auto* path = option(options, {"insert_op_conf", "ge.insertOpFile"}))
    insert_aipp(graph, read_aipp(*path), *path);
  if (const auto* names = option(options, {"input_fp16_nodes", "ge.inputFp16Nodes"})) set_half_inputs(graph, *names);
  infer_all(graph);
  const std::vector<std::string> places = output_places(graph);
  dump.stage(compiled, "AfterInfershape");
  report.add(run_passes(graph, switches));
  infer_all(graph);
  dump.stage(compiled, "AfterGraphFusion");
  if (precision.changes()) {
    report.precision = apply_precision(graph, precision);
    infer_all(graph);
    dump.stage(compiled, "AfterPrecision");
  }
  if (const auto* types = option(options, {"output_type", "ge.outputDatatype"}))
    set_output_types(graph, *types, places);
  infer_all(graph);
  report.add(run_passes(graph, switches));
  infer_all(graph);
  if (gears) about_gears(options, *gears, [&] { try_gears(graph, *gears); });
  for (const std::string& name : report.precision.unknown)
    report.notes.push_back(
        fmt::format("no node is named {} (any more, where a pass fused it): its line in keep_dtype or customize_dtypes "
                    "has no effect",
                    name));
  if (const auto* soc = option(options, {"ge.socVersion", "soc_version"})) compiled.attributes["soc_version"] = *soc;
  const auto* outside = option(options, {"ge.externalWeight"});
  const bool in_files = outside && *outside == "1";
  if (in_files) move_weights_to_files(compiled);
  dump.stage(compiled, GraphDump::kLast);
  if (in_files) name_weights_constants(compiled);
  kernel_meta.write(graph);
  return compiled;
}

void CompileReport::add(const std::vector<PassCount>& counts) {
  for (const PassCount& count : counts) {
    const auto found = std::ranges::find(passes, std::string_view(count.name),
                                         [](const PassCount& p) { return std::string_view(p.name); });
    if (found == passes.end()) passes.push_back(count);
    else found->changes += count.changes;
  }
}

}  // namespace updraft::graph
