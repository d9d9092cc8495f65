"""What amp.initialize does to a model: checks, casts of its weights, of its inputs and outputs, and of its checkpoints."""

import functools

import torch
from torch.nn.modules.batchnorm import _BatchNorm

from apex.amp._amp_state import warn_or_err
from apex.amp.casts import cast
from apex.amp.stash import MASTERS


def check(model):
    import torch.nn.parallel as parallel

    if isinstance(model, (parallel.DistributedDataParallel, parallel.DataParallel)):
        raise RuntimeError("amp.initialize got a %s: wrap the model that it returns" % type(model).__name__)
    for name, param in model.named_parameters():
        if param.is_floating_point() and param.dtype != torch.float32:
            warn_or_err("the model's parameter %s is %s, not torch.float32: amp.initialize casts, so do not call .half() "
                        "or .bfloat16() before it" % (name, param.dtype))


def cast_weights(model, dtype, keep_batchnorm):
    for module in model.modules():
        if keep_batchnorm and isinstance(module, _BatchNorm):
            continue
        for param in module._parameters.values():
            if param is not None and param.is_floating_point() and param.dtype != dtype:
                param.data = param.data.to(dtype)
                if param.grad is not None:
                    param.grad = None  # of another type than the weight from now on
        for name, buffer in module._buffers.items():
            if buffer is not None and buffer.is_floating_point():
                module._buffers[name] = buffer.to(dtype)
        if isinstance(module, torch.nn.RNNBase):
            module.flatten_parameters()


class CastForward:
    """model.forward with inputs and outputs cast. Copied and pickled together with its model."""

    def __init__(self, forward, inputs, outputs):
        functools.update_wrapper(self, forward)
        self.forward, self.inputs, self.outputs = forward, inputs, outputs

    def __call__(self, *args, **kwargs):
        if self.inputs is not None:
            args, kwargs = cast(args, self.inputs), cast(kwargs, self.inputs)
        result = self.forward(*args, **kwargs)
        return result if self.outputs is None else cast(result, self.outputs)


def cast_forward(model, inputs, outputs):
    model.forward = CastForward(model.forward, inputs, outputs)


def _to_fp32(module, state_dict, prefix, _):
    """A checkpoint has fp32: masters where there are some, so that nothing is lost by saving."""
    for name, value in list(module._parameters.items()) + list(module._buffers.items()):
        saved = state_dict.get(prefix + name)
        if value is None or not isinstance(saved, torch.Tensor) or saved.dtype not in (torch.float16, torch.bfloat16):
            continue
        master = MASTERS.get(value)
        state_dict[prefix + name] = saved.float() if master is None else master.detach()


@torch.no_grad()
def _into_masters(module, state_dict, prefix, *_):
    """load_state_dict after the first step: the masters get the values as well."""
    for name, value in module._parameters.items():
        saved = state_dict.get(prefix + name)
        master = None if value is None else MASTERS.get(value)
        if master is not None and isinstance(saved, torch.Tensor) and saved.shape == master.shape:
            master.copy_(saved)


def checkpoints_in_fp32(model):
    for module in model.modules():
        module._register_state_dict_hook(_to_fp32)
        module._register_load_state_dict_pre_hook(_into_masters, with_module=True)
