"""Memory that torch_npu makes known to HCCL, and its way back after a fault."""
import torch
import torch.distributed as dist

from ..reference import numbers
from ..registry import check


def backend_of(group=None):
    return (group or dist.group.WORLD)._get_backend(torch.device("npu"))


@check(2, 4, npu=True)
def a_window_for_peers(world, findings):
    group = dist.new_group()
    x = world.tensor(torch.ones(4))
    dist.all_reduce(x, group=group)
    backend = backend_of(group)
    backend._window_register_and_exchange(1 << 20, [r for r in range(world.size) if r != world.rank])
    window = backend._get_window_mem()
    findings.that(window.numel() == 1 << 20, f"the window has {window.numel()} bytes")
    part = window[:4000].view(torch.float32)
    part.copy_(world.tensor(numbers(world.rank, 1000, torch.float32)))
    out = world.tensor(torch.empty(1000 * world.size))
    dist.all_gather_into_tensor(out, part, group=group)
    findings.same(out, torch.cat([numbers(r, 1000, torch.float32) for r in range(world.size)]), "all_gather of the window")
    findings.raises(lambda: backend._window_register_and_exchange(1 << 20, []), "a second window", "repeatedly", RuntimeError)
    wrong = dist.new_group()
    dist.all_reduce(x, group=wrong)
    findings.raises(lambda: backend_of(wrong)._window_register_and_exchange(4096, [world.rank]), "a window for oneself", "EI0003", RuntimeError)


@check(2, npu=True)
def a_pool_for_communication(world, findings):
    """Its segments are registered, and deregistered, one by one. (mem_allocator asks for CANN 9.2: this is 9.1.)"""
    backend = backend_of()
    dist.barrier()
    pool = torch.npu.MemPool()
    with torch.npu.use_mem_pool(pool):
        x = torch.full((100000,), float(world.rank + 1), device=world.device)
    backend.register_mem_pool(pool, symm=True)
    dist.all_reduce(x)
    findings.same(x, torch.full((100000,), world.size * (world.size + 1) / 2), "all_reduce in the pool's memory")
    backend.deregister_mem_pool(pool)
    del x


@check(2, npu=True)
def communicators_are_resumed(world, findings):
    from torch_npu.distributed import reinit_process_group
    x = world.tensor(torch.ones(10))
    dist.all_reduce(x)
    reinit_process_group(rebuild_link=False)
    dist.all_reduce(x)
    findings.same(x, torch.full((10,), float(world.size**2)), "after resume_hccl_comm")
