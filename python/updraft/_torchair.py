"""Converters for what TorchAir has none of, or has wrong, and the graph engine computes.

TorchAir asks the engine for such operators by itself, but not before the first graph of a process has opened its session:
until then it takes each for one that the engine does not know, and calls g++ for a callback. So they are registered as
packages of custom operators register theirs.
"""

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


def _with_inverse(theirs):
    """TorchAir's converter of Fourier transforms makes the one forwards of every call. The other is the conjugate of that of the conjugate."""

    def convert(self, dim, normalization, forward, meta_outputs=None):
        from torchair.ge import custom_op

        if forward:
            return theirs(self, dim, normalization, forward)
        conjugate = custom_op("Conj", self)
        conjugate.set_meta(self.meta)  # theirs asks for its dimensions
        return custom_op("Conj", theirs(conjugate, dim, normalization, True))

    return convert


def register(torchair):
    """torchair: the package, when it is complete."""
    transform = getattr(getattr(torch.ops, "aten", None), "_fft_c2c", None)
    theirs = getattr(transform.default, "_ge_converter", None) if transform is not None else None
    if theirs is not None:
        torchair.register_fx_node_ge_converter(transform.default)(_with_inverse(theirs))
    for name, graph_operator in OPERATORS.items():
        operator = getattr(torch.ops.npu, name, None)  # older releases of torch_npu lack some
        if operator is not None and getattr(operator.default, "_ge_converter", None) is None:
            torchair.register_fx_node_ge_converter(operator.default)(_converter(operator.default._schema, graph_operator))
