import torch
x = torch.ones(2)
f = x.cuda
f()
