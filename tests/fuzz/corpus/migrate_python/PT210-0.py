import torch
def f(x):
    return x.device.type == 'cuda'
