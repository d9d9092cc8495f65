import torch
if args.dist_backend == 'nccl':
    pass
