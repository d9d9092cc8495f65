"""In each process of a recorded run with PyTorch, on whatever device: what goes into the model and what trains it."""

import atexit
import hashlib
import threading
import weakref

from updraft.record import scaling
from updraft.record.inside import guarded, record
from updraft.record.tensors import readable, summary, tensors_of

MOST_BATCHES, MOST_INPUTS, MOST_INDICES, MOST_CHANGES, MOST_LOSSES = 200, 20, 200_000, 5000, 100_000
MOST_PARAMETER_BYTES = 1 << 30
_calls = threading.local()
_loaders = {}  # rows by id of what gives the indices, which is kept with them
_optimizers = weakref.WeakKeyDictionary()
_state = {"watched": False, "scaled": False}


# --- batches ---------------------------------------------------------------------------------------------------------

def _plain(value):
    return value if isinstance(value, (bool, int, float, str, type(None))) else type(value).__name__


@guarded
def _loader(loader):
    import torch.utils.data as data

    sampler = loader._index_sampler
    if id(sampler) not in _loaders:
        iterable = isinstance(loader.dataset, data.IterableDataset)
        row = {"dataset": type(loader.dataset).__name__, "samples": None if iterable else len(loader.dataset), "sampler": type(loader.sampler).__name__,
               "batch_size": _plain(loader.batch_size), "drop_last": loader.drop_last, "workers": loader.num_workers,
               "prefetch": loader.prefetch_factor, "collate": getattr(loader.collate_fn, "__name__", type(loader.collate_fn).__name__),
               "epochs": [], "indices": [], "batches": [], "batch_count": 0}
        record.setdefault("loaders", []).append(row)
        _loaders[id(sampler)] = row, sampler, {"hash": None}
    row, _, state = _loaders[id(sampler)]
    _close_epoch(row, state)
    state["hash"] = hashlib.blake2b(digest_size=8)
    state["count"] = 0


def _close_epoch(row, state):
    if state["hash"] is not None and state["count"]:
        row["epochs"].append({"samples": state["count"], "order": state["hash"].hexdigest()})


@guarded
def _chosen(iterator, indices):
    found = _loaders.get(id(iterator._index_sampler))
    if found is None:
        return
    row, _, state = found
    chosen = [i for i in (indices if isinstance(indices, (list, tuple)) else [indices]) if i is not None]
    state["count"] += len(chosen)
    state["hash"].update(("%s;" % ",".join(map(str, chosen))).encode())
    if not row["epochs"] and len(row["indices"]) < MOST_INDICES:
        row["indices"] += [i if isinstance(i, int) else str(i) for i in chosen]


@guarded
def _batch(iterator, batch):
    found = _loaders.get(id(iterator._index_sampler))
    if found is None:
        return
    row = found[0]
    row["batch_count"] += 1
    if len(row["batches"]) < MOST_BATCHES:
        row["batches"].append([summary(x) for x in tensors_of(batch)])


def _watch_loaders():
    from torch.utils.data import DataLoader, dataloader

    base = dataloader._BaseDataLoaderIter
    begin, choose = DataLoader.__iter__, base._next_index

    def __iter__(self):
        _loader(self)
        return begin(self)

    def _next_index(self):
        indices = choose(self)
        _chosen(self, indices)
        return indices

    DataLoader.__iter__, base._next_index = __iter__, _next_index
    # not __next__: torch_npu has kept that of before and puts it back
    for kind in (dataloader._SingleProcessDataLoaderIter, dataloader._MultiProcessingDataLoaderIter):
        _watch_batches(kind)


def _watch_batches(kind):
    give = kind._next_data

    def _next_data(self):
        batch = give(self)
        _batch(self, batch)
        return batch

    kind._next_data = _next_data


# --- the model: its inputs, and in which type it multiplies --------------------------------------------------------------

def _before_module(module, arguments):
    import torch

    if torch.compiler.is_compiling():
        return
    depth = getattr(_calls, "depth", 0)
    _calls.depth = depth + 1
    if depth == 0:
        _root(module, arguments)


@guarded
def _root(module, arguments):
    import torch

    scaling.watch_apex()
    inputs = record.setdefault("inputs", [])
    if len(inputs) < MOST_INPUTS and module.training and torch.is_grad_enabled():
        inputs.append({"model": type(module).__name__, "tensors": [summary(x) for x in tensors_of(arguments)]})


def _after_module(module, arguments, output):
    import torch

    if torch.compiler.is_compiling():
        return
    _calls.depth = max(0, getattr(_calls, "depth", 1) - 1)
    weight = getattr(module, "weight", None)
    if isinstance(output, torch.Tensor) and isinstance(weight, torch.Tensor) and weight.dim() >= 2 and output.is_floating_point() and module.training \
            and not isinstance(module, (torch.nn.Embedding, torch.nn.EmbeddingBag)):
        products = record.setdefault("products", {})
        kind = str(output.dtype).removeprefix("torch.")
        products[kind] = products.get(kind, 0) + 1
        if torch.is_autocast_enabled(output.device.type):
            record["autocast"] = True


# --- optimizers and losses ------------------------------------------------------------------------------------------------

def _values(group):
    import torch

    made = {}
    for key, value in group.items():
        if key in ("params", "param_names"):
            continue
        if isinstance(value, torch.Tensor):
            value = value.item() if value.numel() == 1 and readable(value) else str(tuple(value.shape))
        made[key] = list(value) if isinstance(value, tuple) else value if isinstance(value, list) else _plain(value)
    return made


def _parameters(optimizer):
    return [p for group in optimizer.param_groups for p in group["params"]]


def _summaries(parameters):
    made, size = [], 0
    for p in parameters:
        size += p.numel() * p.element_size()
        if size > MOST_PARAMETER_BYTES:
            break
        made.append(summary(p))
    return made


@guarded
def _before_step(optimizer, arguments, words):
    import torch

    if optimizer in _optimizers:
        return
    row = {"name": type(optimizer).__name__, "groups": [_values(g) for g in optimizer.param_groups], "steps": 0, "changes": [],
           "parameter_count": len(_parameters(optimizer)), "initial": _summaries(_parameters(optimizer)), "last": []}
    parameters = _parameters(optimizer)
    _optimizers[optimizer] = row, [dict(g) for g in row["groups"]], parameters
    # The parameters live as long as their optimizer, which may go before the process does.
    weakref.finalize(optimizer, _ended, row, parameters)
    record.setdefault("optimizers", []).append(row)
    if "randomness" not in record:
        record["randomness"] = {"seed": torch.initial_seed(), "deterministic": torch.are_deterministic_algorithms_enabled()}
        record["devices"] = sorted({p.device.type for p in _parameters(optimizer)})
        record["versions"] = {"torch": torch.__version__}
        if torch.distributed.is_available() and torch.distributed.is_initialized():
            record["distributed"] = {"rank": torch.distributed.get_rank(), "world": torch.distributed.get_world_size(),
                                     "backend": torch.distributed.get_backend()}
        record["sharded"] = any(hasattr(p, "full_tensor") for p in _parameters(optimizer))


@guarded
def _after_step(optimizer, arguments, words):
    found = _optimizers.get(optimizer)
    if found is None:
        return
    row, latest, parameters = found
    row["steps"] += 1
    step = row["steps"] + sum(s["overflows"] for s in record.get("scalers", []))  # steps that were left out count as well
    if len(optimizer.param_groups) != len(latest):
        parameters[:] = _parameters(optimizer)
        latest += [{} for _ in range(len(optimizer.param_groups) - len(latest))]
    for index, group in enumerate(optimizer.param_groups):
        now = _values(group)
        before = latest[index]
        for key, value in now.items():
            if value != before.get(key) and len(row["changes"]) < MOST_CHANGES:
                row["changes"].append({"step": step, "group": index, "key": key, "value": value})
        latest[index] = now


@guarded
def _loss(value):
    losses = record.setdefault("losses", [])
    if value.numel() == 1 and readable(value) and len(losses) < MOST_LOSSES:
        losses.append(float(value.detach().float().item()))


def _watch_losses():
    import torch

    backward = torch.Tensor.backward

    def recorded(self, *arguments, **words):
        if _state["scaled"]:
            _state["scaled"] = False  # scale() has seen it, before it was scaled
        else:
            _loss(self)
        return backward(self, *arguments, **words)

    torch.Tensor.backward = recorded


def _watch_scale(scaler_class):
    import torch

    if "scale" not in vars(scaler_class) or hasattr(scaler_class.scale, "updraft_recorded"):
        return
    scale = scaler_class.scale

    def recorded(self, outputs, *arguments, **words):
        if isinstance(outputs, torch.Tensor) and self.is_enabled():
            _loss(outputs)
            _state["scaled"] = True
        return scale(self, outputs, *arguments, **words)

    recorded.updraft_recorded = True
    scaler_class.scale = recorded


@guarded
def _ended(row, parameters):
    """What the parameters have become. Ranks that exchange gradients have the same ones."""
    row["last"] = _summaries(parameters)


@guarded
def _at_exit():
    """Before the devices go."""
    for row, _, state in _loaders.values():
        _close_epoch(row, state)
    for row, _, parameters in list(_optimizers.values()):
        _ended(row, parameters)


@guarded
def watch():
    """After `import torch`, and again after `import torch_npu`, which has a GradScaler of its own."""
    import sys

    import torch

    for scaler_class in [torch.amp.GradScaler] + [getattr(sys.modules.get(name), "GradScaler", None)
                                                  for name in ("torch_npu.npu.amp.grad_scaler", "torch_npu.npu.amp.sharded_grad_scaler")]:
        if scaler_class is not None:
            scaling.watch(scaler_class)
            _watch_scale(scaler_class)
    if _state["watched"]:
        return
    _state["watched"] = True
    from torch.nn.modules import module
    from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

    _watch_loaders()
    _watch_losses()
    module.register_module_forward_pre_hook(_before_module)
    module.register_module_forward_hook(_after_module, always_call=True)
    register_optimizer_step_pre_hook(_before_step)
    register_optimizer_step_post_hook(_after_step)
    atexit.register(_at_exit)
