import torch
def f(x: torch.Tensor):
    return x.is_cuda
