"""mmcv-lite with the names of mmcv's compiled operators, which are not built: mmdet's models import them all. A training that
called one would end."""
import sys
import types

import torchvision_operators  # noqa: F401


def _absent(name):
    if name.startswith("__"):
        raise AttributeError(name)

    def operator(*args, **kwargs):
        raise RuntimeError(f"mmcv's operator {name} is not built")

    return operator


_library = types.ModuleType("mmcv._ext")
_library.__getattr__ = _absent
sys.modules["mmcv._ext"] = _library
