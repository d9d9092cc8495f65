"""A training script that saves checkpoints and goes on from them. argv: folder, and "kill" for a rank 1 that dies in step 5."""
import json
import os
import signal
import sys

import torch
import torch.distributed as dist

STEPS = 8


def train(folder, rank, device, dies=False):
    """(first step, last weights)"""
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
    for step in range(first, STEPS):
        if dies and rank == 1 and step == 5:
            os.kill(os.getpid(), signal.SIGKILL)
        x = torch.randn(4, 8, generator=torch.Generator().manual_seed(100 * step + rank)).to(device)
        optimizer.zero_grad()
        (ddp(x) - x.sum(1, keepdim=True)).square().mean().backward()
        optimizer.step()
        if step % 2 == 1:
            if rank == 0:
                torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step + 1}, place + ".new")
                os.rename(place + ".new", place)
            dist.barrier()
    return first, model.weight.flatten().tolist()


def main():
    folder, rank, attempt = sys.argv[1], int(os.environ["RANK"]), int(os.environ["TORCHELASTIC_RESTART_COUNT"])
    device = os.environ.get("UPDRAFT_DIST_DEVICE", "npu")
    if device == "npu":
        import torch_npu  # noqa: F401
        torch.npu.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("hccl" if device == "npu" else "gloo")
    first, weights = train(folder, rank, device, dies=sys.argv[2] == "kill" and attempt == 0)
    with open(os.path.join(folder, f"end-{rank}"), "w") as f:
        json.dump({"attempt": attempt, "first": first, "weights": weights}, f)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
