"""nccl is gloo, with the average that gloo lacks."""

import functools

import torch.distributed as dist


def _backend(name):
    text = str(name).lower() if name is not None else None
    return "gloo" if text is None or "nccl" in text else name


class Done:
    """The handle of a collective that was carried out at once."""

    def wait(self, timeout=None):
        return True

    def is_completed(self):
        return True

    def is_success(self):
        return True


def apply():
    if not dist.is_available():
        return
    from torch.distributed import distributed_c10d as c10d

    def replace(name, value):
        for module in (dist, c10d):
            setattr(module, name, value)

    init, group, reduce = c10d.init_process_group, c10d.new_group, c10d.all_reduce

    @functools.wraps(init)
    def init_process_group(backend=None, *args, **kwargs):
        kwargs.pop("device_id", None)
        kwargs.pop("pg_options", None)
        return init(_backend(backend), *args, **kwargs)

    @functools.wraps(group)
    def new_group(ranks=None, timeout=None, backend=None, *args, **kwargs):
        kwargs.pop("device_id", None)
        kwargs.pop("pg_options", None)
        return group(ranks, timeout, _backend(backend) if backend is not None else None, *args, **kwargs)

    @functools.wraps(reduce)
    def all_reduce(tensor, op=dist.ReduceOp.SUM, group=None, async_op=False):
        if op != dist.ReduceOp.AVG:
            return reduce(tensor, op, group, async_op)
        reduce(tensor, dist.ReduceOp.SUM, group)
        tensor.div_(dist.get_world_size(group))
        return Done() if async_op else None

    real_barrier = c10d.barrier

    @functools.wraps(real_barrier)
    def barrier(group=None, async_op=False, device_ids=None):
        return real_barrier(group, async_op)

    replace("init_process_group", init_process_group)
    replace("new_group", new_group)
    replace("all_reduce", all_reduce)
    replace("barrier", barrier)
    replace("is_nccl_available", lambda: True)
