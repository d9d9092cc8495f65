import torch.distributed as dist
dist.init_process_group(backend='cpu:gloo,cuda:nccl')

import torch
launch(backend='nccl')

import torch.distributed as dist
b = dist.Backend.NCCL

from torch.distributed import is_nccl_available
ok = is_nccl_available()

import torch
if args.dist_backend == 'nccl':
    pass

import torch
backend = 'nccl'

import torch
p.add_argument('--dist-backend', default='nccl')

import torch
kind = 'nccl' if gpu else 'gloo'

import torch
print('nccl')
