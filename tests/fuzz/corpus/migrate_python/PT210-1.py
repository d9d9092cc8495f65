import torch
def f(x):
    return x.device.type in ('cuda', 'npu')
