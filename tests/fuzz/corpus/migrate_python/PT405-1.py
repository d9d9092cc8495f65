from torch.profiler import profile, record_function, tensorboard_trace_handler
