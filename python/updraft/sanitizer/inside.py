"""In each process of a run under the sanitizer: torch_npu's caching allocator tells which blocks it gives out and takes back.

torch_npu has callbacks for its own sanitizer (torch_npu.utils._npu_trace). While nobody else uses them, they are functions of the
library (src/observe/sanitizer/torch_hooks.cpp).
"""

import builtins
import contextlib
import ctypes
import gc
import os
import sys

from updraft import home

_state = {"watched": False}
TAKEN, FREED, IGNORED = range(3)


def watch():
    """After `import torch_npu`; once."""
    if _state["watched"] or not os.environ.get("UPDRAFT_SANITIZE"):
        return
    if "torch_npu" not in sys.modules:
        return
    import torch_npu
    import torch_npu.utils._npu_trace as trace

    _state["watched"] = True
    # with the interpreter's lock: the library looks where Python stands
    library = ctypes.PyDLL(os.path.join(home(), "lib64", "libupdraft.so"))
    library.updraft_sanitizer_function.restype = library.updraft_sanitizer_import.restype = ctypes.py_object
    library.updraft_sanitizer_import.argtypes = (ctypes.py_object, ctypes.py_object)
    ours = {trace.NPUMemoryAllocationCallbacks: TAKEN, trace.NPUMemoryDeallocationCallbacks: FREED}
    registries = [one for one in vars(trace).values() if isinstance(one, trace.CallbackRegistry)]
    functions = {one: library.updraft_sanitizer_function(ours.get(one, IGNORED)) for one in registries}
    added = trace.CallbackRegistry.add_callback

    def through_python():
        library.updraft_sanitizer_indirect()
        for one in registries:
            one.__dict__.pop("fire_callbacks", None)
            one.__dict__.pop("add_callback", None)
            if one in ours:
                added(one, functions[one], "updraft")

    def adding(registry):
        def add_callback(callback, name):
            through_python()
            registry.add_callback(callback, name)

        return add_callback

    if any(one.callback_list for one in registries):
        through_python()
    else:
        for one in registries:
            one.fire_callbacks, one.add_callback = functions[one], adding(one)
        builtins.__import__ = library.updraft_sanitizer_import(builtins.__import__, torch_npu)
    torch_npu._C._activate_npu_trace(0)
    library.updraft_sanitizer_now.restype = ctypes.c_uint64
    library.updraft_sanitizer_blocks.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint64)
    _state["library"] = library
    gc.callbacks.append(_collected)
    _watch_fallbacks()


def _collected(phase, info):
    """torch_npu does not tell of all tensors that the collector frees while torch.compile traces: then we ask for what is in use."""
    if phase != "stop" or info["generation"] < 2 or not info["collected"] or "torch._dynamo" not in sys.modules:
        return
    import torch_npu

    if not torch_npu.npu.is_initialized() or torch_npu.npu._is_in_bad_fork():
        return
    since, used = _state["library"].updraft_sanitizer_now(), []
    for segment in torch_npu.npu.memory_snapshot():
        at = segment["address"]
        for block in segment["blocks"]:
            if block["state"] != "inactive":
                used.append(at)
            at += block["size"]
    _state["library"].updraft_sanitizer_blocks((ctypes.c_void_p * len(used))(*used), len(used), since)


@contextlib.contextmanager
def fallback():
    """Around copies to the CPU for an operator that runs there: nobody has written those that it is to write."""
    library = _state.get("library")
    if library:
        library.updraft_sanitizer_fallback(1)
    try:
        yield
    finally:
        if library:
            library.updraft_sanitizer_fallback(0)


def _watch_fallbacks():
    """An operator that runs on the CPU takes the tensors that it is to write over there, too."""
    if os.environ.get("UPDRAFT_READINESS"):
        return  # which has a kernel of its own there
    import torch

    wide = {bool: torch.bool, int: torch.int64, float: torch.float64, complex: torch.complex128}

    def to_cpu(tensors):
        with fallback():
            return [x.cpu() if isinstance(x, torch.Tensor) else torch.scalar_tensor(x, dtype=wide[type(x)]) for x in tensors]

    _state["fallbacks"] = torch.library.Library("aten", "IMPL")
    _state["fallbacks"].impl("_to_cpu", to_cpu, "PrivateUse1")
