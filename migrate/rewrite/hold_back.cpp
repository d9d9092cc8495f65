// Changes that are only for review because the code around them decides by CUDA: a source that chooses between vendors
// itself, a branch that a flag of such a source guards, a branch for a CUDA compute capability or a CUDA build, a call
// of an extension that was compiled for CUDA, a profiler that is asked for what torch_npu's does not have. Such code is
// changed as a whole, by a person, or not at all.
#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "migrate/names/module.h"
#include "migrate/rewrite/passes.h"

namespace updraft::migrate::rewrite {
namespace {

struct Range {
  std::uint32_t begin, end;
};

/// Attributes of CUDA's device properties that torch_npu's do not have.
constexpr std::array<std::string_view, 14> kCudaProperties = {"major",
                                                              "minor",
                                                              "multi_processor_count",
                                                              "warp_size",
                                                              "max_threads_per_multi_processor",
                                                              "max_threads_per_block",
                                                              "regs_per_multiprocessor",
                                                              "shared_memory_per_block",
                                                              "shared_memory_per_block_optin",
                                                              "shared_memory_per_multiprocessor",
                                                              "is_integrated",
                                                              "is_multi_gpu_board",
                                                              "gcnArchName",
                                                              "L2_cache_size"};

/// Functions of packages outside the project that answer for CUDA alone.
constexpr std::array<std::string_view, 12> kCudaQuestions = {"mmengine.device.is_cuda_available",
                                                             "mmengine.device.utils.is_cuda_available",
                                                             "accelerate.utils.is_cuda_available",
                                                             "accelerate.utils.imports.is_cuda_available",
                                                             "transformers.is_torch_cuda_available",
                                                             "transformers.utils.is_torch_cuda_available",
                                                             "transformers.utils.import_utils.is_torch_cuda_available",
                                                             "diffusers.utils.is_torch_cuda_available",
                                                             "lightning.pytorch.accelerators.CUDAAccelerator",
                                                             "pytorch_lightning.accelerators.CUDAAccelerator",
                                                             "lightning.fabric.accelerators.CUDAAccelerator",
                                                             "vllm.platforms.current_platform.is_cuda"};

bool says_cuda(std::string_view name) noexcept {
  return name.find("cuda") != std::string_view::npos || name.find("CUDA") != std::string_view::npos;
}

class HoldBack {
 public:
  explicit HoldBack(Sites& sites) : s_(sites), tree_(sites.tree()) {}

  void run() {
    if (s_.findings.empty()) return;
    if (names::asks_for_npu(tree_)) {
      hold({0, static_cast<std::uint32_t>(tree_.text().size())}, rules::told("keep.npu"));
      return;
    }
    if (const std::string vendor = vendor_module(); !vendor.empty()) {
      hold({0, static_cast<std::uint32_t>(tree_.text().size())}, rules::told("keep.vendor_source", {vendor}));
      return;
    }
    flags();
    packages();
    if (tree_.text().find("cpp_extension") != std::string_view::npos) look_for_loaded();
    for (NodeId id = 0; id < tree_.size(); ++id) {
      const Kind kind = tree_.kind(id);
      if (kind == Kind::Attribute || kind == Kind::Identifier) anchor(id);
      if (kind == Kind::String) cuda_package(id), other_vendor(id);
      if (kind == Kind::Call) extension(id);
      if (kind == Kind::Function) compiles(id);
    }
    nvidia_smi();
    profilers();
    generators();
    beside();
  }

 private:
  bool is_change(const Finding& f) const noexcept { return f.category == Category::Change && !f.edits.empty(); }

  bool changes_within(Range range) const {
    return std::any_of(s_.findings.begin(), s_.findings.end(),
                       [&](const Finding& f) { return is_change(f) && f.begin >= range.begin && f.end <= range.end; });
  }
  Range range(NodeId id) const { return {tree_[id].begin, tree_[id].end}; }
  /// What is called: f of f(), c of a.b.c().
  std::string_view last_name(NodeId callee) const {
    return tree_.text(tree_.kind(callee) == Kind::Attribute ? tree_.child(callee, Field::Attribute) : callee);
  }
  /// The module that an import binds, if it is one: package.name of `from package import name`.
  static std::string module_of(const names::Binding& b) {
    return b.name.empty() || b.module.ends_with('.') ? b.module + b.name : b.module + "." + b.name;
  }

  void hold(Range range, const Text& why) {
    for (Finding& f : s_.findings) {
      if (f.begin < range.begin || f.end > range.end) continue;
      if (f.category == Category::Unsupported) f.confidence = Confidence::Review;
      if (!is_change(f) || f.confidence == Confidence::Review) continue;
      f.confidence = Confidence::Review;
      f.message += rules::told("keep", {why});
    }
  }

  /// Whether a condition asks for CUDA by a flag that stays as it is: of a source of the project that chooses between
  /// vendors, or of a package.
  bool kept_flag(NodeId condition) {
    for (NodeId n = condition; condition != kNone && n < tree_[condition].last; ++n) {
      if (tree_.kind(n) != Kind::Identifier || !tree_.is_reference(n)) continue;
      const std::string_view name = tree_.text(n);
      const auto* bindings = s_.module.scopes().lookup(name, s_.module.scopes().of(n));
      if (!bindings) continue;
      for (const names::Binding& b : *bindings) {
        if (b.how != names::Bind::Import) continue;
        const NodeId whole = tree_.with_attributes(n);
        if (!says_cuda(tree_.text(whole)) && !says_cuda(b.name)) continue;
        const names::Project* project = s_.module.project();
        if (project && project->asks_for_npu(s_.module.path(), b.module, b.name)) return true;
        const Value v = s_.module.value(whole);
        if (v.what != What::Api) continue;
        for (std::string_view known : kCudaQuestions)
          if (rules::under(v.name, known)) return true;
      }
    }
    return false;
  }

  /// The source for NPUs that stands beside a source for GPUs, by its name: platform_npu.py beside platform_cuda.py.
  static std::string npu_twin(const names::Project& project, const std::string& path) {
    static constexpr std::array<std::string_view, 5> gpus = {"cuda", "gpu", "nvidia", "rocm", "nccl"};
    static constexpr std::array<std::string_view, 3> npus = {"npu", "ascend", "hccl"};
    const std::size_t slash = path.rfind('/') + 1;  // npos + 1 is 0
    const std::string stem = path.substr(slash, path.rfind('.') - slash);
    for (std::string_view gpu : gpus) {
      const std::size_t at = stem.find(gpu), end = at + gpu.size();
      if (at == std::string::npos || (at > 0 && stem[at - 1] != '_') || (end < stem.size() && stem[end] != '_'))
        continue;
      for (std::string_view npu : npus) {
        std::string twin = stem;
        twin.replace(at, gpu.size(), npu);
        if (std::string file = project.file_of("." + twin, path); !file.empty()) return file;
        // npu.py beside nvidia_gpu.py, amd_gpu.py
        if (std::string file = project.file_of("." + std::string(npu), path); !file.empty() && file != path)
          return file;
      }
    }
    return {};
  }

  /// The twin for NPUs of this source, or of one that it imports; empty where there is none.
  std::string vendor_module() const {
    const names::Project* project = s_.module.project();
    if (!project) return {};
    const std::string& path = s_.module.path();
    if (std::string twin = npu_twin(*project, path); !twin.empty()) return twin;
    for (names::ScopeId scope = 0; scope < s_.module.scopes().size(); ++scope)
      for (const auto& [name, bindings] : s_.module.scopes()[scope].names)
        for (const names::Binding& b : bindings) {
          if (b.how != names::Bind::Import || b.module.empty()) continue;
          for (const std::string& module : {b.module, module_of(b)}) {
            const std::string file = project->file_of(module, path);
            if (file.empty()) continue;
            if (std::string twin = npu_twin(*project, file); !twin.empty()) return twin;
          }
        }
    return {};
  }

  /// Code that also speaks of another vendor: HIP_VISIBLE_DEVICES beside CUDA_VISIBLE_DEVICES, `vendor != "nvidia"`,
  /// options of NVIDIA's profiler.
  void other_vendor(NodeId id) {
    static constexpr std::array<std::string_view, 4> variables = {"HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES",
                                                                  "ZE_AFFINITY_MASK", "MLU_VISIBLE_DEVICES"};
    static constexpr std::array<std::string_view, 3> vendors = {"nvidia", "amd", "rocm"};
    std::string text;
    if (!s_.module.plain_string(id, text)) return;
    static const Text why = rules::told("keep.vendors");
    if (std::find(variables.begin(), variables.end(), text) != variables.end()) {
      const NodeId function = tree_.ancestor(id, Kind::Function);
      hold(range(function != kNone ? function : tree_.parent(id)), why);
    } else if (std::find(vendors.begin(), vendors.end(), text) != vendors.end()) {
      NodeId whole = tree_.parent(id);  // kind not in ["cuda", "rocm"]
      if (const Kind kind = tree_.kind(whole); kind == Kind::List || kind == Kind::Tuple || kind == Kind::Set)
        whole = tree_.parent(whole);
      if (tree_.kind(whole) != Kind::Comparison) return;
      while (tree_.kind(tree_.parent(whole)) == Kind::Boolean) whole = tree_.parent(whole);
      hold(range(whole), why);
      // if kind == "cuda" and major < 8: … elif kind == "rocm" and major < 9: the names are vendors', no devices
      NodeId chain = tree_.parent(whole);
      if (tree_[whole].field != Field::Condition) return;
      if (tree_.kind(chain) == Kind::Elif) chain = tree_.parent(chain);
      if (tree_.kind(chain) != Kind::If) return;
      hold(range(tree_.child(chain, Field::Condition)), why);
      for (NodeId c : tree_.children(chain))
        if (tree_.kind(c) == Kind::Elif) hold(range(tree_.child(c, Field::Condition)), why);
    } else if (text == "pointwise" && tree_.text().find("associative_scan") != std::string_view::npos) {
      static const Text scan = rules::told("keep.pointwise");
      guard(id, scan);
    } else if (text == "nsight") {
      static const Text profiler = rules::told("keep.nvidia_profiler");
      guard(id, profiler);
    }
  }

  /// TensorRTBackend for tensorrt
  static bool names_package(std::string_view name, std::string_view package) {
    std::string lower(name);
    for (char& c : lower)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return lower.find(package) != std::string::npos;
  }

  /// What is written for packages that run on NVIDIA's GPUs alone: the function or the class that imports one, or the
  /// whole source.
  void packages() {
    static constexpr std::array<std::string_view, 7> known = {"tensorrt", "torch_tensorrt", "pycuda",    "cupy",
                                                              "pynvml",   "cuda",           "numba.cuda"};
    for (NodeId id = 0; id < tree_.size(); ++id) {
      const Kind kind = tree_.kind(id);
      if (kind != Kind::Import && kind != Kind::ImportFrom) continue;
      const NodeId module =
          kind == Kind::ImportFrom ? tree_.child(id, Field::ModuleName) : tree_.child(id, Field::Name);
      std::string_view name =
          tree_.text(tree_.kind(module) == Kind::AliasedImport ? tree_.child(module, Field::Name) : module);
      if (name == "numba" && kind == Kind::ImportFrom)  // from numba import cuda
        for (NodeId c : tree_.children(id))
          if (tree_[c].field == Field::Name &&
              tree_.text(tree_.kind(c) == Kind::AliasedImport ? tree_.child(c, Field::Name) : c) == "cuda")
            name = "numba.cuda";
      const std::string_view first = rules::under(name, "numba.cuda") ? "numba.cuda" : name.substr(0, name.find('.'));
      if (std::find(known.begin(), known.end(), first) == known.end()) continue;
      const names::Project* project = s_.module.project();
      const std::string& path = s_.module.path();
      // the project's own; tensorrt.py in a package does not import itself
      if (const std::string own = project ? project->file_of(name, path) : ""; !own.empty() && own != path) continue;
      NodeId whole = tree_.ancestor(id, Kind::Function);
      const NodeId owner = tree_.ancestor(id, Kind::Class);
      if (owner != kNone && names_package(tree_.text(tree_.child(owner, Field::Name)), first)) whole = owner;
      if (whole == kNone) {
        // one that may be missing is only asked for: try: import pynvml
        if (tree_.ancestor(id, Kind::Try) != kNone || tree_.ancestor(id, Kind::If) != kNone) continue;
        whole = 0;
      }
      const std::string package(first);
      const Text why = rules::told("keep.package", {package});
      // a program that shows what its GPU does is not written for that
      if (whole == 0 && package == "pynvml") users(id, why);
      else hold(range(whole), why);
    }
  }

  /// The functions, or the statements of the module, that use what an import brings.
  void users(NodeId import, const Text& why) {
    const NodeId list = tree_.kind(import) == Kind::ImportFrom ? tree_.child(import, Field::ModuleName) : kNone;
    for (NodeId id = tree_[import].last; id < tree_.size(); ++id) {
      if (tree_.kind(id) != Kind::Identifier || !tree_.is_reference(id)) continue;
      const std::string_view name = tree_.text(id);
      const auto* bindings = s_.module.scopes().lookup(name, s_.module.scopes().of(id));
      const bool bound = bindings && std::any_of(bindings->begin(), bindings->end(), [](const names::Binding& b) {
                           return b.how == names::Bind::Import && b.module.starts_with("pynvml");
                         });
      const bool starred = list != kNone && !bindings && name.starts_with("nvml");  // from pynvml import *
      if (!bound && !starred) continue;
      NodeId whole = tree_.ancestor(id, Kind::Function);
      if (whole == kNone)
        for (whole = id; tree_.parent(whole) != kNone && tree_.kind(tree_.parent(whole)) != Kind::Module &&
                         tree_.kind(tree_.parent(whole)) != Kind::Block;)
          whole = tree_.parent(whole);
      hold(range(whole), why);
    }
  }

  /// states["cuda"] = torch.cuda.get_rng_state_all() that stays and torch.cuda.set_rng_state_all(states["cuda"]) go
  /// together.
  void generators() {
    constexpr std::string_view get = "torch.cuda.get_rng_state", set = "torch.cuda.set_rng_state";
    bool stays = false;
    for (const Finding& f : s_.findings)
      stays = stays || (is_change(f) && f.confidence == Confidence::Review &&
                        (f.api.starts_with(get) || f.api.starts_with(set)));
    if (!stays) return;
    const Text why = rules::told("keep.beside");
    std::vector<Range> places;
    for (const Finding& f : s_.findings)
      if (is_change(f) && f.confidence != Confidence::Review && (f.api.starts_with(get) || f.api.starts_with(set)))
        places.push_back({f.begin, f.end});
    for (const Range& place : places) hold(place, why);
  }

  /// impl == "cuda" and x.device.type == "cuda": where one is not changed, because it is no device or nobody knows, the
  /// other is not either.
  void beside() {
    static const Text why = rules::told("keep.beside");
    std::vector<std::uint32_t> places;
    for (const Finding& f : s_.findings)
      if (is_change(f) && f.confidence == Confidence::Review) places.push_back(f.begin);
    if (places.empty()) return;
    std::sort(places.begin(), places.end());
    std::vector<NodeId> left;  // literals that are compared
    for (NodeId id = 0; id < tree_.size(); ++id)
      if (tree_.kind(id) == Kind::String && tree_.kind(tree_.parent(id)) == Kind::Comparison &&
          std::binary_search(places.begin(), places.end(), tree_[id].begin))
        left.push_back(id);
    for (NodeId literal : left) {
      NodeId mine = literal;
      while (mine != kNone && tree_.kind(mine) != Kind::Boolean && tree_.kind(mine) != Kind::If &&
             tree_.kind(mine) != Kind::Function && tree_.kind(mine) != Kind::Block)
        mine = tree_.parent(mine);
      if (mine != kNone && tree_.kind(mine) == Kind::Boolean && tree_.text(mine).find(" or ") == std::string_view::npos)
        guard(literal, why);
    }
  }

  /// Branches of such flags.
  void flags() {
    static const Text why = rules::told("keep.flag");
    for (NodeId id = 0; id < tree_.size(); ++id) {
      switch (tree_.kind(id)) {
        case Kind::If:
          if (kept_flag(tree_.child(id, Field::Condition))) {
            hold(range(tree_.child(id, Field::Consequence)), why);
            if (leaves(tree_.child(id, Field::Consequence))) hold(rest_of_block(id), why);
          }
          break;
        case Kind::Elif:
          if (kept_flag(tree_.child(id, Field::Condition))) hold(range(tree_.child(id, Field::Consequence)), why);
          break;
        case Kind::Conditional:
          if (kept_flag(tree_.child(id, std::size_t{1}))) hold(range(tree_.child(id, std::size_t{0})), why);
          break;
        case Kind::Boolean:
          if (kept_flag(tree_.child(id, Field::Left))) hold(range(id), why);
          break;
        default: break;
      }
    }
  }

  /// Whether control never runs on behind a block.
  bool leaves(NodeId block) const {
    NodeId last = kNone;
    for (NodeId c : tree_.children(block)) last = c;
    if (tree_.kind(last) == Kind::Return || tree_.kind(last) == Kind::Raise) return true;
    const std::string_view text = tree_.text(last);
    return text == "continue" || text == "break" || text.starts_with("sys.exit") || text.starts_with("exit(");
  }

  Range rest_of_block(NodeId statement) const {
    const NodeId block = tree_.parent(statement);
    return {tree_[statement].end, tree_[block].end};
  }

  /// The name of what a value was called to get: torch.cuda.get_device_properties in props = …; props.major.
  std::string made_by(NodeId expression) const {
    if (tree_.kind(expression) == Kind::Identifier) {
      const auto* bindings = s_.module.scopes().lookup(tree_.text(expression), s_.module.scopes().of(expression));
      if (!bindings || bindings->empty() || bindings->front().how != names::Bind::Assignment) return {};
      expression = bindings->front().value;
    }
    if (tree_.kind(expression) != Kind::Call) return {};
    const Value v = s_.module.local(tree_.child(expression, Field::Function));
    return v.what == What::Api ? v.name : std::string();
  }

  /// Whether a call's result is only shown: print(f(x)), f"{f(x)}", "%s" % f(x), a statement of its own.
  bool only_shown(NodeId call) const {
    NodeId mine = call;
    for (NodeId up = tree_.parent(mine); up != kNone; mine = up, up = tree_.parent(up)) {
      switch (tree_.kind(up)) {
        case Kind::Interpolation:
        case Kind::ExpressionStatement: return true;
        case Kind::Parenthesized:
        case Kind::Tuple: continue;
        case Kind::Binary: return tree_.kind(tree_.child(up, Field::Left)) == Kind::String;
        case Kind::ArgumentList: {
          const NodeId callee = tree_.child(tree_.parent(up), Field::Function);
          const std::string_view name = last_name(callee);
          static constexpr std::array<std::string_view, 10> shows = {"print", "str",     "repr",   "format", "info",
                                                                     "debug", "warning", "append", "log",    "write"};
          return std::find(shows.begin(), shows.end(), name) != shows.end();
        }
        default: return false;
      }
    }
    return false;
  }

  /// "onnxruntime" + ("-gpu" if torch.cuda.is_available() else ""): the name of a package that is built for CUDA. And
  /// os.environ["TORCH_CUDA_ARCH_LIST"], which chooses what one is built for.
  void cuda_package(NodeId id) {
    static constexpr std::array<std::string_view, 5> names = {"-gpu", "onnxruntime-gpu", "faiss-gpu", "tensorflow-gpu",
                                                              "paddlepaddle-gpu"};
    std::string text;
    if (!s_.module.plain_string(id, text)) return;
    if (text == "TORCH_CUDA_ARCH_LIST") {
      static const Text build = rules::told("keep.arch_list");
      guard(id, build);
    }
    if (std::find(names.begin(), names.end(), text) == names.end()) return;
    static const Text why = rules::told("keep.cuda_package");
    guard(id, why);
  }

  void anchor(NodeId id) {
    if (tree_.kind(id) == Kind::Identifier) {
      if (!tree_.is_reference(id) || tree_.kind(tree_.parent(id)) == Kind::Attribute) return;
      const std::string_view text = tree_.text(id);
      // only names that can be these: from torch.cuda import get_device_capability
      if (!s_.module.scopes().lookup(text, s_.module.scopes().of(id))) return;
      if (text.find("apability") == std::string_view::npos && !says_cuda(text)) return;
    } else {
      const std::string_view attribute = tree_.text(tree_.child(id, Field::Attribute));
      if (std::find(kCudaProperties.begin(), kCudaProperties.end(), attribute) != kCudaProperties.end()) {
        property(id, attribute);
        return;
      }
      if (attribute != "get_device_capability" && attribute != "hip" && !says_cuda(attribute)) return;
    }
    const Value v = s_.module.local(id);
    if (v.what != What::Api) return;
    if (v.name == "torch.cuda.get_device_capability") {
      const NodeId call = tree_.call_of(id);
      if (call == kNone || only_shown(call)) return;
      static const Text why = rules::told("keep.capability");
      if (!guard(id, why)) lacks(id, why);
    } else if (v.name == "torch.version.cuda" || v.name == "torch.version.hip") {
      static const Text why = rules::told("keep.version");
      if (decides(id)) guard(id, why);
    } else if (rules::under(v.name, "torch.utils.cpp_extension.CUDAExtension") ||
               rules::under(v.name, "torch.utils.cpp_extension.CUDA_HOME")) {
      static const Text why = rules::told("keep.builds");
      guard(id, why);
    }
  }

  /// Whether code goes by a value or needs it not to be None: a condition, a comparison, a sum, a method of it.
  bool decides(NodeId id) const {
    const NodeId up = tree_.parent(id);
    switch (tree_.kind(up)) {
      case Kind::Comparison:
      case Kind::Boolean:
      case Kind::Not:
      case Kind::Attribute:
      case Kind::Subscript: return true;
      case Kind::Binary:  // "CUDA %s" % torch.version.cuda shows it
        return tree_.text(up).find('%') == std::string_view::npos;
      case Kind::If:
      case Kind::Elif: return tree_[id].field == Field::Condition;
      default: return false;
    }
  }

  /// A word of a name or a path: cuda in nms_cuda, cuda_forward; not in cudagraph.
  static bool names_word(std::string_view name, std::string_view word) noexcept {
    constexpr std::string_view between = "_/.";
    for (std::size_t at = name.find(word); at != std::string_view::npos; at = name.find(word, at + 1)) {
      const std::size_t end = at + word.size();
      const bool begins = at == 0 || between.find(name[at - 1]) != std::string_view::npos;
      const bool ends = end == name.size() || between.find(name[end]) != std::string_view::npos;
      if (begins && ends) return true;
    }
    return false;
  }
  static bool names_cuda(std::string_view name) noexcept { return names_word(name, "cuda"); }

  /// Whether a name stands for code that was compiled: what torch.utils.cpp_extension or mmcv's load_ext gives, or a
  /// module that the project has no source of and that says so by its name. `function`: what is called of it.
  bool compiled(NodeId name, std::string_view function, bool deep = true) const {
    const auto* bindings = s_.module.scopes().lookup(tree_.text(name), s_.module.scopes().of(name));
    if (!bindings) return false;
    const names::Project* project = s_.module.project();
    return std::any_of(bindings->begin(), bindings->end(), [&](const names::Binding& b) {
      if (b.how == names::Bind::Assignment) {
        // part = kernel.part, where kernel = get_kernel("owner/name") of the kernels' hub
        NodeId root = b.value;
        while (tree_.kind(root) == Kind::Attribute) root = tree_.child(root, Field::Object);
        if (root != b.value) return tree_.kind(root) == Kind::Identifier && deep && compiled(root, {}, false);
        if (tree_.kind(b.value) != Kind::Call) return false;
        const NodeId maker = tree_.child(b.value, Field::Function);
        if (tree_.text(maker).ends_with("load_ext") || last_name(maker) == "get_kernel") return true;
        const Value v = s_.module.local(maker);
        return v.what == What::Api && v.name.starts_with("torch.utils.cpp_extension.load");
      }
      // class Attention(Function) whose forward() calls the extension: Attention.apply(x)
      if (b.how == names::Bind::Class && deep && function == "apply") return calls_compiled(b.node);
      if (b.how != names::Bind::Import) return false;
      const std::string within = module_of(b);
      if (project && (!project->file_of(within, s_.module.path()).empty() ||
                      (b.module.find_first_not_of('.') != std::string::npos &&
                       !project->file_of(b.module, s_.module.path()).empty())))
        return false;
      if (within.starts_with("torch") && !within.starts_with("torch_")) return false;
      if (std::find(loaded_.begin(), loaded_.end(), within) != loaded_.end()) return true;
      const std::string_view last = std::string_view(within).substr(within.rfind('.') + 1);
      if (last == "MultiScaleDeformableAttention" || last == "_C" || last == "_ext" || last == "ext_module" ||
          names_cuda(last))
        return true;
      // gpu_nms, made of Cython: a module without a source in a package of the project
      const std::string_view package = std::string_view(b.module).substr(0, b.module.find('.'));
      if (names_word(last, "gpu") && project && !package.empty() &&
          !project->file_of(package, s_.module.path()).empty())
        return true;
      return within.starts_with('.') && names_cuda(function);
    });
  }

  /// load(name="ext", sources=…), which `import ext` finds from then on.
  void look_for_loaded() {
    for (NodeId id = 0; id < tree_.size(); ++id) {
      if (tree_.kind(id) != Kind::Call || last_name(tree_.child(id, Field::Function)).find("load") != 0) continue;
      const Value v = s_.module.local(tree_.child(id, Field::Function));
      if (v.what != What::Api || !v.name.starts_with("torch.utils.cpp_extension.load")) continue;
      for (NodeId given : tree_.children(tree_.child(id, Field::Arguments))) {
        const bool keyword = tree_.kind(given) == Kind::KeywordArgument;
        if (keyword && tree_.text(tree_.child(given, Field::Name)) != "name") continue;
        std::string text;
        if (s_.module.plain_string(keyword ? tree_.child(given, Field::Value) : given, text))
          loaded_.push_back(std::move(text));
        break;
      }
    }
  }

  bool calls_compiled(NodeId definition) const {
    for (NodeId id = definition; id < tree_[definition].last; ++id) {
      if (tree_.kind(id) != Kind::Call) continue;
      const NodeId callee = tree_.child(id, Field::Function);
      NodeId root = callee;
      while (tree_.kind(root) == Kind::Attribute) root = tree_.child(root, Field::Object);
      if (tree_.kind(root) == Kind::Identifier && compiled(root, last_name(callee), false)) return true;
    }
    return false;
  }

  /// A call of code for CUDA: the question before it must go on to keep tensors of an NPU away from it.
  void extension(NodeId call) {
    const NodeId callee = tree_.child(call, Field::Function);
    NodeId root = callee;
    while (tree_.kind(root) == Kind::Attribute) root = tree_.child(root, Field::Object);
    if (tree_.kind(root) != Kind::Identifier) return;
    const std::string_view function = last_name(callee);
    for (const std::string_view asks : {"is_", "has_", "get_", "set_"})
      if (function.starts_with(asks)) return;
    if (!compiled(root, function)) return;
    const Text why = rules::told("keep.compiled", {tree_.text(callee)});
    guard(call, why);
    // flag = x.is_cuda; ext.run(x, flag): the extension chooses by it between its own code for CUDA and for the host
    for (NodeId given : tree_.children(tree_.child(call, Field::Arguments))) {
      if (tree_.kind(given) == Kind::KeywordArgument) given = tree_.child(given, Field::Value);
      if (is_question(given)) hold(range(given), why);
      if (tree_.kind(given) != Kind::Identifier) continue;
      const auto* bindings = s_.module.scopes().lookup(tree_.text(given), s_.module.scopes().of(given));
      for (const names::Binding& b : bindings ? *bindings : std::vector<names::Binding>{})
        if (b.how == names::Bind::Assignment && is_question(b.value)) hold(range(b.value), why);
    }
  }

  /// x.is_cuda, x.device.type == "cuda", and such questions joined.
  bool is_question(NodeId value) const {
    switch (tree_.kind(value)) {
      case Kind::Attribute: return tree_.text(tree_.child(value, Field::Attribute)) == "is_cuda";
      case Kind::Comparison:
      case Kind::Boolean:
      case Kind::Not: return true;
      default: return false;
    }
  }

  /// A function that says whether torch.compile is to be used: Inductor runs on an NPU only with triton-ascend.
  void compiles(NodeId function) {
    static constexpr std::array<std::string_view, 9> asks = {"can", "should",   "valid",     "is",      "may",
                                                             "use", "supports", "supported", "criteria"};
    const std::string_view name = tree_.text(tree_.child(function, Field::Name));
    if (!names_word(name, "compile")) return;
    if (std::none_of(asks.begin(), asks.end(), [&](std::string_view word) { return names_word(name, word); })) return;
    static const Text why = rules::told("keep.compiles");
    hold(range(function), why);
  }

  void property(NodeId id, std::string_view attribute) {
    if (attribute == "L2_cache_size") return;  // the NPU's have it
    const std::string made = made_by(tree_.child(id, Field::Object));
    if (made != "torch.cuda.get_device_properties") return;
    const std::string name(attribute);
    const bool counted = name == "multi_processor_count";
    const Text why = rules::told(counted ? "keep.property_count" : "keep.property", {name});
    if (guard(id, why)) return;
    static const rules::Rule& rule = rules::coded("PT117");
    if (s_.kept(id)) return;
    s_.add(rule, id, Confidence::Certain, made + "." + name).message = rules::told("PT117", {why});
  }

  /// Nothing to be done by a tool: the change at this place becomes the word that the API is not there.
  void lacks(NodeId id, const Text& why) {
    const Range at = range(id);
    for (Finding& f : s_.findings) {
      if (!is_change(f) || f.begin < at.begin || f.end > at.end) continue;
      f.category = Category::Unsupported;
      f.edits.clear();
      f.message = {"torch.cuda.get_device_capability: " + why.en, "torch.cuda.get_device_capability：" + why.zh};
    }
  }

  /// Holds back the branch in which `id` stands with what guards it. False where nothing does.
  bool guard(NodeId id, const Text& why) {
    bool found = false;
    NodeId mine = id;
    for (NodeId up = tree_.parent(mine); up != kNone; mine = up, up = tree_.parent(up)) {
      switch (tree_.kind(up)) {
        case Kind::Boolean:
          if (changes_beside(up, mine)) {
            hold(range(up), why);
            found = true;
          }
          break;
        case Kind::Conditional: {
          const NodeId condition = tree_.child(up, std::size_t{1});
          const bool in_condition = mine == condition, in_first = mine == tree_.child(up, std::size_t{0});
          if ((in_condition && found) || (in_first && changes_within(range(condition)))) {
            hold(range(condition), why);
            hold(range(tree_.child(up, std::size_t{0})), why);
            found = true;
          }
          break;
        }
        case Kind::If:
        case Kind::Elif: {
          const NodeId condition = tree_.child(up, Field::Condition);
          const bool in_condition = mine == condition;
          const bool in_branch = tree_[mine].field == Field::Consequence && changes_within(range(condition));
          // what the condition decides is for CUDA alone where CUDA is what it asks for first
          if ((in_condition && found) || in_branch) {
            hold(range(condition), why);
            hold(range(tree_.child(up, Field::Consequence)), why);
            found = true;
          }
          break;
        }
        case Kind::Block:
        case Kind::Module:
          if (early_exit(up, mine, why)) found = true;
          break;
        case Kind::Function: {
          // if torch.cuda.is_available(): def f(x): …
          const NodeId block = tree_.parent(up), owner = tree_.parent(block);
          const bool chosen = tree_.kind(block) == Kind::Block && tree_.kind(owner) == Kind::If;
          if (found || !chosen) return found;
          break;
        }
        case Kind::Class: return found;
        default: break;
      }
    }
    return found;
  }

  bool changes_beside(NodeId boolean, NodeId mine) const {
    for (NodeId c : tree_.children(boolean))
      if (c != mine && changes_within(range(c))) return true;
    return false;
  }

  /// if not torch.cuda.is_available(): return False before the statement `mine` of a block.
  bool early_exit(NodeId block, NodeId mine, const Text& why) {
    for (NodeId c : tree_.children(block)) {
      if (c == mine) return false;
      if (tree_.kind(c) != Kind::If) continue;
      const NodeId condition = tree_.child(c, Field::Condition);
      if (!leaves(tree_.child(c, Field::Consequence)) || !changes_within(range(condition))) continue;
      hold(range(condition), why);
      hold({tree_[c].end, tree_[block].end}, why);
      return true;
    }
    return false;
  }

  /// if torch.cuda.is_available(): out = check_output(["nvidia-smi", …]), where an NPU would come to a program that is
  /// not there. A branch that does more than that is changed, and the program is told of.
  void nvidia_smi() {
    std::vector<std::uint32_t> places;
    for (const Finding& f : s_.findings)
      if (f.api == "nvidia-smi" && f.edits.empty()) places.push_back(f.begin);
    if (places.empty()) return;
    std::sort(places.begin(), places.end());
    static const Text why = rules::told("keep.nvidia_smi");
    for (NodeId id = 0; id < tree_.size(); ++id) {
      if (tree_.kind(id) != Kind::If && tree_.kind(id) != Kind::Elif) continue;
      const Range branch = range(tree_.child(id, Field::Consequence));
      const auto first = std::lower_bound(places.begin(), places.end(), branch.begin);
      const NodeId condition = tree_.child(id, Field::Condition);
      if (first != places.end() && *first < branch.end && !changes_within(branch)) hold(range(condition), why);
    }
  }

  /// prof.key_averages(): torch_npu.profiler.profile has no such method, and its parts go together.
  void profilers() {
    const bool used = std::any_of(s_.findings.begin(), s_.findings.end(),
                                  [](const Finding& f) { return f.rule.starts_with("PT40") && !f.edits.empty(); });
    if (!used) return;
    bool lacks = false;
    for (NodeId id = 0; id < tree_.size(); ++id) {
      if (tree_.kind(id) != Kind::Attribute) continue;
      const std::string_view name = tree_.text(tree_.child(id, Field::Attribute));
      if (name != "key_averages" && name != "events" && name != "toggle_collection_dynamic") continue;
      const NodeId object = tree_.child(id, Field::Object);
      const Value owner = s_.module.local(object);
      const bool profiler = owner.what == What::Instance && owner.name == "torch.profiler.profile";
      const std::string_view word = tree_.text(object);
      const bool named = word.find("prof") != std::string_view::npos || word == "p";
      // self.profiler may be one of several; an instance of a class of the project's own is none
      const bool ours = owner.own && owner.what != What::Member;
      if (!profiler && (ours || !(name == "key_averages" || named))) continue;
      lacks = true;
      s_.claims.take(id);
      if (s_.kept(id)) continue;
      static const rules::Rule& rule = rules::coded("PT406");
      Finding& f = s_.add(rule, id, Confidence::Review, "torch.profiler.profile." + std::string(name));
      f.category = Category::Performance;
      f.message = rules::told("PT406", {std::string(name)});
    }
    if (!lacks) return;
    static const Text why = rules::told("keep.profiler");
    for (Finding& f : s_.findings)
      if (f.rule.starts_with("PT40") && is_change(f)) hold({f.begin, f.end}, why);
  }

  Sites& s_;
  const syntax::Tree& tree_;
  std::vector<std::string> loaded_;  ///< modules that the source itself has built, and imports then
};

}  // namespace

void hold_back(Sites& s) { HoldBack(s).run(); }

}  // namespace updraft::migrate::rewrite
