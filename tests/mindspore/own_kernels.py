"""Functions of MindSpore that need kernels of its own, which its wheel has for ARM alone: results and gradients on the
device DEVICE, saved to FILE. Usage: own_kernels.py DEVICE FILE."""
import sys

import mindspore as ms
import numpy as np
from mindspore import Parameter, Tensor, nn, ops
from mindspore.ops import auto_generate as gen
from mindspore.ops.operations import math_ops, nn_ops

ms.set_device(sys.argv[1])
draw = np.random.default_rng(5)


def r(*shape, low=-1.0):
    return Tensor((draw.random(shape) * 2 + low).astype(np.float32))


def whole(*values):
    return Tensor(np.array(values, np.int32))


def slopes(f, *inputs):
    return ms.grad(lambda *a: (f(*a) * 2).sum(), tuple(range(len(inputs))))(*inputs)


def matrices():
    a = r(2, 4, 4) + 3 * ops.eye(4)
    values = ops.eigvals(a).asnumpy()
    yield "eigvals", np.sort_complex(values)  # they have no order
    w, v = ops.eig(a)
    w, v = w.asnumpy(), v.asnumpy()
    yield "eig", v @ (w[..., None] * np.linalg.inv(v))
    lu, pivots = r(2, 3, 4), whole([1, 3, 3], [2, 3, 3])
    yield "lu_unpack", ops.lu_unpack(lu, pivots)
    yield "lu_unpack gradient", slopes(lambda v: ops.lu_unpack(v, pivots)[1].sum() + (ops.lu_unpack(v, pivots)[2] * 3).sum(), lu)
    left, right = r(2, 5, 3), r(2, 5, 2)
    yield "lstsq", gen.LstsqV2()(left, right)[0]
    yield "lstsq gradient", slopes(lambda a, b: gen.LstsqV2()(a, b)[0], left, right)
    yield "logarithm", math_ops.MatrixLogarithm()(ops.cast(r(3, 3) * 0.3 + 3 * ops.eye(3), ms.complex64))


def spectra():
    x = r(3, 8)
    for name in ("DCT", "IDCT"):
        f = getattr(gen, name)()
        yield name, f(x, 2, 6, 0, "ORTHO")
        yield name + " gradient", slopes(lambda v, f=f: f(v, 2, 10, -1, "ORTHO"), x)
    for name in ("DCTN", "IDCTN"):
        f = getattr(gen, name)()
        yield name, f(x, 2, (4, 9), (0, 1), "ORTHO")
        yield name + " gradient", slopes(lambda v, f=f: f(v, 2, None, None, None), x)


def volumes():
    x = r(1, 2, 6, 7, 6)
    pool = lambda v: ops.max_pool3d(v, 3, stride=2, padding=1, return_indices=True)  # noqa: E731
    yield "max_pool3d", pool(x)
    samples = r(1, 2, 3, low=0.0) / 2
    fraction = lambda v: ops.fractional_max_pool3d(v, 2, (3, 4, 3), _random_samples=samples, return_indices=True)  # noqa: E731
    yield "fractional_max_pool3d", fraction(x)
    yield "fractional_max_pool3d gradient", slopes(lambda v: fraction(v)[0], x)
    for size in ((2, 3, 4, 5), (2, 3, 2, 4, 5)):
        yield "affine_grid gradient", slopes(lambda v, size=size: ops.square(ops.affine_grid(v, size)), r(2, len(size) - 2, len(size) - 1))


def second_gradients():
    x = r(2, 3, 4, 5)
    net = nn.BatchNorm2d(3).set_train()
    first = ms.grad(lambda v: ops.exp(net(v)).sum())
    yield "batch norm", ms.grad(lambda v: ops.square(first(v)).sum())(x)
    yield "batch norm of inference", gen.BatchNormGradGrad(False, 1e-3, "NCHW")(x, r(*x.shape), r(3), r(3), r(3, low=0.5), r(*x.shape), r(3), r(3))
    yield "layer norm", gen.LayerNormGradGrad(2, 2)(r(2, 3, 4), r(2, 3, 4), r(2, 3, 1, low=0.5), r(2, 3, 1), r(4), r(2, 3, 4), r(4), r(4))


def steps():
    one = lambda v: Tensor([v], ms.float32)  # noqa: E731
    g, rows = r(3, 2), whole(2, 0, 2)
    # By Nesterov MindSpore's kernel for the CPU reads memory that nobody wrote, of rows without a gradient.
    for kind in (ops.FusedSparseAdam(), ops.FusedSparseLazyAdam(), ops.FusedSparseLazyAdam(use_nesterov=True)):
        state = [Parameter(r(4, 2)), Parameter(r(4, 2)), Parameter(r(4, 2, low=0.5))]
        kind(*state, one(0.9), one(0.98), one(0.1), one(0.8), one(0.95), one(1e-3), g, rows)
        yield kind.name, state
    state = [Parameter(r(4, 2)), Parameter(r(4, 2, low=0.5)), Parameter(r(4, 2))]
    ops.FusedSparseFtrl(0.1, 0.3, 0.2, -0.5)(*state, g, rows)
    yield "ftrl", state


def others():
    tokens = whole([[1, 2, 1, 2, 5, 1, 2], [9, 3, 9, 5, 4, 1, 5]])
    yield "n-grams", ops.NoRepeatNGram(3)(tokens, r(1, 2, 10))
    yield "csr", ops.csr_to_coo(ms.CSRTensor(whole(0, 2, 2, 3), whole(0, 3, 1), r(3), (3, 4))).indices
    if sys.argv[1] == "Ascend":  # MindSpore has no kernels of these for the CPU
        found = nn_ops.ComputeAccidentalHits(2)(whole([1, 2], [0, 4], [7, 3]).astype(ms.int64), Tensor(np.arange(5)))
        assert [v.asnumpy().tolist() for v in found[:2]] == [[0, 0, 1, 1, 2], [1, 2, 0, 4, 3]] and (found[2].asnumpy() < -3e38).all()
        state = [Parameter(r(4, 2)), Parameter(r(4, 2, low=0.5))]
        before = state[0].asnumpy()
        ops.FusedSparseProximalAdagrad()(*state, *[Tensor([v], ms.float32) for v in (0.1, 0.05, 0.2)], r(3, 2), whole(2, 0, 2))
        assert (np.abs(state[0].asnumpy() - before) > 0).all(1).tolist() == [True, False, True, False]
        ops.Assert()(Tensor(True), [r(2)])
        try:
            ops.Assert()(Tensor(False), [whole(5, 6)])
            (r(2) + r(2)).asnumpy()
            raise SystemExit("an assertion that does not hold was passed over")
        except RuntimeError as error:
            assert "the condition is false" in str(error) and "[5 6]" in str(error), str(error)
        logs = np.log(Tensor(np.zeros((200, 100), np.float32)).log_normal(0.5, 0.25).asnumpy())
        assert abs(logs.mean() - 0.5) < 0.02 and abs(logs.std() - 0.25) < 0.02


found = {}
for part in (matrices, spectra, volumes, second_gradients, steps, others):
    for name, made in part():
        for i, v in enumerate(made if isinstance(made, (tuple, list)) else [made]):
            found["%s %d %d" % (name, len(found), i)] = v if isinstance(v, np.ndarray) else v.asnumpy()
np.savez(sys.argv[2], **found)
