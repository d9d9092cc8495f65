"""Casting the floating-point tensors in whatever a model or function is given or returns."""

import collections.abc
import copy
import dataclasses

import torch


def tensors_in(value):
    """The tensors of nested lists, tuples, mappings and data classes."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, collections.abc.Mapping):
        for item in value.values():
            yield from tensors_in(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors_in(item)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            yield from tensors_in(getattr(value, field.name, None))


def cast(value, dtype, keep=None):
    """The same structure with floating-point tensors as dtype, but for those of type keep; whatever needs no change is
    handed on as it is."""
    if not any(t.is_floating_point() and t.dtype not in (dtype, keep) for t in tensors_in(value)):
        return value
    if isinstance(value, torch.Tensor):
        return value.to(dtype)
    if isinstance(value, collections.abc.Mapping):  # also defaultdict, BatchEncoding, ModelOutput
        result = copy.copy(value)
        for key in list(value):
            result[key] = cast(value[key], dtype, keep)
        return result
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(cast(item, dtype, keep) for item in value))
    if isinstance(value, (list, tuple)):
        return type(value)(cast(item, dtype, keep) for item in value)
    result = copy.copy(value)
    for field in dataclasses.fields(value):
        # frozen data classes refuse setattr
        object.__setattr__(result, field.name, cast(getattr(value, field.name, None), dtype, keep))
    return result
