"""send, recv and their batches."""
import torch
import torch.distributed as dist

from ..reference import LARGE, MOVED, SIZES, numbers
from ..registry import check


@check(2, 4)
def send_and_receive(world, findings):
    """Even ranks send first, odd ones receive first."""
    other = world.rank ^ 1
    for dtype in MOVED:
        for n in [*SIZES[1:], *([LARGE] if dtype == torch.float32 else [])]:
            out = world.tensor(torch.empty(n, dtype=dtype))
            mine = world.tensor(numbers(world.rank, n, dtype))
            if world.rank % 2 == 0:
                dist.send(mine, other)
                dist.recv(out, other)
            else:
                dist.recv(out, other)
                dist.send(mine, other)
            findings.same(out, numbers(other, n, dtype), f"{n} {dtype}")


@check(2, 4)
def messages_keep_their_order(world, findings):
    """Twenty sends before the first receive is waited for."""
    if world.rank == 0:
        works = [dist.isend(world.tensor(torch.full((100 + i,), float(i))), world.size - 1) for i in range(20)]
        for work in works:
            work.wait()
    elif world.rank == world.size - 1:
        out = [world.tensor(torch.empty(100 + i)) for i in range(20)]
        works = [dist.irecv(x, 0) for x in out]
        for work in works:
            work.wait()
        for i, x in enumerate(out):
            findings.same(x, torch.full((100 + i,), float(i)), f"message {i}")


@check(2, 4)
def a_ring_of_batches(world, findings):
    """batch_isend_irecv: all send and receive at once, with large messages, where plain sends would deadlock."""
    after, before = (world.rank + 1) % world.size, (world.rank - 1) % world.size
    for dtype in (torch.float32, torch.int8, torch.bfloat16, torch.int64):
        for n in (1, 4097, LARGE):
            mine, out = world.tensor(numbers(world.rank, n, dtype)), world.tensor(torch.empty(n, dtype=dtype))
            for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, mine, after), dist.P2POp(dist.irecv, out, before)]):
                work.wait()
            findings.same(out, numbers(before, n, dtype), f"{n} {dtype}")


@check(2, 4)
def batches_with_several_messages_a_peer(world, findings):
    """Both directions, three messages each of different sizes and dtypes, receives first in the list."""
    others = [r for r in range(world.size) if r != world.rank]
    kinds = [(torch.float32, 10), (torch.int32, 3000), (torch.float16, 77)]
    out = {(r, k): world.tensor(torch.empty(kinds[k][1], dtype=kinds[k][0])) for r in others for k in range(3)}
    # each direction of a pair has its own tensors; they are kept until all is done
    mine = {(r, k): world.tensor(numbers(100 * world.rank + 10 * r + k, kinds[k][1], kinds[k][0])) for r in others for k in range(3)}
    batch = [dist.P2POp(dist.irecv, out[r, k], r) for r in others for k in range(3)]
    batch += [dist.P2POp(dist.isend, mine[r, k], r) for r in others for k in range(3)]
    for work in dist.batch_isend_irecv(batch):
        work.wait()
    for (r, k), x in out.items():
        findings.same(x, numbers(100 * r + 10 * world.rank + k, kinds[k][1], kinds[k][0]), f"message {k} from {r}")


@check(4)
def a_pipeline_of_sends(world, findings):
    """A chain of four ranks, eight micro-batches in flight; each adds its number."""
    for i in range(8):
        x = world.tensor(torch.full((64, 64), float(i)))
        if world.rank:
            dist.recv(x, world.rank - 1)
        x += world.rank
        if world.rank < world.size - 1:
            dist.send(x, world.rank + 1)
        else:
            findings.same(x, torch.full((64, 64), i + 6.0), f"micro-batch {i}")
