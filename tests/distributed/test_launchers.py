"""Real starts: torchrun, its restart after a kill, torch.multiprocessing; what tests/distributed/launch.py leaves out."""
import json
import os
import signal
import subprocess
import sys

import pytest

from tests.clients.subproc import ROOT, environment

from . import recovery
from .launch import BACKEND, DEVICE, launch

pytestmark = pytest.mark.timeout(300)


def run(*command, seconds=200, **env):
    """The command with all that it starts, which ends with it; it must succeed."""
    process = subprocess.Popen([sys.executable, *command], cwd=ROOT, env=environment(**env), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               text=True, start_new_session=True)
    try:
        text = process.communicate(timeout=seconds)[0]
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    assert process.returncode == 0, text[-6000:]
    return text


def ends(folder):
    return [json.loads((folder / f"end-{r}").read_text()) for r in range(2)]


def never_interrupted(world):
    return recovery.train(world.folder, world.rank, DEVICE)


def test_torchrun_restarts_after_a_kill(tmp_path):
    """kill -9 in step 5: the agent starts all again, they go on from the checkpoint of step 4, and end where others end."""
    # torch 2.13's agent keeps one store for all attempts of a single node, without a prefix for each, so that after a restart a rank
    # may read where the dead one was listening, whatever the backend (gloo fails); hence the variable.
    run("-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", "--max-restarts=1", "--monitor-interval=0.1", recovery.__file__,
        str(tmp_path), "kill", TORCH_DISABLE_SHARE_RDZV_TCP_STORE="1")
    found = ends(tmp_path)
    assert [(e["attempt"], e["first"]) for e in found] == [(1, 4), (1, 4)]
    expected = launch(tmp_path / "whole", never_interrupted, 2)
    assert [first for first, _ in expected] == [0, 0]
    assert found[0]["weights"] == found[1]["weights"] == expected[0][1]


SPAWN = f"""
import json, sys
import torch
import torch.distributed as dist
import torch.multiprocessing
NPU = {DEVICE == "npu"}

def work(rank, folder):
    if NPU:
        import torch_npu
        torch.npu.set_device(rank)
    dist.init_process_group({BACKEND!r}, init_method="file://" + folder + "/rendezvous", rank=rank, world_size=2)
    x = torch.full((1000,), rank + 1.0, device={DEVICE!r})
    dist.all_reduce(x)
    with open("%s/end-%d" % (folder, rank), "w") as f:
        json.dump(x[-1].item(), f)
    # no destroy_process_group: many scripts forget it

if __name__ == "__main__":
    torch.multiprocessing.spawn(work, args=(sys.argv[1],), nprocs=2)
"""


def test_spawned_ranks(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SPAWN)
    run(str(script), str(tmp_path))
    assert ends(tmp_path) == [3.0, 3.0]
