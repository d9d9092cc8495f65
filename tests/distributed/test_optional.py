"""Variables of torch_npu by which it takes optional names of libhccl: several roots, zero copy of expandable segments."""
import sys
import textwrap

import pytest

from tests.distributed import jobs

from .launch import DEVICE

pytestmark = pytest.mark.skipif(DEVICE != "npu", reason="about hccl")

PROGRAM = textwrap.dedent("""
    import os, torch, torch_npu
    import torch.distributed as dist
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    torch.npu.set_device(rank)
    before = torch.ones(1000, device="npu")
    dist.init_process_group("hccl")
    x = torch.full((5000,), float(rank + 1), device="npu")
    dist.all_reduce(x)
    assert bool((x == size * (size + 1) / 2).all().cpu()), x
    # segments that come and go
    for n in range(3):
        big = torch.full((3 << 20,), float(rank), device="npu")
        out = torch.empty(size * (3 << 20), device="npu")
        dist.all_gather_into_tensor(out, big)
        assert bool((out.view(size, -1)[:, -1].cpu() == torch.arange(size)).all())
        del big, out
        torch.npu.synchronize()
        torch.npu.empty_cache()
    dist.destroy_process_group()
    print("rank", rank, "is right")
""")


def torch_job(folder, ranks, **variables):
    (folder / "program.py").write_text(PROGRAM)
    port = jobs.free_base_port()
    return jobs.run([sys.executable, folder / "program.py"],
                    [dict(RANK=r, LOCAL_RANK=r, WORLD_SIZE=ranks, LOCAL_WORLD_SIZE=ranks, GROUP_RANK=0, MASTER_ADDR="127.0.0.1", MASTER_PORT=port,
                          ASCEND_GLOBAL_LOG_LEVEL=1, **variables) for r in range(ranks)])


def right(ended):
    assert all(e.status == 0 and f"rank {r} is right" in e.output for r, e in enumerate(ended)), jobs.report(ended)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("per_root", [1, 2])
def test_several_roots(tmp_path, per_root):
    trace = tmp_path / "calls"
    ended = torch_job(tmp_path, 3, TORCH_HCCL_RANKS_PER_ROOT=per_root, UPDRAFT_TRACE=trace)
    right(ended)
    calls = trace.read_text()
    assert calls.count("HcclCommInitRootInfoScalable") >= 3 and calls.count("HcclGetRootInfoScalable") == -(-3 // per_root)


@pytest.mark.timeout(300)
def test_zero_copy_of_expandable_segments(tmp_path):
    trace = tmp_path / "calls"
    right(torch_job(tmp_path, 2, TORCH_HCCL_ZERO_COPY=1, PYTORCH_NPU_ALLOC_CONF="expandable_segments:True", UPDRAFT_TRACE=trace))
    calls = trace.read_text()
    assert all(name in calls for name in ("HcclCommSetMemoryRange", "HcclCommActivateCommMemory", "HcclCommDeactivateCommMemory"))
