import torch
d = torch.get_autocast_gpu_dtype()
