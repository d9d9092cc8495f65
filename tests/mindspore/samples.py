"""Weights and batches by numpy alone, so that two frameworks, or two devices, begin with the same numbers."""
import zlib

import numpy as np

SHAPES = {"lenet": (1, 32, 32), "resnet18": (3, 32, 32), "resnet50": (3, 64, 64), "vit": (3, 32, 32), "lstm": (6, 8)}
WORDS = {"bert": 200, "gpt": 100}


def batch(model, size=8):
    rng = np.random.default_rng(zlib.crc32(model.encode()))
    if model in WORDS:
        ids = rng.integers(0, WORDS[model], (size, 16)).astype(np.int64)
        labels = np.roll(ids, -1, 1).reshape(-1) if model == "gpt" else rng.integers(0, 10, size)
        return ids, labels.astype(np.int64)
    return rng.standard_normal((size, *SHAPES[model])).astype(np.float32), rng.integers(0, 10, size).astype(np.int64)


def weight(name, shape):
    """By the name and the shape: matrices by their fan-in, ones for scales of normalisations, small numbers else."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    values = rng.standard_normal(shape)
    if len(shape) > 1:
        return (values * (2.0 / np.prod(shape[1:])) ** 0.5 * 0.7).astype(np.float32)
    scale = 0.2 if "bn3" in name else 1.0 if "norm" in name or "bn" in name else 0.0  # deep branches add little at first
    return (values * 0.02 + (scale if name.endswith("weight") else 0.0)).astype(np.float32)
