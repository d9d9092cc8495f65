"""Prints a hash of each operator's result on the device, as JSON: {"case": "sha1"}. Run with different UPDRAFT_THREADS.

    python tests/clients/determinism.py [strict]      strict: torch.use_deterministic_algorithms(True)
"""
import hashlib
import json
import sys

import torch
import torch_npu  # noqa: F401
from torch.nn import functional as F


def gradient(call, *inputs):
    leaves = [x.detach().requires_grad_() if x.is_floating_point() else x for x in inputs]
    y = call(*leaves)
    return y, *torch.autograd.grad(y, [x for x in leaves if x.requires_grad], torch.linspace(-1, 1, y.numel(), device=y.device).view_as(y).to(y.dtype))


def cases(dtype):
    drawn = torch.Generator().manual_seed(5)

    def r(*shape):
        return torch.randn(*shape, generator=drawn).to(dtype).npu()

    def index(high, *shape):
        return torch.randint(high, shape, generator=drawn).npu()

    big, image = r(300, 1000), r(8, 24, 30, 30)
    yield "sum", lambda: big.sum()
    yield "mean rows", lambda: big.mean(0)
    yield "mean columns", lambda: big.mean(1)
    yield "var", lambda: big.var()
    yield "norm", lambda: big.float().norm()
    yield "cumsum", lambda: big.cumsum(1)
    yield "prod", lambda: (big * 0.01 + 1).prod()
    yield "logsumexp", lambda: big.logsumexp(1)
    yield "softmax", lambda: gradient(lambda x: F.softmax(x, 1), big)
    yield "log_softmax columns", lambda: gradient(lambda x: F.log_softmax(x, 0), big)
    yield "gelu", lambda: gradient(F.gelu, big)
    yield "layer_norm", lambda: gradient(lambda x, w, b: F.layer_norm(x, (1000,), w, b), big, r(1000), r(1000))
    yield "batch_norm", lambda: gradient(lambda x, w, b: F.batch_norm(x, None, None, w, b, True), image, r(24), r(24))
    yield "batch_norm channels last", lambda: gradient(
        lambda x, w, b: F.batch_norm(x, None, None, w, b, True), r(8, 30, 30, 24).permute(0, 3, 1, 2), r(24), r(24))
    yield "group_norm", lambda: gradient(lambda x, w, b: F.group_norm(x, 6, w, b), image, r(24), r(24))
    yield "avg_pool", lambda: gradient(lambda x: F.avg_pool2d(x, 3, 2, 1), image)
    yield "max_pool", lambda: gradient(lambda x: F.max_pool2d(x, 3, 2, 1), image)
    yield "adaptive_avg_pool", lambda: gradient(lambda x: F.adaptive_avg_pool2d(x, 1), image)
    yield "bilinear", lambda: gradient(lambda x: F.interpolate(x, scale_factor=1.7, mode="bilinear"), image)
    yield "cross_entropy", lambda: gradient(lambda x: F.cross_entropy(x.float(), index(1000, 300)), big)
    yield "mse", lambda: gradient(lambda x, y: F.mse_loss(x, y), big, r(300, 1000))
    yield "embedding", lambda: gradient(lambda w: F.embedding(index(50, 4000), w), r(50, 64))
    yield "index_add", lambda: r(50, 64).index_add(0, index(50, 4000), r(4000, 64))
    yield "scatter_add", lambda: r(50, 64).scatter_add(0, index(50, 4000, 64), r(4000, 64))
    yield "index_put", lambda: r(50, 64).index_put((index(50, 4000),), r(4000, 64), accumulate=True)
    yield "bincount", lambda: torch.bincount(index(50, 40000))
    yield "attention", lambda: gradient(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), r(2, 4, 130, 64), r(2, 4, 130, 64), r(2, 4, 130, 64))
    yield "clip_grad_norm", lambda: torch.nn.utils.get_total_norm([r(300, 100), r(7), r(64, 3, 3, 3)])
    yield "dropout", lambda: (torch.npu.manual_seed(3), F.dropout(big, 0.3))[1]
    yield "linear", lambda: gradient(F.linear, r(200, 300), r(70, 300), r(70))
    yield "linear tall", lambda: gradient(F.linear, r(5000, 64), r(32, 64), r(32))
    yield "matmul long", lambda: r(8, 20000) @ r(20000, 16)
    yield "bmm", lambda: gradient(torch.bmm, r(12, 70, 65), r(12, 65, 33))
    yield "conv 3x3", lambda: gradient(lambda x, w, b: F.conv2d(x, w, b, padding=1), image, r(32, 24, 3, 3), r(32))
    yield "conv 1x1", lambda: gradient(F.conv2d, image, r(32, 24, 1, 1))
    yield "conv strided", lambda: gradient(lambda x, w: F.conv2d(x, w, stride=2), image, r(32, 24, 3, 3))
    yield "conv depthwise", lambda: gradient(lambda x, w: F.conv2d(x, w, padding=1, groups=24), image, r(24, 1, 3, 3))
    yield "conv transposed", lambda: gradient(lambda x, w: F.conv_transpose2d(x, w, stride=2), image, r(24, 16, 3, 3))
    yield "conv 1d", lambda: gradient(F.conv1d, r(8, 24, 900), r(32, 24, 5))
    yield "conv 3d", lambda: gradient(F.conv3d, r(2, 8, 10, 10, 10), r(16, 8, 3, 3, 3))


def digest(result):
    h = hashlib.sha1()
    for x in result if isinstance(result, tuple) else (result,):
        h.update(x.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes() if x.dim() else x.detach().cpu().reshape(1).view(torch.uint8).numpy().tobytes())
    return h.hexdigest()


if __name__ == "__main__":
    torch.use_deterministic_algorithms("strict" in sys.argv[1:], warn_only=True)
    print(json.dumps({f"{name} {str(dtype)[6:]}": digest(call()) for dtype in (torch.float32, torch.bfloat16, torch.float16) for name, call in cases(dtype)}))
