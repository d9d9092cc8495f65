"""Saves each architecture with PyTorch's weights, inputs, result and the size of its gradients: FOLDER NAME…; beside torch, on the CPU."""
import json
import pathlib
import sys

import numpy as np
import torch
import transformers
from architectures import ARCHITECTURES

for name in sys.argv[2:]:
    model, config, settings, inputs = ARCHITECTURES[name]
    torch.manual_seed(0)
    net = getattr(transformers, model)(getattr(transformers, config)(**settings, attn_implementation="eager")).eval()
    with torch.no_grad():
        for p in net.parameters():
            p.add_(torch.randn_like(p) * 0.02)
    given = inputs()
    out = net(**{key: torch.from_numpy(x) for key, x in given.items()}, return_dict=True).to_tuple()
    result = next(x for x in out if torch.is_tensor(x) and x.is_floating_point())
    (result * result).mean().backward()
    folder = pathlib.Path(sys.argv[1], name)
    net.save_pretrained(folder)
    np.savez(folder / "given.npz", **given)
    np.save(folder / "wanted.npy", result.detach().numpy())
    (folder / "wanted.json").write_text(json.dumps([model, sum(float(p.grad.double().abs().sum()) for p in net.parameters() if p.grad is not None)]))
