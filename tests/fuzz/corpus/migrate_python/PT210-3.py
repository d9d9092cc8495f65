import torch
def f(device):
    return device.startswith('cuda')
