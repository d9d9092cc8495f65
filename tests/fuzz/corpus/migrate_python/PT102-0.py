import torch
torch.backends.cudnn.benchmark = True
