"""What torch_npu adds to torch.distributed: uneven tensors, all_to_all_vc, options of a group, its way to begin anew."""
import torch
import torch.distributed as dist

from ..reference import numbers, reduced
from ..registry import check


@check(2, 4, npu=True)
def uneven_tensors(world, findings):
    from torch_npu.distributed import all_gather_into_tensor_uneven, reduce_scatter_tensor_uneven
    counts = [5, 9, 1, 4000][:world.size]
    rows = [numbers(r, 3 * counts[r], torch.float32).view(-1, 3) for r in range(world.size)]
    out = world.tensor(torch.empty(sum(counts), 3))
    all_gather_into_tensor_uneven(out, world.tensor(rows[world.rank]), counts)
    findings.same(out, torch.cat(rows), "all_gather_into_tensor_uneven")
    inputs = [numbers(r, sum(counts) * 3, torch.float32).view(-1, 3) for r in range(world.size)]
    out = world.tensor(torch.empty(counts[world.rank], 3))
    reduce_scatter_tensor_uneven(out, world.tensor(inputs[world.rank]), counts)
    findings.same(out, reduced("sum", [x.split(counts)[world.rank] for x in inputs]), "reduce_scatter_tensor_uneven", 1e-6, 1e-6)


@check(2, 4, npu=True)
def all_to_all_by_one_matrix(world, findings):
    from torch_npu.distributed import all_to_all_vc
    matrix = [[(r * 3 + s * 5) % 7 for s in range(world.size)] for r in range(world.size)]
    for dtype in (torch.float32, torch.int8):
        out = world.tensor(torch.empty(sum(row[world.rank] for row in matrix), dtype=dtype))
        all_to_all_vc(out, world.tensor(numbers(world.rank, sum(matrix[world.rank]), dtype)), matrix)
        expected = torch.cat([numbers(r, sum(matrix[r]), dtype).split(matrix[r])[world.rank] for r in range(world.size)])
        findings.same(out, expected, f"all_to_all_vc of {dtype}")


@check(2, npu=True)
def compatible_implementations(world, findings):
    """With use_compatible_impl, gather, scatter and all_to_all are grouped sends and receives."""
    torch.npu.use_compatible_impl(True)
    try:
        mine = numbers(world.rank, 100, torch.float32)
        out = [world.tensor(torch.empty(100)) for _ in range(world.size)] if world.rank == 1 else None
        dist.gather(world.tensor(mine), out, 1)
        for r, x in enumerate(out or []):
            findings.same(x, numbers(r, 100, torch.float32), f"gather from {r}")
        part = world.tensor(torch.empty(100))
        dist.scatter(part, [world.tensor(numbers(10 + r, 100, torch.float32)) for r in range(world.size)] if world.rank == 0 else None, 0)
        findings.same(part, numbers(10 + world.rank, 100, torch.float32), "scatter")
        received = [world.tensor(torch.empty(10 * (r + 1))) for r in range(world.size)]
        dist.all_to_all(received, [world.tensor(numbers(20 * world.rank + s, 10 * (world.rank + 1), torch.float32)) for s in range(world.size)])
        for r, x in enumerate(received):
            findings.same(x, numbers(20 * r + world.rank, 10 * (r + 1), torch.float32), f"all_to_all from {r}")
    finally:
        torch.npu.use_compatible_impl(False)


@check(2, npu=True)
def premultiplied_sum(world, findings):
    from torch_npu.distributed import _make_hccl_premul_sum
    x = world.tensor(numbers(world.rank, 1000, torch.float32))
    dist.all_reduce(x, _make_hccl_premul_sum(0.5))
    findings.same(x, sum(numbers(r, 1000, torch.float32) for r in range(world.size)) * 0.5, "0.5 * x, summed", 1e-6, 1e-6)


@check(2, npu=True)
def options_of_a_group(world, findings):
    import torch_npu
    options = torch_npu._C._distributed_c10d.ProcessGroupHCCL.Options()
    options.hccl_config = {"hccl_buffer_size": 300, "group_name": "the_group_of_a_test"}
    group = dist.new_group(backend="hccl", pg_options=options)
    x = world.tensor(torch.ones(1 << 18))
    dist.all_reduce(x, group=group)
    findings.that(bool((x == world.size).all()), "all_reduce in a group with options")
    names = [None] * world.size
    dist.all_gather_object(names, group._get_backend(world.device).get_hccl_comm_name(world.rank))
    findings.that(len(set(names)) == 1 and names[0], f"the communicator's name is not the same everywhere: {names}")
    other = world.group._get_backend(world.device).get_hccl_comm_name(world.rank)
    findings.that(other != names[0], f"two communicators are called {other}")


@check(2, npu=True)
def a_group_begins_anew(world, findings):
    """reinit_process_group aborts the communicator; the next operation makes another."""
    from torch_npu.distributed import reinit_process_group
    group = dist.new_group()
    for n in range(3):
        x = world.tensor(torch.full((100,), float(world.rank + n)))
        dist.all_reduce(x, group=group)
        world.synchronize()
        findings.same(x, torch.full((100,), 1.0 + 2 * n), f"round {n}")
        world.meet(f"used {n}")
        reinit_process_group(group)
        world.meet(f"begun anew {n}")
