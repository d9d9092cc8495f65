"""The cases that the torch_npu wheel declares for TorchAir's converters: each operator compiled and eager, with the same inputs.

usage: python -m tests.graph.torchair_cases [--every N] [NAME…]     prints what differs or fails, and counts
"""

import argparse
import collections
import json

import torch
import torch_npu  # noqa: F401
import torchair
from torchair._ge_concrete_graph import fx2ge_converter
from torchair._ge_concrete_graph.supported_declaration import _TypedTensor
from torchair.configs.compiler_config import CompilerConfig

TOLERANCE = {torch.float16: 4e-3, torch.bfloat16: 2e-2}
# What is not the virtual NPU's: where the inputs that a case makes are wrong, or the converter composes something else.
NOT_OURS = {
    "_native_batch_norm_legit": "the converter returns outputs in another order than PyTorch",
    "native_batch_norm_backward": "the converter takes the inverse deviation for the variance",
    "batch_norm_elemt": "negative numbers as inverse deviations, of which the converter makes variances",
    "native_group_norm_backward": "negative numbers as inverse deviations",
    "batch_norm_backward_elemt": "sums of the shape of the image",
    "scatter.src": "random numbers as indices: out of range eagerly as well",
    "_prelu_kernel": "the case gives a list for a tensor",
    "grid_sampler_2d_backward": "PyTorch returns a gradient that the mask leaves out",
    "linalg_vector_norm": "the converter adds halves where float was asked for",
    "_foreach_frac": "integers, of which PyTorch returns zeros and the converter the numbers",
}


def made(argument):
    if isinstance(argument, (list, tuple)):
        return [made(a) for a in argument]
    if not isinstance(argument, _TypedTensor):
        return argument
    if argument.value is not None:
        return torch.tensor(argument.value, dtype=argument.dtype).npu()
    if argument.value_range is not None:
        low, high = argument.value_range
        return (torch.rand(*argument.dims) * (high - low) + low).to(argument.dtype).npu()
    return torch.randn(*argument.dims).to(argument.dtype).npu()


def copied(arguments):
    return [a.clone() if isinstance(a, torch.Tensor) else copied(a) if isinstance(a, list) else a for a in arguments]


def flat(results):
    return [x for r in results for x in flat(r)] if isinstance(results, (list, tuple)) else [results]


def seed():
    torch.manual_seed(0)
    torch.npu.manual_seed(0)


def same(got, want):
    if not isinstance(want, torch.Tensor) or not isinstance(got, torch.Tensor):
        return not isinstance(want, torch.Tensor) or want.numel() == 0
    if got.dtype != want.dtype or got.shape != want.shape:
        return False
    tolerance = TOLERANCE.get(want.dtype, 1e-4)
    complex_or_not = [t.cpu().to(torch.complex128 if t.is_complex() else torch.float64) for t in (got, want)]
    return torch.allclose(*complex_or_not, rtol=tolerance, atol=tolerance, equal_nan=True)


def run(operator, case, backend):
    """None when both are the same, else why not."""
    torch._dynamo.reset()
    seed()
    arguments, named = made(case.args), {name: made(value) for name, value in case.kwargs.items()}
    try:
        seed()
        want = operator(*copied(arguments), **named)
        torch.npu.synchronize()
    except Exception as error:
        return "eager: %s" % (str(error).splitlines() or [""])[0]
    try:
        seed()
        got = torch.compile(lambda *a, **k: operator(*a, **k), backend=backend, dynamic=False)(*arguments, **named)
        torch.npu.synchronize()
    except Exception as error:
        lines = [line for line in str(error).splitlines() if line.strip()]
        return "compiled: %s" % (lines or [type(error).__name__])[0]
    got, want = flat(got), flat(want)
    return None if len(got) == len(want) and all(map(same, got, want)) else "differs"


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--every", type=int, default=1)
    options.add_argument("names", nargs="*")
    options = options.parse_args()
    backend = torchair.get_npu_backend(compiler_config=CompilerConfig())
    counts, wrong = collections.Counter(), set()
    number = -1
    for operator, converter in sorted(fx2ge_converter._declare_supported_converters().items(), key=lambda item: str(item[0])):
        for case in converter.supported_cases or ():
            number += 1
            if number % options.every or (options.names and not any(n in str(operator) for n in options.names)):
                continue
            why = run(operator, case, backend)
            reason = next((r for n, r in NOT_OURS.items() if n in str(operator)), None)
            if why and "fake tensor" in why:
                reason = "PyTorch has no shape rule for these inputs"
            counts["equal" if not why else "not ours" if reason else "wrong"] += 1
            if why and not reason:
                wrong.add(str(operator))
            if why:
                print("%s %s %s: %s%s" % (operator, case.args, case.kwargs, why, " (%s)" % reason if reason else ""), flush=True)
    print("@@" + json.dumps({**counts, "names": sorted(wrong)}), flush=True)


if __name__ == "__main__":
    main()
