import torch
move = torch.Tensor.cuda
