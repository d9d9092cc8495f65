#include "migrate/text/variables.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace updraft::migrate::text {
namespace {

using enum Confidence;
constexpr std::string_view kSameEn = "the same setting of NPUs", kSameZh = "NPU 上的对应设置";
constexpr std::string_view kReadEn = "torch_npu reads it under this name", kReadZh = "torch_npu 以此名称读取该设置";
constexpr std::string_view kRdmaEn = "HCCL's setting of RDMA; compare the value with the network's";
constexpr std::string_view kRdmaZh = "HCCL 的 RDMA 设置；请按网络配置核对取值";

// Sorted by name. Ranges of HCCL's values: docs/use/hccl-variables.md.
constexpr std::array kVariables = std::to_array<Variable>({
    {"CUBLAS_WORKSPACE_CONFIG", "", Review,
     "of cuBLAS: without an effect on NPU; torch.use_deterministic_algorithms and HCCL_DETERMINISTIC make runs "
     "repeatable",
     "cuBLAS 的变量，在 NPU 上无效；可复现性由 torch.use_deterministic_algorithms 与 HCCL_DETERMINISTIC 保证"},
    {"CUDA_DEVICE_MAX_CONNECTIONS", "", Review,
     "without an effect on NPU; Megatron only checks that it is 1, so leave it for that",
     "在 NPU 上无效；Megatron 仅检查其值为 1，为此可保留"},
    {"CUDA_DEVICE_ORDER", "", Review, "without an effect on NPU: npu-smi and programs count devices alike",
     "在 NPU 上无效：npu-smi 与程序的设备编号一致"},
    {"CUDA_HOME", "", Review, "names the CUDA toolkit; that of CANN is ASCEND_TOOLKIT_HOME, which set_env.sh sets",
     "CUDA 工具包路径；CANN 的路径为 ASCEND_TOOLKIT_HOME，由 set_env.sh 设置"},
    {"CUDA_LAUNCH_BLOCKING", "ASCEND_LAUNCH_BLOCKING", Certain, kReadEn, kReadZh},
    {"CUDA_MODULE_LOADING", "", Review, "without an effect on NPU", "在 NPU 上无效"},
    {"CUDA_PATH", "", Review, "names the CUDA toolkit; that of CANN is ASCEND_TOOLKIT_HOME, which set_env.sh sets",
     "CUDA 工具包路径；CANN 的路径为 ASCEND_TOOLKIT_HOME，由 set_env.sh 设置"},
    {"CUDA_VISIBLE_DEVICES", "ASCEND_RT_VISIBLE_DEVICES", Certain, "chooses the NPUs that a process sees",
     "选择进程可见的 NPU"},
    {"FORCE_CUDA", "", Review, "makes a package build its CUDA operators: without an effect on NPU",
     "强制构建 CUDA 算子，在 NPU 上无效"},
    {"NCCL_ALGO", "", Review,
     "HCCL_ALGO chooses HCCL's algorithms and is written differently: \"level0:NA;level1:ring\"",
     "HCCL 的算法由 HCCL_ALGO 选择，写法不同：\"level0:NA;level1:ring\""},
    {"NCCL_ASYNC_ERROR_HANDLING", "HCCL_ASYNC_ERROR_HANDLING", Certain, kReadEn, kReadZh},
    {"NCCL_BLOCKING_WAIT", "HCCL_BLOCKING_WAIT", Certain, kReadEn, kReadZh},
    {"NCCL_BUFFSIZE", "", Review, "HCCL_BUFFSIZE is the like of it, in MB (default 200) where NCCL counts bytes",
     "对应 HCCL_BUFFSIZE，单位为 MB（默认 200），而 NCCL 以字节计"},
    {"NCCL_DEBUG", "", Review, "HCCL logs by ASCEND_GLOBAL_LOG_LEVEL (0 debug … 3 error) and HCCL_ENTRY_LOG_ENABLE=1",
     "HCCL 的日志由 ASCEND_GLOBAL_LOG_LEVEL（0 debug … 3 error）与 HCCL_ENTRY_LOG_ENABLE=1 控制"},
    {"NCCL_DESYNC_DEBUG", "HCCL_DESYNC_DEBUG", Certain, kReadEn, kReadZh},
    {"NCCL_IB_QPS_PER_CONNECTION", "HCCL_RDMA_QPS_PER_CONNECTION", Likely, kRdmaEn, kRdmaZh},
    {"NCCL_IB_RETRY_CNT", "HCCL_RDMA_RETRY_CNT", Likely, kRdmaEn, kRdmaZh},
    {"NCCL_IB_SL", "HCCL_RDMA_SL", Likely, kRdmaEn, kRdmaZh},
    {"NCCL_IB_TC", "HCCL_RDMA_TC", Likely, kRdmaEn, kRdmaZh},
    {"NCCL_IB_TIMEOUT", "HCCL_RDMA_TIMEOUT", Likely, kRdmaEn, kRdmaZh},
    {"NCCL_SOCKET_FAMILY", "HCCL_SOCKET_FAMILY", Certain, kSameEn, kSameZh},
    {"NCCL_SOCKET_IFNAME", "HCCL_SOCKET_IFNAME", Certain,
     "the same setting of HCCL, written alike (eth, =eth0, ^docker)",
     "HCCL 的对应设置，写法相同（eth、=eth0、^docker）"},
    {"NVIDIA_DRIVER_CAPABILITIES", "", Review, "of NVIDIA's container runtime: without an effect on NPU",
     "NVIDIA 容器运行时的变量，在 NPU 上无效"},
    {"NVIDIA_TF32_OVERRIDE", "", Review, "without an effect on NPU; torch.npu.matmul.allow_hf32 is the like of TF32",
     "在 NPU 上无效；与 TF32 相当的是 torch.npu.matmul.allow_hf32"},
    {"NVIDIA_VISIBLE_DEVICES", "ASCEND_VISIBLE_DEVICES", Review,
     "of NVIDIA's container runtime; that of Ascend takes numbers (0-7), not all",
     "NVIDIA 容器运行时的变量；Ascend 容器运行时取编号（0-7），不支持 all"},
    {"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_NPU_ALLOC_CONF", Certain, kReadEn, kReadZh},
    {"TF_FORCE_GPU_ALLOW_GROWTH", "", Review, "without an effect on NPU: memory is not taken in advance",
     "在 NPU 上无效"},
    {"TORCH_CUDA_ARCH_LIST", "", Review, "chooses for which GPUs CUDA operators are built: without an effect on NPU",
     "选择 CUDA 算子的 GPU 架构，在 NPU 上无效"},
    {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "TORCH_HCCL_ASYNC_ERROR_HANDLING", Certain, kReadEn, kReadZh},
    {"TORCH_NCCL_BLOCKING_WAIT", "TORCH_HCCL_BLOCKING_WAIT", Certain, kReadEn, kReadZh},
    {"TORCH_NCCL_COORD_CHECK_MILSEC", "TORCH_HCCL_COORD_CHECK_MILSEC", Certain, kReadEn, kReadZh},
    {"TORCH_NCCL_DEBUG_INFO_PIPE_FILE", "TORCH_HCCL_DEBUG_INFO_PIPE_FILE", Certain, kReadEn, kReadZh},
    {"TORCH_NCCL_DEBUG_INFO_TEMP_FILE", "TORCH_HCCL_DEBUG_INFO_TEMP_FILE", Certain, kReadEn, kReadZh},
    {"TORCH_NCCL_DESYNC_DEBUG", "TORCH_HCCL_DESYNC_DEBUG", Certain, kReadEn, kReadZh},
    {"TORCH_NCCL_DUMP_ON_TIMEOUT", "TORCH_HCCL_DUMP_ON_TIMEOUT", Certain, kReadEn, kReadZh},
    {"TORCH_NCCL_ENABLE_MONITORING", "TORCH_HCCL_ENABLE_MONITORING", Certain, kReadEn, kReadZh},
    {"TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC", "TORCH_HCCL_HEARTBEAT_TIMEOUT_SEC", Certain, kReadEn, kReadZh},
    {"TORCH_NCCL_HIGH_PRIORITY", "TORCH_HCCL_HIGH_PRIORITY", Certain, kReadEn, kReadZh},
    {"TORCH_NCCL_RANKS_PER_ROOT", "TORCH_HCCL_RANKS_PER_ROOT", Certain, kReadEn, kReadZh},
    {"TORCH_NCCL_TRACE_BUFFER_SIZE", "TORCH_HCCL_TRACE_BUFFER_SIZE", Certain, kReadEn, kReadZh},
    {"TORCH_NCCL_TRACE_CPP_STACK", "TORCH_HCCL_TRACE_CPP_STACK", Certain, kReadEn, kReadZh},
    {"TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC", "TORCH_HCCL_WAIT_TIMEOUT_DUMP_MILSEC", Certain, kReadEn, kReadZh},
});
static_assert(std::is_sorted(kVariables.begin(), kVariables.end(),
                             [](const Variable& a, const Variable& b) { return a.name < b.name; }));

constexpr Variable kNccl = {"NCCL_", "", Review, "a setting of NCCL: HCCL does not read it and has no like of it",
                            "NCCL 的设置：HCCL 不读取，也没有对应项"};
constexpr Variable kTorchNccl = {"TORCH_NCCL_", "", Review, "a setting of NCCL in PyTorch: torch_npu has no like of it",
                                 "PyTorch 中 NCCL 的设置：torch_npu 没有对应项"};

}  // namespace

bool is_name_byte(char c) noexcept {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

const Variable* variable(std::string_view name) noexcept {
  const auto found = std::lower_bound(kVariables.begin(), kVariables.end(), name,
                                      [](const Variable& row, std::string_view n) { return row.name < n; });
  if (found != kVariables.end() && found->name == name) return &*found;
  if (name.starts_with("NCCL_") && name.size() > 5) return &kNccl;
  if (name.starts_with("TORCH_NCCL_") && name.size() > 11) return &kTorchNccl;
  return nullptr;
}

bool value_fits(const Variable& variable, std::string_view value) {
  if (value.empty() || value.find('$') != std::string_view::npos) return true;
  if (variable.name == "CUDA_VISIBLE_DEVICES" || variable.name == "NVIDIA_VISIBLE_DEVICES")
    return value.find_first_not_of("0123456789,- ") == std::string_view::npos;  // no GPU-uuid, MIG-…, all
  if (variable.name == "PYTORCH_CUDA_ALLOC_CONF") return value.find("cudaMallocAsync") == std::string_view::npos;
  struct Range {
    std::string_view name;
    int low, high, step;
  };
  for (const Range& r :
       {Range{"HCCL_RDMA_TC", 0, 255, 4}, Range{"HCCL_RDMA_SL", 0, 7, 1}, Range{"HCCL_RDMA_TIMEOUT", 5, 20, 1},
        Range{"HCCL_RDMA_RETRY_CNT", 1, 7, 1}, Range{"HCCL_RDMA_QPS_PER_CONNECTION", 1, 32, 1}}) {
    if (variable.replacement != r.name) continue;
    int number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    return error == std::errc() && end == value.data() + value.size() && number >= r.low && number <= r.high &&
           number % r.step == 0;
  }
  return true;
}

}  // namespace updraft::migrate::text
