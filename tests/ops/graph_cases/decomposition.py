"""Cases of MindSpore's own graph operators: decompositions, cosine transforms, second gradients, pooling at random places."""
import numpy as np
import torch
import torch.nn.functional as F
from scipy import fft, linalg

from graph import const


def wide(v):
    return v.to(torch.complex128 if v.is_complex() else torch.float64)


def add_cases(case, r):
    matrices(case, r)
    cosines(case, r)
    normalisations(case, r)
    windows(case, r)
    sparse(case, r)


def matrices(case, r):
    inputs = [r(3, 4, 4) + 2 * torch.eye(4), torch.complex(r(2, 3, 3), r(2, 3, 3)), r(1, 1).double(), torch.tensor([[0.0, -1.0], [1.0, 0.0]]), torch.empty(0, 3, 3)]
    for v in inputs:
        case("CustEig", v, compute_v=True, want=lambda a: [eigenvalues(a), eigenvectors(a)])
        case("CustEig", v, compute_v=False, want=lambda a: [eigenvalues(a)])
    for v in (torch.complex(r(2, 4, 4), r(2, 4, 4)) * 0.3 + 3 * torch.eye(4), torch.complex(r(3, 3), r(3, 3)).to(torch.complex128) + 4 * torch.eye(3),
              torch.eye(2, dtype=torch.complex64), 50 * torch.eye(2, dtype=torch.complex64), torch.tensor([[1e-3, 5.0], [0.0, 7.0]], dtype=torch.complex64)):
        case("CustMatrixLogarithm", v, tolerance=1e-4, want=lambda a: torch.from_numpy(
            np.stack([linalg.logm(m) for m in wide(a).reshape(-1, *a.shape[-2:]).numpy()])).reshape(a.shape))
    case("CustMatrixLogarithm", torch.full((2, 2), torch.nan, dtype=torch.complex64), want=lambda a: torch.full((2, 2), complex(torch.nan, torch.nan)))
    for a, b in ((r(5, 3), r(5, 2)), (r(2, 6, 4), r(2, 6, 3)), (r(3, 5), r(3, 2)), (torch.complex(r(5, 2), r(5, 2)), torch.complex(r(5, 1), r(5, 1))), (r(4, 4).double(), r(4).double())):
        case("CustLstsqV2", a, b, None, tolerance=1e-3, want=lambda a, b, _: [torch.linalg.pinv(wide(a)) @ wide(b)])
        solution = (torch.linalg.pinv(wide(a)) @ wide(b)).to(a.dtype)
        g = (solution * 0.5 + 1).contiguous()

        def gradients(g, a, b):
            a, b = wide(a).requires_grad_(), wide(b).requires_grad_()
            x = torch.linalg.pinv(a) @ b
            return list(torch.autograd.grad(x, (a, b), wide(g)))
        case("CustLstsqV2Grad", g, a, b, tolerance=1e-3, want=gradients)
    for shape in ((3, 3), (2, 4, 3), (2, 3, 5), (1, 1)):
        lu, pivots = torch.linalg.lu_factor(r(*shape))
        case("CustLuUnpack", lu.contiguous(), pivots, want=lambda lu, p: list(torch.lu_unpack(lu, p)))
        k = min(shape[-2:])
        left, right = r(*shape[:-1], k), r(*shape[:-2], k, shape[-1])

        def placed(gl, gu, lu):
            pad = lambda v: F.pad(v, (0, lu.shape[-1] - v.shape[-1], 0, lu.shape[-2] - v.shape[-2]))  # noqa: E731
            return [pad(gl.tril(-1)), pad(gu.triu())]
        case("CustLuUnpackGrad", left, right, lu.contiguous(), L_grad_flag=True, want=placed)
    for dtype in (torch.float32, torch.complex64):
        a = r(2, 4, 4).to(dtype) + 3 * torch.eye(4)
        x, dx = r(2, 4, 3).to(dtype), r(2, 4, 3, low=-1.0).to(dtype)
        if dtype.is_complex:
            a, x = a + 0.3j * r(2, 4, 4), x + 0.5j
        for trans in (0, 1, 2):
            for lower in (False, True):
                for unit in (False, True):
                    def slopes(a, x, dx, *_, trans=trans, lower=lower, unit=unit):
                        # The right side that has x as its solution, then backwards through the solution.
                        turn = lambda m: m if trans == 0 else m.mT if trans == 1 else m.mH  # noqa: E731
                        triangle = lambda m: (m.tril(-1) if lower else m.triu(1)) + (torch.eye(4, dtype=m.dtype) if unit else torch.diag_embed(m.diagonal(dim1=-2, dim2=-1)))  # noqa: E731
                        a = wide(a).requires_grad_()
                        b = (turn(triangle(a)) @ wide(x)).detach().requires_grad_()
                        return list(torch.autograd.grad(torch.linalg.solve(turn(triangle(a)), b), (a, b), wide(dx)))
                    case("CustSolveTriangularGrad", a, x, dx, const(trans), const(int(lower)), const(int(unit)), tolerance=1e-3, want=slopes)


def eigenvalues(a):
    """Checks eigenvalues, which have no order."""
    def check(found):
        for have, want in zip(found.reshape(-1, found.shape[-1]).to(torch.complex128), torch.linalg.eigvals(wide(a)).reshape(-1, found.shape[-1])):
            rest = want.tolist()
            for value in have.tolist():
                nearest = min(rest, key=lambda w: abs(w - value))
                assert abs(nearest - value) < 1e-4 * (1 + abs(nearest)), (have, want)
                rest.remove(nearest)
    return check


def eigenvectors(a):
    """Checks vectors of length 1, which have no phase, by what the matrix makes of them."""
    def check(found):
        v = found.to(torch.complex128)
        image = wide(a).to(torch.complex128) @ v
        torch.testing.assert_close(image, v * (v.conj() * image).sum(-2, keepdim=True), rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(v.abs().square().sum(-2), torch.ones(v.shape[:-2] + v.shape[-1:], dtype=torch.float64), rtol=1e-4, atol=1e-4)
    return check


def cosines(case, r):
    norms = {None: "ortho", 0: "backward", 1: "forward", 2: "ortho"}
    for v, tolerance in ((r(3, 8), 1e-5), (r(2, 5, 7).double(), 1e-10), (torch.complex(r(2, 9), r(2, 9)), 1e-5), (r(4, 6).to(torch.int32), 1e-5)):
        for number, norm in norms.items():
            mode = None if number is None else const(number)
            for kind, f in {"CustDCT": fft.dct, "CustIDCT": fft.idct}.items():
                for n, axis in ((None, None), (6, -1), (11, 0)):
                    case(kind, v, const(2), None if n is None else const(n), None if axis is None else const(axis), mode, tolerance=tolerance,
                         want=lambda x, *_, f=f, n=n, axis=axis, norm=norm: torch.from_numpy(f(wide(x).numpy(), 2, n, -1 if axis is None else axis, norm)))
            for kind, f in {"CustDCTN": fft.dctn, "CustIDCTN": fft.idctn}.items():
                for s, axes in ((None, None), ([3, 9], None), ([4], [0]), (None, [-1, 0])):
                    case(kind, v, None, None if s is None else const(s), None if axes is None else const(axes), mode, tolerance=tolerance,
                         want=lambda x, *_, f=f, s=s, axes=axes, norm=norm: torch.from_numpy(f(wide(x).numpy(), 2, s, axes, norm)))
    for v in (r(4, 6), r(2, 3, 5).double(), torch.complex(r(3, 4), r(3, 4))):
        def factors(n, forward):
            f = torch.full((n,), 0.5 / n, dtype=torch.float64).sqrt()
            f[0] /= 2 ** 0.5
            return f if forward else 1 / f
        for forward in (True, False):
            case("CustFFTOrtho", v, const([-1]), forward=forward, want=lambda x, _, forward=forward: x * factors(x.shape[-1], forward))
            case("CustFFTOrtho", v, const([0, -1]), forward=forward, want=lambda x, _, forward=forward: (
                x * factors(x.shape[-1], forward) * factors(x.shape[0], forward).reshape(-1, *[1] * (x.ndim - 1))))


def normalisations(case, r):
    def second(forward, inputs, outputs, by, wanted):
        """The gradient of the gradient that `forward` has for `inputs`, by what PyTorch differentiates twice."""
        inputs = [v.double().requires_grad_() for v in inputs]
        dy = outputs.double().requires_grad_()
        first = torch.autograd.grad(forward(*inputs), inputs, dy, create_graph=True)
        return list(torch.autograd.grad(first, (inputs[0], dy, inputs[1]), [v.double() for v in by], materialize_grads=True)[:wanted])

    for shape, last in (((3, 5), 1), ((2, 3, 4), 1), ((2, 3, 4), 2)):
        size = shape[-last:]
        x, dy, u, gamma, p, q = r(*shape), r(*shape, low=-1.0), r(*shape, low=-3.0), r(*size), r(*size, low=-1.0), r(*size, low=0.5)
        over = tuple(range(len(shape) - last, len(shape)))
        variance, mean = x.var(over, unbiased=False, keepdim=True), x.mean(over, keepdim=True)
        begin = len(shape) - last

        def layer(x, dy, variance, mean, gamma, u, p, q, *_, size=size):
            beta = torch.zeros_like(gamma)
            return second(lambda x, w, b: F.layer_norm(x, size, w, b, 0), (x, gamma, beta), dy, (u, p, q), 3)
        case("CustLayerNormGradGrad", x, dy, variance, mean, gamma, u, p, q, const(begin), const(begin - len(shape)), tolerance=1e-3, want=layer)
    for order in ("NCHW", "NHWC"):
        for training in (True, False):
            for shape in ((4, 3, 2, 5), (6, 3)):
                x, dy, u, w, p, q = r(*shape), r(*shape, low=-1.0), r(*shape, low=-3.0), r(3), r(3, low=-1.0), r(3, low=0.5)
                over = (0, *range(2, len(shape)))
                mean, variance = (x.mean(over), x.var(over, unbiased=False)) if training else (r(3, low=-0.5), r(3, low=0.3, high=2.0))
                last = lambda v: v.movedim(1, -1).contiguous() if order == "NHWC" else v  # noqa: E731

                def batch(x, dy, w, mean, variance, u, p, q, order=order, training=training):
                    first = lambda v: v.movedim(-1, 1) if order == "NHWC" else v  # noqa: E731
                    made = second(lambda x, w, b: F.batch_norm(x, None if training else mean.double(), None if training else variance.double(), w, b, training, 0.1, 1e-3),
                                  (first(x), w, torch.zeros_like(w)), first(dy), (first(u), p, q), 3)
                    return [made[0].movedim(1, -1), made[1].movedim(1, -1), made[2]] if order == "NHWC" else made
                case("CustBatchNormGradGrad", last(x), last(dy), w, mean, variance, last(u), p, q, tolerance=1e-3, want=batch, is_training=training,
                     epsilon=1e-3, data_format=order)


def windows(case, r):
    x = r(2, 3, 6, 7, 6)
    for kernel, stride, pad, ceil in ((3, 2, 1, False), (2, 2, 0, True), (3, 3, 1, True)):
        how = dict(ksize=[kernel] * 3, strides=[stride] * 3, pads=[pad] * 3, dilation=[1, 1, 1], ceil_mode=ceil, data_format="NCDHW")
        for dtype in ("int32", "int64"):
            case("CustMaxPool3DWithArgmax", x, argmax_type=dtype, **how, want=lambda v, k=kernel, s=stride, p=pad, c=ceil: list(F.max_pool3d(v, k, s, p, 1, c, True)))
        y, at = F.max_pool3d(x, kernel, stride, pad, 1, ceil, True)
        g = (y * 0.5 + 1).contiguous()

        def slopes(v, g, at, k=kernel, s=stride, p=pad, c=ceil):
            v = v.double().requires_grad_()
            return torch.autograd.grad(F.max_pool3d(v, k, s, p, 1, c), v, g.double())[0]
        case("CustMaxPool3DGradWithArgmax", x, g, at.int(), want=slopes, **how)
    samples = r(2, 3, 3, low=0.0, high=1.0)
    for order in ("NCDHW", "NDHWC"):
        for kernel, size in (((2, 2, 2), (3, 4, 3)), ((1, 3, 2), (5, 1, 4))):
            last = lambda v, order=order: v.permute(0, 2, 3, 4, 1).contiguous() if order == "NDHWC" else v.contiguous()  # noqa: E731
            pooled = lambda v, u, k=kernel, s=size: F.fractional_max_pool3d(v, k, s, return_indices=True, _random_samples=u)  # noqa: E731
            how = dict(ksize=list(kernel), output_shape=list(size), data_format=order)
            case("CustFractionalMaxPool3DWithFixedKsize", last(x), samples, **how, want=lambda v, u, last=last, f=pooled, order=order: [
                last(t) for t in f(v if order == "NCDHW" else v.permute(0, 4, 1, 2, 3), u)])
            y, at = pooled(x, samples)
            g = y * 0.5 + 1

            def back(v, g, at, last=last, f=pooled):
                source = x.double().requires_grad_()
                return last(torch.autograd.grad(f(source, samples.double())[0], source, (f(x, samples)[0] * 0.5 + 1).double())[0])
            case("CustFractionalMaxPool3DGradWithFixedKsize", last(x), last(g), last(at), data_format=order, want=back)
    for size, corners in (((2, 3, 4, 5), True), ((2, 3, 4, 5), False), ((1, 2, 3, 4, 2), True), ((2, 1, 1, 3, 2), False)):
        g = r(size[0], *size[2:], len(size) - 2)

        def of_theta(g, _, size=size, corners=corners):
            theta = torch.zeros(size[0], len(size) - 2, len(size) - 1, dtype=torch.float64, requires_grad=True)
            return torch.autograd.grad(F.affine_grid(theta, list(size), align_corners=corners), theta, g.double())[0]
        case("CustAffineGridGrad", g, const(list(size)), align_corners=corners, want=of_theta)
    for shape, size in (((2, 3, 7, 5), [3, 2]), ((3, 4, 6), [4, 5])):
        case("AdaptiveAvgPool", r(*shape), const(size), want=lambda v, _, size=size: F.adaptive_avg_pool2d(v.double(), size))


def sparse(case, r):
    w, m, v, g, rows = r(4, 3), r(4, 3, low=-1.0), r(4, 3, low=0.5, high=1.5), r(3, 3), torch.tensor([2, 0, 2])
    one = lambda x: torch.tensor([x])  # noqa: E731
    b1p, b2p, lr, b1, b2, eps = 0.9, 0.98, 0.1, 0.8, 0.95, 1e-3
    total = torch.zeros(4, 3, dtype=torch.float64).index_add(0, rows, g.double())
    named = torch.tensor([True, False, True, False])[:, None]
    rate = lr * (1 - b2p) ** 0.5 / (1 - b1p)
    for nesterov in (False, True):
        for lazy in (False, True):
            def adam(*_, nesterov=nesterov, lazy=lazy):
                mean, square = b1 * m.double() + (1 - b1) * total, b2 * v.double() + (1 - b2) * total ** 2
                step = b1 * mean + (1 - b1) * total if nesterov else mean
                new = [w.double() - rate * step / (square.sqrt() + eps), mean, square]
                return [torch.where(named, a, b.double()) for a, b in zip(new, (w, m, v))] if lazy else new
            for index in (torch.int32, torch.int64):
                case("CustFusedSparseLazyAdam" if lazy else "CustFusedSparseAdam", w, m, v, one(b1p), one(b2p), one(lr), one(b1), one(b2), one(eps), g, rows.to(index),
                     use_nesterov=nesterov, want=adam)

    def ftrl(*_):
        a, z = v.double() + total ** 2, m.double() + total - ((v.double() + total ** 2).sqrt() - v.double().sqrt()) / 0.1 * w.double()
        new = [(z.clamp(-0.3, 0.3) - z) / (a.sqrt() / 0.1 + 2 * 0.2), a, z]
        return [torch.where(named, a, b.double()) for a, b in zip(new, (w, v, m))]
    case("CustFusedSparseFtrl", w, v, m, g, rows.int(), lr=0.1, l1=0.3, l2=0.2, lr_power=-0.5, want=ftrl)

    def proximal(*_):
        a = v.double() + total ** 2
        moved = w.double() - 0.1 * total / a.sqrt()
        rate = 0.1 / a.sqrt()
        new = [moved.sign() * (moved.abs() - rate * 0.05).clamp(min=0) / (1 + rate * 0.2), a]
        return [torch.where(named, a, b.double()) for a, b in zip(new, (w, v))]
    case("CustFusedSparseProximalAdagrad", w, v, one(0.1), one(0.05), one(0.2), g, rows.int(), want=proximal)

    truth, drawn = torch.tensor([[1, 2], [0, 4], [3, 3], [9, 9]]), torch.tensor([0, 1, 2, 3, 4])
    for index in (torch.int32, torch.int64):
        case("ComputeAccidentalHits", truth.to(index), drawn.to(index), num_true=2, counted=True, want=lambda *_: [
            torch.tensor([0, 0, 1, 1, 2, 2]), torch.tensor([1, 2, 0, 4, 3, 3]), torch.full((6,), torch.finfo(torch.float32).min)])
    case("ComputeAccidentalHits", truth, drawn + 20, num_true=2, counted=True, want=lambda *_: [torch.empty(0)] * 3)
    tokens = torch.tensor([[[1, 2, 1, 2, 5, 1, 2], [9, 3, 9, 5, 4, 1, 5]], [[4, 8, 6, 4, 5, 6, 4], [4, 8, 8, 4, 3, 4, 8]]], dtype=torch.int32)
    chances = r(2, 2, 10, low=0.0, high=1.0)

    def barred(tokens, chances, n):
        made = chances.clone()
        for row, out in zip(tokens.reshape(-1, tokens.shape[-1]).tolist(), made.reshape(-1, made.shape[-1])):
            for i in range(len(row) - n + 1):
                if row[i:i + n - 1] == row[len(row) - n + 1:]:
                    out[row[i + n - 1]] = torch.finfo(torch.float32).min
        return made
    for n in (1, 2, 3, 7, 8):
        case("CustNoRepeatNGram", tokens, chances, ngram_size=n, want=lambda t, c, n=n: barred(t, c, n))
    dense = torch.where(r(2, 3, 4) > 0, r(2, 3, 4), torch.zeros(()))
    for whole in (dense, dense[0]):
        parts = [m.to_sparse_csr() for m in whole.reshape(-1, 3, 4)]
        begins = torch.tensor([0, *np.cumsum([p.values().numel() for p in parts])], dtype=torch.int32)
        coordinates = whole.to_sparse_coo().coalesce()
        case("CustCSRSparseMatrixToSparseTensor", torch.tensor(whole.shape), begins, torch.cat([p.crow_indices() for p in parts]).int(),
             torch.cat([p.col_indices() for p in parts]).int(), torch.cat([p.values() for p in parts]),
             want=lambda *_, c=coordinates, whole=whole: [c.indices().T.int(), c.values(), torch.tensor(whole.shape)])
    case("CustConcatOffset", r(2, 3), r(4, 3), r(1, 3), N=3, axis=0, outputs=3, want=lambda *_: [torch.tensor([0, 0]), torch.tensor([2, 0]), torch.tensor([6, 0])])
    case("CustConcatOffset", r(2, 3), r(2, 1), N=2, axis=-1, outputs=1, want=lambda *_: torch.tensor([0, 0, 0, 3]))
    counts = torch.randint(-1000, 1000, (2, 3, 4, 5), generator=torch.Generator().manual_seed(1), dtype=torch.int32)
    scale = r(3, low=0.01, high=0.1)
    packed = torch.from_numpy(scale.numpy().view(np.uint32).astype(np.int64))
    for by in (scale, packed):
        for relu in (False, True):
            case("AscendDequant", counts, by, relu_flag=relu, want=lambda x, _, relu=relu: (x * scale[:, None, None]).clamp(min=0 if relu else -torch.inf))
    case("AscendDequant", counts.reshape(8, 15), torch.tensor([0.05]), sqrt_mode=True, dtype=1, tolerance=1e-3, want=lambda x, s: x * (s * s))
