import torch
with torch.profiler.profile() as p:
    pass
