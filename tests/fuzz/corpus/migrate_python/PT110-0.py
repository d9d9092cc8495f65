import torch
y = torch.ones(2).cuda(non_blocking=True)
