"""What is trained: a model, its batches, its loss, its optimizer. Everything is drawn on the CPU from fixed seeds."""
from dataclasses import dataclass
from typing import Callable

import torch
from torch.nn import functional as F

from . import models


def pictures(batch, size, classes=10):
    def draw(g):
        return torch.randn(batch, 3, size, size, generator=g), torch.randint(classes, (batch,), generator=g)
    return draw


def texts(batch, length, vocabulary):
    return lambda g: (torch.randint(vocabulary, (batch, length), generator=g),)


def labelled_texts(batch, length, vocabulary, classes):
    return lambda g: (torch.randint(vocabulary, (batch, length), generator=g), torch.randint(classes, (batch,), generator=g))


def masks(g):
    return torch.randn(2, 3, 32, 32, generator=g), torch.randint(3, (2, 32, 32), generator=g)


def classify(model, x, y):
    return F.cross_entropy(model(x).float(), y)


def next_token(model, ids):
    return F.cross_entropy(model(ids[:, :-1]).float().flatten(0, 1), ids[:, 1:].flatten())


def bert_loss(model, ids, y):
    mask = torch.ones_like(ids)
    mask[0, -4:] = 0
    return model(input_ids=ids, attention_mask=mask, labels=y).loss


def llama_loss(model, ids):
    return model(input_ids=ids, labels=ids).loss


def sgd(parameters):
    return torch.optim.SGD(parameters, lr=3e-4, momentum=0.9, weight_decay=1e-4)


def adamw(parameters):
    return torch.optim.AdamW(parameters, lr=1e-3, weight_decay=0.01)


def adam(parameters):
    return torch.optim.Adam(parameters, lr=1e-3)


@dataclass
class Task:
    model: Callable
    draw: Callable
    loss: Callable = classify
    optimizer: Callable = sgd
    clip: float = 0.0


TASKS = {
    "resnet18": Task(models.resnet18, pictures(8, 64)),
    "resnet50": Task(models.resnet50, pictures(8, 64)),
    "gpt2": Task(models.GPT, texts(4, 33, 211), next_token, adamw, 1.0),
    "bert": Task(models.bert, labelled_texts(4, 24, 211, 4), bert_loss, adamw, 1.0),
    "llama": Task(models.llama, texts(4, 24, 211), llama_loss, adamw, 1.0),
    "vit": Task(models.ViT, pictures(8, 32), classify, adamw),
    "lstm": Task(models.LSTMClassifier, labelled_texts(8, 20, 101, 5), classify, adam, 1.0),
    "unet": Task(models.UNet, masks, classify, adam),
}


def build(task):
    torch.manual_seed(1)
    return task.model().train()


def train(task, device, steps=20, dtype=None):
    """The losses of training on batches that repeat after four, so that there is something to learn."""
    model = build(task).to(device)
    if dtype:
        model = model.to(dtype)
    optimizer = task.optimizer(model.parameters())
    g = torch.Generator().manual_seed(2)
    batches = [task.draw(g) for _ in range(4)]
    losses = []
    for step in range(steps):
        batch = [x.to(device, dtype if dtype and x.is_floating_point() else None) for x in batches[step % 4]]
        optimizer.zero_grad(set_to_none=True)
        loss = task.loss(model, *batch)
        loss.backward()
        if task.clip:
            torch.nn.utils.clip_grad_norm_(model.parameters(), task.clip)
        optimizer.step()
        losses.append(loss.item())
    return losses
