"""apex.parallel over ranks, with and without apex.amp: as one process on the whole batch."""
import warnings

import torch
import torch.distributed as dist
import torch.nn.functional as F

from tests.clients.apex_amp.nets import Net, batch

from ..registry import check

STEPS = 4


def build(world):
    torch.manual_seed(world.rank)  # DistributedDataParallel starts all from rank 0's
    return Net().to(world.device)


def alone(world, convert=lambda model: model):
    torch.manual_seed(0)
    return convert(Net()).to(world.device)


def losses(world, model, share, level, wrap=lambda model: model, average=1.0):
    from apex import amp
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05 / average)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # amp.initialize again
        model, optimizer = amp.initialize(model, optimizer, opt_level=level, verbosity=0)
    model, found = wrap(model), []
    x, y = (t.chunk(share[1])[share[0]] for t in batch(world.device, 16))
    try:
        for _ in range(STEPS):
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            with amp.scale_loss(loss, optimizer) as scaled:
                scaled.backward()
            optimizer.step()
            found.append(loss.detach())
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            amp.initialize(torch.nn.Linear(1, 1), opt_level="O0", verbosity=0)  # no casts for what follows
    return torch.stack(found)


def mean(world, tensor):
    dist.all_reduce(tensor)
    return tensor / world.size


@check(2, 4)
def apex_data_parallel_with_synchronised_batch_norm(world, findings):
    from apex.parallel import DistributedDataParallel, convert_syncbn_model
    for level, rtol in (("O0", 1e-4), ("O1", 5e-3), ("O2", 5e-3)):
        expected = losses(world, alone(world), (0, 1), level)
        model = convert_syncbn_model(build(world))
        findings.that(isinstance(model.norm, torch.nn.SyncBatchNorm), "the batch norm is not converted")
        mine = losses(world, model, (world.rank, world.size), level, DistributedDataParallel)
        findings.same(mean(world, mine), expected, level, rtol, 1e-3)


@check(2)
def apex_data_parallel_options(world, findings):
    """The batch norm's statistics are each rank's, so the halves are compared with each other's options, not with one process."""
    from apex.parallel import DistributedDataParallel
    share = world.rank, world.size
    expected = losses(world, build(world), share, "O0", lambda m: DistributedDataParallel(m, message_size=1000))
    for what, options, average in (("predivided", dict(gradient_predivide_factor=2.0), 1.0),
                                   ("in fp32", dict(allreduce_always_fp32=True, delay_allreduce=True), 1.0),
                                   ("a sum", dict(gradient_average=False), world.size)):
        found = losses(world, build(world), share, "O0", lambda m: DistributedDataParallel(m, **options), average)
        findings.same(found, expected, what, 1e-4, 1e-5)


@check(2)
def apex_overflow_on_one_rank(world, findings):
    """All ranks skip: the all-reduce carries the infinity."""
    from apex import amp
    from apex.parallel import DistributedDataParallel
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        model = build(world)
        model, optimizer = amp.initialize(model, torch.optim.SGD(model.parameters(), lr=0.05), opt_level="O2", verbosity=0)
    model = DistributedDataParallel(model)
    x, y = batch(world.device)
    before = model.module.head.weight.detach().clone()
    with amp.scale_loss(F.cross_entropy(model(x), y) * (1e36 if world.rank == 1 else 1.0), optimizer) as loss:
        loss.backward()
    optimizer.step()
    findings.that(amp.state_dict()["loss_scaler0"]["loss_scale"] == 2.0**15, "the scale is not halved")
    findings.same(model.module.head.weight.detach(), before, "the weights")


@check(2)
def apex_reducer_and_groups(world, findings):
    from apex.parallel import Reducer, create_syncbn_process_group
    model = build(world)
    reducer = Reducer(model)
    findings.same(model.conv.weight.detach(), alone(world).conv.weight.detach(), "the parameters of rank 0")
    for p in model.parameters():
        p.grad = torch.full_like(p, float(world.rank))
    reducer.reduce()
    findings.same(model.head.bias.grad, torch.full_like(model.head.bias, (world.size - 1) / 2), "the mean")
    findings.that(dist.get_world_size(create_syncbn_process_group(1)) == 1, "a group of one rank")
    findings.that(create_syncbn_process_group(0) is None, "no group is all ranks")
    findings.raises(lambda: create_syncbn_process_group(3), "3 of 2 ranks", "do not divide")
