"""Collectives on memory of expandable segments, under torchrun: peers reach it where it lies, as other device memory."""
import sys
import textwrap

import pytest

from tests.distributed import jobs

from .launch import DEVICE

pytestmark = pytest.mark.skipif(DEVICE != "npu", reason="about device memory")

PROGRAM = textwrap.dedent("""
    import os, torch, torch_npu
    import torch.distributed as dist
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    torch.npu.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("hccl")
    other = 1 - rank
    assert "expandable_segments:True" in os.environ["PYTORCH_NPU_ALLOC_CONF"]

    def numbers(r, n):
        return (torch.arange(n, dtype=torch.float32) % 9973 + r * 3)

    # more than half of the device's memory: there is no room for a copy
    n = 20 << 20
    x = numbers(rank, n).npu()
    dist.all_reduce(x)
    assert torch.equal(x.cpu(), numbers(0, n) + numbers(1, n)), "all_reduce"
    x.copy_(numbers(rank, n))
    dist.broadcast(x, 1)
    assert torch.equal(x.cpu(), numbers(1, n)), "broadcast"
    del x

    # segments that come, grow and go, so that other memory lies behind the same addresses
    for turn in range(4):
        n = (1 + turn) << 20
        torch.npu.empty_cache()
        keep = [torch.empty(700_000 * (k + 1), device="npu") for k in range(turn)]
        x, out = numbers(rank, n).npu(), torch.empty(size * n, device="npu")
        dist.all_gather_into_tensor(out, x)
        assert torch.equal(out.cpu(), torch.cat([numbers(r, n) for r in range(size)])), ("all_gather", turn)
        swapped = torch.empty_like(x)
        dist.all_to_all_single(swapped, x)
        assert torch.equal(swapped.cpu(), torch.cat([numbers(r, n).chunk(2)[rank] for r in range(size)])), ("all_to_all", turn)
        part = torch.empty(n, device="npu")
        dist.reduce_scatter_tensor(part, out)
        assert torch.equal(part.cpu(), 2 * numbers(rank, n)), ("reduce_scatter", turn)
        ops = [dist.P2POp(dist.isend, x, other), dist.P2POp(dist.irecv, part, other)]
        for work in dist.batch_isend_irecv(ops):
            work.wait()
        assert torch.equal(part.cpu(), numbers(other, n)), ("send and receive", turn)
        del keep, x, out, swapped, part, ops, work
    dist.destroy_process_group()
    print("rank", rank, "is right")
""")


@pytest.mark.timeout(300)
def test_collectives_without_room_for_a_copy(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    [ended] = jobs.run([sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", tmp_path / "program.py"],
                       [dict(PYTORCH_NPU_ALLOC_CONF="expandable_segments:True", UPDRAFT_MEMORY="144M")], timeout=250)
    assert ended.status == 0 and all(f"rank {r} is right" in ended.output for r in range(2)), jobs.report([ended])
