#!/usr/bin/env python3
"""A character-level GPT, trained on the Python language reference that every Python ships (pydoc_data.topics).

An ordinary CUDA script like digits.py; it uses scaled_dot_product_attention, AdamW, gradient clipping and, with --bf16,
autocast. The 900 steps take a minute on two CPU cores; the loss on text that it has not seen falls from 4.6 (a blind guess) to below 1.7.

    python chargpt.py
    python chargpt.py --steps 2000 --prompt "The import statement "
"""
import argparse
import math
import time

import torch
from torch import nn
from torch.nn import functional as F


class Layer(nn.Module):
    def __init__(self, width, heads, dropout):
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), nn.Dropout(dropout))

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=self.dropout if self.training else 0.0)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, c))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    def __init__(self, vocabulary, length, width, heads, layers, dropout):
        super().__init__()
        self.length = length
        self.token, self.position = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.layers = nn.Sequential(*[Layer(width, heads, dropout) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)
        for name, p in self.named_parameters():
            if p.dim() == 2:
                nn.init.normal_(p, std=0.02)

    def forward(self, ids):
        x = self.token(ids) + self.position(torch.arange(ids.shape[1], device=ids.device))
        return self.head(self.norm(self.layers(x)))

    @torch.no_grad()
    def sample(self, ids, count, temperature=0.7):
        for _ in range(count):
            logits = self(ids[:, -self.length:])[:, -1].float() / temperature
            ids = torch.cat([ids, torch.multinomial(F.softmax(logits, -1), 1)], 1)
        return ids


def text():
    from pydoc_data.topics import topics
    return "\n\n".join(topics[name] for name in sorted(topics))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=900)
    parser.add_argument("--batch", type=int, default=24)
    parser.add_argument("--length", type=int, default=64)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--dropout", type=float, default=0.0)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--bf16", action="store_true", help="bfloat16 autocast")
    parser.add_argument("--prompt", default="The statement ")
    parser.add_argument("--characters", type=int, default=200, help="length of the sample")
    options = parser.parse_args()

    torch.manual_seed(0)
    cuda = torch.cuda.is_available()
    device = torch.device("cuda" if cuda else "cpu")
    print(f"device: {device}, {torch.cuda.get_device_name(0) if cuda else 'no CUDA device'}")

    data = text()
    alphabet = sorted(set(data))
    number = {c: n for n, c in enumerate(alphabet)}
    encoded = torch.tensor([number[c] for c in data])
    training, held_out = encoded[:-len(encoded) // 10], encoded[-len(encoded) // 10:]
    print(f"text: {len(data)} characters, {len(alphabet)} different")

    def batch(source):
        starts = torch.randint(len(source) - options.length - 1, (options.batch,))
        ids = torch.stack([source[s:s + options.length + 1] for s in starts]).to(device)
        return ids[:, :-1], ids[:, 1:]

    model = GPT(len(alphabet), options.length, options.width, options.heads, options.layers, options.dropout).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=options.lr, betas=(0.9, 0.95), weight_decay=0.05)
    warm = min(20, options.steps // 5 + 1)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda n: min((n + 1) / warm, 0.1 + 0.45 * (1 + math.cos(math.pi * n / options.steps))))
    print(f"model: {sum(p.numel() for p in model.parameters()) / 1e6:.2f} million parameters")

    def loss_of(x, y):
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=options.bf16):
            logits = model(x)
        return F.cross_entropy(logits.float().flatten(0, 1), y.flatten())

    begun = time.perf_counter()
    for step in range(1, options.steps + 1):
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of(*batch(training))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % 50 == 0 or step in (1, options.steps):
            rate = step * options.batch * options.length / (time.perf_counter() - begun)
            print(f"step {step:4}: loss {loss.item():.3f}, {rate:.0f} characters/s", flush=True)

    model.eval()
    with torch.no_grad():
        held = sum(loss_of(*batch(held_out)).item() for _ in range(8)) / 8
    print(f"held-out loss: {held:.3f}")
    prompt = torch.tensor([[number[c] for c in options.prompt if c in number]], device=device)
    print("sample:\n" + "".join(alphabet[n] for n in model.sample(prompt, options.characters)[0].tolist()))


if __name__ == "__main__":
    main()
