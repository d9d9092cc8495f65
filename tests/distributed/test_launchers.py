"""Real starts: torchrun, its restart after a kill, torch.multiprocessing; what tests/distributed/launch.py leaves out."""
import json
import os
import signal
import subprocess
import sys

import pytest

from tests.clients.subproc import ROOT, environment

from .launch import BACKEND, DEVICE

pytestmark = pytest.mark.timeout(300)
HEAD = f"""
import json, os, signal, sys
import torch
import torch.distributed as dist
NPU, BACKEND, DEVICE = {DEVICE == "npu"}, {BACKEND!r}, {DEVICE!r}
if NPU:
    import torch_npu
"""

RESTART = HEAD + """
folder = sys.argv[1]
rank, attempt = int(os.environ["RANK"]), int(os.environ["TORCHELASTIC_RESTART_COUNT"])
device = "cpu"
if NPU:
    torch.npu.set_device(int(os.environ["LOCAL_RANK"]))
    device = "npu"
dist.init_process_group(BACKEND)
torch.manual_seed(0)
model = torch.nn.Linear(8, 1).to(device)
ddp = torch.nn.parallel.DistributedDataParallel(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
place, first = os.path.join(folder, "checkpoint.pt"), 0
if os.path.exists(place):
    state = torch.load(place, map_location=device, weights_only=True)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    first = state["step"]
for step in range(first, 8):
    if sys.argv[2] == "kill" and rank == 1 and attempt == 0 and step == 5:
        os.kill(os.getpid(), signal.SIGKILL)
    x = torch.randn(4, 8, generator=torch.Generator().manual_seed(100 * step + rank)).to(device)
    optimizer.zero_grad()
    loss = (ddp(x) - x.sum(1, keepdim=True)).square().mean()
    loss.backward()
    optimizer.step()
    if step % 2 == 1:
        if rank == 0:
            torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step + 1}, place + ".new")
            os.rename(place + ".new", place)
        dist.barrier()
with open(os.path.join(folder, "end-%d" % rank), "w") as f:
    json.dump({"attempt": attempt, "first": first, "weight": model.weight.flatten().tolist()}, f)
dist.destroy_process_group()
"""


# torch 2.13's agent keeps one store for all attempts of a single node without a prefix for each, so that after a restart a rank may
# read where the dead one was listening, whatever the backend; hence TORCH_DISABLE_SHARE_RDZV_TCP_STORE below.
def torchrun(tmp_path, code, *words, restarts=0, ranks=2):
    script = tmp_path / "script.py"
    script.write_text(code)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}", f"--max-restarts={restarts}",
               "--monitor-interval=0.1", str(script), str(tmp_path), *words]
    process = subprocess.Popen(command, cwd=ROOT, env=environment(TORCH_DISABLE_SHARE_RDZV_TCP_STORE="1"), stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, start_new_session=True)
    try:
        text = process.communicate(timeout=200)[0]
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    assert process.returncode == 0, text[-6000:]
    return text


def ends(folder):
    return [json.loads((folder / f"end-{r}").read_text()) for r in range(2)]


def test_torchrun_restarts_after_a_kill(tmp_path):
    """kill -9 in step 5: the agent starts all again, they go on from the checkpoint of step 4, and end where others end."""
    (tmp_path / "killed").mkdir()
    (tmp_path / "whole").mkdir()
    torchrun(tmp_path / "killed", RESTART, "kill", restarts=1)
    torchrun(tmp_path / "whole", RESTART, "through")
    killed, whole = ends(tmp_path / "killed"), ends(tmp_path / "whole")
    assert [(e["attempt"], e["first"]) for e in killed] == [(1, 4), (1, 4)] and [e["first"] for e in whole] == [0, 0]
    assert killed[0]["weight"] == killed[1]["weight"] == whole[0]["weight"]


SPAWN = HEAD + """
import torch.multiprocessing

def work(rank, folder, place):
    if NPU:
        torch.npu.set_device(rank)
    dist.init_process_group(BACKEND, init_method="file://" + place, rank=rank, world_size=2)
    x = torch.full((1000,), rank + 1.0, device=DEVICE)
    dist.all_reduce(x)
    with open("%s/end-%d" % (folder, rank), "w") as f:
        json.dump(x[-1].item(), f)
    # no destroy_process_group: many scripts forget it

if __name__ == "__main__":
    torch.multiprocessing.spawn(work, args=(sys.argv[1], sys.argv[1] + "/rendezvous"), nprocs=2)
"""


def test_spawned_ranks(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SPAWN)
    done = subprocess.run([sys.executable, str(script), str(tmp_path)], cwd=ROOT, env=environment(), timeout=120, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout[-4000:]
    assert ends(tmp_path) == [3.0, 3.0]
