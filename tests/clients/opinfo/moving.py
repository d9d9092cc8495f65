"""Copies of samples: to a device, and to double precision for the reference. The sample itself stays untouched."""
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

LOW = {torch.float16, torch.bfloat16, torch.float32}
HIGH = {torch.complex32: torch.complex128, torch.complex64: torch.complex128, **{d: torch.float64 for d in LOW}}


# Once torch_npu is loaded, aten::true_divide (another name of div) has no derivative while a mode watches: gradients of cov would be lost.
DERIVATIVES = torch.library.Library("aten", "IMPL")
DERIVATIVES.impl("true_divide.Tensor", torch.div, "AutogradCPU")


class Shake(TorchDispatchMode):
    """Moves each operand by at most a rounding of its type, or of `low` where that is coarser, at random; and, `with` it, what every
    operator gives. How far the result follows is what rounding may cost it."""

    def __init__(self, seed, low):
        super().__init__()
        self.drawn, self.low = torch.Generator().manual_seed(seed), low

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        made = function(*args, **(kwargs or {}))
        if self.low is None or any(r.alias_info for r in function._schema.returns):  # a view, or what was written in place
            return made
        return tree_map(lambda y: self(y, self.low) if isinstance(y, torch.Tensor) and y.dtype in (torch.float64, torch.complex128) else y, made)

    def __call__(self, x, dtype):
        """x, a tensor of a wide type whose numbers are of `dtype`."""
        if not (dtype.is_floating_point or dtype.is_complex) or dtype.itemsize == 1:
            return x
        types = [d for d in (dtype, self.low) if d is not None and (d.is_floating_point or d.is_complex)]
        eps = max(torch.finfo(d).eps for d in types)
        return x * (1 + eps * (2 * torch.rand(x.shape, generator=self.drawn, dtype=torch.float64) - 1))


class Mover:
    """Moves one sample. Tensors that share storage share it on the device too, with the same strides and offsets:
    `.to(device)` alone would turn every non-dense view into a contiguous tensor and so never test strided operators.
    precise: to double precision; a Shake also moves the numbers."""

    def __init__(self, device, precise=False):
        self.device, self.precise = torch.device(device), precise
        self.done, self.bases = {}, {}

    def __call__(self, tree):
        return tree_map(self.leaf, tree)

    def leaf(self, x):
        if isinstance(x, torch.Tensor):
            if id(x) not in self.done:
                self.done[id(x)] = (self.tensor(x), x)  # x is kept, so that its id stays taken
            return self.done[id(x)][0]
        if isinstance(x, torch.device) or (isinstance(x, str) and x == "cpu"):  # factories get their device as an argument
            return self.device
        if isinstance(x, torch.dtype) and self.precise:
            return HIGH.get(x, x)
        if isinstance(x, torch.Generator):
            return torch.Generator(self.device).manual_seed(x.initial_seed())
        return x

    def tensor(self, x):
        plain = type(x) in (torch.Tensor, torch.nn.Parameter) and x.layout == torch.strided and not x.is_quantized
        if self.precise:
            y = x.detach().to(HIGH.get(x.dtype, x.dtype), copy=True)
            if isinstance(self.precise, Shake) and plain:
                y = self.precise(y, x.dtype)
        elif not plain or x.is_conj() or x.is_neg() or x.numel() == 0 or x.device.type == "meta":
            y = x.detach().clone().to(self.device)
        else:
            y = self.view(x.detach())
        if isinstance(x, torch.nn.Parameter):
            return torch.nn.Parameter(y.detach(), requires_grad=x.requires_grad)
        return y.detach().requires_grad_(x.requires_grad) if x.requires_grad else y

    def view(self, x):
        storage = x.untyped_storage()
        key = (storage.data_ptr(), x.dtype)
        if key not in self.bases:
            whole = torch.as_strided(x, (storage.nbytes() // x.element_size(),), (1,), 0)
            self.bases[key] = whole.clone().to(self.device)
        return torch.as_strided(self.bases[key], x.size(), x.stride(), x.storage_offset())


def to_cpu(tree):
    """Results on the CPU; with a device this is where errors of asynchronous operators surface."""
    def leaf(x):
        if not isinstance(x, torch.Tensor):
            return x
        x = x.detach()
        if x.layout != torch.strided:
            x = x.to_dense()
        return x.cpu().resolve_conj().resolve_neg().clone()
    return tree_map(leaf, tree)
