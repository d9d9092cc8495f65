import torch
a = [torch.profiler.ProfilerActivity.CUDA]
