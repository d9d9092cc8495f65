"""broadcast, all_gather, scatter, gather, all_to_all, barrier: every dtype and size, exact."""
import torch
import torch.distributed as dist

from ..launch import LONG
from ..reference import LARGE, MOVED, SIZES, numbers
from ..registry import check


def cases():
    for dtype in MOVED:
        for n in [*SIZES, *([LARGE] if LONG or dtype in (torch.float32, torch.int8) else [])]:
            yield dtype, n


def empties(world, shapes, dtype):
    return [world.tensor(torch.empty(s, dtype=dtype)) for s in shapes]


@check(2, 4, seconds=120)
def broadcast_from_each_root(world, findings):
    for n_case, (dtype, n) in enumerate(cases()):
        root = n_case % world.size
        x = world.tensor(numbers(world.rank, n, dtype))
        dist.broadcast(x, root)
        findings.same(x, numbers(root, n, dtype), f"broadcast of {n} {dtype}")


@check(2, 4, seconds=120)
def all_gather(world, findings):
    for dtype, n in cases():
        out = empties(world, [n] * world.size, dtype)
        dist.all_gather(out, world.tensor(numbers(world.rank, n, dtype)))
        for r, x in enumerate(out):
            findings.same(x, numbers(r, n, dtype), f"all_gather of {n} {dtype}, part {r}")


@check(2, 4, seconds=120)
def all_gather_into_tensor(world, findings):
    for dtype, n in cases():
        out, = empties(world, [n * world.size], dtype)
        dist.all_gather_into_tensor(out, world.tensor(numbers(world.rank, n, dtype)))
        findings.same(out, torch.cat([numbers(r, n, dtype) for r in range(world.size)]), f"all_gather_into_tensor of {n} {dtype}")


@check(2, 4)
def all_gather_in_place(world, findings):
    """The input is the rank's own part of the output."""
    n = 1000
    out = world.tensor(torch.zeros(n * world.size))
    part = out[n * world.rank:n * (world.rank + 1)]
    part.copy_(numbers(world.rank, n, torch.float32))
    dist.all_gather_into_tensor(out, part)
    findings.same(out, torch.cat([numbers(r, n, torch.float32) for r in range(world.size)]), "all_gather in place")


@check(2, 4, npu=True)
def uneven_all_gather(world, findings):
    for counts in ([5, 9, 1, 4000][:world.size], [3, 0, 7, 2][:world.size]):
        for dtype in MOVED:
            out = empties(world, counts, dtype)
            dist.all_gather(out, world.tensor(numbers(world.rank, counts[world.rank], dtype)))
            for r, x in enumerate(out):
                findings.same(x, numbers(r, counts[r], dtype), f"all_gather {counts} of {dtype}, part {r}")


@check(2, 4, seconds=120)
def scatter_from_each_root(world, findings):
    for n_case, (dtype, n) in enumerate(cases()):
        root = n_case % world.size
        out, = empties(world, [n], dtype)
        parts = [world.tensor(numbers(10 * root + r, n, dtype)) for r in range(world.size)]
        dist.scatter(out, parts if world.rank == root else None, root)
        findings.same(out, numbers(10 * root + world.rank, n, dtype), f"scatter of {n} {dtype}")


@check(2, 4, seconds=120)
def gather_to_each_root(world, findings):
    for n_case, (dtype, n) in enumerate(cases()):
        root = n_case % world.size
        out = empties(world, [n] * world.size, dtype) if world.rank == root else None
        dist.gather(world.tensor(numbers(world.rank, n, dtype)), out, root)
        for r, x in enumerate(out or []):
            findings.same(x, numbers(r, n, dtype), f"gather of {n} {dtype}, part {r}")


@check(2, 4, seconds=120)
def all_to_all_single(world, findings):
    for dtype, n in cases():
        out, = empties(world, [n * world.size], dtype)
        dist.all_to_all_single(out, world.tensor(numbers(world.rank, n * world.size, dtype)))
        expected = torch.cat([numbers(r, n * world.size, dtype)[n * world.rank:n * (world.rank + 1)] for r in range(world.size)])
        findings.same(out, expected, f"all_to_all_single of {n} {dtype}")


@check(2, 4)
def all_to_all_single_with_uneven_splits(world, findings):
    """From rank r to rank s go (r * 3 + s * 5) % 7 rows: some pairs exchange nothing."""
    rows = [[(r * 3 + s * 5) % 7 for s in range(world.size)] for r in range(world.size)]
    for dtype in MOVED:
        for width in (1, 33):
            send, receive = rows[world.rank], [rows[r][world.rank] for r in range(world.size)]
            out = world.tensor(torch.empty(sum(receive), width, dtype=dtype))
            dist.all_to_all_single(out, world.tensor(numbers(world.rank, sum(send) * width, dtype).view(-1, width)), receive, send)
            expected = torch.cat([numbers(r, sum(rows[r]) * width, dtype).view(-1, width).split(rows[r])[world.rank] for r in range(world.size)])
            findings.same(out, expected, f"all_to_all_single of rows of {width} {dtype}")


@check(2, 4, npu=True)
def all_to_all_of_lists(world, findings):
    for dtype in MOVED:
        counts = [[1 + (2 * r + 3 * s) % 5 for s in range(world.size)] for r in range(world.size)]
        out = empties(world, [counts[r][world.rank] for r in range(world.size)], dtype)
        dist.all_to_all(out, [world.tensor(numbers(10 * world.rank + s, counts[world.rank][s], dtype)) for s in range(world.size)])
        for r, x in enumerate(out):
            findings.same(x, numbers(10 * r + world.rank, counts[r][world.rank], dtype), f"all_to_all of {dtype} from {r}")


@check(2, 4)
def barriers(world, findings):
    """Nobody passes the n-th barrier before all have come to it."""
    for n in range(5):
        world.store.add(f"came/{n}", 1)
        dist.barrier()
        came = world.store.add(f"came/{n}", 0)
        findings.that(came == world.size, f"barrier {n} let a rank pass when {came} had come")


@check(2, 4)
def tensors_of_many_dimensions(world, findings):
    x = numbers(world.rank, 2 * 3 * 5 * 7, torch.float32).view(2, 3, 5, 7)
    on = world.tensor(x)
    dist.all_reduce(on)
    findings.same(on, sum(numbers(r, 210, torch.float32).view(2, 3, 5, 7) for r in range(world.size)), "4-d", 1e-6, 1e-6)
    scalar = world.tensor(torch.tensor(float(world.rank)))
    dist.all_reduce(scalar)
    findings.same(scalar, torch.tensor(world.size * (world.size - 1) / 2), "a scalar")


@check(2, npu=True)
def views(world, findings):
    """A contiguous part at an offset is an ordinary tensor; what is not contiguous is refused and stays untouched."""
    base = world.tensor(torch.arange(100.0))
    part = base[13:29]
    dist.all_reduce(part)
    expected = torch.arange(100.0)
    expected[13:29] *= world.size
    findings.same(base, expected, "a part at an offset")
    strided = base[::2]
    transposed = world.tensor(torch.arange(6.0).view(2, 3)).t()
    for x in (strided, transposed):
        for call in (lambda: dist.all_reduce(x), lambda: dist.broadcast(x, 0), lambda: dist.send(x, 1 - world.rank)):
            findings.raises(call, f"a tensor with strides {x.stride()}", "contiguous")
    findings.same(transposed, torch.arange(6.0).view(2, 3).t(), "the transposed view")
    findings.same(base, expected, "afterwards")


@check(2, long=True, seconds=300)
def more_than_two_gibibytes(world, findings):
    n = (2 << 30) + 4099
    x = torch.full((n,), world.rank + 1, dtype=torch.int8, device=world.device)
    x[-1] = 5
    dist.all_reduce(x)
    world.synchronize()
    for begin in range(0, n, 1 << 28):
        part = x[begin:begin + (1 << 28)]
        findings.that(bool((part[:4096] == 3).all()), f"elements from {begin}")
    findings.that(bool((x[-1] == 10).item() and (x[(2 << 30) - 8:-1] == 3).all()), "the last elements")
    y = torch.empty(n, dtype=torch.int8, device=world.device)
    if world.rank == 0:
        y.copy_(x)
    dist.broadcast(y, 0)
    findings.that(torch.equal(x[-5000:].cpu(), y[-5000:].cpu()), "broadcast")
