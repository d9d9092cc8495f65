"""Products whose parts the ranks have, in one operator with what the ranks exchange, against float64."""
import torch

from ..registry import check

HALVES = ((torch.float16, 4e-3), (torch.bfloat16, 4e-2))


def drawn(world, *shape, seed=0, dtype=torch.float32):
    """What each rank has."""
    def of(rank):
        g = torch.Generator().manual_seed(100 * seed + rank)
        if dtype == torch.int8:
            return torch.randint(-128, 128, shape, generator=g).to(dtype)
        return (torch.rand(shape, generator=g) - 0.5).to(dtype)
    return [of(r) for r in range(world.size)]


def named(world):
    return world.group._get_backend(world.device).get_hccl_comm_name(world.rank)


def on(world, *tensors):
    return [world.tensor(t[world.rank]) for t in tensors]


@check(2, 4, npu=True)
def sums_of_products(world, findings):
    import torch_npu
    for dtype, loose in HALVES:
        for shape in ((6, 16), (2, 3, 16)):
            x, w = drawn(world, *shape, dtype=dtype), drawn(world, 16, 8, seed=1, dtype=dtype)
            bias, extra = drawn(world, 8, seed=2, dtype=dtype), drawn(world, *shape[:-1], 8, seed=3, dtype=dtype)
            products = [a.double() @ b.double() for a, b in zip(x, w)]
            got = torch_npu.npu_mm_all_reduce_base(*on(world, x, w), named(world))
            findings.same(got.cpu().double(), sum(products), f"{dtype} {shape}", loose, loose)
            b, e = on(world, bias, extra)
            got = torch_npu.npu_mm_all_reduce_base(*on(world, x, w), named(world), bias=b, x3=e)
            want = sum(p + b.double() + e.double() for p, b, e in zip(products, bias, extra))
            findings.same(got.cpu().double(), want, f"{dtype} {shape} with bias and x3", loose, loose)
    empty = torch_npu.npu_mm_all_reduce_base(world.tensor(x[0][:0]), world.tensor(w[0]), named(world))
    findings.that(empty.shape[0] == 0, "a product without rows")


@check(2, npu=True)
def sums_of_products_of_whole_numbers(world, findings):
    import torch_npu
    x, w = drawn(world, 5, 32, dtype=torch.int8), drawn(world, 32, 8, seed=1, dtype=torch.int8)
    scale, by_row = torch.rand(8, generator=torch.Generator().manual_seed(5)) / 512, torch.rand(5) * 0 + torch.arange(1, 6) / 8
    products = [(a.double() @ b.double()) * scale for a, b in zip(x, w)]
    words = torch_npu.npu_trans_quant_param(world.tensor(scale))
    got = torch_npu.npu_mm_all_reduce_base(*on(world, x, w), named(world), dequant_scale=words)
    kept = (scale.view(torch.int32) & -8192).view(torch.float32)  # what the words keep of the scales
    findings.same(got.cpu().double(), sum(a.double() @ b.double() for a, b in zip(x, w)) * kept, "INT8", 4e-3, 4e-3)
    got = torch_npu.npu_mm_all_reduce_base(*on(world, x, w), named(world), dequant_scale=world.tensor(scale.bfloat16()),
                                           pertoken_scale=world.tensor(by_row))
    want = sum((a.double() @ b.double()) for a, b in zip(x, w)) * scale.bfloat16().double() * by_row[:, None]
    findings.same(got.cpu().double(), want, "INT8 by rows", 4e-2, 4e-2)
    real, shift = drawn(world, 5, 32, dtype=torch.float16), torch.arange(8).half()
    got = torch_npu.npu_mm_all_reduce_base(*on(world, real, w), named(world), antiquant_scale=world.tensor(scale.half()),
                                           antiquant_offset=world.tensor(shift))
    weights = [((b + shift).double() * scale.half().double()).half().double() for b in w]
    findings.same(got.cpu().double(), sum(a.double() @ b for a, b in zip(real, weights)), "weights of INT8", 4e-3, 4e-3)


@check(2, 4, npu=True)
def products_of_gathered_rows(world, findings):
    import torch_npu
    for dtype, loose in HALVES:
        x, w = drawn(world, 3, 16, dtype=dtype), drawn(world, 16, 8, seed=1, dtype=dtype)
        rows = torch.cat(x)
        want = rows.double() @ w[world.rank].double()
        for mode in ("ai_cpu", "aiv"):
            got, gathered = torch_npu.npu_all_gather_base_mm(*on(world, x, w), named(world), world.size, comm_mode=mode)
            findings.same(gathered, rows, f"{dtype} {mode}: the rows")
            findings.same(got.cpu().double(), want, f"{dtype} {mode}", loose, loose)
        strided = world.tensor(x[world.rank].t().contiguous()).t()
        got, gathered = torch_npu.npu_all_gather_base_mm(strided, *on(world, w), named(world), world.size, gather_output=False)
        findings.same(got.cpu().double(), want, f"{dtype} of a transposed x1, the rows not wanted", loose, loose)
        findings.that(gathered.numel() == 0, "rows that nobody wants")
    x, w = drawn(world, 3, 32, dtype=torch.int8), drawn(world, 32, 8, seed=1, dtype=torch.int8)
    by_row, scale = drawn(world, 3, 1, seed=4), drawn(world, 1, 8, seed=5)
    got, gathered = torch_npu.npu_all_gather_base_mm(*on(world, x, w), named(world), world.size, x1_scale=on(world, by_row)[0],
                                                     x2_scale=on(world, scale)[0], output_dtype=torch.float16, comm_mode="aiv")
    want = (torch.cat(x).double() @ w[world.rank].double()) * torch.cat(by_row).double() * scale[world.rank].double()
    findings.same(gathered, torch.cat(x), "INT8: the rows")
    findings.same(got.cpu().double(), want, "INT8", 2e-3, 2e-1)


@check(2, 4, npu=True)
def rows_of_sums_of_products(world, findings):
    import torch_npu
    mine = slice(world.rank * 3, world.rank * 3 + 3)
    for dtype, loose in HALVES:
        x, w = drawn(world, 3 * world.size, 16, dtype=dtype), drawn(world, 16, 8, seed=1, dtype=dtype)
        want = sum(a.double() @ b.double() for a, b in zip(x, w))[mine]
        for mode in ("ai_cpu", "aiv"):
            got = torch_npu.npu_mm_reduce_scatter_base(*on(world, x, w), named(world), world.size, comm_mode=mode)
            findings.same(got.cpu().double(), want, f"{dtype} {mode}", loose, loose)
    x, w = drawn(world, 3 * world.size, 32, dtype=torch.int8), drawn(world, 32, 8, seed=1, dtype=torch.int8)
    by_row, scale = drawn(world, 3 * world.size, 1, seed=4), drawn(world, 1, 8, seed=5)
    got = torch_npu.npu_mm_reduce_scatter_base(*on(world, x, w), named(world), world.size, x1_scale=on(world, by_row)[0],
                                               x2_scale=on(world, scale)[0], output_dtype=torch.bfloat16, comm_mode="aiv")
    want = sum((a.double() @ b.double()) * c.double() * d.double() for a, b, c, d in zip(x, w, by_row, scale))[mine]
    findings.same(got.cpu().double(), want, "INT8", 4e-2, 1e2)


@check(2, npu=True)
def captured_products(world, findings):
    """The block between the parts belongs to the graph: it is there at every replay."""
    import torch_npu
    x, w = drawn(world, 6, 16, dtype=torch.float16), drawn(world, 16, 8, seed=1, dtype=torch.float16)
    a, b = on(world, x, w)
    torch_npu.npu_mm_reduce_scatter_base(a, b, named(world), world.size)  # makes the communicator
    world.synchronize()
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        part = torch_npu.npu_mm_reduce_scatter_base(a, b, named(world), world.size)
        whole, _ = torch_npu.npu_all_gather_base_mm(part @ b.t(), b, named(world), world.size)
    for factor in (1, -2):
        a.copy_(world.tensor(x[world.rank] * factor))
        graph.replay()
        world.synchronize()
        sums = sum(p.double() @ q.double() for p, q in zip(x, w)) * factor
        rows = torch.cat([sums[3 * r:3 * r + 3] @ w[r].double().t() for r in range(world.size)])
        findings.same(part.cpu().double(), sums[3 * world.rank:3 * world.rank + 3], f"{factor}: its rows", 4e-3, 4e-3)
        findings.same(whole.cpu().double(), rows @ w[world.rank].double(), f"{factor}: the rows of all", 2e-2, 2e-2)
