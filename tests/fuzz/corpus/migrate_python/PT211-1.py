import torch
cfg = {'device': 'cuda'}
