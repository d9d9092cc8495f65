"""Parameters with gradients, in lists of one device and dtype as torch._foreach operators are fast on them."""

import collections


def unsupported(optimizer, **options):
    """Refuses options that would change the result and are not done."""
    for name, advice in options.items():
        raise NotImplementedError("%s: %s is not in Updraft's apex; %s" % (type(optimizer).__name__, name, advice))


def by_type(group):
    lists = collections.defaultdict(list)
    for param in group["params"]:
        if param.grad is None:
            continue
        if param.grad.is_sparse:
            raise RuntimeError("a sparse gradient: use torch.optim.SparseAdam or torch.optim.SGD for these parameters")
        lists[param.device, param.dtype, param.grad.dtype].append(param)
    return lists.values()


def state_of(optimizer, params, *names):
    """A list of each named state, in fp32 and zero at first."""
    import torch

    for param in params:
        state = optimizer.state[param]
        for name in names:
            if name not in state:
                state[name] = torch.zeros_like(param, dtype=torch.float32)
    return [[optimizer.state[param][name] for param in params] for name in names]


def in_fp32(tensors):
    return [t if t.dtype.itemsize >= 4 else t.float() for t in tensors]
