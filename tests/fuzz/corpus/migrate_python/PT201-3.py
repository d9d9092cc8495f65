import torch
def make(where=r'cuda:1'):
    return torch.device(where)
make(f'cuda:{n}')
