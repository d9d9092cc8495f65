import torch
t = x.type('torch.cuda.FloatTensor')
