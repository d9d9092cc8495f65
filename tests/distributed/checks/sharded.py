"""Parameters divided among ranks: FSDP, fully_shard, tensor and pipeline parallelism, sharded checkpoints."""
import copy

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F

from tests.clients.training import models

from ..launch import DEVICE
from ..reference import numbers
from ..registry import check


def make():
    torch.manual_seed(1)
    return models.GPT(layers=2)


def batch(step, rank=None, ranks=1):
    ids = torch.randint(211, (8, 17), generator=torch.Generator().manual_seed(40 + step))
    return ids if rank is None else ids.chunk(ranks)[rank]


def step_of(world, model, optimizer, ids):
    optimizer.zero_grad()
    ids = world.tensor(ids)
    loss = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
    loss.backward()
    optimizer.step()
    return loss.detach()


def train(world, model, steps=4, divided=True):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    share = (world.rank, world.size) if divided else (None, 1)
    found = torch.stack([step_of(world, model, optimizer, batch(s, *share)) for s in range(steps)])
    if divided:
        dist.all_reduce(found)
        found /= world.size
    return found


@check(2, 4, npu=True, seconds=120)
def fsdp(world, findings):
    from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
    from torch.distributed.fsdp import ShardingStrategy
    from torch.distributed.fsdp.wrap import ModuleWrapPolicy
    expected = train(world, make().to(world.device), divided=False)
    for strategy in (ShardingStrategy.FULL_SHARD, ShardingStrategy.SHARD_GRAD_OP):
        model = FSDP(make().to(world.device), auto_wrap_policy=ModuleWrapPolicy({models.Layer}), sharding_strategy=strategy, use_orig_params=True,
                     device_id=world.device)
        findings.same(train(world, model), expected, f"{strategy}: losses", 1e-5, 0)


@check(2, 4, seconds=120)
def fully_shard(world, findings):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard as shard
    mesh = init_device_mesh(DEVICE, (world.size,))
    alone = make().to(world.device)
    expected = train(world, alone, divided=False)
    model = make().to(world.device)
    for layer in model.layers:
        shard(layer, mesh=mesh)
    shard(model, mesh=mesh)
    findings.that(all(p.to_local().numel() < p.numel() for p in model.parameters() if p.shape[0] >= world.size), "parameters are not divided")
    findings.same(train(world, model), expected, "losses", 1e-5, 0)
    for (name, p), (_, q) in zip(model.named_parameters(), alone.named_parameters()):
        findings.same(p.full_tensor().detach(), q.detach(), name, 1e-3, 1e-4)


@check(2, 4)
def tensor_parallel(world, findings):
    """A column-wise and a row-wise divided Linear: one all-reduce forward, one backward."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
    mesh = init_device_mesh(DEVICE, (world.size,))
    torch.manual_seed(2)
    alone = nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 32)).to(world.device)
    model = parallelize_module(copy.deepcopy(alone), mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
    findings.that(model[0].weight.to_local().shape == (64 // world.size, 32), f"column shard {model[0].weight.to_local().shape}")
    x = numbers(5, 8 * 32, torch.float32).view(8, 32)
    expected, actual = alone(world.tensor(x)), model(world.tensor(x))
    findings.same(actual.detach(), expected.detach(), "forward", 1e-4, 1e-5)
    expected.square().mean().backward()
    actual.square().mean().backward()
    for name in ("0.weight", "0.bias", "2.weight", "2.bias"):
        findings.same(model.get_parameter(name).grad.full_tensor(), alone.get_parameter(name).grad, name, 1e-4, 1e-5)


@check(4)
def two_dimensional_mesh(world, findings):
    """2 x 2: data parallel over one dimension, tensor parallel over the other, and DTensor's redistributions."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard as shard
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
    mesh = init_device_mesh(DEVICE, (2, 2), mesh_dim_names=("dp", "tp"))
    torch.manual_seed(3)
    alone = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 32)).to(world.device)
    model = parallelize_module(copy.deepcopy(alone), mesh["tp"], {"0": ColwiseParallel(), "2": RowwiseParallel()})
    shard(model, mesh=mesh["dp"])
    x = numbers(6, 8 * 32, torch.float32).view(8, 32)
    part = x.chunk(2)[mesh["dp"].get_local_rank()]
    model(world.tensor(part)).square().mean().backward()
    alone(world.tensor(x)).square().mean().backward()
    findings.same(model[0].weight.grad.full_tensor(), alone[0].weight.grad, "gradient", 1e-4, 1e-6)
    whole = numbers(7, 8 * 12, torch.float32).view(8, 12)
    spread = distribute_tensor(world.tensor(whole), mesh, [Shard(0), Shard(1)])
    findings.that(spread.to_local().shape == (4, 6), f"local shape {spread.to_local().shape}")
    findings.same(spread.redistribute(mesh, [Replicate(), Replicate()]).to_local(), whole, "replicated")
    findings.same(spread.redistribute(mesh, [Shard(1), Shard(0)]).full_tensor(), whole, "shards turned round (all_to_all)")
    findings.same((spread @ spread.t()).full_tensor(), whole @ whole.t(), "a product of shards", 1e-5, 1e-5)


@check(2)
def pipeline_by_hand(world, findings):
    """Two stages; activations go forth and gradients come back by send and recv."""
    torch.manual_seed(4)
    alone = nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 4)).to(world.device)
    stage = copy.deepcopy(alone[:2] if world.rank == 0 else alone[2:])
    x = numbers(8, 12 * 16, torch.float32).view(12, 16)
    for part in x.chunk(3):
        if world.rank == 0:
            y = stage(world.tensor(part))
            dist.send(y.detach(), 1)
            grad = torch.empty_like(y)
            dist.recv(grad, 1)
            y.backward(grad)
        else:
            y = world.tensor(torch.empty(4, 32)).requires_grad_()
            dist.recv(y.data, 0)
            stage(y).square().sum().backward()
            dist.send(y.grad, 0)
    alone(world.tensor(x)).square().sum().backward()
    for (name, p), (_, q) in zip(stage.named_parameters(), (alone[:2] if world.rank == 0 else alone[2:]).named_parameters()):
        findings.same(p.grad, q.grad, name, 1e-5, 1e-6)


@check(2, npu=True)
def pipeline_by_schedule(world, findings):
    """torch.distributed.pipelining: GPipe and 1F1B with four micro-batches."""
    from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe
    torch.manual_seed(5)
    alone = nn.Sequential(nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 4)).to(world.device)
    x, y = numbers(9, 8 * 16, torch.float32).view(8, 16), numbers(10, 8 * 4, torch.float32).view(8, 4)
    for kind in (ScheduleGPipe, Schedule1F1B):
        mine = copy.deepcopy(alone[:2] if world.rank == 0 else alone[2:])
        schedule = kind(PipelineStage(mine, world.rank, 2, world.device), n_microbatches=4, loss_fn=F.mse_loss)
        if world.rank == 0:
            schedule.step(world.tensor(x))
        else:
            schedule.step(target=world.tensor(y))
        alone.zero_grad()
        F.mse_loss(alone(world.tensor(x)), world.tensor(y)).backward()
        for (name, p), (_, q) in zip(mine.named_parameters(), (alone[:2] if world.rank == 0 else alone[2:]).named_parameters()):
            findings.same(p.grad, q.grad, f"{kind.__name__}: {name}", 1e-4, 1e-6)


@check(2)
def checkpoint_of_rank_0(world, findings):
    """Rank 0 saves, all wait at a barrier and load onto their own device."""
    torch.manual_seed(6 + world.rank)
    model, place = nn.Linear(64, 64).to(world.device), world.folder / "rank0.pt"
    if world.rank == 0:
        torch.save(model.state_dict(), place)
    dist.barrier()
    findings.that(place.exists(), "the barrier let a rank pass before rank 0 had saved")
    model.load_state_dict(torch.load(place, map_location=world.device, weights_only=True))
    everyone = [torch.empty_like(model.weight) for _ in range(world.size)]
    dist.all_gather(everyone, model.weight.detach())
    for x in everyone:
        findings.same(x, everyone[0], "weights after loading")
    findings.that(model.weight.device == world.device, f"loaded to {model.weight.device}")


@check(2, seconds=120)
def sharded_checkpoint(world, findings):
    """torch.distributed.checkpoint of a fully sharded model and its optimizer; the next step is the same after loading."""
    import torch.distributed.checkpoint as dcp
    from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard as shard
    mesh = init_device_mesh(DEVICE, (world.size,))

    def fresh(seed):
        torch.manual_seed(seed)
        model = models.GPT(layers=1).to(world.device)
        shard(model, mesh=mesh)
        return model, torch.optim.AdamW(model.parameters(), lr=1e-3)

    model, optimizer = fresh(1)
    for s in range(2):
        step_of(world, model, optimizer, batch(s, world.rank, world.size))
    state = dict(zip(("model", "optimizer"), get_state_dict(model, optimizer)))
    dcp.save(state, checkpoint_id=str(world.folder / "sharded"))
    expected = [step_of(world, model, optimizer, batch(s, world.rank, world.size)) for s in range(2, 5)]
    model, optimizer = fresh(99)
    state = dict(zip(("model", "optimizer"), get_state_dict(model, optimizer)))
    dcp.load(state, checkpoint_id=str(world.folder / "sharded"))
    set_state_dict(model, optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"])
    for s, wanted in zip(range(2, 5), expected):
        findings.same(step_of(world, model, optimizer, batch(s, world.rank, world.size)), wanted, f"step {s} after loading", 1e-6, 0)
