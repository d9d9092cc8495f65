import torch
s = torch.profiler.schedule(wait=1, warmup=1, active=1)
