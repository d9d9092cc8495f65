import torch
a = [torch.profiler.ProfilerActivity.CPU]
