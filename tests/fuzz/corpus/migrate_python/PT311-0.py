import torch
backend = 'nccl'
