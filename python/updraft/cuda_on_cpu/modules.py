"""Modules, automatic mixed precision, checkpoints and compilation."""

import functools

import torch
from updraft.cuda_on_cpu.devices import on_cpu


def _autocast():
    from torch.amp import autocast_mode

    real = autocast_mode.autocast.__init__

    @functools.wraps(real)
    def init(self, device_type, dtype=None, enabled=True, cache_enabled=None):
        if str(device_type).startswith("cuda"):
            device_type, dtype = "cpu", dtype or torch.float16  # CUDA's default type
        real(self, device_type, dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)

    autocast_mode.autocast.__init__ = init


def _scaler():
    from torch.amp import grad_scaler

    real = grad_scaler.GradScaler.__init__

    @functools.wraps(real)
    def init(self, device="cuda", *args, **kwargs):
        real(self, on_cpu(device), *args, **kwargs)

    grad_scaler.GradScaler.__init__ = init


def _load():
    real = torch.load

    @functools.wraps(real)
    def load(f, map_location=None, *args, **kwargs):
        if map_location is None:
            map_location = "cpu"
        elif isinstance(map_location, dict):
            map_location = {on_cpu(k): on_cpu(v) for k, v in map_location.items()}
            map_location.setdefault("cuda:0", "cpu")
        elif not callable(map_location):
            map_location = on_cpu(map_location)
        return real(f, map_location, *args, **kwargs)

    torch.load = load


def _module():
    module = torch.nn.Module
    real = module.to
    module.cuda = lambda self, device=None: self

    @functools.wraps(real)
    def to(self, *args, **kwargs):
        args = tuple(torch.device("cpu") if type(a) is int else on_cpu(a) for a in args)
        if "device" in kwargs:
            kwargs["device"] = torch.device("cpu") if type(kwargs["device"]) is int else on_cpu(kwargs["device"])
        return real(self, *args, **kwargs)

    module.to = to

    def to_empty(self, *, device, recurse=True, real=module.to_empty):
        return real(self, device=on_cpu(device), recurse=recurse)

    module.to_empty = to_empty


def _parallel():
    def data_parallel(self, module, device_ids=None, output_device=None, dim=0):
        torch.nn.Module.__init__(self)
        self.module, self.device_ids, self.output_device, self.dim = module, [], None, dim

    torch.nn.DataParallel.__init__ = data_parallel  # without device_ids its forward is the module's
    ddp = torch.nn.parallel.DistributedDataParallel
    real = ddp.__init__

    @functools.wraps(real)
    def init(self, module, device_ids=None, output_device=None, *args, **kwargs):
        real(self, module, None, None, *args, **kwargs)

    ddp.__init__ = init

    def forward(self, x):
        import torch.distributed as dist

        if self.training and dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1:
            raise RuntimeError("SyncBatchNorm of several ranks has no CPU form: updraft migrate --verify cannot run the original")
        return torch.nn.modules.batchnorm._BatchNorm.forward(self, x)

    torch.nn.SyncBatchNorm.forward = forward


def _compile(model=None, **kwargs):
    """Uncompiled code is what a compiler must agree with."""
    return (lambda f: f) if model is None else model


def apply():
    _autocast()
    _scaler()
    _load()
    _module()
    _parallel()
    torch.compile = _compile
    torch.nn.Module.compile = lambda self, *args, **kwargs: None
