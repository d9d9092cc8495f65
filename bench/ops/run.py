"""Single operators on npu:0 against PyTorch's CPU device, forward, a process each, in turn. A call is repeated for 20 ms or so, and
npu:0 is waited for at the end of that, as programs do: the host issues the next call while the device still computes.

    ./dev bench ops [--only add,softmax]
    ./dev bench ops --samples [--only add,softmax]
    UPDRAFT_THREADS=1 ./dev bench ops                both sides with one thread

--samples measures every operator that has a sample and a reference (tests/ops) with sizes of 1024: the two phases of its C
functions, called from Python and waited for, against the reference on PyTorch's CPU device.
"""
import argparse
import os
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "ops"))
import references
import samples
import torch
import torch_npu  # noqa: F401
from torch.nn import functional as F

from bench.measure import PART, InProcess, interleave, machine, report

M = 1 << 20


def r(*shape, dtype=torch.float32):
    return torch.randn(*shape).to(dtype)


def square():
    return r(1024, 1024)


def definite():
    x = r(1024, 1024)
    return x @ x.t() / 1024 + torch.eye(1024)


def rotary(x, cos, sin):
    """The NPU's operator; on the CPU what models write."""
    if x.device.type == "npu":
        return torch_npu.npu_rotary_mul(x, cos, sin)
    first, second = x.chunk(2, -1)
    return x * cos + torch.cat((-second, first), -1) * sin


CASES = {
    "add f32 1M": (lambda x, y: x + y, lambda: (r(M), r(M))),
    "add bf16 1M": (lambda x, y: x + y, lambda: (r(M, dtype=torch.bfloat16), r(M, dtype=torch.bfloat16))),
    "add f16 1M": (lambda x, y: x + y, lambda: (r(M, dtype=torch.float16), r(M, dtype=torch.float16))),
    "add int64 1M": (lambda x, y: x + y, lambda: (torch.randint(9, (M,)), torch.randint(9, (M,)))),
    "mul scalar 1M": (lambda x: x * 3.0, lambda: (r(M),)),
    "bias add 1024x1024": (lambda x, y: x + y, lambda: (r(1024, 1024), r(1024))),
    "cast f32 to bf16 1M": (lambda x: x.to(torch.bfloat16), lambda: (r(M),)),
    "transpose copy 1024x1024": (lambda x: x.t().contiguous(), lambda: (r(1024, 1024),)),
    "transpose copy bf16 2048x512": (lambda x: x.t().contiguous(), lambda: (r(2048, 512, dtype=torch.bfloat16),)),
    "heads of words bf16 4x128x12x64": (lambda x: x.transpose(1, 2).contiguous(), lambda: (r(4, 128, 12, 64, dtype=torch.bfloat16),)),
    "channels last 8x3x224x224": (lambda x: x.permute(0, 2, 3, 1).contiguous(), lambda: (r(8, 3, 224, 224),)),
    "half of each row 4096x128": (lambda x: x[:, :64].contiguous(), lambda: (r(4096, 128),)),
    "flip 1024x1024": (lambda x: x.flip(1), lambda: (r(1024, 1024),)),
    "bias add 100000x8": (lambda x, y: x + y, lambda: (r(100000, 8), r(8))),
    "add of a column 100000x8": (lambda x, y: x + y, lambda: (r(100000, 8), r(100000, 1))),
    "add int8 1M": (lambda x, y: x + y, lambda: (torch.randint(50, (M,), dtype=torch.int8), torch.randint(50, (M,), dtype=torch.int8))),
    "floor_divide int32 1M": (torch.floor_divide, lambda: (torch.randint(50, (M,), dtype=torch.int32), torch.randint(1, 50, (M,), dtype=torch.int32))),
    "log 1M": (lambda x: x.log(), lambda: (r(M).abs(),)),
    "gelu bf16 1M": (F.gelu, lambda: (r(M, dtype=torch.bfloat16),)),
    "mul f16 1M": (lambda x, y: x * y, lambda: (r(M, dtype=torch.float16), r(M, dtype=torch.float16))),
    "exp 1M": (torch.exp, lambda: (r(M),)),
    "gelu 1M": (F.gelu, lambda: (r(M),)),
    "gelu tanh 1M": (lambda x: F.gelu(x, approximate="tanh"), lambda: (r(M),)),
    "silu 1M": (F.silu, lambda: (r(M),)),
    "where 1M": (lambda c, x, y: torch.where(c, x, y), lambda: (r(M) > 0, r(M), r(M))),
    "sum 1M": (torch.sum, lambda: (r(M),)),
    "sum rows 1024x1024": (lambda x: x.sum(0), lambda: (r(1024, 1024),)),
    "sum columns 1024x1024": (lambda x: x.sum(1), lambda: (r(1024, 1024),)),
    "max 1M": (torch.max, lambda: (r(M),)),
    "max int8 1M": (torch.max, lambda: (torch.randint(50, (M,), dtype=torch.int8),)),
    "largest of rows 1024x1024": (lambda x: x.amax(0), lambda: (r(1024, 1024),)),
    "largest of columns 16384x64": (lambda x: x.amax(1), lambda: (r(16384, 64),)),
    "sum columns 16384x64": (lambda x: x.sum(1), lambda: (r(16384, 64),)),
    "norm of columns 16384x64": (lambda x: x.norm(dim=1), lambda: (r(16384, 64),)),
    "cumsum 100000x8": (lambda x: x.cumsum(1), lambda: (r(100000, 8),)),
    "argmax 1024x1024": (lambda x: x.argmax(1), lambda: (r(1024, 1024),)),
    "cumsum 1024x1024": (lambda x: x.cumsum(1), lambda: (r(1024, 1024),)),
    "softmax 20000x16": (lambda x: F.softmax(x, -1), lambda: (r(20000, 16),)),
    "softmax 6272x49": (lambda x: F.softmax(x, -1), lambda: (r(6272, 49),)),
    "softmax 1536x256": (lambda x: F.softmax(x, -1), lambda: (r(1536, 256),)),
    "log_softmax 512x30522": (lambda x: F.log_softmax(x, -1), lambda: (r(512, 30522),)),
    "layer_norm 1024x768": (lambda x, w, b: F.layer_norm(x, (768,), w, b), lambda: (r(1024, 768), r(768), r(768))),
    "batch_norm 8x256x56x56": (lambda x, w, b: F.batch_norm(x, None, None, w, b, True), lambda: (r(8, 256, 56, 56), r(256), r(256))),
    "group_norm 8x256x28x28": (lambda x, w, b: F.group_norm(x, 32, w, b), lambda: (r(8, 256, 28, 28), r(256), r(256))),
    "linear 1024x512x2048": (F.linear, lambda: (r(1024, 512), r(2048, 512), r(2048))),
    "bmm 32x256x64x256": (torch.bmm, lambda: (r(32, 256, 64), r(32, 64, 256))),
    "conv 3x3 8x128x28x28": (lambda x, w: F.conv2d(x, w, padding=1), lambda: (r(8, 128, 28, 28), r(128, 128, 3, 3))),
    "conv 1x1 8x256x28x28": (F.conv2d, lambda: (r(8, 256, 28, 28), r(512, 256, 1, 1))),
    "attention 4x8x256x64": (lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
                             lambda: (r(4, 8, 256, 64), r(4, 8, 256, 64), r(4, 8, 256, 64))),
    "max_pool 8x64x112x112": (lambda x: F.max_pool2d(x, 3, 2, 1), lambda: (r(8, 64, 112, 112),)),
    "embedding 1024 of 50k x 512": (F.embedding, lambda: (torch.randint(50000, (1024,)), r(50000, 512))),
    "index_select 1024 of 50k x 512": (lambda x, i: x.index_select(0, i), lambda: (r(50000, 512), torch.randint(50000, (1024,)))),
    "cat 4 x 1M/4": (lambda *x: torch.cat(x), lambda: [r(M // 4) for _ in range(4)]),
    "sort 1M": (lambda x: x.sort()[0], lambda: (r(M),)),
    "topk 50 of 512x30522": (lambda x: x.topk(50)[0], lambda: (r(512, 30522),)),
    "nonzero 1M": (torch.nonzero, lambda: ((r(M) > 1),)),
    "dropout 1M": (lambda x: F.dropout(x, 0.1), lambda: (r(M),)),
    "randn 1M": (lambda x: x.normal_(), lambda: (r(M),)),
    "rotary 4x8x256x64": (rotary, lambda: (r(4, 8, 256, 64), r(1, 1, 256, 64), r(1, 1, 256, 64))),
    "gather 1M of 1024x1024": (lambda x, i: x.gather(1, i), lambda: (r(1024, 1024), torch.randint(1024, (1024, 1024)))),
    "index_select 64k of 1M x 1": (lambda x, i: x.index_select(0, i), lambda: (r(M), torch.randint(M, (M // 16,)))),
    "embedding gradient 4096 of 30k x 256": (lambda g, i: torch.ops.aten.embedding_dense_backward(g, i, 30000, -1, False),
                                             lambda: (r(4096, 256), torch.randint(30000, (4096,)))),
    "embedding gradient bf16 4096 of 30k x 256": (lambda g, i: torch.ops.aten.embedding_dense_backward(g, i, 30000, -1, False),
                                                  lambda: (r(4096, 256, dtype=torch.bfloat16), torch.randint(30000, (4096,)))),
    "gelu 1M, gradient": (lambda g, x: torch.ops.aten.gelu_backward(g, x), lambda: (r(M), r(M))),
    "linear 1576x384x1536": (F.linear, lambda: (r(8 * 197, 384), r(1536, 384), r(1536))),
    "linear f16 1576x384x1536": (F.linear, lambda: (r(8 * 197, 384, dtype=torch.float16), r(1536, 384, dtype=torch.float16), r(1536, dtype=torch.float16))),
    "softmax f16 1536x256": (lambda x: F.softmax(x, -1), lambda: (r(1536, 256, dtype=torch.float16),)),
    "log_softmax bf16 64x30522": (lambda x: F.log_softmax(x, -1), lambda: (r(64, 30522, dtype=torch.bfloat16),)),
    "topk 8 of f16 256x8192": (lambda x: x.topk(8)[0], lambda: (r(256, 8192, dtype=torch.float16),)),
    "sum rows f16 1024x1024": (lambda x: x.sum(0), lambda: (r(1024, 1024, dtype=torch.float16),)),
    "sum rows bf16 1024x1024": (lambda x: x.sum(0), lambda: (r(1024, 1024, dtype=torch.bfloat16),)),
    "sum rows 100000x8": (lambda x: x.sum(0), lambda: (r(100000, 8),)),
    # Factorisations of 1024 x 1024. Functions of torch.linalg for which torch_npu has no operator it computes on the host with
    # PyTorch's own code, and copies: those rows say so, and nothing of ours is measured by them but the copies.
    "inverse 1024": (torch.inverse, lambda: (square(),)),
    "slogdet 1024": (torch.slogdet, lambda: (square(),)),
    "cholesky 1024": (torch.linalg.cholesky, lambda: (definite(),)),
    "triangular solve 1024": (lambda a, b: torch.linalg.solve_triangular(a, b, upper=True), lambda: (definite().triu(), square())),
    "qr 1024": (torch.linalg.qr, lambda: (square(),)),
    "svd 1024": (lambda x: torch.linalg.svd(x, full_matrices=False), lambda: (square(),)),
    "lu 1024 (torch_npu: on the host)": (torch.linalg.lu_factor, lambda: (square(),)),
    "solve 1024 (torch_npu: on the host)": (torch.linalg.solve, lambda: (square(), square())),
    "eigh 1024 (torch_npu: on the host)": (torch.linalg.eigh, lambda: (definite(),)),
}


SIZES = {"N": 1024, "M": 1024}


def case(name, device):
    """What CASES describes, as a call."""
    call, draw = CASES[name]
    torch.manual_seed(0)
    arguments = [x.to(device) for x in draw()]
    return lambda: call(*arguments)


def sample(name, device):
    """What the operator's descriptor describes; on the CPU its reference."""
    drawn = samples.Case(name, SIZES)
    if device == "npu":
        return drawn.call()
    reference, arguments = references.find(name), drawn.read(widen=False)
    return lambda: reference(*arguments)


def operators(device, make):
    """A call that runs one case and returns the seconds of one execution."""
    torch.set_num_threads(int(os.environ.get("UPDRAFT_THREADS", len(os.sched_getaffinity(0)))))
    made = {}

    def run(name, repeats):
        if name not in made:
            made.clear()
            made[name] = make(name, device)
        call = made[name]
        call()  # its threads are awake, its code is in the caches
        if device == "npu":
            torch.npu.synchronize()
        start = time.perf_counter()
        for _ in range(repeats):
            call()
        if device == "npu":
            torch.npu.synchronize()
        return (time.perf_counter() - start) / repeats

    return run


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="substrings of the rows")
    parser.add_argument("--samples", action="store_true", help="every operator by its sample")
    options = parser.parse_args()
    sides = [InProcess(operators, device, sample if options.samples else case) for device in ("npu", "cpu")]
    names = [n for n in samples.sampled() if references.find(n)] if options.samples else list(CASES)
    wanted = options.only.lower().split(",")
    before, rows = machine(), {}
    for name in names:
        if not any(part in name.lower() for part in wanted):
            continue

        def timed(side, repeats):
            side(name, repeats)
            return side.value

        repeats = max(3, min(300, int(0.02 / timed(sides[1], 3))))
        rounds = {"rounds": 5, "attempts": 1} if options.samples else {"rounds": 9}
        rows[name] = interleave(lambda: timed(sides[0], repeats), lambda: timed(sides[1], repeats), warm=1, **rounds)
    part = PART if options.only else ""
    if options.samples:
        report("operators" + part, rows, "./dev bench ops --samples", "PyTorch CPU", before)
    else:
        report("ops" + part, rows, "./dev bench ops", "PyTorch CPU", before)


if __name__ == "__main__":
    main()
