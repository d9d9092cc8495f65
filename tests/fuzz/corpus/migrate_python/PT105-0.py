import torch
torch.set_autocast_gpu_dtype(torch.float16)
