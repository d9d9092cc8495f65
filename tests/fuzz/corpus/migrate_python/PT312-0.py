import torch
p.add_argument('--dist-backend', default='nccl')
