"""Collectives inside graphs that TorchAir compiles, by two ranks: each prints what was computed compiled and eagerly.

usage: python -m tests.graph.collective_programs RANK RANKS PORT
"""

import json
import os
import sys
import traceback

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as funcol
import torch_npu  # noqa: F401
import torchair
from torchair.configs.compiler_config import CompilerConfig

PROGRAMS = {}


def program(f):
    PROGRAMS[f.__name__] = f
    return f


def compiled(f):
    return torch.compile(f, backend=torchair.get_npu_backend(compiler_config=CompilerConfig()), dynamic=False)


def own(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(dist.get_rank())).npu()


def both(f, *inputs):
    fast = compiled(f)
    return [fast(*inputs), fast(*inputs)], [f(*inputs), f(*inputs)]


@program
def all_reduce():
    return both(lambda x: funcol.all_reduce(x.relu(), "sum", dist.group.WORLD) * 2, own(4, 3))


@program
def all_reduce_twice_of_the_largest():
    def f(x):
        y = funcol.all_reduce(x, "max", dist.group.WORLD)
        return funcol.all_reduce(y - x, "sum", dist.group.WORLD)

    return both(f, own(4, 3))


@program
def all_gather():
    return both(lambda x: funcol.all_gather_tensor(x + 1, 0, dist.group.WORLD).sum(1), own(4, 3))


@program
def reduce_scatter():
    return both(lambda x: funcol.reduce_scatter_tensor(x.exp(), "sum", 0, dist.group.WORLD) + 1, own(4, 3))


@program
def all_to_all():
    return both(lambda x: funcol.all_to_all_single(x * 2, None, None, dist.group.WORLD) + 1, own(4, 3))


@program
def broadcast():
    return both(lambda x: funcol.broadcast(x * 3, 1, dist.group.WORLD) - 1, own(4, 3))


@program
def products_between_ranks():
    """What language models call whose matrices are cut between ranks: the sum of the products, rows of all, rows of the sum."""
    group = dist.group.WORLD._get_backend(torch.device("npu")).get_hccl_comm_name(dist.get_rank())
    ranks = dist.get_world_size()

    def f(x, w, bias, skip, whole, weights, columns, rows):
        word = torch_npu.npu_trans_quant_param(columns)
        return [torch_npu.npu_mm_all_reduce_base(x * 2, w, group, bias=bias, x3=skip) + 1,
                torch_npu.npu_mm_all_reduce_base(x, w.t().contiguous().t(), group),
                torch_npu.npu_mm_all_reduce_base(whole, weights, group, dequant_scale=word),
                torch_npu.npu_mm_all_reduce_base(whole, weights, group, dequant_scale=columns.bfloat16(), pertoken_scale=rows),
                torch_npu.npu_mm_all_reduce_base(x, weights, group, antiquant_scale=columns.half()),
                *torch_npu.npu_all_gather_base_mm(x + 1, w, group, ranks),
                torch_npu.npu_all_gather_base_mm(x, w, group, ranks, bias=bias, gather_output=False)[0] - 1,
                torch_npu.npu_mm_reduce_scatter_base(x, w, group, ranks) * 2]

    def numbers(*shape):
        return torch.randint(-99, 99, shape, generator=torch.Generator().manual_seed(5 + dist.get_rank()), dtype=torch.int8).npu()

    x, w = own(4, 32).half(), own(32, 16).half()
    given = x, w, own(16).half(), own(4, 16).half(), numbers(4, 32), numbers(32, 16), own(16).abs() / 100 + 0.01, own(4).abs() + 0.5
    got, want = both(f, *given)
    for one in (*got, *want):  # of real numbers, said once more by torch
        total = sum_of_ranks(x.float() @ w.float())
        assert (one[1].float() - total).abs().max() <= 0.02 * total.abs().max() and one[5].shape == (8, 16) and one[6].shape == (8, 32)
        mine = total[2 * dist.get_rank():][:2] * 2
        assert (one[8].float() - mine).abs().max() <= 0.02 * total.abs().max()
    return sum(got, []), sum(want, [])


@program
def second_forms_of_products_between_ranks():
    """Rows of all and rows of the sum by the calls that also take matrices of eight bits."""
    group = dist.group.WORLD._get_backend(torch.device("npu")).get_hccl_comm_name(dist.get_rank())
    ranks, rank = dist.get_world_size(), dist.get_rank()

    def f(x, w, bias, whole, weights, by_row, by_column):
        gathered = torch_npu.npu_all_gather_quant_mm(x + 1, w, group, ranks, bias=bias)
        alone = torch_npu.npu_all_gather_quant_mm(x, w, group, ranks, gather_output=False)
        scattered = torch_npu.npu_quant_mm_reduce_scatter(x, w, group, ranks)
        small = torch_npu.npu_all_gather_quant_mm(whole, weights, group, ranks, x1_scale=by_row, x2_scale=by_column, y_dtype=5)
        parts = torch_npu.npu_quant_mm_reduce_scatter(whole, weights, group, ranks, x1_scale=by_row, x2_scale=by_column, y_dtype=5)
        return [gathered[0] * 2, gathered[1], alone[0], scattered[0] - 1, small[0] + 1, parts[0]]

    def numbers(*shape):
        return torch.randint(-99, 99, shape, generator=torch.Generator().manual_seed(7 + rank), dtype=torch.int8).npu()

    x, w = own(4, 32).half(), own(32, 16).half()
    whole, weights, by_row, by_column = numbers(4, 32), numbers(32, 16), own(4, 1).abs() + 0.5, own(1, 16).abs() / 100 + 0.01
    bias = own(16).half()
    got, want = both(f, x, w, bias, whole, weights, by_row, by_column)
    rows, numbers_of_all, scales = rows_of_ranks(x), rows_of_ranks(whole.float()), rows_of_ranks(by_row)
    mine = slice(2 * rank, 2 * rank + 2)
    said = [((rows + 1) @ w.float() + bias.float()) * 2, rows + 1, rows @ w.float(), sum_of_ranks(x.float() @ w.float())[mine] - 1,
            numbers_of_all @ weights.float() * scales * by_column + 1, sum_of_ranks(whole.float() @ weights.float() * by_row * by_column)[mine]]
    for one in (*got, *want):  # said once more by torch
        for made, true in zip(one, said, strict=True):
            assert made.shape == true.shape and (made.float() - true).abs().max() <= 0.02 * true.abs().max()
    return sum(got, []), sum(want, [])


@program
def experts_on_ranks():
    """Layers of experts that lie on all ranks: tokens go there, are doubled, and come back with their weights."""
    group = dist.group.WORLD._get_backend(torch.device("npu")).get_hccl_comm_name(dist.get_rank())
    told = dict(group_ep=group, ep_world_size=dist.get_world_size(), ep_rank_id=dist.get_rank(), moe_expert_num=6)

    def f(x, ids, weights, residual, gamma):
        torch_npu._npu_distribute_barrier(x, group, dist.get_world_size())
        there = torch_npu.npu_moe_distribute_dispatch(x + 1, ids, **told)
        first = torch_npu.npu_moe_distribute_combine(there[0] * 2, ids, there[2], there[4], weights, **told)
        there = torch_npu.npu_moe_distribute_dispatch_v2(x - 1, ids, **told)
        second = torch_npu.npu_moe_distribute_combine_v2(there[0] * 2, ids, there[2], there[4], weights, shared_expert_x=x, **told)
        whole = torch_npu.npu_moe_distribute_dispatch_v2(x, ids, quant_mode=2, **told)
        made = (whole[0].float() * whole[1][:, None]).bfloat16()
        y, rstd, sums = torch_npu.npu_moe_distribute_combine_add_rms_norm(made, ids, whole[2], whole[4], weights, residual, gamma, **told)
        return [first + 1, second * 2, y, rstd, sums, whole[3].float(), whole[4].float()]

    ids = torch.stack([torch.randperm(6, generator=torch.Generator().manual_seed(9 * dist.get_rank() + t))[:3] for t in range(5)]).int().npu()
    x, weights = own(5, 32).bfloat16(), own(5, 3)
    got, want = both(f, x, ids, weights, own(5, 1, 32).bfloat16(), own(32).bfloat16())
    total = weights.sum(1, keepdim=True)
    for one in (*got, *want):  # said once more by torch
        for made, true in zip(one, (((x + 1) * 2).float() * total + 1, (((x - 1) * 2).float() * total + x.float()) * 2)):
            assert (made.float() - true).abs().max() <= 0.02 * true.abs().max()
    return sum(got, []), sum(want, [])


@program
def products_with_exchanges():
    """Products of rows to which all ranks give, products whose columns go to all, and those of experts both ways."""
    group = dist.group.WORLD._get_backend(torch.device("npu")).get_hccl_comm_name(dist.get_rank())
    ranks, rank = dist.get_world_size(), dist.get_rank()
    counts = [[2, 0, 1, 3], [1, 4, 0, 2]]  # rows of each rank for each of four experts, two on a rank
    send, receive = counts[rank], [counts[r][2 * rank + e] for r in range(ranks) for e in range(2)]

    def f(x, w, bias, tokens, experts, extra):
        product, rows = torch_npu.npu_all_to_all_matmul(x * 2, w, group, ranks, bias=bias, comm_mode="ai_cpu")
        alone, _ = torch_npu.npu_all_to_all_matmul(x, w, group, ranks, all2all_out_flag=False, comm_mode="ai_cpu")
        columns = torch_npu.npu_matmul_all_to_all(x, extra, group, ranks, comm_mode="ai_cpu")
        made, other, sorted_ = torch_npu.npu_alltoallv_gmm(tokens + 1, experts, group, ranks, send, receive, mm_x=x, mm_weight=extra,
                                                           permute_out_flag=True, comm_mode="ai_cpu")
        back, _ = torch_npu.npu_gmm_alltoallv(made, experts, group, ranks, receive, send, trans_gmm_weight=True, comm_mode="ai_cpu")
        return [product + 1, rows, alone, columns * 2, made, other, sorted_, back - 1]

    x, w, bias = own(4, 32).half(), own(64, 16).half(), own(16).half()
    got, want = both(f, x, w, bias, own(sum(send), 32).half(), own(2, 32, 6).half(), own(32, 8).half())
    mine = torch.cat([part[2 * rank:2 * rank + 2] for part in rows_of_ranks(x).split(4)], 1)
    for one in (*got, *want):  # of some, said once more by torch
        assert torch.equal(one[1].float(), 2 * mine) and one[3].shape == (8, 4) and one[7].shape == (sum(send), 32)
        true = 2 * mine @ w.float() + bias.float() + 1
        assert (one[0].float() - true).abs().max() <= 0.02 * true.abs().max()
    return sum(got, []), sum(want, [])


def rows_of_ranks(x):
    all_rows = [torch.empty_like(x, dtype=torch.float32) for _ in range(dist.get_world_size())]
    dist.all_gather(all_rows, x.float())
    return torch.cat(all_rows)


def sum_of_ranks(x):
    x = x.clone()
    dist.all_reduce(x)
    return x


@program
def data_parallel_training():
    """DistributedDataParallel around a compiled model, and the mean loss of the ranks in the graph."""
    def train(compile_it):
        torch.manual_seed(3)
        model = torch.nn.Sequential(torch.nn.Linear(6, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1)).npu()
        parallel = torch.nn.parallel.DistributedDataParallel(model)
        run = compiled(parallel) if compile_it else parallel
        mean = (lambda x: funcol.all_reduce(x, "sum", dist.group.WORLD) / dist.get_world_size())
        mean = compiled(mean) if compile_it else mean
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        x, y = own(8, 6), own(8, 1)
        losses = []
        for _ in range(4):
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(run(x), y)
            loss.backward()
            optimizer.step()
            losses.append(mean(loss.detach().reshape(1)))
        return losses + [p.detach() for p in model.parameters()]

    return train(True), train(False)


@program
def parts_of_other_sizes():
    """Ranks that give or get other numbers of rows than each other, in programs that TorchAir rewrites for its graphs."""
    torchair.patch_for_hcom()
    rank, counts = dist.get_rank(), [3, 1]

    def gathered(x):
        out = x.new_empty(4, 5)
        torch_npu.distributed.all_gather_into_tensor_uneven(out, x * 2, counts)
        return out + 1

    def scattered(x):
        out = x.new_empty(counts[rank], 5)
        torch_npu.distributed.reduce_scatter_tensor_uneven(out, x.relu(), counts)
        return out * 2

    all_gathered, all_scattered = both(gathered, own(counts[rank], 5)), both(scattered, own(4, 5))
    return [*all_gathered[0], *all_scattered[0]], [*all_gathered[1], *all_scattered[1]]


def main(rank, ranks, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), RANK=str(rank), WORLD_SIZE=str(ranks))
    torch.npu.set_device(rank)
    dist.init_process_group("hccl", rank=rank, world_size=ranks)
    for name, f in PROGRAMS.items():
        torch._dynamo.reset()
        answer = {"name": name}
        try:
            got, want = ([t.detach().cpu().double() for t in values] for values in f())
            answer["shapes"] = [list(g.shape) == list(w.shape) for g, w in zip(got, want, strict=True)]
            answer["difference"] = max((g - w).abs().max().item() for g, w in zip(got, want) if g.shape == w.shape)
            answer["size"] = max(w.abs().max().item() for w in want)
        except Exception as error:
            answer["error"] = "%s: %s" % (type(error).__name__, str(error)[:1500])
            answer["trace"] = traceback.format_exc()[-1500:]
        print("@@" + json.dumps(answer), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
