"""A network with one layer of each kind that opt_levels treat differently, and its training."""
import contextlib

import torch
import torch.nn.functional as F
from torch import nn

STEPS = 20


class Net(nn.Module):
    """Convolution, batch norm, linear layer; the softmax stands in the loss."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.head = nn.Linear(8 * 64, 5)

    def forward(self, x):
        return self.head(F.relu(self.norm(self.conv(x))).flatten(1))


class Plain(nn.Module):
    """Without batch norm: here O1 and torch.amp cast alike."""

    def __init__(self):
        super().__init__()
        self.conv, self.head = nn.Conv2d(3, 8, 3, padding=1), nn.Linear(8 * 64, 5)

    def forward(self, x):
        return self.head(F.relu(self.conv(x)).flatten(1))


def build(device, network=Net):
    torch.manual_seed(0)
    return network().to(device)


def sgd(model, **options):
    return torch.optim.SGD(model.parameters(), **{"lr": 0.05, "momentum": 0.9, **options})


def batch(device, n=16):
    g = torch.Generator().manual_seed(1)
    return torch.randn(n, 3, 8, 8, generator=g).to(device), torch.randint(5, (n,), generator=g).to(device)


def step(model, optimizer, data, scaled=None, factor=1.0):
    """One step of training; scaled(loss, optimizer) is amp.scale_loss or None."""
    x, y = data
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    with (scaled or (lambda loss, _: contextlib.nullcontext(loss)))(loss * factor, optimizer) as total:
        total.backward()
    optimizer.step()
    return loss.item()


def train(model, optimizer, device, scaled=None, steps=STEPS):
    data = batch(device)
    return [step(model, optimizer, data, scaled) for _ in range(steps)]


def weights(model):
    return [p.detach().cpu().clone() for p in model.parameters()]
