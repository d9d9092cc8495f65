import torch.distributed as dist
b = dist.Backend.NCCL
