"""Residual networks, written here because torchvision does not import beside a CPU build of torch."""
import torch
from torch import nn


class Basic(nn.Module):
    expansion = 1

    def __init__(self, channels, width, stride):
        super().__init__()
        self.path = nn.Sequential(convolution(channels, width, 3, stride), nn.ReLU(inplace=True), convolution(width, width, 3))
        self.shortcut = shortcut(channels, width, stride)

    def forward(self, x):
        return torch.relu(self.path(x) + self.shortcut(x))


class Bottleneck(nn.Module):
    expansion = 4

    def __init__(self, channels, width, stride):
        super().__init__()
        self.path = nn.Sequential(convolution(channels, width, 1), nn.ReLU(inplace=True), convolution(width, width, 3, stride),
                                  nn.ReLU(inplace=True), convolution(width, 4 * width, 1))
        self.shortcut = shortcut(channels, 4 * width, stride)

    def forward(self, x):
        return torch.relu(self.path(x) + self.shortcut(x))


def convolution(channels, width, kernel, stride=1):
    return nn.Sequential(nn.Conv2d(channels, width, kernel, stride, padding=kernel // 2, bias=False), nn.BatchNorm2d(width))


def shortcut(channels, width, stride):
    return nn.Identity() if stride == 1 and channels == width else convolution(channels, width, 1, stride)


class ResNet(nn.Module):
    def __init__(self, block, depths, classes=1000, width=64):
        super().__init__()
        self.stem = nn.Sequential(convolution(3, width, 7, 2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, padding=1))
        blocks, channels = [], width
        for stage, depth in enumerate(depths):
            for at in range(depth):
                blocks.append(block(channels, width << stage, 2 if stage and not at else 1))
                channels = (width << stage) * block.expansion
        self.blocks = nn.Sequential(*blocks)
        self.head = nn.Linear(channels, classes)

    def forward(self, x):
        return self.head(self.blocks(self.stem(x)).mean(dim=(2, 3)))


ARCHITECTURES = {
    "resnet10": lambda classes: ResNet(Basic, [1, 1, 1, 1], classes, width=16),  # for a quick try
    "resnet18": lambda classes: ResNet(Basic, [2, 2, 2, 2], classes),
    "resnet50": lambda classes: ResNet(Bottleneck, [3, 4, 6, 3], classes),
}
