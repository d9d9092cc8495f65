"""Apex's interface on torch.amp and torch_npu: apex.amp, apex.optimizers, apex.parallel, apex.normalization.

Part of Updraft, not NVIDIA's or Huawei's Apex; those come first where one of them is installed (docs/use/apex.md).
"""

import importlib

from apex import _absent

__version__ = "0.1+updraft"
_MODULES = ("amp", "multi_tensor_apply", "normalization", "optimizers", "parallel")

_absent.install()


def __getattr__(name):
    if name in _MODULES:
        return importlib.import_module("apex." + name)
    if name in _absent.ADVICE:
        raise AttributeError(_absent.sentence("apex." + name))
    raise AttributeError("module 'apex' has no attribute %r" % name)


def __dir__():
    return sorted(list(globals()) + list(_MODULES))
