import torch
h = torch.profiler.tensorboard_trace_handler('log')
