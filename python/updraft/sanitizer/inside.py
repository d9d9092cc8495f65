"""In each process of a run under the sanitizer: torch_npu's caching allocator tells which blocks it gives out and takes back.

torch_npu has callbacks for its own sanitizer (torch_npu.utils._npu_trace). While nobody else uses those of memory, they go straight
to the library.
"""

import ctypes
import os
import signal
import sys
import threading

from updraft import home

_state = {"watched": False}


def _direct(registry, function):
    """The registry's callbacks, through Python only once there are others."""
    added = registry.add_callback

    def add_callback(callback, name):
        registry.__dict__.pop("fire_callbacks", None)
        registry.__dict__.pop("add_callback", None)
        added(function, "updraft")
        added(callback, name)

    if registry.callback_list:
        added(function, "updraft")
        return
    registry.fire_callbacks = function
    registry.add_callback = add_callback


def _in_callback(frame):
    """Where torch_npu tells of its calls: an import, a list of callbacks, and this file."""
    file = frame.f_code.co_filename if frame is not None else ""
    return file == __file__ or "importlib" in file or os.path.basename(file) == "_npu_trace.py"


def _interrupt(number, frame):
    """Ctrl-C. torch_npu drops what is raised where it tells of its calls, and a signal that came while a call waited in C arrives
    just there. It is raised in the first line behind."""
    if not _in_callback(frame) or sys.getprofile() is not None:
        signal.default_int_handler(number, frame)

    def behind(current, event, _):
        if not _in_callback(current):
            sys.setprofile(None)
            signal.default_int_handler(number, current)

    sys.setprofile(behind)


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
    for registry, function in ((trace.NPUMemoryAllocationCallbacks, library.updraft_sanitizer_block_taken),
                               (trace.NPUMemoryDeallocationCallbacks, library.updraft_sanitizer_block_freed)):
        function.restype, function.argtypes = None, (ctypes.c_void_p,)
        _direct(registry, function)
    torch_npu._C._activate_npu_trace(0)
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)
