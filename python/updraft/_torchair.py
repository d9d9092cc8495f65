"""Converters for what TorchAir has none of and the graph engine computes, and a word about one that TorchAir has wrong.

TorchAir asks the engine for such operators by itself, but not before the first graph of a process has opened its session:
until then it takes each for one that the engine does not know, and calls g++ for a callback. So they are registered as
packages of custom operators register theirs.
"""

import warnings

import torch

# an operator of torch_npu and its graph operator; both have torch's schema, the graph operator tensors first
OPERATORS = {"npu_fusion_attention_v3": "NpuFusionAttentionV3", "npu_fusion_attention_grad_v3": "NpuFusionAttentionGradV3"}


def _converter(schema, graph_operator):
    arguments = sorted(schema.arguments, key=lambda a: "Tensor" not in str(a.type))

    def convert(*args, **kwargs):
        from torchair.ge import custom_op

        given = {**{a.name: a.default_value for a in arguments}, **dict(zip((a.name for a in schema.arguments), args)), **kwargs}
        return custom_op(graph_operator, *(given[a.name] for a in arguments))

    return convert


def _telling(theirs):
    """TorchAir's converter of Fourier transforms does not read `forward`. A card would compute the graph that it makes, and so does Updraft."""

    def convert(self, dim, normalization, forward, meta_outputs=None):
        if not forward:
            warnings.warn("TorchAir makes the forward Fourier transform of an inverse one (aten::_fft_c2c, as torch.fft.ifft asks for it), "
                          "on a card too: keep it out of what is compiled")
        return theirs(self, dim, normalization, forward, meta_outputs)

    return convert


def register(torchair):
    """torchair: the package, when it is complete."""
    transform = getattr(getattr(torch.ops, "aten", None), "_fft_c2c", None)
    theirs = getattr(transform.default, "_ge_converter", None) if transform is not None else None
    if theirs is not None:
        torchair.register_fx_node_ge_converter(transform.default)(_telling(theirs))
    for name, graph_operator in OPERATORS.items():
        operator = getattr(torch.ops.npu, name, None)  # older releases of torch_npu lack some
        if operator is not None and getattr(operator.default, "_ge_converter", None) is None:
            torchair.register_fx_node_ge_converter(operator.default)(_converter(operator.default._schema, graph_operator))
