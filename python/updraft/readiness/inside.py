"""In each process of a run with a report: which operators torch_npu sends to the CPU, and from where.

Its fallback brings the operands to the host by aten::_to_cpu, which nothing else calls. A kernel of ours there counts the calls and
does the same. It is not told the operator's name, so the report shows the line of Python.
"""

import atexit
import json
import os
import sys

MOST_FRAMES = 24
_state = {"library": None, "calls": {}}


def stack(depth=1):
    """The frames above the caller, the innermost first: (file, line, function)."""
    frame, frames = sys._getframe(depth + 1), []
    while frame is not None and len(frames) < MOST_FRAMES:
        frames.append((frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name))
        frame = frame.f_back
    return tuple(frames)


def watch():
    """After `import torch`; once."""
    folder = os.environ.get("UPDRAFT_READINESS")
    if not folder or _state["library"] is not None:
        return
    import torch

    wide = {bool: torch.bool, int: torch.int64, float: torch.float64, complex: torch.complex128}

    def to_cpu(tensors):
        frames = stack()
        _state["calls"][frames] = _state["calls"].get(frames, 0) + 1
        # numbers among the operands are handed to a kernel in Python as such
        return [x.cpu() if isinstance(x, torch.Tensor) else torch.scalar_tensor(x, dtype=wide[type(x)]) for x in tensors]

    _state["library"] = torch.library.Library("aten", "IMPL")
    _state["library"].impl("_to_cpu", to_cpu, "PrivateUse1")
    atexit.register(_write, folder, os.getpid())


def _write(folder, process):
    if os.getpid() != process or not _state["calls"]:
        return
    calls = [{"count": n, "where": [dict(zip(("file", "line", "function"), f)) for f in frames]} for frames, n in _state["calls"].items()]
    path = os.path.join(folder, "%d.fallbacks" % process)
    try:
        with open(path, "w") as file:
            json.dump(calls, file)
    except OSError as error:
        print("updraft: %s, for the report of this run: %s" % (path, error.strerror), file=sys.stderr)
