"""DistributedDataParallel: the losses of the ranks' halves are those of one process on the whole batch."""
import contextlib
import copy

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.clients.training import models
from tests.clients.training.tasks import classify, next_token, pictures, texts

from ..launch import DEVICE
from ..registry import check

STEPS = 4
KINDS = {  # constructor, batches of 8, loss, optimizer
    "resnet18": (models.resnet18, pictures(8, 32), classify, lambda p: torch.optim.SGD(p, lr=3e-4, momentum=0.9)),
    "gpt": (lambda: models.GPT(layers=2), texts(8, 17, 211), next_token, lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9)),
}


def build(kind):
    torch.manual_seed(1)
    return KINDS[kind][0]()


def freeze_statistics(model):
    """Batch norm with its running statistics does not depend on how the batch is divided."""
    for m in model.modules():
        if isinstance(m, nn.BatchNorm2d):
            m.eval()
    return model


def losses(world, model, kind, batches, share, optimizer=None, context=contextlib.nullcontext):
    _, _, loss_of, make = KINDS[kind]
    optimizer = optimizer or make(model.parameters())
    found = []
    for batch in batches:
        part = [world.tensor(x.chunk(share[1])[share[0]]) for x in batch]
        optimizer.zero_grad(set_to_none=True)
        with context():
            loss = loss_of(model, *part)
            loss.backward()
        optimizer.step()
        found.append(loss.detach())
    return torch.stack(found)


def batches_of(kind):
    g = torch.Generator().manual_seed(2)
    return [KINDS[kind][1](g) for _ in range(STEPS)]


def compare(world, findings, kind, what, options=None, prepare=freeze_statistics):
    """One process on the joined batch against ranks on their parts: losses, and parameters at the end."""
    batches = batches_of(kind)
    alone = prepare(build(kind).to(world.device).train())
    expected = losses(world, alone, kind, batches, (0, 1))
    model = prepare(build(kind).to(world.device).train())
    where = {"device_ids": [world.rank]} if DEVICE == "npu" else {}
    ddp = DDP(model, **where, **(options or {}))
    mine = losses(world, ddp, kind, batches, (world.rank, world.size))
    dist.all_reduce(mine)
    findings.same(mine / world.size, expected, f"{what}: losses", 1e-5, 0)
    for (name, p), (_, q) in zip(model.named_parameters(), alone.named_parameters()):
        findings.same(p.detach(), q.detach(), f"{what}: {name}", 1e-3, 1e-5)
    return ddp


@check(2, seconds=180)
def ddp_resnet18(world, findings):
    compare(world, findings, "resnet18", "resnet18")


@check(2, seconds=120)
def ddp_transformer(world, findings):
    compare(world, findings, "gpt", "gpt")


@check(2, seconds=120)
def ddp_options(world, findings):
    """Views of buckets, a static graph, small buckets: other ways to the same numbers."""
    for options in ({"gradient_as_bucket_view": True}, {"static_graph": True}, {"bucket_cap_mb": 0.01}, {"broadcast_buffers": False}):
        compare(world, findings, "gpt", str(options), options)


@check(2, seconds=180)
def ddp_with_synchronised_batch_norm(world, findings):
    """SyncBatchNorm over two ranks against BatchNorm over the joined batch."""
    def layers():
        torch.manual_seed(3)
        return nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 8, 3, stride=2), nn.BatchNorm2d(8), nn.Flatten(),
                             nn.Linear(8 * 7 * 7, 10)).to(world.device).train()

    if DEVICE == "cpu":
        return  # torch's SyncBatchNorm is for accelerators
    batches = [b for b in batches_of("resnet18")]
    batches = [(x[:, :, :18, :18].contiguous(), y) for x, y in batches]
    alone, model = layers(), nn.SyncBatchNorm.convert_sync_batchnorm(layers())
    expected = losses(world, alone, "resnet18", batches, (0, 1))
    mine = losses(world, DDP(model, device_ids=[world.rank]), "resnet18", batches, (world.rank, world.size))
    dist.all_reduce(mine)
    findings.same(mine / world.size, expected, "losses", 1e-5, 0)
    findings.same(model[1].running_mean, alone[1].running_mean, "running mean", 1e-5, 1e-6)
    findings.same(model[4].running_var, alone[4].running_var, "running variance", 1e-4, 1e-6)


class Branches(nn.Module):
    def __init__(self):
        super().__init__()
        self.always, self.even, self.odd, self.never = (nn.Linear(16, 16) for _ in range(4))

    def forward(self, x, step):
        return (self.even if step % 2 == 0 else self.odd)(self.always(x))


@check(2)
def ddp_with_unused_parameters(world, findings):
    torch.manual_seed(4)
    alone = Branches().to(world.device)
    model = copy.deepcopy(alone)
    ddp = DDP(model, find_unused_parameters=True)
    x = torch.randn(world.size * 4, 16, generator=torch.Generator().manual_seed(5))
    for step in range(4):
        ddp.zero_grad(set_to_none=True)
        ddp(world.tensor(x.chunk(world.size)[world.rank]), step).square().mean().backward()
        alone.zero_grad(set_to_none=True)
        alone(world.tensor(x), step).square().mean().backward()
        for (name, p), (_, q) in zip(model.named_parameters(), alone.named_parameters()):
            findings.that((p.grad is None) == (q.grad is None), f"step {step}: {name} has a gradient: {p.grad is not None}")
            if p.grad is not None and q.grad is not None:
                findings.same(p.grad, q.grad, f"step {step}: {name}", 1e-5, 1e-7)
    strict = DDP(Branches().to(world.device))
    strict(world.tensor(x), 0).sum().backward()
    findings.raises(lambda: strict(world.tensor(x), 0), "without find_unused_parameters", "Expected to have finished reduction")


@check(2)
def ddp_accumulates_without_sync(world, findings):
    torch.manual_seed(6)
    alone = nn.Linear(32, 8).to(world.device)
    model = copy.deepcopy(alone)
    ddp = DDP(model)
    x = torch.randn(3, world.size * 4, 32, generator=torch.Generator().manual_seed(7))
    with ddp.no_sync():
        for n in range(2):
            ddp(world.tensor(x[n].chunk(world.size)[world.rank])).square().mean().backward()
    local = model.weight.grad.clone()
    others = [torch.empty_like(local) for _ in range(world.size)]
    dist.all_gather(others, local)
    findings.that(not torch.equal(others[0].cpu(), others[1].cpu()), "gradients were synchronised inside no_sync")
    ddp(world.tensor(x[2].chunk(world.size)[world.rank])).square().mean().backward()
    for n in range(3):
        alone(world.tensor(x[n])).square().mean().backward()
    findings.same(model.weight.grad, alone.weight.grad, "accumulated over three batches", 1e-5, 1e-6)


@check(2, npu=True)
def ddp_with_autocast_and_compression(world, findings):
    """fp16 autocast with a gradient scaler, then gradients compressed to fp16: the ranks stay together and learn."""
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
    for kind in ("scaler", "hook"):
        torch.manual_seed(8)
        model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 4)).to(world.device)
        ddp = DDP(model, device_ids=[world.rank])
        if kind == "hook":
            ddp.register_comm_hook(None, default_hooks.fp16_compress_hook)
        optimizer, scaler = torch.optim.SGD(model.parameters(), lr=0.1), torch.amp.GradScaler("npu", enabled=kind == "scaler")
        x, y = torch.randn(8, 16, generator=torch.Generator().manual_seed(9 + world.rank)), torch.tensor([0, 1, 2, 3, 0, 1, 2, 3])
        found = []
        for _ in range(10):
            optimizer.zero_grad()
            with torch.autocast("npu", torch.float16, enabled=kind == "scaler"):
                loss = nn.functional.cross_entropy(ddp(world.tensor(x)), world.tensor(y))
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            found.append(loss.item())
        findings.that(found[-1] < found[0] * 0.9, f"{kind}: does not learn: {found}")
        first = model[0].weight.detach().clone()
        dist.broadcast(first, 0)
        findings.same(model[0].weight.detach(), first, f"{kind}: the ranks have other weights")


@check(2)
def sampler_and_loader(world, findings):
    """DistributedSampler gives each rank its part of every epoch, in another order each time."""
    from torch.utils.data import DataLoader, DistributedSampler, TensorDataset
    data = TensorDataset(torch.arange(21.0))
    sampler = DistributedSampler(data, shuffle=True, seed=3)
    orders = []
    for epoch in range(2):
        sampler.set_epoch(epoch)
        mine = torch.cat([world.tensor(x) for x, in DataLoader(data, batch_size=4, sampler=sampler)])
        parts = [torch.empty_like(mine) for _ in range(world.size)]
        dist.all_gather(parts, mine)
        seen = torch.cat(parts).cpu()
        findings.that(sorted(set(seen.tolist())) == list(range(21)) and len(seen) == 22, f"epoch {epoch}: {seen.tolist()}")
        orders.append(seen.tolist())
    findings.that(orders[0] != orders[1], "both epochs have the same order")


@check(2, seconds=120)
def zero_redundancy_optimizer(world, findings):
    from torch.distributed.optim import ZeroRedundancyOptimizer
    batches = batches_of("gpt")
    alone, model = (build("gpt").to(world.device) for _ in range(2))
    expected = losses(world, alone, "gpt", batches, (0, 1), torch.optim.AdamW(alone.parameters(), lr=1e-3))
    optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.AdamW, lr=1e-3)
    mine = losses(world, DDP(model), "gpt", batches, (world.rank, world.size), optimizer)
    dist.all_reduce(mine)
    findings.same(mine / world.size, expected, "losses", 1e-5, 0)
    kept = sum(t.numel() for s in optimizer.optim.state.values() for t in s.values() if t.numel() > 1)
    everything = 2 * sum(p.numel() for p in model.parameters())
    findings.that(0 < kept < 0.8 * everything, f"a rank keeps {kept} of {everything} numbers of the state")
    optimizer.consolidate_state_dict(to=0)
    if world.rank == 0:
        findings.that(len(optimizer.state_dict()["state"]) == len(list(model.parameters())), "the consolidated state is not whole")
