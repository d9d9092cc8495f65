"""Makes migrate/support/data/torch_cuda.tsv: every public name below torch.cuda and what stands for it on NPU.

Asks the installed torch and torch_npu: a twin is a name that exists below torch.npu. Notes are ours. tests/migrate holds the table
against the wheel.

usage: torch_cuda.py [OUT]
"""

import importlib
import pathlib
import sys
import types
import warnings

warnings.simplefilter("ignore")
OUT = pathlib.Path(__file__).parents[2] / "migrate/support/data/torch_cuda.tsv"
MODULES = ["amp", "amp.autocast_mode", "amp.common", "amp.grad_scaler", "comm", "gds", "graphs", "green_contexts",
           "jiterator", "memory", "nccl", "nvtx", "profiler", "random", "sparse", "streams", "tunable"]
# twins whose name is not the same with npu for cuda; every one must exist
RENAMED = {
    "torch.cuda.CUDAGraph": "torch.npu.NPUGraph",
    "torch.cuda.graphs.CUDAGraph": "torch.npu.NPUGraph",
    "torch.cuda.CUDAPluggableAllocator": "torch.npu.NPUPluggableAllocator",
    "torch.cuda.memory.CUDAPluggableAllocator": "torch.npu.NPUPluggableAllocator",
    "torch.cuda.nvtx": "torch.npu.mstx",
    "torch.cuda.nvtx.mark": "torch.npu.mstx.mark",
    "torch.cuda.nvtx.range_push": "torch.npu.mstx.range_push",
    "torch.cuda.nvtx.range_pop": "torch.npu.mstx.range_pop",
    "torch.cuda.nvtx.range_start": "torch.npu.mstx.range_start",
    "torch.cuda.nvtx.range_end": "torch.npu.mstx.range_end",
    "torch.cuda.OutOfMemoryError": "torch.OutOfMemoryError",
    "torch.cuda.AcceleratorError": "torch.AcceleratorError",
    "torch.cuda._sanitizer.enable_cuda_sanitizer": "torch_npu.npu._sanitizer.enable_npu_sanitizer",
    "torch.backends.cuda.matmul.allow_tf32": "torch.npu.matmul.allow_hf32",
    "torch.backends.cudnn.allow_tf32": "torch.npu.conv.allow_hf32",
    "torch.backends.cuda.cufft_plan_cache": "torch.npu.backends.fft_plan_cache",
    "torch.backends.cuda.enable_flash_sdp": "torch.npu.enable_flash_sdp",
    "torch.backends.cuda.enable_math_sdp": "torch.npu.enable_math_sdp",
    "torch.backends.cuda.enable_mem_efficient_sdp": "torch.npu.enable_mem_efficient_sdp",
    "torch.backends.cuda.flash_sdp_enabled": "torch.npu.flash_sdp_enabled",
    "torch.backends.cuda.math_sdp_enabled": "torch.npu.math_sdp_enabled",
    "torch.backends.cuda.mem_efficient_sdp_enabled": "torch.npu.mem_efficient_sdp_enabled",
    "torch.backends.cuda.preferred_linalg_library": "torch.npu.preferred_linalg_library",
    "torch.backends.cuda.sdp_kernel": "torch.npu.sdp_kernel",
}
# by name; a module's note serves its members
NOTES = {
    "torch.cuda.comm": ("use torch.distributed collectives", "改用 torch.distributed 集合通信"),
    "torch.cuda.nccl": ("use torch.distributed with backend hccl", "改用 torch.distributed 的 hccl 后端"),
    "torch.cuda.nvtx": ("torch.npu.mstx has ranges and marks (seen in torch_npu 2.13; msg= is message= there), but not the context manager nvtx.range",
                        "torch.npu.mstx 提供区间和标记（torch_npu 2.13 已确认；参数 msg 改名 message），无上下文管理器 nvtx.range"),
    "torch.cuda.sparse": ("no operators on NPU sparse tensors here", "NPU 无对应的稀疏算子"),
    "torch.cuda.jiterator": ("compiles CUDA C++ at run time: write the function with PyTorch operators",
                             "运行时编译 CUDA C++：请改用 PyTorch 算子实现"),
    "torch.cuda.gds": ("GPUDirect Storage is NVIDIA's: read through host memory", "GPUDirect Storage 为 NVIDIA 特有：经主机内存读取"),
    "torch.cuda.green_contexts": ("partitions of a GPU's SMs; no counterpart", "GPU SM 划分，无对应功能"),
    "torch.cuda.GreenContext": ("partitions of a GPU's SMs; no counterpart", "GPU SM 划分，无对应功能"),
    "torch.cuda.tunable": ("tunes cuBLAS and hipBLAS; remove it", "用于调优 cuBLAS/hipBLAS，请删除"),
    "torch.cuda.profiler": ("use torch_npu.profiler", "改用 torch_npu.profiler"),
    "torch.cuda.cudart": ("the CUDA runtime itself: no counterpart", "CUDA 运行时本身，无对应接口"),
    "torch.cuda.check_error": ("codes of the CUDA runtime: no counterpart", "CUDA 运行时错误码，无对应接口"),
    "torch.cuda.CudaError": ("catch RuntimeError", "改为捕获 RuntimeError"),
    "torch.cuda.DeferredCudaCallError": ("catch RuntimeError", "改为捕获 RuntimeError"),
    "torch.cuda.get_arch_list": ("compute capabilities of CUDA builds; an NPU has none", "CUDA 计算能力，NPU 无此概念"),
    "torch.cuda.get_gencode_flags": ("flags of nvcc; an NPU has none", "nvcc 编译选项，NPU 无此概念"),
    "torch.cuda.get_device_capability": ("is None on NPU unless TORCH_NPU_DEVICE_CAPABILITY gives one: code that compares it with (8, 0) and the like must change",
                                         "NPU 上返回 None（除非设置 TORCH_NPU_DEVICE_CAPABILITY），与 (8, 0) 等比较的代码需修改"),
    "torch.cuda.current_solver_handle": ("a handle of cuSOLVER: no counterpart", "cuSOLVER 句柄，无对应接口"),
    "torch.cuda.list_gpu_processes": ("use npu-smi info", "使用 npu-smi info"),
    "torch.cuda.power_draw": ("use npu-smi info", "使用 npu-smi info"),
    "torch.cuda.temperature": ("use npu-smi info", "使用 npu-smi info"),
    "torch.cuda.clock_rate": ("use npu-smi info", "使用 npu-smi info"),
    "torch.cuda.memory_usage": ("use npu-smi info", "使用 npu-smi info"),
    "torch.cuda.device_memory_used": ("use torch.npu.mem_get_info", "改用 torch.npu.mem_get_info"),
    "torch.cuda.is_tf32_supported": ("NPUs have HF32: torch.npu.matmul.allow_hf32", "NPU 为 HF32：torch.npu.matmul.allow_hf32"),
    "torch.backends.cuda.matmul.allow_tf32": ("HF32 is the NPU's short form of float32", "HF32 为 NPU 的 float32 低精度模式"),
    "torch.backends.cudnn.allow_tf32": ("HF32 is the NPU's short form of float32", "HF32 为 NPU 的 float32 低精度模式"),
    "torch.cuda.has_half": ("NPUs have float16: the constant may be replaced by True", "NPU 支持 float16，可替换为 True"),
    "torch.cuda.has_magma": ("MAGMA is not used: the constant may be replaced by False", "不使用 MAGMA，可替换为 False"),
    "torch.cuda.DoubleTensor": ("most operators lack float64 on NPU", "NPU 大多数算子不支持 float64"),
    "torch.cuda.ComplexDoubleStorage": ("no storage class of this type; use UntypedStorage", "无此类型存储类，改用 UntypedStorage"),
    "torch.cuda.ComplexFloatStorage": ("no storage class of this type; use UntypedStorage", "无此类型存储类，改用 UntypedStorage"),
    "torch.cuda.caching_allocator_enable": ("remove it: the allocator of torch_npu has its own settings, PYTORCH_NPU_ALLOC_CONF",
                                            "请删除：torch_npu 内存池由 PYTORCH_NPU_ALLOC_CONF 配置"),
    "torch.cuda.get_stream_from_external": ("use torch.npu.ExternalStream", "改用 torch.npu.ExternalStream"),
}


def find(name):
    """The object of a dotted name, or an exception: AttributeError where the last part is missing."""
    import torch
    import torch_npu
    parts = name.split(".")
    thing = {"torch": torch, "torch_npu": torch_npu}[parts[0]]
    for at, part in enumerate(parts[1:], 1):
        if not hasattr(thing, part) and isinstance(thing, types.ModuleType):
            try:
                importlib.import_module(".".join(parts[:at + 1]))
            except ImportError:
                pass
        thing = getattr(thing, part)
    return thing


def exists(name):
    try:
        find(name)
        return True
    except AttributeError:
        return False


def kind_of(thing):
    if isinstance(thing, types.ModuleType):
        return "module"
    return "class" if isinstance(thing, type) else "function" if callable(thing) else "value"


def belongs(thing, module):
    """Whether a name is torch's own, not something that a module imports for itself."""
    home = getattr(thing, "__module__", None) or getattr(thing, "__name__", None)
    if isinstance(thing, types.ModuleType):
        return thing.__name__.startswith("torch.cuda.")
    if home is None:  # a constant
        return True
    return str(home).startswith("torch.cuda") or home == "torch" and module == "torch.cuda"


def names():
    """(name, kind) of every public name below torch.cuda, and of what RENAMED adds elsewhere."""
    import torch  # noqa: F401
    found = {}
    for module in ["torch.cuda", *("torch.cuda." + m for m in MODULES)]:
        inside = importlib.import_module(module)
        if module != "torch.cuda":
            found[module] = "module"
        offered = getattr(inside, "__all__", None)
        for attribute in sorted(set(dir(inside)) | set(offered or ())):
            thing = getattr(inside, attribute, None)
            own = thing is not None and (belongs(thing, module) or attribute in (offered or ()))
            if attribute.startswith("_") or not own or thing is True and attribute == "TYPE_CHECKING":
                continue
            if kind_of(thing) == "value" and offered is not None and attribute not in offered:
                continue  # variables of the implementation
            found[module + "." + attribute] = kind_of(thing)
    for name in RENAMED:
        found.setdefault(name, kind_of(find(name)))
    return found


def twin(name):
    if name in RENAMED:
        return RENAMED[name]
    same = name.replace("torch.cuda", "torch.npu", 1)
    if name.startswith("torch.cuda") and exists(same):
        thing = find(same)
        home = str(getattr(thing, "__module__", None) or getattr(thing, "__name__", ""))
        if home in ("", "None") or home.startswith(("torch_npu", "torch.npu")) or kind_of(thing) == "value":
            return same
    top = "torch.npu." + name.rpartition(".")[2]
    if name.startswith("torch.cuda.memory.") and exists(top):  # torch_npu has some at its top only
        return top
    return ""


def note(name):
    if name not in NOTES and "torch.cuda." + name.rpartition(".")[2] in NOTES:
        name = "torch.cuda." + name.rpartition(".")[2]  # torch.cuda.memory.X is torch.cuda.X
    while name.count("."):
        if name in NOTES:
            return NOTES[name]
        name = name.rpartition(".")[0]
    return "", ""


def rows():
    for name, kind in sorted(names().items()):
        there = twin(name)
        # what an import can take from a module it cannot take from a class
        other = kind_of(find(there)) if kind == "module" and there else kind
        yield (name, kind, there, *note(name), other if other != kind else "")


def main():
    import torch
    import torch_npu
    out = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else OUT
    head = ("# Names below torch.cuda (and a few of torch.backends) and what torch_npu has for them; made by\n"
            "# tools/migrate_facts/torch_cuda.py with torch %s and torch_npu %s. No npu name: there is none.\n"
            "# npu kind: where a module's twin is no module.\n"
            "name\tkind\tnpu\tnote\tnote (zh)\tnpu kind\n" % (torch.__version__.split("+")[0], torch_npu.__version__))
    table = list(rows())
    out.write_text(head + "".join("\t".join(row) + "\n" for row in table))
    print("%s: %d names, %d without a twin" % (out, len(table), sum(not row[2] for row in table)))


if __name__ == "__main__":
    main()
