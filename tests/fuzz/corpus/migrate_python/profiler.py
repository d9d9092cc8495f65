import torch
a = [torch.profiler.ProfilerActivity.CPU]

import torch
with torch.profiler.profile() as p:
    pass

from torch.profiler import profile, record_function, tensorboard_trace_handler
