"""Training steps on npu:0 against PyTorch's CPU device: the same threads, a process each, step by step in turn. PyTorch runs as it
comes: eager, with its own choice of layouts, neither compiled nor with IPEX.

    ./dev bench train [--models resnet50,gpt2] [--mode fp32|bf16|fp16] [--rounds 5] [--clock cpu]
"""
import argparse
import math
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
import torch
import torch_npu  # noqa: F401
from torch.nn import functional as F

from bench.measure import PART, InProcess, interleave, machine, report
from tests.clients.training import models


def bert():
    from transformers import BertConfig, BertForSequenceClassification
    return BertForSequenceClassification(BertConfig(num_hidden_layers=4, num_labels=4))


def classify(model, x, y):
    return F.cross_entropy(model(x).float(), y)


def next_token(model, ids):
    return F.cross_entropy(model(ids[:, :-1]).float().flatten(0, 1), ids[:, 1:].flatten())


def bert_loss(model, ids, y):
    return model(input_ids=ids, labels=y).loss


def sgd(parameters):
    return torch.optim.SGD(parameters, lr=1e-3, momentum=0.9)


def adamw(parameters):
    return torch.optim.AdamW(parameters, lr=1e-4)


def images(n):
    return torch.randn(n, 3, 224, 224), torch.randint(10, (n,))


MODELS = {
    "resnet50": (models.resnet50, lambda: images(8), classify, sgd),
    "bert": (bert, lambda: (torch.randint(30000, (4, 128)), torch.randint(4, (4,))), bert_loss, adamw),
    "gpt2": (lambda: models.GPT(vocabulary=50257, length=256, width=512, heads=8, layers=6),
             lambda: (torch.randint(50257, (4, 257)),), next_token, adamw),
    "vit-s": (lambda: models.ViT(image=224, patch=16, width=384, heads=6, layers=12), lambda: images(8), classify, adamw),
}
AMP = {"fp32": None, "bf16": torch.bfloat16, "fp16": torch.float16}


def stepper(name, device, mode):
    build, draw, loss_of, optimizer_of = MODELS[name]
    torch.set_num_threads(int(os.environ.get("UPDRAFT_THREADS", len(os.sched_getaffinity(0)))))
    torch.manual_seed(0)
    model = build().train().to(device)
    batch = [x.to(device) for x in draw()]
    optimizer = optimizer_of(model.parameters())
    scaler = torch.amp.GradScaler(device, enabled=mode == "fp16")

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=AMP[mode] or torch.bfloat16, enabled=AMP[mode] is not None):
            loss = loss_of(model, *batch)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        return loss.item()  # also synchronises

    return step


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--mode", default="fp32", choices=AMP)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--against", default="cpu", choices=["cpu", "npu-fp32"], help="npu-fp32: our own fp32 step")
    parser.add_argument("--clock", default="wall", choices=["wall", "cpu"], help="cpu: processor time of all threads, with UPDRAFT_THREADS=1 on a busy machine")
    options = parser.parse_args()
    before, rows = machine(), {}
    for name in options.models.split(","):
        ours = InProcess(stepper, name, "npu", options.mode, clock=options.clock)
        peer = InProcess(stepper, name, *(("cpu", options.mode) if options.against == "cpu" else ("npu", "fp32")), clock=options.clock)
        rows[name] = interleave(ours, peer, options.rounds)
        print(name, rows[name], flush=True)
        ours.close(), peer.close()
    if len(rows) > 1:
        print("geometric mean", round(math.exp(sum(math.log(r["ratio"]) for r in rows.values()) / len(rows)), 3))
    report(f"train-{options.mode}" + ("" if options.against == "cpu" else "-self") + ("" if options.models == ",".join(MODELS) and options.clock == "wall" else PART), rows, "./dev bench train " + " ".join(sys.argv[1:]),
           "PyTorch CPU" if options.against == "cpu" else "Updraft fp32", before)


if __name__ == "__main__":
    main()
