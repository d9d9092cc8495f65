"""What `updraft run --find-nan` needs of Python: the lines that are running when an operator is submitted."""

import ctypes
import os
import sys
import threading

from updraft import home

_kept = []  # callbacks that the library calls live as long as the process


def _lines(frame):
    lines = []
    while frame is not None:
        code = frame.f_code
        if code.co_filename != __file__:
            lines.append("%s\t%d\t%s" % (code.co_filename, frame.f_lineno, code.co_name))
        frame = frame.f_back
    return lines[::-1]


def _backward():
    """Of a thread that autograd made: the node that runs, the forward lines that made it, and who called backward."""
    lines = []
    torch = sys.modules.get("torch")
    node = torch._C._current_autograd_node() if torch and hasattr(torch._C, "_current_autograd_node") else None
    if node is not None:
        lines.append("    the backward of %s" % node.name())
        forward = node.metadata.get("traceback_") if hasattr(node, "metadata") else None
        if forward:
            lines.append("    whose forward was called from:")
            lines += ["  " + line.rstrip("\n") for entry in forward for line in entry.rstrip("\n").split("\n")]
    main = sys._current_frames().get(threading.main_thread().ident)
    if main is not None:
        lines.append("    while the main thread is in:")
        lines += _lines(main)
    return lines


def _stack():
    frame = sys._getframe()
    lines = _lines(frame)
    return "\n".join(lines or _backward())


def install():
    """Gives the library the callback. Once."""
    if _kept:
        return
    prototype = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int)

    def take(to, size):
        try:
            data = _stack().encode("utf-8", "replace")
            if len(data) > size:  # the innermost lines matter
                data = data[-size:]
                data = data[data.find(b"\n") + 1:]
            ctypes.memmove(to, data, len(data))
            return len(data)
        except Exception:
            return 0

    _kept.append(prototype(take))
    library = ctypes.CDLL(os.path.join(home(), "lib64", "libupdraft.so"))
    library.updraft_find_nan_stack(_kept[0])


def remember_forward():
    """Backward nodes keep the lines that made them."""
    import torch

    torch.autograd.set_detect_anomaly(True, check_nan=False)
