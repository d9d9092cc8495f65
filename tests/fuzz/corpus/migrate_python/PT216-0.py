import torch
torch.foo_bar('cuda')
