"""A small network that tells bars in images apart, by MindSpore on Ascend: PyNative steps, then the same step as a graph.

python mindspore_bars.py            (in an environment with mindspore==2.10.0, 'numpy<2' and Updraft)
"""

import argparse

import mindspore as ms
import numpy as np
from mindspore import Tensor, mint, nn


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.conv, self.pool = mint.nn.Conv2d(1, 16, 3, padding=1), mint.nn.MaxPool2d(2)
        self.fc1, self.fc2 = mint.nn.Linear(16 * 4 * 4, 64), mint.nn.Linear(64, 4)

    def construct(self, x):
        x = self.pool(mint.nn.functional.relu(self.conv(x)))
        return self.fc2(mint.nn.functional.relu(self.fc1(mint.flatten(x, 1))))


def images_of_bars(count, seed):
    """Images of 8 x 8 with a bar: upright, level or along one of the diagonals, in noise."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 4, count)
    images = rng.normal(0, 0.5, (count, 1, 8, 8))
    for image, label in zip(images[:, 0], labels):
        at = rng.integers(2, 6)
        bar = {0: image[:, at], 1: image[at], 2: None, 3: None}[label]
        if bar is not None:
            bar += 2
        else:
            rows = np.arange(8)
            image[rows, rows if label == 2 else 7 - rows] += 2
    return Tensor(images.astype(np.float32)), Tensor(labels.astype(np.int64))


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--steps", type=int, default=40)
    steps = arguments.parse_args().steps
    ms.set_device("Ascend", 0)
    ms.set_seed(1)
    net = Net()
    optimizer = mint.optim.AdamW(net.trainable_params(), 3e-3)
    x, y = images_of_bars(256, 0)

    def forward(x, y):
        return mint.nn.functional.cross_entropy(net(x), y)

    gradient = ms.value_and_grad(forward, None, optimizer.parameters)

    def step(x, y):
        loss, gradients = gradient(x, y)
        optimizer(gradients)
        return loss

    for _ in range(steps // 2):
        loss = step(x, y)
    print("PyNative: loss %.3f" % float(loss.asnumpy()))
    graph = ms.jit(step)
    for _ in range(steps - steps // 2):
        loss = graph(x, y)
    print("graph:    loss %.3f" % float(loss.asnumpy()))
    x, y = images_of_bars(256, 1)
    right = (net(x).argmax(1) == y).sum().asnumpy()
    print("%d of %d unseen images are named rightly" % (right, len(y)))
    ms.save_checkpoint(net, "bars.ckpt")


if __name__ == "__main__":
    main()
