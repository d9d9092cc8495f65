"""Collectives of more than 2 GiB: offsets and counts beyond 31 bits, on one host and between two. Long form only."""
import json
import sys
import textwrap
from pathlib import Path

import pytest

from tests.distributed import jobs

from .launch import DEVICE

GIB = 1 << 30
PROGRAM = textwrap.dedent("""
    import os, sys, torch, torch_npu
    import torch.distributed as dist
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    torch.npu.set_device(int(os.environ["ASCEND_DEVICE_ID"]))
    dist.init_process_group("hccl")
    n = (1 << 31) + 123_457 * size  # bytes: a little more than 2 GiB, and not round
    half = n // size

    def numbers(r, first, count, step=1):
        return ((torch.arange(first, first + count * step, step) * 7 + r * 13) % 50).to(torch.int8)

    def tensor(r, bytes):
        # the numbers repeat after 50
        piece = numbers(r, 0, 50 << 16).npu()
        x = torch.empty(bytes, dtype=torch.int8, device="npu")
        for at in range(0, bytes, len(piece)):
            x[at:at + len(piece)] = piece[:bytes - at]
        return x

    def check(what, x, want):
        # want(first, count, step): the ends, around 1 and 2 GiB, and a sample of everything
        bytes = x.numel()
        for at in (0, (1 << 30) - 500, (1 << 31) - 500, bytes - 1000):
            at = max(0, min(at, bytes - 1000))
            assert torch.equal(x[at:at + 1000].cpu(), want(at, 1000, 1)), (what, rank, at)
        count = (bytes + 65536) // 65537
        assert torch.equal(x[::65537].cpu(), want(0, count, 65537)), (what, rank, "sample")
        print("rank", rank, what, bytes, "is right", flush=True)

    def of_blocks(where):
        # where(block): whose numbers, and the first of them
        def want(first, count, step):
            index = torch.arange(first, first + count * step, step)
            out = torch.empty(count, dtype=torch.int8)
            for block in range(size):
                here = index // half == block
                r, start = where(block)
                out[here] = ((((index[here] - block * half) + start) * 7 + r * 13) % 50).to(torch.int8)
            return out
        return want

    for name in sys.argv[1:]:
        if name == "all_reduce":
            x = tensor(rank, n)
            dist.all_reduce(x)
            check(name, x, lambda *a: sum(numbers(r, *a) for r in range(size)))
        elif name == "broadcast":
            x = tensor(rank, n)
            dist.broadcast(x, 1)
            check(name, x, lambda *a: numbers(1, *a))
        elif name == "all_gather":
            x, out = tensor(rank, half), torch.empty(n, dtype=torch.int8, device="npu")
            dist.all_gather_into_tensor(out, x)
            check(name, out, of_blocks(lambda block: (block, 0)))
            del out
        elif name == "all_to_all":
            x, out = tensor(rank, n), torch.empty(n, dtype=torch.int8, device="npu")
            dist.all_to_all_single(out, x)
            check(name, out, of_blocks(lambda block: (block, rank * half)))
            del out
        elif name == "send":
            x = tensor(0, n) if rank == 0 else torch.empty(n, dtype=torch.int8, device="npu")
            dist.send(x, 1) if rank == 0 else dist.recv(x, 0)
            torch.npu.synchronize()
            check(name, x, lambda *a: numbers(0, *a))
        else:
            raise SystemExit(f"no check is called {name}")
        del x
        torch.npu.synchronize()
        torch.npu.empty_cache()
    dist.destroy_process_group()
""")
# GiB that both ranks have together: buffers, and between hosts what arrives (of all_to_all and the copies nothing)
NEEDS = {("all_reduce", 1): 4.1, ("broadcast", 1): 4.1, ("all_gather", 1): 6.2, ("all_to_all", 1): 8.2, ("send", 1): 4.1,
         ("all_reduce", 2): 6.2, ("broadcast", 2): 4.1, ("all_gather", 2): 6.2, ("all_to_all", 2): 8.2, ("send", 2): 4.1}
SPARE = 2.5  # two processes with torch, and something for the others


def free_gib():
    """What may be used: of the machine, and of the control group if it has a limit."""
    lines = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
    free = int(lines["MemAvailable"].split()[0]) / (1 << 20)
    group = Path("/sys/fs/cgroup")
    try:
        limit, used = (group / "memory.max").read_text().strip(), int((group / "memory.current").read_text())
        cache = int(next(line.split()[1] for line in (group / "memory.stat").read_text().splitlines() if line.startswith("inactive_file ")))
        if limit != "max":
            free = min(free, (int(limit) - used + cache) / GIB)
    except OSError:
        pass
    return free


@pytest.mark.long
@pytest.mark.skipif(DEVICE != "npu", reason="about hccl")
@pytest.mark.timeout(900)
@pytest.mark.parametrize("hosts", [1, 2])
@pytest.mark.parametrize("name", ["all_reduce", "broadcast", "all_gather", "all_to_all", "send"])
def test_more_than_two_gib(tmp_path, name, hosts):
    needs, free = NEEDS[name, hosts] + SPARE, free_gib()
    if free < needs:
        pytest.skip(f"{name} of more than 2 GiB by two ranks needs {needs:.1f} GiB, {free:.1f} GiB are free here: free some, or run it elsewhere")
    # two server_ids make two hosts of this one: their ranks share no memory
    servers = [f"127.0.0.{h + 1}" for h in range(hosts)]
    table = {"version": "1.0", "status": "completed", "server_count": str(hosts), "server_list": [
        {"server_id": server, "device": [{"device_id": str(r), "device_ip": f"10.0.0.{r + 1}", "rank_id": str(r)} for r in range(2)
                                         if r * hosts // 2 == h]} for h, server in enumerate(servers)]}
    (tmp_path / "table.json").write_text(json.dumps(table))
    (tmp_path / "program.py").write_text(PROGRAM)
    base = jobs.free_base_port()
    ended = jobs.run([sys.executable, tmp_path / "program.py", name],
                     [dict(RANK=r, LOCAL_RANK=r, WORLD_SIZE=2, LOCAL_WORLD_SIZE=2, GROUP_RANK=0, RANK_ID=r, RANK_SIZE=2, ASCEND_DEVICE_ID=r,
                           RANK_TABLE_FILE=tmp_path / "table.json", MASTER_ADDR="127.0.0.1", MASTER_PORT=base + 15, HCCL_IF_BASE_PORT=base,
                           UPDRAFT_MEMORY="6G") for r in range(2)], timeout=800)
    assert all(e.status == 0 and f"rank {r} {name}" in e.output for r, e in enumerate(ended)), jobs.report(ended)
