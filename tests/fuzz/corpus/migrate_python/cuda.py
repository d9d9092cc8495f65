from torch.cuda.amp import autocast, GradScaler

from torch import cuda
cuda.synchronize()

import torch.cuda.amp as amp
with amp.autocast():
    pass

import torch
try:
    f()
except torch.cuda.OutOfMemoryError:
    pass

import torch as T
x = (T  # the library
     .cuda  # its module
     .current_device())

import torch
torch.cuda.jiterator._create_jit_fn('')

def f(torch):
    return torch.cuda.is_available()

import torch
torch.backends.cudnn.benchmark = True

import torch
print(torch.version.cuda)

import torch
d = torch.get_autocast_gpu_dtype()

import torch
move = torch.Tensor.cuda

import torch
x = torch.ones(2)
f = x.cuda
f()

import torch.nn as nn
class Net(nn.Module):
    def cuda(self, device=None):
        return super().cuda(device)
net = Net().cuda()

import torch
class Fish:
    def cuda(self):
        return "barracuda"
f = Fish()
print(f.cuda())

import torch
if args.cuda:
    pass

import torch
def f(x: torch.Tensor):
    return x.is_cuda
