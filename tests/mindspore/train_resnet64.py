"""Losses of layer_models.py's ResNets by PyTorch's CPU: python train_resnet64.py STEPS float64|float32 MODEL:OPTIMIZER:LOSS…

A deep network on few images multiplies differences of rounding from step to step, on every device. float64 says who is how far away from what is right."""
import json
import sys

import torch
from samples import batch, weight
from torch import nn
from torch.nn import functional as F

RATES = {"momentum": 0.002, "gentle": 0.0002}
LAYERS = {"resnet18": ((2, 2, 2, 2), False), "resnet50": ((3, 4, 6, 3), True)}


def padded(x, kernel, stride, value=0.0):
    """MindSpore's pad_mode "same": the odd row of zeros is below, the odd column at the right."""
    totals = [max((-(-size // stride) - 1) * stride + kernel - size, 0) for size in x.shape[-2:]]
    top, left = totals[0] // 2, totals[1] // 2
    return F.pad(x, (left, totals[1] - left, top, totals[0] - top), value=value)


class Same(nn.Conv2d):
    def __init__(self, inputs, outputs, kernel, stride):
        super().__init__(inputs, outputs, kernel, stride, bias=False)

    def forward(self, x):
        return super().forward(padded(x, self.kernel_size[0], self.stride[0]))


class Block(nn.Module):
    def __init__(self, inputs, width, outputs, stride, bottleneck):
        super().__init__()
        sizes = [(inputs, width, 1, 1), (width, width, 3, stride), (width, outputs, 1, 1)] if bottleneck else [
            (inputs, width, 3, stride), (width, outputs, 3, 1)]
        cells = []
        for i, (a, b, kernel, step) in enumerate(sizes):
            cells += [Same(a, b, kernel, step), nn.BatchNorm2d(b)] + ([nn.ReLU()] if i + 1 < len(sizes) else [])
        self.branch = nn.Sequential(*cells)
        self.short = nn.Sequential(Same(inputs, outputs, 1, stride), nn.BatchNorm2d(outputs)) if inputs != outputs or stride != 1 else nn.Identity()

    def forward(self, x):
        return F.relu(self.branch(x) + self.short(x))


class ResNet(nn.Module):
    def __init__(self, layers, bottleneck):
        super().__init__()
        blocks, inputs = [], 64
        for stage, count in enumerate(layers):
            outputs = (64 << stage) * (4 if bottleneck else 1)
            for i in range(count):
                blocks.append(Block(inputs, 64 << stage, outputs, 2 if stage and i == 0 else 1, bottleneck))
                inputs = outputs
        self.conv, self.bn, self.blocks, self.fc = Same(3, 64, 7, 2), nn.BatchNorm2d(64), nn.Sequential(*blocks), nn.Linear(inputs, 10)

    def forward(self, x):
        x = F.relu(self.bn(self.conv(x)))
        x = self.blocks(F.max_pool2d(padded(x, 3, 2, float("-inf")), 3, 2))
        return self.fc(x.mean((2, 3)))


def losses(model, optimizer, loss, steps, dtype):
    net = ResNet(*LAYERS[model])
    with torch.no_grad():
        for name, p in net.named_parameters():
            p.copy_(torch.from_numpy(weight(name, tuple(p.shape))))
    net.to(dtype).train()
    step = torch.optim.SGD(net.parameters(), RATES[optimizer], momentum=0.9)
    x, y = map(torch.from_numpy, batch(model))
    found = []
    for _ in range(steps):
        step.zero_grad()
        value = F.cross_entropy(net(x.to(dtype)), y)
        value.backward()
        step.step()
        found.append(value.item())
    return found


if __name__ == "__main__":
    for case in sys.argv[3:]:
        print(json.dumps([case, losses(*case.split(":"), int(sys.argv[1]), getattr(torch, sys.argv[2]))]), flush=True)
