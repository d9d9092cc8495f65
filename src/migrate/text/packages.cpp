#include "migrate/text/packages.h"

#include <array>
#include <cctype>

#include "migrate/text/sheet.h"

namespace updraft::migrate::text {
namespace {

constexpr std::string_view kNvidiaEn = "a library of NVIDIA for its GPUs: CANN brings its own",
                           kNvidiaZh = "NVIDIA GPU 的库：CANN 自带相应功能";
constexpr std::string_view kToolEn = "reads NVIDIA's driver: npu-smi shows NPUs",
                           kToolZh = "读取 NVIDIA 驱动：NPU 请用 npu-smi";

// First match wins: longer names before a shorter one with *.
constexpr std::array kPackages = std::to_array<Package>({
    {"apex", "apex (Updraft's, for amp), torch_npu.optim.NpuFused*",
     "NVIDIA's apex is CUDA code: amp has a package of the same name for NPU, its fused optimizers are "
     "torch_npu.optim.NpuFused*",
     "NVIDIA apex 为 CUDA 代码：amp 有同名的 NPU 版本，融合优化器请用 torch_npu.optim.NpuFused*"},
    {"auto-gptq", "", "its kernels are CUDA's: quantise with msModelSlim, or run without",
     "其算子为 CUDA 实现：请用 msModelSlim 量化或不量化运行"},
    {"autoawq", "", "its kernels are CUDA's: quantise with msModelSlim, or run without",
     "其算子为 CUDA 实现：请用 msModelSlim 量化或不量化运行"},
    {"autoawq-kernels", "", "CUDA kernels: there is nothing like them for NPU", "CUDA 算子，NPU 上没有对应版本"},
    {"bitsandbytes*", "torch_npu.optim.NpuFusedAdamW",
     "its 8-bit optimizers and layers are CUDA's: take an optimizer of torch_npu.optim and bf16; of NPUs only recent "
     "builds know a little (4-bit nf4)",
     "其 8 位优化器与层为 CUDA 实现：请用 torch_npu.optim 的优化器与 bf16；仅新版本对 NPU 有少量支持（4 位 nf4）"},
    {"bmtrain", "DeepSpeed ZeRO or FSDP", "not supported on NPU: shard by DeepSpeed ZeRO or FSDP",
     "NPU 不支持：请用 DeepSpeed ZeRO 或 FSDP"},
    {"colossalai", "torch_npu.optim.NpuFusedAdamW", "its HybridAdam is not supported on NPU",
     "其 HybridAdam 在 NPU 上不支持"},
    {"composer", "", "installs on NPU but does not use it", "可安装，但未适配 NPU"},
    {"mosaicml", "", "installs on NPU but does not use it", "可安装，但未适配 NPU"},
    {"ctranslate2", "", "has no NPU back end", "没有 NPU 后端"},
    {"cuda-python", "acl (pyACL)", "binds the CUDA driver: the like of it is pyACL", "CUDA 驱动的绑定：对应 pyACL"},
    {"cuda-*", "", kNvidiaEn, kNvidiaZh},
    {"cuda", "", kNvidiaEn, kNvidiaZh},
    {"cudatoolkit*", "", kNvidiaEn, kNvidiaZh},
    {"cudf*", "pandas", "RAPIDS needs an NVIDIA GPU", "RAPIDS 需要 NVIDIA GPU"},
    {"cudnn", "", kNvidiaEn, kNvidiaZh},
    {"cuml*", "scikit-learn", "RAPIDS needs an NVIDIA GPU", "RAPIDS 需要 NVIDIA GPU"},
    {"cupy*", "numpy, or torch on npu", "arrays on CUDA: take numpy on the host or tensors on npu",
     "CUDA 数组库：主机上用 numpy，设备上用 npu 张量"},
    {"cutlass*", "", kNvidiaEn, kNvidiaZh},
    {"deepspeed", "",
     "works on NPU from 0.10.1 on by its own NPU accelerator, if torch_npu is installed; Lamb, sparse attention and "
     "its transformer kernels are not there",
     "0.10.1 起自带 NPU 支持（需安装 torch_npu）；不含 Lamb、稀疏注意力与 transformer 算子"},
    {"dgl-cu*", "dgl", "a build for CUDA: the plain one works on the CPU", "CUDA 版本：普通版本可在 CPU 上运行"},
    {"exllama*", "", "CUDA kernels: there is nothing like them for NPU", "CUDA 算子，NPU 上没有对应版本"},
    {"faiss-gpu*", "faiss-cpu", "a build for CUDA: take faiss-cpu", "CUDA 版本：请用 faiss-cpu"},
    {"flash-attn*", "torch_npu.npu_fusion_attention",
     "CUDA kernels: torch_npu.npu_fusion_attention or scaled_dot_product_attention do this on NPU",
     "CUDA 算子：NPU 请用 torch_npu.npu_fusion_attention 或 scaled_dot_product_attention"},
    {"flashinfer*", "torch_npu.npu_fused_infer_attention_score", "CUDA kernels of inference", "推理用 CUDA 算子"},
    {"fused-layer-norm", "torch_npu.npu_rms_norm", "CUDA kernels", "CUDA 算子"},
    {"gpustat", "npu-smi", kToolEn, kToolZh},
    {"gputil", "npu-smi", kToolEn, kToolZh},
    {"grouped-gemm*", "torch_npu.npu_grouped_matmul", "does not install on NPU: torch_npu.npu_grouped_matmul does this",
     "NPU 上无法安装：请用 torch_npu.npu_grouped_matmul"},
    {"horovod", "DistributedDataParallel with hccl",
     "has no NPU build for PyTorch: take DistributedDataParallel; TensorFlow scripts are changed by convert_tf2npu",
     "PyTorch 无 NPU 版本：请用 DistributedDataParallel；TensorFlow 脚本由 convert_tf2npu 转换"},
    {"kaolin", "", "CUDA operators: most are not there on NPU", "CUDA 算子，NPU 上大多没有"},
    {"lightllm", "", "CUDA and Triton kernels", "CUDA 与 Triton 算子"},
    {"lmdeploy", "dlinfer-ascend", "works on NPU by dlinfer-ascend", "通过 dlinfer-ascend 支持 NPU"},
    {"mamba-ssm", "", "CUDA kernels: there is nothing like them for NPU in torch_npu",
     "CUDA 算子，torch_npu 没有对应版本"},
    {"causal-conv1d", "", "CUDA kernels: torch.nn.Conv1d with padding gives the same numbers",
     "CUDA 算子：带填充的 torch.nn.Conv1d 结果相同"},
    {"megablocks", "torch_npu.npu_grouped_matmul", "CUDA and Triton kernels", "CUDA 与 Triton 算子"},
    {"megatron-core", "MindSpeed", "works on NPU with MindSpeed", "NPU 上需配合 MindSpeed"},
    {"minkowskiengine", "", "CUDA operators: there is nothing like them for NPU", "CUDA 算子，NPU 上没有对应版本"},
    {"mmcv", "", "build it for NPU: MMCV_WITH_OPS=1 FORCE_NPU=1 pip install from source",
     "请为 NPU 编译：源码安装时设置 MMCV_WITH_OPS=1 FORCE_NPU=1"},
    {"mmcv-full", "", "build it for NPU: MMCV_WITH_OPS=1 FORCE_NPU=1 pip install from source",
     "请为 NPU 编译：源码安装时设置 MMCV_WITH_OPS=1 FORCE_NPU=1"},
    {"mxnet-cu*", "", "a build for CUDA", "CUDA 版本"},
    {"nccl", "", kNvidiaEn, kNvidiaZh},
    {"numba-cuda", "", kNvidiaEn, kNvidiaZh},
    {"nvidia-dali*", "torchvision or OpenCV on the host", "decodes on NVIDIA GPUs: load data on the host",
     "在 NVIDIA GPU 上解码：请在主机上加载数据"},
    {"nvidia-ml-py*", "npu-smi", kToolEn, kToolZh},
    {"nvidia-*", "", kNvidiaEn, kNvidiaZh},
    {"nvitop", "npu-smi", kToolEn, kToolZh},
    {"onnxruntime-gpu", "onnxruntime-cann", "a build for CUDA: that of NPU is onnxruntime-cann",
     "CUDA 版本：NPU 版本为 onnxruntime-cann"},
    {"paddlepaddle-gpu", "paddlepaddle and paddle-custom-npu", "a build for CUDA", "CUDA 版本"},
    {"py3nvml", "npu-smi", kToolEn, kToolZh},
    {"pycuda", "acl (pyACL)", "binds the CUDA driver: the like of it is pyACL", "CUDA 驱动的绑定：对应 pyACL"},
    {"pynvml", "npu-smi", kToolEn, kToolZh},
    {"pytorch-cuda", "", "makes conda take PyTorch's CUDA build: take the CPU build and torch-npu",
     "使 conda 选择 PyTorch 的 CUDA 版本：请用 CPU 版本与 torch-npu"},
    {"pytorch3d", "", "its CUDA operators are not there on NPU", "其 CUDA 算子在 NPU 上不可用"},
    {"rapids*", "", "RAPIDS needs an NVIDIA GPU", "RAPIDS 需要 NVIDIA GPU"},
    {"sglang", "", "NPU needs its own build", "NPU 需使用专用版本"},
    {"spconv*", "", "CUDA operators: there is nothing like them for NPU", "CUDA 算子，NPU 上没有对应版本"},
    {"tensorflow-gpu", "tensorflow and npu_device", "a build for CUDA: take tensorflow with npu_device",
     "CUDA 版本：请用 tensorflow 与 npu_device"},
    {"tensorrt*", "atc (om models)", "NVIDIA's inference engine: that of NPUs is om models by atc",
     "NVIDIA 推理引擎：NPU 请用 atc 转换 om 模型"},
    {"torch-tensorrt", "atc (om models)", "NVIDIA's inference engine: that of NPUs is om models by atc",
     "NVIDIA 推理引擎：NPU 请用 atc 转换 om 模型"},
    {"torchao", "", "its kernels are CUDA's", "其算子为 CUDA 实现"},
    {"torchsparse*", "", "CUDA operators: there is nothing like them for NPU", "CUDA 算子，NPU 上没有对应版本"},
    {"transformer-engine*", "MindSpeed", "NVIDIA's: MindSpeed has the like for NPU", "NVIDIA 的库：NPU 请用 MindSpeed"},
    {"triton", "triton-ascend", "compiles for CUDA: that of NPUs is triton-ascend",
     "面向 CUDA 编译：NPU 版本为 triton-ascend"},
    {"vllm", "vllm-ascend", "works on NPU by its plug-in vllm-ascend", "通过插件 vllm-ascend 支持 NPU"},
    {"xformers", "torch_npu.npu_fusion_attention",
     "CUDA kernels: its memory_efficient_attention is torch_npu.npu_fusion_attention on NPU",
     "CUDA 算子：memory_efficient_attention 在 NPU 上为 torch_npu.npu_fusion_attention"},
});

std::string normalised(std::string_view name) {
  std::string out;
  for (const char c : name) {
    const bool dash = c == '-' || c == '_' || c == '.';
    if (dash && !out.empty() && out.back() == '-') continue;
    out += dash ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return out;
}

bool is_package_byte(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.'; }

/// +cu121, /cu121, =cuda118, py3.11_cuda12.1_cudnn8
bool cuda_build(std::string_view version) {
  for (std::size_t at = 0; (at = version.find("cu", at)) != std::string_view::npos; at += 2) {
    const bool starts = at == 0 || !std::isalnum(static_cast<unsigned char>(version[at - 1]));
    std::size_t digit = at + 2;
    if (version.substr(digit, 2) == "da") digit += 2;
    if (starts && digit < version.size() &&
        (std::isdigit(static_cast<unsigned char>(version[digit])) || version[digit] == '*'))
      return true;
  }
  return false;
}

constexpr std::size_t kLongestName = 200;

void cuda_build_finding(Sheet& sheet, std::string_view name, std::size_t begin, std::size_t end) {
  Finding& f =
      sheet.add("TX231", Category::ThirdParty, Confidence::Certain, begin, end,
                {std::string(name) +
                     " is asked for as a CUDA build: take the CPU build and, of torch, torch-npu of the same version",
                 std::string(name) + " 指定了 CUDA 版本：请改用 CPU 版本，并为 torch 安装同版本的 torch-npu"});
  f.api = name;
  f.suggestion = name == "torch" ? "torch+cpu, torch-npu" : "";
}

bool package_finding(Sheet& sheet, std::string_view name, std::size_t begin, std::size_t end) {
  const Package* row = package(name);
  if (!row) return false;
  Finding& f =
      sheet.add("TX232", Category::ThirdParty, Confidence::Certain, begin, end,
                {std::string(name) + ": " + std::string(row->en), std::string(name) + "：" + std::string(row->zh)});
  f.api = name;
  f.suggestion = row->alternative;
  return true;
}

}  // namespace

const Package* package(std::string_view name) {
  if (name.empty() || name.size() > kLongestName) return nullptr;
  const std::string wanted = normalised(name);
  for (const Package& row : kPackages) {
    const bool any = row.name.back() == '*';
    const std::string_view stem = any ? row.name.substr(0, row.name.size() - 1) : row.name;
    if (any ? wanted.starts_with(stem) : wanted == stem) return &row;
  }
  return nullptr;
}

void requirement(Sheet& sheet, std::string_view spec, std::size_t begin) {
  std::size_t at = 0;
  if (const std::size_t channel = spec.find("::"); channel != std::string_view::npos) at = channel + 2;
  if (spec.starts_with("http:") || spec.starts_with("https:") || spec.starts_with("git+") ||
      spec.starts_with("file:")) {
    // …/torch-2.1.0%2Bcu118-cp310-….whl, git+https://github.com/NVIDIA/apex.git@sha
    const bool git = spec.starts_with("git+");
    std::string_view path = spec.substr(0, spec.find_first_of("#?;"));
    if (const std::size_t ref = path.rfind('@'); git && ref != std::string_view::npos && ref > path.find("://") + 3)
      path = path.substr(0, ref);
    if (path.ends_with(".git")) path.remove_suffix(4);
    std::string_view last = path.substr(path.rfind('/') + 1);
    std::string_view version = last;
    if (!git) last = last.substr(0, last.find('-'));
    if (package_finding(sheet, last, begin, begin + path.size())) return;
    if (!git && (cuda_build(version) || version.find("%2Bcu") != std::string_view::npos))
      cuda_build_finding(sheet, last, begin, begin + path.size());
    return;
  }
  std::size_t end = at;
  while (end < spec.size() && is_package_byte(spec[end])) ++end;
  const std::string_view name = spec.substr(at, end - at);
  if (name.empty()) return;
  std::size_t stop = spec.find_first_of(";#", end);
  if (stop == std::string_view::npos) stop = spec.size();
  while (stop > end && std::isspace(static_cast<unsigned char>(spec[stop - 1]))) --stop;
  const std::string_view version = spec.substr(end, stop - end);
  if (const std::size_t url = version.find("@"); url != std::string_view::npos) {
    if (package_finding(sheet, name, begin + at, begin + stop)) return;
  }
  requirement(sheet, name, version, begin + at, begin + stop);
}

void requirement(Sheet& sheet, std::string_view name, std::string_view version, std::size_t begin, std::size_t end) {
  if (package_finding(sheet, name, begin, end)) return;
  if (cuda_build(version)) cuda_build_finding(sheet, name, begin, end);
}

void package_index(Sheet& sheet, std::string_view url, std::size_t begin) {
  const bool pytorch = url.find("download.pytorch.org/whl") != std::string_view::npos &&
                       url.find("/whl/cpu") == std::string_view::npos && !url.ends_with("/whl") &&
                       !url.ends_with("/whl/");
  const bool nvidia = url.find("pypi.nvidia.com") != std::string_view::npos ||
                      url.find("pypi.ngc.nvidia.com") != std::string_view::npos ||
                      url.find("developer.download.nvidia.com") != std::string_view::npos;
  if (!pytorch && !nvidia && !cuda_build(url)) return;
  if (!pytorch && !nvidia && url.find("://") == std::string_view::npos) return;
  sheet.add(
      "TX233", Category::ThirdParty, Confidence::Certain, begin, begin + url.size(),
      {"an index of CUDA builds: PyTorch's for the CPU is https://download.pytorch.org/whl/cpu, torch-npu is on PyPI",
       "CUDA 版本的软件源：PyTorch CPU 版本在 https://download.pytorch.org/whl/cpu，torch-npu 在 PyPI"});
}

}  // namespace updraft::migrate::text
