import torch
x = torch.ones(1).to('cuda:%d' % 0, copy=True)
