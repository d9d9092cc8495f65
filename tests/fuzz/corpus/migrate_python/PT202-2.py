import torch
x = torch.ones(1).to(copy=True, dtype=torch.half)
