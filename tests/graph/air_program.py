"""Exports a network by TorchAir, of the official torch_npu wheel: FOLDER/net.air.air, and FOLDER/net.npz with x and what PyTorch's CPU says.

usage: python air_program.py FOLDER
"""

import pathlib
import sys

import numpy as np
import torch
import torch_npu
import torchair

folder = pathlib.Path(sys.argv[1])
torch.manual_seed(3)
net = torch.nn.Sequential(torch.nn.Linear(6, 5), torch.nn.ReLU(), torch.nn.Linear(5, 3)).eval()
x = torch.randn(4, 6)
with torch.no_grad():
    np.savez(folder / "net.npz", x=x.numpy(), y=net.double()(x.double()).numpy())
    torchair.dynamo_export(x.npu(), model=net.float().npu(), export_path=str(folder), export_name="net.air", dynamic=False)
