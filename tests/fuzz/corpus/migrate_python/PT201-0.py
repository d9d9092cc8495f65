import torch
d = torch.device('cuda', 0)
