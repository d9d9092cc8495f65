"""apex.optimizers: NVIDIA's Fused* with torch._foreach operators, and the NpuFused* of torch_npu under Huawei's names."""

from apex.optimizers.fused_adagrad import FusedAdagrad
from apex.optimizers.fused_adam import FusedAdam
from apex.optimizers.fused_lamb import FusedLAMB
from apex.optimizers.fused_sgd import FusedSGD

__all__ = ["FusedAdagrad", "FusedAdam", "FusedLAMB", "FusedSGD"]

_ADVICE = {
    "FusedNovoGrad": "FusedAdam or FusedLAMB",
    "FusedMixedPrecisionLamb": "FusedLAMB with apex.amp at opt_level O2",
}


def __getattr__(name):
    if name in ("Lamb", "NpuFusedLAMB"):
        name = "NpuFusedLamb"
    if name.startswith("NpuFused"):
        import torch_npu.optim

        if hasattr(torch_npu.optim, name):
            return getattr(torch_npu.optim, name)
    if name in _ADVICE:
        raise AttributeError("apex.optimizers.%s is not in Updraft's apex; use %s" % (name, _ADVICE[name]))
    raise AttributeError("module 'apex.optimizers' has no attribute %r" % name)
