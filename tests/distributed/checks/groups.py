"""Process groups beside and inside each other, asynchronous operations, coalescing, objects, capture."""
import torch
import torch.distributed as dist

from ..reference import numbers
from ..registry import check


def value(world, x):
    return world.tensor(torch.full((257,), float(x)))


@check(2, 4)
def sub_groups(world, findings):
    """Neighbours, all but the first, one alone, all again in another order of ranks; interleaved with the world."""
    pairs = [dist.new_group([r, r + 1]) for r in range(0, world.size, 2)]
    tail = dist.new_group(list(range(1, world.size)))
    alone = [dist.new_group([r]) for r in range(world.size)]
    everyone = dist.new_group(list(range(world.size)))
    for n in range(3):
        x = value(world, world.rank)
        dist.all_reduce(x)
        findings.same(x, torch.full((257,), world.size * (world.size - 1) / 2.0), "world")
        x = value(world, world.rank)
        dist.all_reduce(x, group=pairs[world.rank // 2])
        findings.same(x, torch.full((257,), world.rank // 2 * 4 + 1.0), "pair")
        if world.rank:
            x = value(world, world.rank)
            dist.all_reduce(x, group=tail)
            findings.same(x, torch.full((257,), float(sum(range(1, world.size)))), "tail")
            x = value(world, world.rank)
            dist.broadcast(x, world.size - 1, group=tail)
            findings.same(x, torch.full((257,), world.size - 1.0), "broadcast in the tail by global rank")
        x = value(world, world.rank)
        dist.all_reduce(x, group=alone[world.rank])
        findings.same(x, torch.full((257,), float(world.rank)), "alone")
        x = value(world, world.rank + n)
        dist.broadcast(x, 0, group=everyone)
        findings.same(x, torch.full((257,), float(n)), "everyone")
    for group in (pairs[world.rank // 2], everyone, alone[world.rank]):
        dist.destroy_process_group(group)
    x = value(world, 1)
    dist.all_reduce(x)
    findings.same(x, torch.full((257,), float(world.size)), "world, after the groups are gone")


@check(2, 4)
def two_groups_in_opposite_order(world, findings):
    """Even ranks start an operation of group a, then of b; odd ones b, then a. Streams differ, so nobody waits for ever."""
    a, b = dist.new_group(), dist.new_group()
    for group in (a, b):  # communicators are made at first use, by all ranks together
        dist.all_reduce(value(world, 1), group=group)
    for n in range(10):
        x, y = value(world, world.rank + n), value(world, 10 * (world.rank + n))
        order = [(x, a), (y, b)] if world.rank % 2 == 0 else [(y, b), (x, a)]
        for work in [dist.all_reduce(t, group=g, async_op=True) for t, g in order]:
            work.wait()
        total = sum(r + n for r in range(world.size))
        findings.same(x, torch.full((257,), float(total)), f"a, round {n}")
        findings.same(y, torch.full((257,), 10.0 * total), f"b, round {n}")


@check(2, 4)
def computing_while_a_collective_runs(world, findings):
    """The result waits for the work, the input for the kernel that makes it, other tensors for nothing."""
    a = numbers(world.rank, 256 * 256, torch.float32).view(256, 256)
    for _ in range(3):
        on = world.tensor(a)
        summed = on @ on
        work = dist.all_reduce(summed, async_op=True)
        beside = on
        for _ in range(4):
            beside = (beside @ on) * 0.1
        work.wait()
        after = summed * 2
        expected = sum((numbers(r, 256 * 256, torch.float32).view(256, 256).double()) @ (numbers(r, 256 * 256, torch.float32).view(256, 256).double())
                       for r in range(world.size))
        findings.same(after.cpu().double(), expected * 2, "sum of products", 1e-4, 1e-3)
        reference = a.double()
        for _ in range(4):
            reference = (reference @ a.double()) * 0.1
        findings.same(beside.cpu().double(), reference, "computed beside it", 1e-3, 1e-1)


@check(2, 4)
def many_small_ones_in_flight(world, findings):
    tensors = [value(world, world.rank + i) for i in range(300)]
    works = [dist.all_reduce(t, async_op=True) for t in tensors]
    for work in works:
        work.wait()
    total = world.size * (world.size - 1) / 2
    for i, t in enumerate(tensors):
        findings.same(t, torch.full((257,), total + i * world.size), f"number {i}")
    findings.that(all(w.is_completed() for w in works), "a work that was waited for is not complete")


@check(2, 4)
def tensors_freed_while_in_flight(world, findings):
    """The allocator must not hand out memory that a collective still reads or writes."""
    kept = []
    for i in range(50):
        x = value(world, world.rank + i)
        kept.append((dist.all_reduce(x, async_op=True), x if i % 10 == 0 else None, i))
        del x
        world.tensor(torch.full((257,), -1e9))  # would land in the freed memory
    for work, x, i in kept:
        work.wait()
        if x is not None:
            findings.same(x, torch.full((257,), world.size * (world.size - 1) / 2 + i * world.size), f"number {i}")


@check(2, 4, npu=True)
def coalesced(world, findings):
    sizes = [1, 7, 4097, 100]
    inputs = [[numbers(r, n, torch.float32, seed=n) for n in sizes] for r in range(world.size)]
    tensors = [world.tensor(x) for x in inputs[world.rank]]
    with dist._coalescing_manager(device=world.device):
        for t in tensors:
            dist.all_reduce(t)
    for i, t in enumerate(tensors):
        findings.same(t, sum(x[i] for x in inputs), f"all_reduce {i}", 1e-5, 1e-5)
    mine = [world.tensor(x) for x in inputs[world.rank]]
    out = [world.tensor(torch.empty(n * world.size)) for n in sizes]
    with dist._coalescing_manager(device=world.device, async_ops=True) as manager:
        for o, x in zip(out, mine):
            dist.all_gather_into_tensor(o, x)
    manager.wait()
    for i, o in enumerate(out):
        findings.same(o, torch.cat([x[i] for x in inputs]), f"all_gather_into_tensor {i}")
    parts = [world.tensor(torch.empty(n)) for n in sizes]
    with dist._coalescing_manager(device=world.device):
        for part, whole in zip(parts, out):
            dist.reduce_scatter_tensor(part, whole)
    for i, part in enumerate(parts):
        findings.same(part, inputs[world.rank][i] * world.size, f"reduce_scatter_tensor {i}", 1e-5, 1e-5)


@check(2, 4)
def objects(world, findings):
    thing = {"rank": world.rank, "text": "x" * (10 + 500 * world.rank), "tensor": torch.arange(world.rank + 1)}
    gathered = [None] * world.size
    dist.all_gather_object(gathered, thing)
    for r, g in enumerate(gathered):
        findings.that(g["rank"] == r and len(g["text"]) == 10 + 500 * r and g["tensor"].tolist() == list(range(r + 1)), f"all_gather_object {r}")
    things = [thing, ("one", 2.5)] if world.rank == 1 else [None, None]
    dist.broadcast_object_list(things, 1)
    findings.that(things[0]["rank"] == 1 and things[1] == ("one", 2.5), f"broadcast_object_list {things}")
    out = [None]
    dist.scatter_object_list(out, [f"for {r}" for r in range(world.size)] if world.rank == 0 else None, 0)
    findings.that(out == [f"for {world.rank}"], f"scatter_object_list {out}")
    collected = [None] * world.size if world.rank == 0 else None
    dist.gather_object(world.rank * 11, collected, 0)
    findings.that(world.rank or collected == [r * 11 for r in range(world.size)], f"gather_object {collected}")


@check(2, npu=True)
def gloo_beside_hccl(world, findings):
    """A gloo group for host tensors, and its monitored barrier, next to the device's group."""
    host = dist.new_group(backend="gloo")
    x, y = torch.ones(5), value(world, 1)
    work = dist.all_reduce(y, async_op=True)
    dist.all_reduce(x, group=host)
    work.wait()
    findings.same(x, torch.full((5,), float(world.size)), "gloo")
    findings.same(y, torch.full((257,), float(world.size)), "hccl")
    dist.monitored_barrier(host)
    findings.raises(lambda: dist.monitored_barrier(), "monitored_barrier of the hccl group", "GLOO")


@check(2, npu=True)
def autograd_through_collectives(world, findings):
    import torch.distributed.nn.functional as fn
    x = value(world, world.rank + 1).requires_grad_()
    (fn.all_reduce(x) * (world.rank + 1)).sum().backward()
    findings.same(x.grad, torch.full((257,), 3.0), "all_reduce's gradient is the sum of all ranks' gradients")


@check(2, npu=True)
def functional_collectives(world, findings):
    import torch.distributed._functional_collectives as fc
    x = value(world, world.rank)
    findings.same(fc.all_reduce(x, "sum", world.group), torch.full((257,), 1.0), "all_reduce")
    findings.same(fc.all_gather_tensor(x, 0, world.group), torch.cat([torch.zeros(257), torch.ones(257)]), "all_gather_tensor")
    findings.same(x, torch.full((257,), float(world.rank)), "the input stays")


@check(2, 4, npu=True)
def capture_and_replay(world, findings):
    """An all_reduce inside a graph: recorded without running, then replayed by all ranks together."""
    x = value(world, 0)
    dist.all_reduce(x)  # the communicator must be there before
    world.synchronize()
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        y = x * 2
        dist.all_reduce(y)
        z = y + 1
    world.meet("captured")
    for n in range(5):
        x.fill_(float(world.rank + n))
        graph.replay()
        expected = 2.0 * sum(r + n for r in range(world.size)) + 1
        findings.same(z, torch.full((257,), expected), f"replay {n}")
    x = value(world, 1)
    dist.all_reduce(x)
    findings.same(x, torch.full((257,), float(world.size)), "eager afterwards")


@check(2, npu=True)
def collectives_on_other_streams(world, findings):
    stream = torch.npu.Stream()
    x = numbers(world.rank, 512 * 512, torch.float32).view(512, 512)
    on = world.tensor(x)
    stream.wait_stream(torch.npu.current_stream())
    with torch.npu.stream(stream):
        y = on @ on
        dist.all_reduce(y)
        z = y + 1
    torch.npu.current_stream().wait_stream(stream)
    expected = sum(a.double() @ a.double() for a in (numbers(r, 512 * 512, torch.float32).view(512, 512) for r in range(world.size))) + 1
    findings.same(z.cpu().double(), expected, "a side stream", 1e-4, 1e-3)


@check(npu=True)  # tests/distributed/test_rank_table.py
def the_world_is_that_of_the_table(world, findings):
    """torch_npu quietly takes another way when a rank table does not work."""
    dist.all_reduce(value(world, 1))
    name = world.group._get_backend(world.device).get_hccl_comm_name(world.rank)
    findings.that(name == "hccl_world_group", f"the world's communicator is {name}, not the rank table's")
