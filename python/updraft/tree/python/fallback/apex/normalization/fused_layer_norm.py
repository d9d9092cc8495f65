"""Layer norm and RMS norm by the NPU's own operators; elsewhere by torch.

The result has the input's type; of the Mixed forms the weight's. memory_efficient is accepted and changes nothing.
"""

import numbers

import torch
import torch.nn.functional as F


def _shape(normalized_shape):
    return (normalized_shape,) if isinstance(normalized_shape, numbers.Integral) else tuple(normalized_shape)


def _widest(*tensors):
    dtype = tensors[0].dtype
    for t in tensors[1:]:
        dtype = dtype if t is None else torch.promote_types(dtype, t.dtype)
    return [None if t is None else t.to(dtype) for t in tensors]


def fused_layer_norm_affine(input, weight, bias, normalized_shape, eps=1e-6, memory_efficient=False):
    x, w, b = _widest(input, weight, bias)
    return F.layer_norm(x, _shape(normalized_shape), w, b, eps).to(input.dtype)


def fused_layer_norm(input, normalized_shape, eps=1e-6, memory_efficient=False):
    return F.layer_norm(input, _shape(normalized_shape), None, None, eps).to(input.dtype)


def mixed_dtype_fused_layer_norm_affine(input, weight, bias, normalized_shape, eps=1e-6, memory_efficient=False):
    x, w, b = _widest(input, weight, bias)
    return F.layer_norm(x, _shape(normalized_shape), w, b, eps).to(weight.dtype)


def manual_rms_norm(input, normalized_shape, weight, eps):
    """RMS norm spelled out, computed in fp32."""
    x = input.float()
    dims = tuple(range(-len(_shape(normalized_shape)), 0))
    x = x * torch.rsqrt(x.square().mean(dims, keepdim=True) + eps)
    return x.to(input.dtype) if weight is None else (weight.float() * x).to(torch.promote_types(input.dtype, weight.dtype))


def _rms_norm(input, weight, normalized_shape, eps):
    shape = _shape(normalized_shape)
    x, w = _widest(input, weight)
    if x.device.type == "npu" and w is not None and x.dtype != torch.float64:
        import torch_npu

        return torch_npu.npu_rms_norm(x, w, eps)[0]
    return F.rms_norm(x, shape, w, eps)


def fused_rms_norm_affine(input, weight, normalized_shape, eps=1e-6, memory_efficient=False):
    return _rms_norm(input, weight, normalized_shape, eps).to(input.dtype)


def fused_rms_norm(input, normalized_shape, eps=1e-6, memory_efficient=False):
    return _rms_norm(input, None, normalized_shape, eps).to(input.dtype)


def mixed_dtype_fused_rms_norm_affine(input, weight, normalized_shape, eps=1e-6, memory_efficient=False):
    return _rms_norm(input, weight, normalized_shape, eps).to(weight.dtype)


class FusedLayerNorm(torch.nn.LayerNorm):
    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True, memory_efficient=False):
        super().__init__(normalized_shape, eps=eps, elementwise_affine=elementwise_affine)

    def forward(self, input):
        if self.weight is None:
            return fused_layer_norm(input, self.normalized_shape, self.eps)
        return fused_layer_norm_affine(input, self.weight, self.bias, self.normalized_shape, self.eps)


class MixedFusedLayerNorm(FusedLayerNorm):
    def __init__(self, normalized_shape, eps=1e-5, memory_efficient=False, **_):
        super().__init__(normalized_shape, eps=eps, elementwise_affine=True)

    def forward(self, input):
        return mixed_dtype_fused_layer_norm_affine(input, self.weight, self.bias, self.normalized_shape, self.eps)


class FusedRMSNorm(torch.nn.Module):
    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True, memory_efficient=False):
        super().__init__()
        self.normalized_shape, self.eps, self.elementwise_affine = _shape(normalized_shape), eps, elementwise_affine
        self.weight = torch.nn.Parameter(torch.ones(self.normalized_shape)) if elementwise_affine else None

    def reset_parameters(self):
        if self.elementwise_affine:
            torch.nn.init.ones_(self.weight)

    def forward(self, input):
        if self.weight is None:
            return fused_rms_norm(input, self.normalized_shape, self.eps)
        return fused_rms_norm_affine(input, self.weight, self.normalized_shape, self.eps)

    def extra_repr(self):
        return "%s, eps=%s, elementwise_affine=%s" % (self.normalized_shape, self.eps, self.elementwise_affine)


class MixedFusedRMSNorm(FusedRMSNorm):
    def __init__(self, normalized_shape, eps=1e-5, memory_efficient=False, **_):
        super().__init__(normalized_shape, eps=eps, elementwise_affine=True)

    def forward(self, input):
        return mixed_dtype_fused_rms_norm_affine(input, self.weight, self.normalized_shape, self.eps)
