"""torchvision without its library of C++ operators: the one on PyPI is linked with CUDA's, which a machine without CUDA does not
have. What torchvision's Python looks for when it is imported is declared here and does nothing; a training that called it
would end."""
import torch

_library = torch.library.Library("torchvision", "DEF")
for _name in ("nms", "qnms"):
    _library.define(f"{_name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
