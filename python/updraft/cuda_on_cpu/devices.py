"""Arguments that name CUDA name the CPU instead, in every function of torch: a mode that sees all calls."""

import sys
import threading

import torch
from torch.overrides import TorchFunctionMode

COPIES = ("cuda", "cpu", "to")  # on a GPU these give another tensor where the device differs


def on_cpu(value):
    """A device, or what holds one, without CUDA; anything else as it is."""
    kind = type(value)
    if kind is torch.device:
        return torch.device("cpu") if value.type == "cuda" else value
    if kind is str:
        if value == "cuda" or value.startswith("cuda:"):
            return "cpu"
        return value.replace("torch.cuda.", "torch.", 1) if value.startswith("torch.cuda.") else value
    return value


def is_cuda(value):
    return (type(value) is torch.device and value.type == "cuda") or \
        (type(value) is str and (value == "cuda" or value.startswith("cuda:")))


def _new_tensor(tensor):
    """What a transfer gives: other memory, the same graph."""
    return tensor.clone() if isinstance(tensor, torch.Tensor) else tensor


class OnCPU(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if function is torch.device:  # a name, which the script may ask for its type
            return function(*args, **kwargs)
        name = getattr(function, "__name__", "")
        if name in COPIES and args and isinstance(args[0], torch.Tensor):
            return _transfer(function, name, args, kwargs)
        if name == "pin_memory":
            return args[0]
        if "device" in kwargs:
            kwargs["device"] = _device(kwargs["device"])
        kwargs.pop("pin_memory", None)
        if name == "type" and len(args) > 1:
            args = (args[0], on_cpu(args[1]) if not isinstance(args[1], type) else args[1], *args[2:])
        elif any(is_cuda(a) for a in args):
            args = tuple(on_cpu(a) for a in args)
        return function(*args, **kwargs)


def _device(value):
    if type(value) is int:  # an index is one of CUDA
        return torch.device("cpu")
    return on_cpu(value)


def _transfer(function, name, args, kwargs):
    tensor = args[0]
    if name in ("cuda", "cpu"):
        return tensor.clone() if not kwargs.get("memory_format") else tensor.clone(memory_format=kwargs["memory_format"])
    moved = [a for a in args[1:] if is_cuda(a) or type(a) is int] or \
        ([kwargs["device"]] if is_cuda(kwargs.get("device")) or type(kwargs.get("device")) is int else [])
    kwargs = {k: _device(v) if k == "device" else v for k, v in kwargs.items()}
    result = function(tensor, *(_device(a) if type(a) is int else on_cpu(a) for a in args[1:]), **kwargs)
    return _new_tensor(result) if moved and result is tensor else result


def _user_calls(depth):
    return not sys._getframe(depth).f_globals.get("__name__", "").startswith(("torch.", "updraft."))


def apply():
    OnCPU().__enter__()
    start = threading.Thread._bootstrap_inner

    def bootstrap(self):  # modes are a thread's own
        with OnCPU():
            start(self)

    threading.Thread._bootstrap_inner = bootstrap
    # torch itself chooses kernels by it, and must see the truth
    torch.Tensor.is_cuda = property(lambda self: _user_calls(2))
    torch.Tensor.record_stream = lambda self, stream: None
    torch.set_default_device = _wrap(torch.set_default_device)
    torch.set_default_tensor_type = _wrap(torch.set_default_tensor_type)
    torch.Generator = _generator()
    for kind in (torch.UntypedStorage, torch.TypedStorage):
        kind.cuda = lambda self, *args, **kwargs: self


def _wrap(function):
    def call(value):
        return function(on_cpu(value))

    return call


def _generator():
    real = torch.Generator

    class Meta(type(real)):
        def __instancecheck__(cls, instance):
            return isinstance(instance, real)

    class Generator(real, metaclass=Meta):
        def __new__(cls, device="cpu"):
            return real.__new__(cls, _device(device))

    return Generator
