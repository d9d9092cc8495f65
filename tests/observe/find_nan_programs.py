"""Scripts for `updraft run --find-nan`."""

import sys

import torch
import torch_npu  # noqa: F401


def sane():
    net = torch.nn.Linear(8, 8).npu()
    optimizer = torch.optim.AdamW(net.parameters())
    mask = torch.triu(torch.ones(8, 8, dtype=torch.bool), 1).npu()
    for _ in range(3):
        scores = net(torch.randn(8, 8).npu()).masked_fill(mask, float("-inf"))
        loss = scores.softmax(-1).pow(2).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    assert loss.isfinite()


def inner(x):
    return torch.log(x)  # the fault of forward


def forward():
    x = torch.zeros(3).npu()
    y = inner(x)
    (y * 2).cpu()


def root(x):
    return x.sqrt()  # the fault of backward


def backward():
    x = torch.zeros(3).npu().requires_grad_()
    y = root(x).sum()
    y.backward()
    x.grad.cpu()


def large():
    x = torch.full((512, 512), 300.0, dtype=torch.half).npu()
    (x * 0) @ x
    x @ x  # the fault of large
    for _ in range(100):
        x * 0
    torch.npu.synchronize()


def in_place():
    x = torch.tensor([0.0, 2.0, 4.0]).npu()
    x.reciprocal_()
    x.cpu()


if __name__ == "__main__":
    globals()[sys.argv[1]]()
    print("the end")
