import torch
name = 'cuda' if torch.cuda.is_available() else 'cpu'
d = torch.device(name)

import torch
def make(where=r'cuda:1'):
    return torch.device(where)
make(f'cuda:{n}')

import torch
x = torch.ones(1).to('cuda:%d' % 0, copy=True)

import torch
x = torch.ones(1).to(device='cuda:{}'.format(0))

import torch
x = torch.ones(1).to(copy=True, dtype=torch.half)

import torch
s = torch.load(p, map_location={'cuda:0': 'cuda:1'})

import torch
def f(x):
    return x.device.type in ('cuda', 'npu')

import torch
if torch.cuda.is_available():
    d = 'cuda'
elif torch.npu.is_available():
    d = 'npu'

import torch
def f(device):
    return device.startswith('cuda')

import torch
class C:
    device = 'cuda'

import torch
cfg = {'device': 'cuda'}

import torch
kind = {'cuda': 1}

import torch
p.add_argument('--device', default='cuda', choices=['cuda', 'cpu'])

import torch
places = ['cuda:0', 'cuda:1']

import torch
ok = hasattr(torch, 'cuda')

import torch
torch.foo_bar('cuda')

import torch
t = x.type('torch.cuda.FloatTensor')
