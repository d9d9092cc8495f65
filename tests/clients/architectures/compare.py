"""One architecture: a small model with the weights of a seed, forward and backward, on the NPU against PyTorch's CPU in float64."""
import copy
import math
import random

import numpy
import torch

from . import small

MOST_PARAMETERS = 60e6
# Of the largest element of the result, and of the largest of all gradients: many thousand float32 roundings in a row.
BOUND = 1e-4
BOUND_OF_FLOAT32 = 1e-3  # where float64 is refused and the CPU's float32 is all there is


# op-plugin's gelu calls aclnnGelu(self, out) and drops `approximate` (GeluOutKernelNpuOpApi.cpp), on the card as here: the reference
# does the same.
gelu = torch.nn.functional.gelu
torch.nn.functional.gelu = lambda x, approximate="none": gelu(x)


class NotCompared(Exception):
    """Why an architecture says nothing about the NPU."""


def step(model, inputs, seed=2):
    """The first tensor of what forward() returns, and the gradients of its mean square."""
    torch.manual_seed(seed)
    random.seed(seed)
    numpy.random.seed(seed)
    model.zero_grad()
    out = model(**inputs)
    out = out if isinstance(out, torch.Tensor) else out[0]
    out = out[0] if isinstance(out, (tuple, list)) else out
    (out * out).mean().backward()
    grads = {name: p.grad.double().cpu() for name, p in model.named_parameters() if p.grad is not None}
    return out.detach().double().cpu(), grads


def count(cfg):
    """Parameters; 0 where a model is not made without its weights."""
    from transformers import AutoModel
    try:
        with torch.device("meta"):
            return sum(p.numel() for p in AutoModel.from_config(cfg).parameters())
    except (NotImplementedError, RuntimeError, TypeError, AttributeError):
        return 0


def convert(inputs, f):
    return {k: f(v) for k, v in inputs.items()}


def compare(name):
    """What is wrong, "" for nothing. Raises NotCompared where there is nothing to compare with."""
    from transformers import AutoModel
    try:
        cfg = small.config(name)
        parameters = count(cfg)
        if parameters > MOST_PARAMETERS:
            raise NotCompared(f"{parameters / 1e6:.0f} million parameters however small its layers are")
        torch.manual_seed(0)
        model = AutoModel.from_config(cfg).float().eval()
    except ImportError as e:
        raise NotCompared("wants a package: " + first_line(e)) from e
    except NotCompared:
        raise
    except Exception as e:
        raise NotCompared("not made that small: " + first_line(e)) from e
    inputs = small.inputs(model, cfg)
    if isinstance(inputs, str):
        raise NotCompared("its forward " + inputs)
    npu = copy.deepcopy(model).npu()
    double = copy.deepcopy(model).double()
    try:
        cpu_out, cpu_grads = step(model, inputs)
        again, _ = step(model, inputs, seed=3)
    except Exception as e:
        raise NotCompared("PyTorch's CPU refuses it: " + first_line(e)) from e
    if not torch.equal(again, cpu_out):
        raise NotCompared("it draws random numbers in inference")
    try:
        out, grads = step(double, convert(inputs, lambda t: t.double() if t.is_floating_point() else t))
        bound = BOUND
    except Exception:  # it names float32 somewhere
        out, grads, bound = cpu_out, cpu_grads, BOUND_OF_FLOAT32
    scale = max([float(g.abs().max()) for g in grads.values() if g.numel()] or [0.0])
    if not torch.isfinite(out).all() or not math.isfinite(scale) or out.abs().max() < 1e-20:
        raise NotCompared("its result or a gradient is not finite, or zero, with weights of a seed")
    if float((cpu_out - out).abs().max()) > 0.1 * float(out.abs().max()):
        raise NotCompared("float32 and float64 differ by a tenth on the CPU")

    npu_out, npu_grads = step(npu, convert(inputs, lambda t: t.npu()))
    if npu_out.shape != out.shape:
        return f"shape {tuple(npu_out.shape)}, wanted {tuple(out.shape)}"
    wrong = too_far("result", npu_out, out, cpu_out, bound * float(out.abs().max()))
    if set(npu_grads) != set(grads):
        return wrong + f"gradients of other parameters: {sorted(set(npu_grads) ^ set(grads))[:3]}"
    for key, wanted in grads.items():
        if wanted.numel():
            wrong = wrong or too_far("gradient of " + key, npu_grads[key], wanted, cpu_grads[key], bound * scale)
    return wrong


def too_far(what, got, wanted, cpu, bound):
    """Against float64, with what float32 loses on the CPU allowed four times."""
    error = float((got - wanted).abs().max())
    allowed = bound + 4 * float((cpu - wanted).abs().max())
    return "" if error <= allowed else f"{what}: {error:.2e} from the reference, allowed {allowed:.2e}; "


def first_line(e):
    text = str(e).strip().split("\n")
    return f"{type(e).__name__} {text[0][:140]}".strip()
