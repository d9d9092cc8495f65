"""The three databases as one thing: an entry has a name and gives cases; a case runs on a device and returns its results."""
import contextlib
import copy
import random
import zlib

import numpy
import torch
from torch.utils._pytree import tree_flatten

from .moving import HIGH, Mover, Shake

# An entry that lacks float32 is compared in the first of these that the CPU has.
ORDER = (torch.float32, torch.float64, torch.complex64, torch.complex128, torch.int64, torch.int32, torch.bool, torch.uint8,
         torch.int8, torch.int16, torch.float16, torch.bfloat16)
# Their factors are defined up to a sign or a phase; OpInfo's own post-processing takes that away.
GAUGE = {"svd", "linalg.svd", "linalg.eig", "linalg.eigh", "svd_lowrank", "pca_lowrank"}

# Their further tensors have to stay on the CPU with every device.
HOST_ARGUMENTS = {"tensor_split"}


def seed_all(seed):
    random.seed(seed)
    numpy.random.seed(seed)
    torch.manual_seed(seed)


def seed_of(name):
    return zlib.crc32(name.encode()) & 0x7FFFFFFF


def cotangents(outputs, precise=False):
    """The same random numbers for every device and precision: drawn on the CPU and short enough for bfloat16 to hold exactly."""
    drawn = torch.Generator().manual_seed(7)
    result = []
    for y in outputs:
        g = torch.randn(y.shape, dtype=torch.complex64 if y.is_complex() else torch.float32, generator=drawn)
        g = torch.view_as_complex(torch.view_as_real(g).bfloat16().float()) if y.is_complex() else g.bfloat16()
        g = g.to(y.dtype)
        result.append((precise(g, torch.float32) if isinstance(precise, Shake) else g).to(y.device))
    return result


def gradients(outputs, inputs, precise=False, watch=contextlib.nullcontext):
    outputs = [y for y in tree_flatten(outputs)[0] if isinstance(y, torch.Tensor) and y.requires_grad]
    inputs = [x for x in tree_flatten(inputs)[0] if isinstance(x, torch.Tensor) and x.requires_grad]
    if not outputs or not inputs:
        raise NotImplementedError("nothing to differentiate")
    given = cotangents(outputs, precise)
    with watch():
        return torch.autograd.grad(outputs, inputs, given, allow_unused=True)


class OpEntry:
    def __init__(self, info):
        self.info = info
        self.name = info.name + ("." + info.variant_test_name if info.variant_test_name else "")

    def dtype(self, wanted, direction):
        have = self.info.supported_backward_dtypes("cpu") if direction == "backward" else self.info.supported_dtypes("cpu")
        if direction == "backward" and not self.info.supports_autograd:
            return None
        if wanted in have:
            return wanted
        return next((d for d in ORDER if d in have), None) if wanted is torch.float32 else None

    def cases(self, dtype, direction):
        seed_all(seed_of(self.name))
        for sample in self.info.sample_inputs("cpu", dtype, requires_grad=direction == "backward"):
            yield OpCase(self.info, sample, direction, self.name in GAUGE)


class OpCase:
    def __init__(self, info, sample, direction, gauge):
        self.info, self.sample, self.direction, self.gauge = info, sample, direction, gauge

    def text(self):
        return str(self.sample.summary())

    def order(self):
        """(keys, dim) where the result's last part is an order of keys that need not be stable; else None."""
        position = {"sort": 0, "argsort": 0, "topk": 1}.get(self.info.name)
        s = self.sample
        if self.info.name == "msort":
            return (s.input.detach(), 0) if s.input.dim() else None
        if position is None or s.kwargs.get("stable"):
            return None
        dim = s.kwargs.get("dim", s.args[position] if len(s.args) > position else -1)
        return (s.input.detach(), dim) if type(dim) is int else None

    def run(self, device, precise=False, watch=contextlib.nullcontext):
        """precise: in double precision, or a Shake. watch() is entered around what is compared, and only around that."""
        s = self.sample
        if self.info.name in HOST_ARGUMENTS:
            first, args, kwargs = Mover(device, precise)(s.input), s.args, s.kwargs
        else:
            first, args, kwargs = Mover(device, precise)((s.input, s.args, s.kwargs))
        if self.direction == "forward":
            with watch():
                y = self.info.op(first, *args, **kwargs)
            return s.output_process_fn_grad(y) if self.gauge else y
        y = s.output_process_fn_grad(self.info.op(first, *args, **kwargs))
        return gradients(y, (first, args, kwargs), precise, watch)


class ModuleEntry:
    def __init__(self, info):
        self.info, self.name = info, info.name

    def dtype(self, wanted, direction):
        if direction == "backward" and not wanted.is_floating_point:
            return None
        return wanted if wanted in self.info.supported_dtypes("cpu") else None

    def cases(self, dtype, direction):
        seed_all(seed_of(self.name))
        for training in (True, False) if self.info.train_and_eval_differ else (True,):
            for given in self.info.module_inputs_func(self.info, device="cpu", dtype=dtype, requires_grad=direction == "backward",
                                                      training=training):
                if given.forward_input is None:
                    continue
                c, f = given.constructor_input, given.forward_input
                module = self.info.module_cls(*c.args, **c.kwargs).to(dtype)
                yield ModuleCase(module.train(training), f, direction)


class ModuleCase:
    def __init__(self, module, given, direction):
        self.module, self.given, self.direction = module, given, direction

    def text(self):
        return f"{self.module} {'training' if self.module.training else 'evaluating'}"

    def run(self, device, precise=False, watch=contextlib.nullcontext):
        module = copy.deepcopy(self.module).to(device)
        if precise:
            module = module.double()
        if isinstance(precise, Shake):
            with torch.no_grad():
                for p, q in zip(module.parameters(), self.module.parameters()):
                    p.copy_(precise(p, q.dtype))
        args, kwargs = Mover(device, precise)((self.given.args, self.given.kwargs))
        if self.direction == "forward":
            with watch():
                return module(*args, **kwargs)
        return gradients(module(*args, **kwargs), (args, kwargs, list(module.parameters())), precise, watch)


class OptimEntry:
    """Five steps of a small network with each of the database's settings; compared are the parameters."""

    def __init__(self, info):
        self.info, self.name = info, info.optim_cls.__name__

    def dtype(self, wanted, direction):
        if direction == "backward" or self.info.only_supports_sparse_grads:
            return None
        return wanted if wanted in (torch.float32, torch.float64) else None

    def cases(self, dtype, direction):
        for given in self.info.optim_inputs_func(device="cpu"):
            ways = [{}]
            if "foreach" in self.info.supported_impls:
                ways = [{"foreach": False}, {"foreach": True}]
            for way in ways:
                yield OptimCase(self.info, {**given.kwargs, **way}, dtype)


class OptimCase:
    def __init__(self, info, kwargs, dtype):
        self.info, self.kwargs, self.dtype = info, kwargs, dtype

    def run(self, device, precise=False, watch=contextlib.nullcontext):
        drawn = torch.Generator().manual_seed(11)
        dtype = HIGH.get(self.dtype, self.dtype) if precise else self.dtype
        shapes = [(4, 6), (4,), (3, 4)]
        moved = precise if isinstance(precise, Shake) else lambda x, dtype: x
        put = lambda shape: moved(torch.randn(shape, generator=drawn, dtype=self.dtype).to(dtype), self.dtype).to(device)
        parameters = [put(s).requires_grad_() for s in shapes]
        x = put((5, 6))
        kwargs = {k: v.to(device) if isinstance(v, torch.Tensor) and v.dim() else v for k, v in self.kwargs.items()}
        if self.info.optim_cls.__name__ == "Muon":  # only for matrices
            parameters[1].requires_grad_(False)
        optimizer = self.info.optim_cls([p for p in parameters if p.requires_grad], **kwargs)

        def closure():
            optimizer.zero_grad()
            hidden = torch.nn.functional.linear(x, parameters[0], parameters[1]).tanh()
            loss = torch.nn.functional.linear(hidden, parameters[2]).square().mean()
            loss.backward()
            return loss

        for _ in range(5):
            if self.info.step_requires_closure:
                with watch():
                    optimizer.step(closure)
            else:
                closure()
                with watch():
                    optimizer.step()
        return [p.detach() for p in parameters]


def entries(suite):
    if suite == "op":
        from torch.testing._internal import common_methods_invocations
        from torch.testing._internal.common_methods_invocations import op_db
        # The database makes its random operators deterministic: each sets its own seed before every call, and no second seed would
        # show that it is random. The harness sets the seeds.
        common_methods_invocations.wrapper_set_seed = lambda op, *args, **kwargs: op(*args, **kwargs)
        made = [OpEntry(i) for i in op_db]
    elif suite == "module":
        from torch.testing._internal.common_modules import module_db
        made = [ModuleEntry(i) for i in module_db]
    else:
        from torch.testing._internal.common_optimizers import optim_db
        made = [OptimEntry(i) for i in optim_db]
    return {e.name: e for e in made}
