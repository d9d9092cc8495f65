import torch
p.add_argument('--device', default='cuda', choices=['cuda', 'cpu'])
