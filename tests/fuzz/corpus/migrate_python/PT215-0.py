import torch
ok = hasattr(torch, 'cuda')
