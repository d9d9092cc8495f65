"""The two frameworks behind twin_models.py."""


def torch_side():
    import types

    import torch

    class Module(torch.nn.Module):
        def forward(self, *inputs):
            return self.construct(*inputs)

    return types.SimpleNamespace(nn=torch.nn, F=torch.nn.functional, ops=torch, Module=Module,
                                 sequence=lambda parts: torch.nn.Sequential(*parts))


def mint_side():
    import types

    from mindspore import mint, nn

    return types.SimpleNamespace(nn=mint.nn, F=mint.nn.functional, ops=mint, Module=nn.Cell,
                                 sequence=lambda parts: nn.SequentialCell(*parts))
