#!/usr/bin/env python3
"""Handwritten digits with a small ResNet: an ordinary CUDA training script.

It knows nothing of NPUs. On a machine with CUDA it runs there, on one without it runs on the CPU, and under
`updraft run --cuda-as-npu python examples/digits.py` it trains on npu:0.

    python digits.py                      train, resume from digits.pt if it is there
    python digits.py --epochs 3 --fresh   train anew
"""
import argparse
import os
import sys
import time
import warnings

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset

warnings.filterwarnings("ignore", category=FutureWarning)  # torch.cuda.amp still is what most scripts say


class Digits(Dataset):
    """1797 pictures of 8x8 pixels from scikit-learn, enlarged to 16x16; the training half is shifted a little at random."""

    def __init__(self, train):
        from sklearn.datasets import load_digits
        from sklearn.model_selection import train_test_split
        data = load_digits()
        split = train_test_split(data.images, data.target, test_size=0.25, random_state=0, stratify=data.target)
        images, labels = (split[0], split[2]) if train else (split[1], split[3])
        images = torch.tensor(images, dtype=torch.float32).unsqueeze(1) / 8 - 1
        self.images = F.interpolate(images, scale_factor=2, mode="bilinear", align_corners=False)
        self.labels = torch.tensor(labels)
        self.train = train

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, n):
        image = self.images[n]
        if self.train:
            dy, dx = torch.randint(-1, 2, (2,)).tolist()
            image = torch.roll(image, (dy, dx), (1, 2))
        return image, self.labels[n]


class Block(nn.Module):
    def __init__(self, cin, cout, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(cin, cout, 3, stride, 1, bias=False), nn.BatchNorm2d(cout)
        self.conv2, self.bn2 = nn.Conv2d(cout, cout, 3, 1, 1, bias=False), nn.BatchNorm2d(cout)
        self.shortcut = nn.Identity() if stride == 1 and cin == cout else nn.Sequential(nn.Conv2d(cin, cout, 1, stride, bias=False), nn.BatchNorm2d(cout))

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)), inplace=True)
        return F.relu(self.bn2(self.conv2(y)) + self.shortcut(x), inplace=True)


def resnet(width=16):
    return nn.Sequential(nn.Conv2d(1, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True),
                         Block(width, width, 1), Block(width, 2 * width, 2), Block(2 * width, 4 * width, 2),
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4 * width, 10))


def bar(epoch, done, total, loss, rate):
    """A progress bar on a terminal, nothing in a log file."""
    if sys.stderr.isatty():
        filled = 30 * done // total
        sys.stderr.write(f"\repoch {epoch:2} [{'#' * filled}{'.' * (30 - filled)}] {done}/{total}  loss {loss:.3f}  {rate:5.0f} images/s ")
        sys.stderr.write("\n" if done == total else "")
        sys.stderr.flush()


@torch.no_grad()
def accuracy(model, loader, device):
    model.eval()
    right = 0
    for images, labels in loader:
        images, labels = images.to(device, non_blocking=True), labels.to(device, non_blocking=True)
        right += (model(images).argmax(1) == labels).sum().item()
    return right / len(loader.dataset)


def draw(history, file):
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    epochs = range(1, len(history) + 1)
    figure, left = pyplot.subplots(figsize=(7, 4))
    left.plot(epochs, [h["loss"] for h in history], color="tab:red", label="training loss")
    left.set_xlabel("epoch")
    left.set_ylabel("loss")
    right = left.twinx()
    right.plot(epochs, [100 * h["accuracy"] for h in history], color="tab:blue", label="test accuracy")
    right.set_ylabel("accuracy, %")
    figure.legend(loc="center right", bbox_to_anchor=(0.88, 0.5))
    figure.tight_layout()
    figure.savefig(file, dpi=120)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--amp", action=argparse.BooleanOptionalAction, default=torch.cuda.is_available(), help="float16 autocast with loss scaling")
    parser.add_argument("--fresh", action="store_true", help="do not resume from the checkpoint")
    parser.add_argument("--out", default=".", help="folder of digits.pt and digits.png")
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    checkpoint = os.path.join(options.out, "digits.pt")

    torch.manual_seed(0)
    cuda = torch.cuda.is_available()
    device = torch.device("cuda" if cuda else "cpu")
    print(f"device: {device}, {torch.cuda.get_device_name(0) if cuda else 'no CUDA device'}")

    model = resnet()
    if cuda:
        model = model.cuda()
    settings = dict(num_workers=options.workers, pin_memory=cuda, persistent_workers=options.workers > 0)
    train = DataLoader(Digits(True), options.batch, shuffle=True, drop_last=True, **settings)
    test = DataLoader(Digits(False), 256, **settings)
    optimizer = torch.optim.SGD(model.parameters(), lr=options.lr, momentum=0.9, nesterov=True, weight_decay=5e-4)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, options.lr, total_steps=options.epochs * len(train), pct_start=0.2)
    scaler = torch.cuda.amp.GradScaler(enabled=options.amp and cuda)
    history = []

    if os.path.exists(checkpoint) and not options.fresh:
        state = torch.load(checkpoint, map_location=device)
        model.load_state_dict(state["model"])
        history = state["history"]
        if len(history) < options.epochs and state["epochs"] == options.epochs:  # else the learning rate was planned for another length
            for part, name in ((optimizer, "optimizer"), (schedule, "schedule"), (scaler, "scaler")):
                part.load_state_dict(state[name])
        print(f"resumed after epoch {len(history)}")

    images_seen, seconds = 0, 0.0
    for epoch in range(len(history) + 1, options.epochs + 1):
        model.train()
        begun, losses = time.perf_counter(), []
        for n, (images, labels) in enumerate(train, 1):
            if cuda:
                images, labels = images.cuda(non_blocking=True), labels.cuda(non_blocking=True)
            optimizer.zero_grad(set_to_none=True)
            with torch.cuda.amp.autocast(enabled=options.amp and cuda):
                loss = F.cross_entropy(model(images), labels)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            schedule.step()
            losses.append(loss.item())
            bar(epoch, n, len(train), losses[-1], n * options.batch / (time.perf_counter() - begun))
        if cuda:
            torch.cuda.synchronize()
        took = time.perf_counter() - begun
        images_seen, seconds = images_seen + len(train) * options.batch, seconds + took
        history.append({"loss": sum(losses) / len(losses), "accuracy": accuracy(model, test, device)})
        print(f"epoch {epoch:2}: loss {history[-1]['loss']:.4f}, test accuracy {100 * history[-1]['accuracy']:.2f} %, {len(train) * options.batch / took:.0f} images/s")
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "schedule": schedule.state_dict(), "scaler": scaler.state_dict(),
                    "history": history, "epochs": options.epochs}, checkpoint + ".part")
        os.replace(checkpoint + ".part", checkpoint)  # an interrupted save leaves the old one

    draw(history, os.path.join(options.out, "digits.png"))
    if seconds:
        print(f"throughput: {images_seen / seconds:.0f} images/s")
    print(f"test accuracy: {100 * accuracy(model, test, device):.2f} %")
    if cuda:
        print(f"peak memory: {torch.cuda.max_memory_allocated() / 2**20:.0f} MiB")
    print(f"wrote {checkpoint} and {os.path.join(options.out, 'digits.png')}")


if __name__ == "__main__":
    main()
