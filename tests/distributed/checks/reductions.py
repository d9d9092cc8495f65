"""all_reduce, reduce, reduce_scatter: every dtype, operator and size against float64."""
import torch
import torch.distributed as dist

from ..launch import DEVICE, LONG
from ..reference import FLOATS, INTEGERS, LARGE, REDUCED, SIZES, numbers, reduced, tolerance
from ..registry import check

OPS = {"sum": dist.ReduceOp.SUM, "prod": dist.ReduceOp.PRODUCT, "max": dist.ReduceOp.MAX, "min": dist.ReduceOp.MIN}
if DEVICE == "npu":  # gloo has no AVG; torch_npu sums and divides
    OPS["avg"] = dist.ReduceOp.AVG


def cases(dtypes):
    for dtype in dtypes:
        for op in OPS:
            if op == "avg" and not dtype.is_floating_point:
                continue
            for n in [*SIZES, *([LARGE] if LONG or op == "sum" else [])]:
                yield dtype, op, n


def compare(world, findings, actual, op, inputs, what):
    dtype = inputs[0].dtype
    rtol, atol = tolerance(op, dtype, world.size)
    findings.same(actual, reduced(op, inputs), f"{what} of {actual.numel()} {dtype} {op}", rtol, atol)


@check(2, 4, seconds=120)
def all_reduce(world, findings):
    for dtype, op, n in cases(REDUCED + ([torch.uint8, torch.bool] if DEVICE == "npu" else [])):
        if op == "avg" and dtype in (torch.uint8, torch.bool):
            continue
        inputs = [numbers(r, n, dtype) for r in range(world.size)]
        x = world.tensor(inputs[world.rank])
        dist.all_reduce(x, OPS[op])
        compare(world, findings, x, op, inputs, "all_reduce")


@check(2, 4, seconds=120)
def reduce_to_each_root(world, findings):
    for n_case, (dtype, op, n) in enumerate(cases(REDUCED)):
        root = n_case % world.size
        inputs = [numbers(r, n, dtype) for r in range(world.size)]
        x = world.tensor(inputs[world.rank])
        dist.reduce(x, root, OPS[op])
        if world.rank == root:
            compare(world, findings, x, op, inputs, "reduce")


@check(2, 4, seconds=120)
def reduce_scatter_tensor(world, findings):
    for dtype, op, n in cases(REDUCED):
        inputs = [numbers(r, n * world.size, dtype) for r in range(world.size)]
        out = world.tensor(torch.empty(n, dtype=dtype))
        dist.reduce_scatter_tensor(out, world.tensor(inputs[world.rank]), OPS[op])
        compare(world, findings, out, op, [x[n * world.rank:n * (world.rank + 1)] for x in inputs], "reduce_scatter_tensor")


@check(2, 4, seconds=120)
def reduce_scatter_of_a_list(world, findings):
    for dtype, op, n in cases([torch.int32, torch.bfloat16, torch.float32]):
        inputs = [numbers(r, n * world.size, dtype).split(n) if n else [torch.empty(0, dtype=dtype)] * world.size for r in range(world.size)]
        out = world.tensor(torch.empty(n, dtype=dtype))
        dist.reduce_scatter(out, [world.tensor(x) for x in inputs[world.rank]], OPS[op])
        compare(world, findings, out, op, [x[world.rank] for x in inputs], "reduce_scatter")


@check(2, 4, npu=True)
def uneven_reduce_scatter(world, findings):
    for counts in ([5, 9, 1, 4000][:world.size], [3, 0, 7, 2][:world.size]):
        for dtype in (torch.int32, torch.float16, torch.float32):
            inputs = [numbers(r, sum(counts), dtype).split(counts) for r in range(world.size)]
            out = world.tensor(torch.empty(counts[world.rank], dtype=dtype))
            dist.reduce_scatter(out, [world.tensor(x) for x in inputs[world.rank]])
            compare(world, findings, out, "sum", [x[world.rank] for x in inputs], f"reduce_scatter {counts}")


@check(2, 4)
def reduction_is_the_same_bits_everywhere(world, findings):
    """Twice on every rank: sums of fp32 and bf16 have one order, whoever comes first."""
    for dtype in (torch.float32, torch.bfloat16):
        for n in (4097, LARGE // 8):
            mine = numbers(world.rank, n, dtype, seed=9)
            results = []
            for _ in range(3):
                x = world.tensor(mine)
                dist.all_reduce(x)
                results.append(x.cpu())
            findings.that(all(torch.equal(results[0], r) for r in results), f"{n} {dtype}: another result when repeated")
            largest, smallest = world.tensor(results[0].float()), world.tensor(results[0].float())
            dist.all_reduce(largest, dist.ReduceOp.MAX)
            dist.all_reduce(smallest, dist.ReduceOp.MIN)
            findings.that(torch.equal(largest.cpu(), smallest.cpu()), f"{n} {dtype}: ranks have different bits")


@check(2, npu=True)
def special_floats(world, findings):
    """NaN wins, infinities stay, a sum of opposite ones is NaN."""
    inf, nan = float("inf"), float("nan")
    rows = [torch.tensor([nan, 1.0, inf, inf, -0.0, 65504.0]), torch.tensor([1.0, nan, 1.0, -inf, 0.0, 65504.0])]
    for dtype in FLOATS:
        for op in ("sum", "max", "min", "prod"):
            x = world.tensor(rows[world.rank].to(dtype))
            dist.all_reduce(x, OPS[op])
            a, b = (r.to(dtype).float() for r in rows)
            expected = {"sum": a + b, "max": torch.maximum(a, b), "min": torch.minimum(a, b), "prod": a * b}[op].to(dtype)
            findings.same(x, expected, f"{op} of {dtype}")


@check(2, npu=True)
def integers_wrap_around(world, findings):
    for dtype in INTEGERS:
        top = torch.iinfo(dtype).max
        x = world.tensor(torch.tensor([top, -top - 1, top], dtype=dtype))
        dist.all_reduce(x)
        findings.same(x, torch.tensor([-2, 0, -2], dtype=dtype), f"sum of {dtype}")


@check(2, npu=True)
def averages_of_integers_are_cut_off(world, findings):
    """torch_npu divides the sum in place."""
    for dtype in INTEGERS:
        x = world.tensor(torch.tensor([[2, -1, 7], [5, -4, 7]][world.rank], dtype=dtype))
        dist.all_reduce(x, dist.ReduceOp.AVG)
        findings.same(x, torch.tensor([3, -2, 7], dtype=dtype), f"average of {dtype}")


@check(2, npu=True)
def what_the_wheel_refuses_leaves_the_group_usable(world, findings):
    """fp64 does not reduce on a 910B, operators on bits nowhere."""
    ones = world.tensor(torch.ones(world.size * 2))
    half = ones[:2].clone()
    findings.raises(lambda: dist.all_reduce(world.tensor(torch.ones(4, dtype=torch.float64))), "all_reduce of fp64", "Unsupported data type")
    findings.raises(lambda: dist.reduce_scatter_tensor(half.byte(), ones.byte()), "reduce_scatter of uint8", "Unsupported data type")
    findings.raises(lambda: dist.all_reduce(ones.int(), dist.ReduceOp.BAND), "BAND", "Cannot use ReduceOp.BAND with HCCL")
    findings.raises(lambda: dist.reduce_scatter_tensor(half, ones[:3]), "sizes that do not fit", "input tensor must be the same size")
    findings.raises(lambda: dist.all_reduce(ones.cpu()), "a tensor on the host", "No backend type associated with device type cpu")
    dist.all_reduce(ones)
    findings.same(ones, torch.full((world.size * 2,), float(world.size)), "afterwards")
