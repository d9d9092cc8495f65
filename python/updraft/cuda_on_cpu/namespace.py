"""torch.cuda as one device that is the CPU."""

import os
import time
import types

import torch


class Stream:
    def __init__(self, device=None, priority=0, **kwargs):
        self.device, self.priority, self.cuda_stream, self.stream_id = torch.device("cuda", 0), priority, 0, 0

    def synchronize(self):
        pass

    def query(self):
        return True

    def wait_stream(self, stream):
        pass

    def wait_event(self, event):
        pass

    def record_event(self, event=None):
        event = event or Event()
        event.record(self)
        return event

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        return None


class Event:
    def __init__(self, enable_timing=False, blocking=False, interprocess=False, external=False):
        self.at = None

    def record(self, stream=None):
        self.at = time.perf_counter()

    def wait(self, stream=None):
        pass

    def query(self):
        return True

    def synchronize(self):
        pass

    def elapsed_time(self, end):
        if self.at is None or end.at is None:
            raise RuntimeError("both events must be recorded before elapsed_time")
        return (end.at - self.at) * 1e3


class Context:
    """torch.cuda.device, device_of, stream and the like."""

    def __init__(self, *args, **kwargs):
        self.args = args

    def __enter__(self):
        return None

    def __exit__(self, *exception):
        return False


def _memory():
    with open("/proc/meminfo") as f:
        return next(int(line.split()[1]) * 1024 for line in f if line.startswith("MemTotal:"))


def _properties(device=None):
    return types.SimpleNamespace(name=NAME, major=8, minor=0, total_memory=_memory(), multi_processor_count=os.cpu_count(),
                                 warp_size=32, gcnArchName="", is_integrated=0, is_multi_gpu_board=0,
                                 max_threads_per_multi_processor=2048, regs_per_multiprocessor=65536)


NAME = "CPU in place of CUDA (updraft migrate --verify)"
NOTHING = """set_device synchronize empty_cache init ipc_collect reset_peak_memory_stats reset_max_memory_allocated
reset_max_memory_cached reset_accumulated_memory_stats set_per_process_memory_fraction manual_seed manual_seed_all seed seed_all
set_rng_state set_rng_state_all set_stream set_sync_debug_mode""".split()
ZERO = """current_device memory_allocated max_memory_allocated memory_reserved max_memory_reserved memory_cached
max_memory_cached utilization temperature power_draw initial_seed get_sync_debug_mode""".split()
TRUE = "is_available is_initialized is_bf16_supported is_tf32_supported can_device_access_peer".split()


def _always(value=None):
    """A function of its own for each name: torch._dynamo tells its rules on them apart by identity."""
    return lambda *args, **kwargs: value


def apply():
    cuda = torch.cuda
    # NOTHING: the one device is never behind, and seeds of CUDA are not those of the CPU, which stay as they are
    for names, value in ((NOTHING, None), (ZERO, 0), (TRUE, True)):
        for name in names:
            setattr(cuda, name, _always(value))
    ranks = max(1, int(os.environ.get("LOCAL_WORLD_SIZE", "1") or 1))
    stream = Stream()
    answers = {
        "device_count": lambda: ranks, "get_device_name": lambda device=None: NAME,
        "get_device_capability": lambda device=None: (8, 0), "get_device_properties": _properties,
        "mem_get_info": lambda device=None: (_memory() // 2, _memory()), "memory_stats": lambda device=None: {},
        "memory_summary": lambda *args, **kwargs: "", "memory_snapshot": lambda *args, **kwargs: [],
        "get_arch_list": lambda: ["sm_80"], "get_gencode_flags": lambda: "",
        "current_stream": lambda device=None: stream, "default_stream": lambda device=None: stream,
        "get_rng_state": lambda device=None: torch.get_rng_state(),
        "get_rng_state_all": lambda: [torch.get_rng_state()], "list_gpu_processes": lambda device=None: "",
        "Stream": Stream, "Event": Event, "ExternalStream": Stream, "device": Context, "device_of": Context,
        "stream": type("stream", (Context,), {}), "StreamContext": Context,
    }
    for name, value in answers.items():
        setattr(cuda, name, value)
    # get_rng_state gives the CPU's, which set_rng_state must not set: draws since would repeat
    for kind in "Float Double Half BFloat16 Byte Char Short Int Long Bool".split():
        setattr(cuda, kind + "Tensor", getattr(torch, kind + "Tensor"))
    for name in "range_push range_pop mark range_start range_end".split():
        setattr(cuda.nvtx, name, _always())
    cuda.nvtx.range = cuda.profiler.profile = Context
    cuda.profiler.start, cuda.profiler.stop = _always(), _always()
    torch.version.cuda = "12.8"
