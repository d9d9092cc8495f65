"""apex.optimizers: NVIDIA's Fused* with torch._foreach operators, and the NpuFused* of torch_npu under Huawei's names."""

from apex import _absent
from apex.optimizers.fused_adagrad import FusedAdagrad
from apex.optimizers.fused_adam import FusedAdam
from apex.optimizers.fused_lamb import FusedLAMB
from apex.optimizers.fused_sgd import FusedSGD

__all__ = ["FusedAdagrad", "FusedAdam", "FusedLAMB", "FusedSGD"]


def __getattr__(name):
    if name in ("Lamb", "NpuFusedLAMB"):
        name = "NpuFusedLamb"
    if name.startswith("NpuFused"):
        import torch_npu.optim

        if hasattr(torch_npu.optim, name):
            return getattr(torch_npu.optim, name)
    raise AttributeError(_absent.sentence("apex.optimizers." + name))
