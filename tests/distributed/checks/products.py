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


@check(2, 4, npu=True)
def products_of_exchanged_rows(world, findings):
    """All ranks give their columns of a row to one of them, which multiplies; or multiply, and give their columns away."""
    import torch_npu
    ranks, rank = world.size, world.rank
    for dtype, loose in HALVES:
        x, w = drawn(world, 3 * ranks, 8, dtype=dtype), drawn(world, 8 * ranks, 5, seed=1, dtype=dtype)
        bias = drawn(world, 5, seed=2, dtype=dtype)
        rows = torch.cat([one[3 * rank:3 * rank + 3] for one in x], 1)
        want = rows.double() @ w[rank].double()
        got, joined = torch_npu.npu_all_to_all_matmul(*on(world, x, w), named(world), ranks)
        findings.same(joined, rows, f"{dtype}: the rows")
        findings.same(got.cpu().double(), want, f"{dtype}", loose, loose)
        turned = world.tensor(w[rank].t().contiguous()).t()
        got, _ = torch_npu.npu_all_to_all_matmul(*on(world, x), turned, named(world), ranks, bias=on(world, bias)[0],
                                                 all2all_axes=[-2, -1], all2all_out_flag=False, comm_mode="ai_cpu")
        findings.same(got.cpu().double(), want + bias[rank].double(), f"{dtype} with bias, the rows not wanted", loose, loose)
        x, w = drawn(world, 3, 8, seed=3, dtype=dtype), drawn(world, 8, 5 * ranks, seed=4, dtype=dtype)
        bias = drawn(world, 5 * ranks, seed=5, dtype=dtype)
        mine = slice(5 * rank, 5 * rank + 5)
        want = torch.cat([(a.double() @ b.double() + c.double())[:, mine] for a, b, c in zip(x, w, bias)])
        got = torch_npu.npu_matmul_all_to_all(*on(world, x, w), named(world), ranks, bias=on(world, bias)[0], comm_mode="ai_cpu")
        findings.same(got.cpu().double(), want, f"{dtype}: columns", loose, loose)
    got, joined = torch_npu.npu_all_to_all_matmul(world.tensor(x[rank][:0]), world.tensor(drawn(world, 8 * ranks, 5, dtype=dtype)[0]), named(world), ranks)
    findings.that(got.shape == (0, 5) and joined.shape == (0, 8 * ranks), "no rows")


def routed(world, experts, most):
    """Rows that each rank sends to each expert, [rank, expert of all]: some none."""
    g = torch.Generator().manual_seed(9)
    return torch.randint(0, most, (world.size, world.size * experts), generator=g)


def by_experts(world, parts, counts, experts):
    """What ranks send (each by the order of all experts), as it lies at this rank: by its experts, of each by ranks."""
    first, pieces = world.rank * experts, [part.split(n.tolist()) for part, n in zip(parts, counts)]
    return [torch.cat([of[first + e] for of in pieces]) for e in range(experts)]


@check(2, 4, npu=True)
def products_of_experts(world, findings):
    """Tokens go to the ranks of their experts and are multiplied there; what experts made goes back; and the gradients."""
    import torch_npu
    experts, ranks, rank, name = 3, world.size, world.rank, named(world)
    counts = routed(world, experts, 4)
    mine = slice(rank * experts, (rank + 1) * experts)
    send, receive = counts[rank].tolist(), counts[:, mine].flatten().tolist()
    for dtype, loose in HALVES:
        x = [torch.rand(int(n.sum()), 8, generator=torch.Generator().manual_seed(r)).sub(0.5).to(dtype) for r, n in enumerate(counts)]
        w, shared, extra = drawn(world, experts, 8, 6, seed=1, dtype=dtype), drawn(world, 4, 7, seed=2, dtype=dtype), drawn(world, 7, 5, seed=3, dtype=dtype)
        tokens = by_experts(world, x, counts, experts)
        products = [t.double() @ m.double() for t, m in zip(tokens, w[rank])]
        for turn in (False, True):
            weight = world.tensor(w[rank].transpose(1, 2).contiguous() if turn else w[rank])
            more = world.tensor(extra[rank].t().contiguous() if turn else extra[rank])
            y, other, rows = torch_npu.npu_alltoallv_gmm(*on(world, x), weight, name, ranks, send, receive, mm_x=on(world, shared)[0], mm_weight=more,
                                                         trans_gmm_weight=turn, trans_mm_weight=turn, permute_out_flag=True)
            findings.same(rows, torch.cat(tokens), f"{dtype} {turn}: the tokens")
            findings.same(y.cpu().double(), torch.cat(products), f"{dtype} {turn}: the products", loose, loose)
            findings.same(other.cpu().double(), shared[rank].double() @ extra[rank].double(), f"{dtype} {turn}: for all tokens", loose, loose)
        y, other, rows = torch_npu.npu_alltoallv_gmm(*on(world, x, w), name, ranks, send, receive, comm_mode="ai_cpu")
        findings.same(y.cpu().double(), torch.cat(products), f"{dtype} alone", loose, loose)
        # back: what each rank's experts made of this rank's tokens, in the order in which it had sent them
        back = drawn(world, experts, 8, 6, seed=4, dtype=dtype)
        at, _ = torch_npu.npu_gmm_alltoallv(world.tensor(torch.cat(tokens)), *on(world, back), name, ranks, receive, send)
        want = torch.cat([part.double() @ back[e // experts][e % experts].double() for e, part in enumerate(x[rank].split(send))])
        findings.same(at.cpu().double(), want, f"{dtype} back", loose, loose)
        at, other = torch_npu.npu_gmm_alltoallv(world.tensor(torch.cat(tokens)), world.tensor(back[rank].transpose(1, 2).contiguous()), name, ranks,
                                                receive, send, mm_x=on(world, shared)[0], mm_weight=on(world, extra)[0], trans_gmm_weight=True, comm_mode="ai_cpu")
        findings.same(at.cpu().double(), want, f"{dtype} back, turned", loose, loose)
        findings.same(other.cpu().double(), shared[rank].double() @ extra[rank].double(), f"{dtype} back: for all tokens", loose, loose)
    refused = ""
    try:
        torch_npu.npu_alltoallv_gmm(*on(world, x, w), name, ranks, [n + 1 for n in send], receive)
    except RuntimeError as error:
        refused = str(error)
    findings.that("send_counts make" in refused, f"counts of other rows: {refused}")
