"""Ranks of msrun: each function of mindspore.mint.distributed that the wheel exports. A rank writes the names of what was right as JSON."""
import json
import sys

import mindspore as ms
import numpy as np
from mindspore import Tensor
from mindspore.mint import distributed as dist

ms.set_device("Ascend")
dist.init_process_group(backend="hccl")
rank, size = dist.get_rank(), dist.get_world_size()
before, behind, ranks = (rank - 1) % size, (rank + 1) % size, np.arange(size)
right = []


def full(value, count=4):
    return Tensor(np.full(count, value, np.float32))


def same(name, found, wanted):
    found = np.stack([x.asnumpy() for x in found]) if isinstance(found, list) and isinstance(found[0], Tensor) else found
    found = found.asnumpy() if isinstance(found, Tensor) else np.asarray(found)
    assert np.array_equal(found, np.asarray(wanted, found.dtype)), "%s: %s, want %s" % (name, found, wanted)
    right.append(name)


def reductions():
    total = size * (size + 1) // 2
    for op, wanted in (("sum", total), ("max", size), ("min", 1), ("prod", np.prod(ranks + 1))):
        x = full(rank + 1)
        dist.all_reduce(x, op=op)
        same("all_reduce of " + op, x, [wanted] * 4)
    x = full(rank + 1)
    dist.all_reduce(x, async_op=True).wait()
    same("all_reduce that is waited for", x, [total] * 4)
    x = full(rank + 1)
    dist.reduce(x, dst=1)
    same("reduce", x if rank == 1 else [total] * 4, [total] * 4)
    out = full(0)
    dist.reduce_scatter_tensor(out, Tensor(np.arange(4 * size, dtype=np.float32)))
    same("reduce_scatter_tensor", out, size * np.arange(4 * rank, 4 * rank + 4))
    dist.reduce_scatter(out, [full(i + 1) for i in range(size)])
    same("reduce_scatter", out, [size * (rank + 1)] * 4)
    sizes, out = [i + 1 for i in range(size)], full(0, rank + 1)
    dist.reduce_scatter_tensor_uneven(out, Tensor(np.repeat(ranks + 1, sizes).astype(np.float32)), sizes)
    same("reduce_scatter_tensor_uneven", out, [size * (rank + 1)] * (rank + 1))


def gathers():
    each = np.repeat(ranks + 1, 4)
    out = full(0, 4 * size)
    dist.all_gather_into_tensor(out, full(rank + 1))
    same("all_gather_into_tensor", out, each)
    parts = [full(0) for _ in range(size)]
    dist.all_gather(parts, full(rank + 1))
    same("all_gather", parts, each.reshape(size, 4))
    sizes = [i + 1 for i in range(size)]
    out = full(0, sum(sizes))
    dist.all_gather_into_tensor_uneven(out, full(rank + 1, rank + 1), sizes)
    same("all_gather_into_tensor_uneven", out, np.repeat(ranks + 1, sizes))
    parts = [full(0) for _ in range(size)]
    dist.gather(full(rank + 1), parts, dst=0)
    same("gather", parts if rank == 0 else each.reshape(size, 4), each.reshape(size, 4))


def from_one():
    x = full(rank + 1)
    dist.broadcast(x, src=1)
    same("broadcast", x, [2] * 4)
    dist.scatter(x, [full(i) for i in range(size)], src=0)
    same("scatter", x, [rank] * 4)


def point_to_point():
    x = full(0)
    calls = [lambda: dist.send(full(rank), behind), lambda: dist.recv(x, before)]
    for call in calls if rank % 2 == 0 else calls[::-1]:
        call()
    same("send, recv", x, [before] * 4)
    x = full(0)
    calls = [lambda: dist.isend(full(rank), behind), lambda: dist.irecv(x, before)]
    for work in [call() for call in (calls if rank % 2 == 0 else calls[::-1])]:
        work.wait()
    same("isend, irecv", x, [before] * 4)
    x = full(0)
    for work in dist.batch_isend_irecv([dist.P2POp("isend", full(rank), behind), dist.P2POp("irecv", x, before)]):
        if work:
            work.wait()
    same("batch_isend_irecv", x, [before] * 4)


def all_to_all():
    parts, wanted = [full(0) for _ in range(size)], 10 * ranks + rank
    dist.all_to_all(parts, [full(10 * rank + i) for i in range(size)])
    same("all_to_all", parts, np.repeat(wanted, 4).reshape(size, 4))
    out = Tensor(np.zeros((size, 2), np.float32))
    dist.all_to_all_single(out, Tensor(np.repeat(10.0 * rank + ranks, 2).reshape(size, 2).astype(np.float32)))
    same("all_to_all_single", out, np.repeat(wanted, 2).reshape(size, 2))
    given, taken = [i + 1 for i in range(size)], [rank + 1] * size
    out = full(0, sum(taken))
    dist.all_to_all_single(out, Tensor(np.repeat(10.0 * rank + ranks, given).astype(np.float32)), taken, given)
    same("all_to_all_single of unequal parts", out, np.repeat(wanted, rank + 1))


def objects():
    found = [None] * size
    dist.all_gather_object(found, {"rank": rank, "list": [rank] * rank})
    assert found == [{"rank": i, "list": [i] * i} for i in range(size)], found
    found = [{"a": 7}, "text"] if rank == 0 else [None, None]
    dist.broadcast_object_list(found, src=0)
    assert found == [{"a": 7}, "text"], found
    found = [None]
    dist.scatter_object_list(found, [{"of": i} for i in range(size)] if rank == 0 else None, src=0)
    assert found == [{"of": rank}], found
    found = [None] * size if rank == 0 else None
    dist.gather_object("of %d" % rank, found, dst=0)
    assert rank != 0 or found == ["of %d" % i for i in range(size)], found
    if rank == 0:
        dist.send_object_list([{"sent": 5}], 1)
    if rank == 1:
        found = [None]
        dist.recv_object_list(found, 0)
        assert found == [{"sent": 5}], found
    right.append("objects")


def groups():
    mine = list(range(rank % 2, size, 2))
    group = dist.new_group(mine)
    x = full(rank + 1)
    dist.all_reduce(x, group=group)
    same("all_reduce of a group", x, [sum(mine) + len(mine)] * 4)
    same("ranks of a group", dist.get_process_group_ranks(group), mine)
    same("numbers in a group", [dist.get_rank(group), dist.get_world_size(group), dist.get_group_rank(group, rank), dist.get_global_rank(group, 0)],
         [rank // 2, len(mine), rank // 2, rank % 2])


for part in (reductions, gathers, from_one, point_to_point, all_to_all, objects, groups):
    part()
dist.barrier()
assert dist.is_initialized() and dist.get_backend() == "hccl"
json.dump(right, open("%s/rank%d.json" % (sys.argv[1], rank), "w"))
dist.destroy_process_group()
