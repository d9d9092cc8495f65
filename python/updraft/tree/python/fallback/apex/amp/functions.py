"""O1: autocast for this thread, and casts around functions that autocast leaves alone or that the user registers."""

import functools
import types

import torch

from apex.amp.casts import cast, tensors_in

DEVICES = ("cpu", "npu")


class _Casts:
    """What install() changed."""

    def __init__(self):
        self.dtype = None  # None: no casts
        self.saved = []  # (owner, name, value that was in its __dict__ or None)
        self.autocast = None


_casts = _Casts()
_registered = []  # (owner, name, kind) of the user


def casting_on(device):
    """Whether a tensor on this kind of device is cast now; amp.disable_casts() and autocast(enabled=False) end it."""
    return _casts.dtype is not None and device in DEVICES and torch.is_autocast_enabled(device)


def _wrap(function, kind, devices=DEVICES, shield=False):
    """function with arguments as fp16 ("half"), as fp32 ("float") or as the widest type among them ("promote")."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        if args and isinstance(args[0], torch.Tensor) and args[0].device.type not in devices:
            return function(*args, **kwargs)  # most calls on npu: autocast does it
        device, widest = None, None
        for tensor in tensors_in((args, kwargs)):
            if tensor.is_floating_point():
                device = tensor.device.type
                widest = tensor.dtype if widest is None else torch.promote_types(widest, tensor.dtype)
        if device is None or device not in devices or not casting_on(device) or kwargs.get("out") is not None:
            return function(*args, **kwargs)
        dtype = {"half": _casts.dtype, "float": torch.float32, "promote": widest}[kind]
        # autocast leaves double alone as well
        args, kwargs = cast(args, dtype, keep=torch.float64), cast(kwargs, dtype, keep=torch.float64)
        if not shield:
            return function(*args, **kwargs)
        with torch.autocast(device, enabled=False):
            return function(*args, **kwargs)

    call._amp_original = function
    return call


@functools.cache  # torch.jit knows them by id: they must live on
def _wrap_in_place(function, kind, devices, shield):
    """For what is replaced in its module. torch.jit.script takes the function itself: its casts are autocast's alone."""
    from torch.jit import _builtins

    call = _wrap(function, kind, devices, shield)
    operator = _builtins._find_builtin(function)
    if operator:
        _builtins._register_builtin(call, operator)
    elif isinstance(function, types.FunctionType):
        call.__script_if_tracing_wrapper, call.__original_fn = True, function
    return call


def half_function(function):
    return _wrap(function, "half")


def float_function(function):
    return _wrap(function, "float")


def promote_function(function):
    return _wrap(function, "promote")


def _register(owner, name, kind):
    if not hasattr(owner, name):
        raise ValueError("amp: %s has no function %s" % (getattr(owner, "__name__", owner), name))
    _registered.append((owner, name, kind))
    if _casts.dtype is not None:
        _patch_registered(owner, name, kind)


def register_half_function(module, name):
    _register(module, name, "half")


def register_float_function(module, name):
    _register(module, name, "float")


def register_promote_function(module, name):
    _register(module, name, "promote")


def _patch(owner, name, wrapper):
    before = vars(owner).get(name)
    _casts.saved.append((owner, name, before))
    setattr(owner, name, staticmethod(wrapper) if isinstance(before, staticmethod) else wrapper)


def _patch_registered(owner, name, kind):
    function = getattr(owner, name)
    function = getattr(function, "_amp_original", function)  # the user's choice goes before our list
    # What torch itself does inside follows the user's choice; the user's own functions are autocast inside.
    ours = not isinstance(function, types.FunctionType) or (function.__module__ or "").startswith("torch.")
    _patch(owner, name, _wrap_in_place(function, kind, DEVICES, ours))


def _devices():
    return [d for d in DEVICES if d == "cpu" or (hasattr(torch, "npu") and torch.npu.is_available())]


def install(dtype):
    from apex.amp import lists

    _casts.dtype = dtype
    _casts.autocast = (torch.is_autocast_cache_enabled(),
                       [(d, torch.is_autocast_enabled(d), torch.get_autocast_dtype(d)) for d in _devices()])
    # Cast weights must not outlive an optimizer's step, and this autocast never ends.
    torch.set_autocast_cache_enabled(False)
    for device in _devices():
        torch.set_autocast_enabled(device, True)
        torch.set_autocast_dtype(device, dtype)
    for table, kind, devices in ((lists.NOWHERE, "float", DEVICES), (lists.CPU_LACKS, "float", ("cpu",)),
                                 (lists.PROMOTE, "promote", DEVICES)):
        for owner, names in table:
            for name in names:
                _patch(owner, name, _wrap_in_place(getattr(owner, name), kind, devices, True))
    for entry in _registered:
        _patch_registered(*entry)


def remove():
    """Everything is as before install()."""
    if _casts.dtype is None:
        return
    for owner, name, value in reversed(_casts.saved):
        if value is None:
            delattr(owner, name)
        else:
            setattr(owner, name, value)
    cache, devices = _casts.autocast
    torch.set_autocast_cache_enabled(cache)
    for device, enabled, dtype in devices:
        torch.set_autocast_enabled(device, enabled)
        torch.set_autocast_dtype(device, dtype)
    torch.clear_autocast_cache()
    _casts.__init__()
