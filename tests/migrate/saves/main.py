"""A training script for one GPU that writes all kinds of files and reads one of them again."""
import os
import sys

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import torch
import torch.nn as nn
from tqdm import tqdm

matplotlib.use("agg")


def save_all(model, folder):
    torch.save(model, os.path.join(folder, "whole.pt"))
    torch.save({"model": model, "epoch": 1}, os.path.join(folder, "dictionary.pt"))


def main(folder):
    torch.manual_seed(0)
    model = nn.Linear(4, 2).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    data = torch.utils.data.TensorDataset(torch.randn(16, 4), torch.randn(16, 2))
    loader = torch.utils.data.DataLoader(data, batch_size=4, shuffle=True)
    losses = []
    os.makedirs(os.path.join(folder, "pictures"))
    for epoch in range(2):
        for x, y in tqdm(loader, desc="bar"):
            optimizer.zero_grad()
            loss = ((model(x.cuda()) - y.cuda()) ** 2).mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        print(f"epoch {epoch} loss {loss.item():.4f}")
        save_all(model, folder)
        with open(os.path.join(folder, "log.txt"), "a") as log:
            log.write(f"epoch {epoch} {loss.item()}\n")
    np.save(os.path.join(folder, "losses.npy"), np.array(losses))
    plt.plot(losses)
    plt.savefig(os.path.join(folder, "pictures", "losses.png"))
    torch.onnx.export(model, (torch.ones(1, 4).cuda(),), os.path.join(folder, "model.onnx"), dynamo=False)
    torch.jit.script(model).save(os.path.join(folder, "script.pt"))
    state = torch.load(os.path.join(folder, "dictionary.pt"), weights_only=False)
    kind = type(state["model"]).__name__
    with open(os.path.join(folder, f"read{os.environ.get('RANK', 0)}.txt"), "w") as answer:  # updraft: keep
        answer.write(kind)


if __name__ == "__main__":
    main(sys.argv[1])
