"""A plain training script for one GPU."""
from __future__ import annotations

import argparse
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F

from data import make_loaders


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(8, 16)
        self.fc2 = nn.Linear(16, 2)

    def forward(self, x):
        return self.fc2(torch.tanh(self.fc1(x)))


def train_one_epoch(model, loader, optimizer, epoch):
    model.train()
    for step, (x, y) in enumerate(loader):
        x, y = x.cuda(0), y.cuda(0)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        if step % 2 == 0:
            print(f"epoch {epoch} step {step} loss {loss.item():.6f}")  # local


@torch.no_grad()
def evaluate(model, loader, device):
    model.eval()
    total = 0.0
    for x, y in loader:
        total += F.cross_entropy(model(x.to(device)), y.to(device), reduction="sum").item()
    return total / len(loader.dataset)


def save(model, optimizer, epoch, path):
    torch.save({
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "epoch": epoch,
    }, path)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--out", default="model.pt")
    args = parser.parse_args()

    torch.manual_seed(0)
    device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
    train_loader, val_loader = make_loaders(args.batch_size)
    model = Net()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    model.to(device)
    print("parameters:", sum(p.numel() for p in model.parameters()), "first layer", model.fc1.weight.shape)

    for epoch_index in range(args.epochs):
        train_one_epoch(model, train_loader, optimizer, epoch_index)
        val_loss = evaluate(model, val_loader, device)
        print(f"epoch {epoch_index} val_loss {val_loss:.6f}")
        save(model, optimizer, epoch_index, args.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
