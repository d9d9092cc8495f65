"""Operators whose executors MindSpore keeps, with other numbers, sizes and memory from call to call: what differs from NumPy, in JSON."""
import json
import sys

import mindspore as ms
import numpy as np
from mindspore import Tensor, mint, ops

ms.set_device("Ascend", 0)
rng = np.random.default_rng(0)
graph = sys.argv[1] == "O0"
if graph:
    ms.set_context(mode=ms.GRAPH_MODE, jit_config={"jit_level": "O0"})
everything, wrong = [], {}


def attention(q, k, v):
    scores = np.einsum("bhqd,bhkd->bhqk", q, k) * 0.25
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return np.einsum("bhqk,bhkd->bhqd", weights / weights.sum(-1, keepdims=True), v)


class Flash(ms.nn.Cell):
    def __init__(self):
        super().__init__()
        self.score = ops.operations.nn_ops.FlashAttentionScore(head_num=4, scale_value=0.25, input_layout="BNSD")

    def construct(self, q, k, v):
        return self.score(q, k, v, None, None, None, None)[3]


class Prompt(ms.nn.Cell):
    def __init__(self):
        super().__init__()
        self.score = ops.operations.nn_ops.PromptFlashAttention(num_heads=4, scale_value=0.25, input_layout="BNSD")

    def construct(self, q, k, v):
        return self.score(q, k, v, None, None, None, None, None, None, None, None, None)


def repeat(name, call, wanted, make, tolerance=0.0):
    for _ in range(4):
        given = make()
        inputs = [Tensor(x) for x in given]
        result = call(*inputs)
        everything.append((inputs, result))  # other memory for the next call
        found = [r.asnumpy().astype(np.float64) for r in (result if isinstance(result, (tuple, list)) else [result])]
        expected = wanted(*[x.astype(np.float64) if x.dtype.kind == "f" else x for x in given])
        expected = expected if isinstance(expected, (tuple, list)) else [expected]
        if not all(f.shape == w.shape and np.allclose(f, w, tolerance, tolerance) for f, w in zip(found, expected, strict=True)):
            wrong[name] = wrong.get(name, 0) + 1


def floats(*shape, dtype=np.float16):
    return rng.standard_normal(shape).astype(dtype)


def heads():
    return [floats(2, 4, 64, 16) for _ in range(3)]


repeat("FlashAttentionScore", Flash(), attention, heads, 5e-3)
repeat("PromptFlashAttention", Prompt(), attention, heads, 5e-3)
if not graph:
    repeat("nonzero", mint.nonzero, np.argwhere, lambda: [(rng.random((3, 8)) > 0.5).astype(np.int32)])
    repeat("where", lambda x: mint.where(x), np.where, lambda: [(rng.random((3, 8)) > 0.5).astype(np.int32)])
    table = floats(5, 6, 4, dtype=np.float32)
    for name, at in {"x[:, i]": np.s_[:, 0], "x[..., i]": np.s_[..., 0], "x[None, i]": np.s_[None, 0], "x[i, :, i]": np.s_[0, :, 0]}.items():
        def pick(x, i, at=at):
            return x[tuple(i if part == 0 and part is not None else part for part in at)]

        repeat(name, pick, pick, lambda: [floats(5, 6, 4, dtype=np.float32), rng.integers(0, 4, 7)])

        def put(x, i, at=at):
            x = x + 0
            x[tuple(i if part == 0 and part is not None else part for part in at)] = 3.0
            return x

        if at[0] is not None:
            repeat(name + " = 3", put, put, lambda: [floats(5, 6, 4, dtype=np.float32), rng.integers(0, 4, 7)])
print(json.dumps([len(everything), wrong]))
