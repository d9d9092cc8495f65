"""What only Python knows, in each process of a run with a report: the lines from which torch_npu sends operators to the CPU, and
the steps of its fused optimizers that miss gradients.

Its fallback brings the operands to the host by aten::_to_cpu, which nothing else calls. A kernel of ours there counts the calls and
does the same. It is not told the operator's name, so the report shows the line of Python.
"""

import atexit
import json
import os
import sys

MOST_FRAMES = 24
COUNTED = ("fallbacks", "lost_gradients")  # each: how often by stack
_state = {"library": None, **{name: {} for name in COUNTED}}


def stack(depth=1):
    """The frames above the caller, the innermost first: (file, line, function)."""
    frame, frames = sys._getframe(depth + 1), []
    while frame is not None and len(frames) < MOST_FRAMES:
        frames.append((frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name))
        frame = frame.f_back
    return tuple(frames)


def _count(name, frames):
    _state[name][frames] = _state[name].get(frames, 0) + 1


def _before_step(optimizer, args, kwargs):
    """torch_npu's fused optimizers step by one buffer, which holds the gradients of the first step. Whoever lets go of these, and not
    by the optimizer's own zero_grad(), has the next ones elsewhere."""
    if not getattr(optimizer, "is_params_grads_combined", False):
        return
    buffers = [(b.data_ptr(), b.numel() * b.element_size()) for b in optimizer.get_combined_grads() if b is not None]
    gradients = (p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None)
    if not all(any(0 <= g.data_ptr() - at < size for at, size in buffers) for g in gradients):
        _count("lost_gradients", stack())


def watch():
    """After `import torch`; once."""
    folder = os.environ.get("UPDRAFT_READINESS")
    if not folder or _state["library"] is not None:
        return
    import torch
    from torch.optim.optimizer import register_optimizer_step_pre_hook

    wide = {bool: torch.bool, int: torch.int64, float: torch.float64, complex: torch.complex128}

    def to_cpu(tensors):
        _count("fallbacks", stack())
        # numbers among the operands are handed to a kernel in Python as such
        return [x.cpu() if isinstance(x, torch.Tensor) else torch.scalar_tensor(x, dtype=wide[type(x)]) for x in tensors]

    _state["library"] = torch.library.Library("aten", "IMPL")
    _state["library"].impl("_to_cpu", to_cpu, "PrivateUse1")
    register_optimizer_step_pre_hook(_before_step)
    atexit.register(_write, folder, os.getpid())


def _write(folder, process):
    if os.getpid() != process or not any(_state[name] for name in COUNTED):
        return
    counted = {name: [{"count": n, "where": [dict(zip(("file", "line", "function"), f)) for f in frames]} for frames, n in _state[name].items()]
               for name in COUNTED}
    path = os.path.join(folder, "%d.python" % process)
    try:
        with open(path, "w") as file:
            json.dump(counted, file)
    except OSError as error:
        print("updraft: %s, for the report of this run: %s" % (path, error.strerror), file=sys.stderr)
