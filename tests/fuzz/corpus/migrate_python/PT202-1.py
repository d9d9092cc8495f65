import torch
x = torch.ones(1).to(device='cuda:{}'.format(0))
