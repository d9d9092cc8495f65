#include "graph/dump/kernel_meta.h"

#include <fstream>

#include "base/config.h"
#include "base/folders.h"
#include "base/json_text.h"
#include "base/log.h"
#include "graph/compile/option_error.h"
#include "graph/compile/option_file.h"
#include "graph/node_call.h"

namespace updraft::graph {
namespace {

using Json = nlohmann::ordered_json;

std::string value_of(const OptionTexts& options, std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (const auto found = options.find(name); found != options.end() && !found->second.empty()) return found->second;
  return {};
}

/// The words of "op_debug_config = oom,dump_bin".
std::vector<std::string> words_of(const std::string& path) {
  const std::string text = option_file_text("op_debug_config", path);
  const size_t equals = text.find('=');
  if (text.find("op_debug_config") == std::string::npos || equals == std::string::npos)
    throw OptionError("op_debug_config", path, "want a file with the line op_debug_config = oom,dump_bin");
  std::vector<std::string> words(1);
  for (const char c : text.substr(equals + 1)) {
    if (c == '\n') break;
    if (c == ',') words.emplace_back();
    else if (!std::isspace(static_cast<unsigned char>(c))) words.back() += c;
  }
  return words;
}

Json tensor(const TensorDesc& desc) {
  return {{"dtype", updraft::name_of(desc.dtype)}, {"shape", desc.dims}, {"format", name_of(desc.format)}};
}

void write_json(const std::string& path, const Json& json) {
  std::ofstream file(path, std::ios::trunc);
  file << json_text(json, 1) << '\n';
  file.close();
  if (!file) throw Error(code::kAclInvalidFile, "{}: the description of a kernel cannot be written", path);
}

}  // namespace

KernelMeta KernelMeta::parse(const OptionTexts& options) {
  KernelMeta meta;
  meta.folder = value_of(options, {"ge.debugDir", "debug_dir"});
  if (meta.folder.empty()) meta.folder = ".";
  const std::string level = value_of(options, {"ge.opDebugLevel", "op_debug_level"});
  if (!level.empty()) {
    if (level.size() != 1 || level[0] < '0' || level[0] > '4')
      throw OptionError("op_debug_level", level, "want 0, 1, 2, 3 or 4");
    meta.kernels = meta.debugging_ = level != "0";
    meta.computes = level == "4";
    if (meta.kernels && level != "3")
      UPDRAFT_LOG(kInfo, "GE",
                  "op_debug_level {}: kernels are part of the library, so there are no .o, .cce and "
                  "_loc.json files of them",
                  level);
  }
  const std::string config = value_of(options, {"ge.op_debug_config", "op_debug_config"});
  if (config.empty()) return meta;
  meta.debugging_ = true;
  for (const std::string& word : words_of(config)) {
    static constexpr std::string_view kOthers[] = {"dump_cce", "dump_loc", "ccec_O0", "ccec_g"};
    if (word == "oom") meta.bounds = true;
    else if (word == "dump_bin") meta.kernels = true;
    else if (std::ranges::find(kOthers, word) == std::end(kOthers))
      throw OptionError("op_debug_config", word, "want oom, dump_bin, dump_cce, dump_loc, ccec_O0 or ccec_g");
  }
  if (meta.bounds && !Config::get().strict)
    UPDRAFT_LOG(kWarning, "GE",
                "op_debug_config asks for oom: start the program with UPDRAFT_STRICT=1, which finds "
                "accesses beyond buffers");
  return meta;
}

void KernelMeta::write(const Graph& graph) const {
  if (!kernels) return;
  const std::string to = folder + "/kernel_meta";
  if (!make_folders(to, 0755)) throw OptionError("debug_dir", folder, "the folder kernel_meta cannot be made in it");
  for (const Node* node : graph.in_order()) {
    if (!operator_of(*node)) continue;
    std::string kernel = node->type() + "_" + node->name();
    for (char& c : kernel)
      if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '-' && c != '.') c = '_';
    kernel.resize(std::min<size_t>(kernel.size(), 200));
    Json inputs = Json::array(), outputs = Json::array();
    for (const Input& input : node->inputs())
      inputs.push_back(input.from ? tensor(input.from.node->output(input.from.index).desc) : Json());
    for (const Output& output : node->outputs()) outputs.push_back(tensor(output.desc));
    const std::string& isa = Config::get().max_isa;
    write_json(fmt::format("{}/{}.json", to, kernel), {{"kernelName", kernel},
                                                       {"op", node->name()},
                                                       {"opType", node->type()},
                                                       {"variant", isa.empty() ? "native" : isa},
                                                       {"inputs", inputs},
                                                       {"outputs", outputs}});
    const auto* origins = find<Attribute::Texts>(node->attributes, "OriginOp");
    if (computes && origins)
      write_json(fmt::format("{}/{}_compute.json", to, kernel),
                 {{"kernelName", kernel},
                  {"PassName", find_or(node->attributes, "PassName", std::string())},
                  {"OriginOp", *origins}});
  }
}

}  // namespace updraft::graph
