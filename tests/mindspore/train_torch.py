"""Losses of PyTorch on the CPU: python train_torch.py STEPS MODEL:OPTIMIZER… prints a line of JSON for each."""
import json
import sys

import torch
from samples import batch, weight
from sides import torch_side
from twin_models import models

OPTIMIZERS = {"adamw": lambda p: torch.optim.AdamW(p, 1e-3, weight_decay=0.01), "adam": lambda p: torch.optim.Adam(p, 1e-3),
              "slow": lambda p: torch.optim.AdamW(p, 1e-4),
              "sgd": lambda p: torch.optim.SGD(p, 0.002, momentum=0.9)}


def losses(model, optimizer, steps):
    net = models(torch_side())[model]()
    with torch.no_grad():
        for name, p in net.named_parameters():
            p.copy_(torch.from_numpy(weight(name, tuple(p.shape))))
    x, y = map(torch.from_numpy, batch(model))
    step = OPTIMIZERS[optimizer](net.parameters())
    found = []
    for _ in range(steps):
        step.zero_grad()
        loss = torch.nn.functional.cross_entropy(net(x), y)
        loss.backward()
        step.step()
        found.append(loss.item())
    return found


if __name__ == "__main__":
    for case in sys.argv[2:]:
        print(json.dumps([case, losses(*case.split(":"), int(sys.argv[1]))]), flush=True)
