"""Functions that run in fp32 under O1 although autocast does not see to it: (owner, names).

torch's autocast has its own lists for products, convolutions, softmax, norms and losses; these are the rest of what Apex
keeps in fp32. NOWHERE is missing from autocast on npu and on cpu, CPU_LACKS only on cpu.
"""

import torch
import torch.nn.functional as F

NOWHERE = (
    (F, ("batch_norm", "instance_norm", "interpolate", "grid_sample")),
    (torch, ("std", "var")),
    (torch.Tensor, ("std", "var")),
    (torch.nn.LSTM, ("forward",)),  # fp16 has no kernel on cpu, and torch_npu computes it in fp32
    (torch.nn.GRU, ("forward",)),
    (torch.nn.RNN, ("forward",)),
)

_MATH = ("acos", "asin", "cosh", "cumprod", "cumsum", "dist", "erfinv", "exp", "expm1", "log", "log10", "log1p", "log2", "norm",
         "pow", "prod", "reciprocal", "renorm", "rsqrt", "sinh", "sum", "tan", "softmax", "log_softmax")

CPU_LACKS = (
    (F, ("softmax", "log_softmax", "softmin", "gumbel_softmax", "softplus", "layer_norm", "group_norm", "normalize",
         "cosine_similarity", "local_response_norm", "rms_norm")),
    (torch, _MATH + ("layer_norm", "group_norm")),
    (torch.Tensor, tuple(n for n in _MATH) + ("__pow__", "__rpow__")),
)
# Wants operands of one type and does not promote by itself.
PROMOTE = ((F, ("bilinear",)),)
