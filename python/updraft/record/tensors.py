"""A tensor as a few numbers that two runs can be compared by."""

import hashlib

MOST_BYTES = 64 << 20  # of a tensor; of larger ones the beginning


def readable(tensor):
    """Whether the host may read it now: not while a graph is captured or traced, and not where there is nothing to read."""
    import torch

    if tensor.is_meta or tensor.layout != torch.strided or torch.compiler.is_compiling():
        return False
    backend = getattr(torch, tensor.device.type, None)
    capturing = getattr(backend, "is_current_stream_capturing", None)
    return not (capturing and capturing())


def summary(tensor):
    """{"shape", "dtype", "digest", "mean", "norm"}; without the last three where it cannot be read."""
    import torch

    told = {"shape": list(tensor.shape), "dtype": str(tensor.dtype).removeprefix("torch.")}
    if not readable(tensor):
        return told
    with torch.no_grad():
        host = tensor.detach().to("cpu").contiguous()
        if hasattr(host, "full_tensor"):  # a shard of a distributed tensor
            host = host.to_local()
        flat = host.reshape(-1)
        flat = flat[:max(1, MOST_BYTES // max(1, flat.element_size()))]
        told["digest"] = hashlib.blake2b(flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b"", digest_size=8).hexdigest()
        if flat.numel():
            wide = torch.view_as_real(flat).double() if flat.is_complex() else flat.double()
            told["mean"], told["norm"] = float(wide.mean()), float(wide.norm())
    return told


def tensors_of(value):
    """The tensors in what a loader or a caller gives: dictionaries, lists, objects of dataclasses."""
    import torch

    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict):
        for key in sorted(value, key=str):
            yield from tensors_of(value[key])
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors_of(item)
    elif hasattr(value, "data") and isinstance(getattr(value, "data"), dict):  # transformers' BatchEncoding
        yield from tensors_of(value.data)
