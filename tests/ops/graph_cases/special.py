"""Cases of graph operators that are functions of mathematics, against SciPy in float64."""
import numpy as np
import torch
import torch.nn.functional as F
from scipy import special

from graph_cases.adapter import gradient
from graph import const


def add_cases(case, r):
    x = torch.cat([r(5, 4) * 3, torch.tensor([[0.0, -1.0, torch.inf, torch.nan]]), torch.tensor([[1e-3, 30.5, 100.0, 1.46163]])])
    for kind, f in {"Digamma": special.digamma, "BesselI0e": special.i0e, "BesselI1e": special.i1e}.items():
        def exact(v, f=f, kind=kind):
            want = torch.from_numpy(np.asarray(f(v.double().numpy())))
            return torch.where(v == 0, torch.nan, want) if kind == "Digamma" else want  # SciPy has -inf at 0
        for dtype, tolerance in ((torch.float32, 1e-6), (torch.float64, 1e-12), (torch.float16, 1e-3), (torch.bfloat16, 1e-2)):
            case(kind, x.to(dtype), want=exact, tolerance=tolerance)
    case("Digamma", torch.empty(0, 3), want=lambda v: v)
    a, s = r(4, 1, low=0.05, high=20.0), r(4, 5, low=0.0, high=30.0)
    ends = torch.tensor([0.0, 1.0, 1.0, torch.inf, 1.0, torch.nan]), torch.tensor([1.0, 0.0, -1.0, 1.0, torch.inf, 1.0])
    for kind, f in {"Igamma": special.gammainc, "Igammac": special.gammaincc}.items():
        for p, v in ((a, s), (a.double(), s.double()), (torch.tensor([1e-6, 5e3, 2e5]), torch.tensor([0.25, 5.1e3, 1.999e5]))):
            case(kind, p, v, want=lambda p, v, f=f: torch.from_numpy(f(p.double().numpy(), v.double().numpy())), tolerance=1e-6)
    case("Igamma", *ends, want=lambda p, v: torch.tensor([torch.nan, 0, torch.nan, 0, 1, torch.nan]))
    case("Igammac", *ends, want=lambda p, v: torch.tensor([torch.nan, 1, torch.nan, 1, 0, torch.nan]))

    def slope(p, v):  # of four points around it
        p, v = p.double().numpy(), v.double().numpy()
        h = 1e-3 * p
        f = lambda k: special.gammainc(p + k * h, v)  # noqa: E731
        return torch.from_numpy((f(-2) - 8 * f(-1) + 8 * f(1) - f(2)) / (12 * h))
    case("IgammaGradA", a, s, want=slope, tolerance=1e-6)
    case("IgammaGradA", a.double(), s.double(), want=slope, tolerance=1e-9)
    case("IgammaGradA", *ends, want=lambda p, v: torch.tensor([torch.nan, 0, torch.nan, 0, 0, torch.nan]))
    q = torch.tensor([0.3, 2.0, 40.0, -0.5, -1.0])
    case("Zeta", torch.tensor([[1.5], [2.0], [3.0], [7.0]]), torch.tensor([0.3, 2.0, 40.0]), tolerance=1e-6,
         want=lambda s, q: torch.from_numpy(special.zeta(s.double().numpy(), q.double().numpy())))
    # below 0 the sum has terms of both signs; at whole numbers it has a pole, which is infinite for even powers
    case("Zeta", torch.tensor([1.5, 2.0, 3.0, 2.0, 3.0]), torch.tensor([-0.5, -0.5, -0.5, -1.0, -1.0]), tolerance=1e-6, want=lambda s, q: torch.tensor([
        torch.nan, special.zeta(2, 0.5) + 4, special.zeta(3, 0.5) - 8, torch.inf, torch.nan]))
    low = torch.tensor([-20.25, -1000.5, -4000000.5])  # the sum of all whole numbers between is nearly that of both sides
    case("Zeta", torch.tensor([2.0, 2.0, 2.0]), low, tolerance=1e-5, want=lambda s, q: torch.tensor([
        special.zeta(2, 0.75) + special.zeta(2, 0.25) - special.zeta(2, 21.25), special.zeta(2, 0.5) * 2 - special.zeta(2, 1001.5), special.zeta(2, 0.5) * 2]))
    case("Zeta", torch.tensor([1.0, 0.5]), torch.tensor([2.0, 2.0]), want=lambda s, q: torch.tensor([torch.inf, torch.nan]))
    case("Betainc", a, r(4, 5, low=0.1, high=9.0), r(5, low=0.0, high=1.0), tolerance=1e-6,
         want=lambda a, b, x: torch.from_numpy(special.betainc(*(v.double().numpy() for v in (a, b, x)))))
    case("Betainc", torch.tensor([1.0, 0.0, 2e3, 1.0]), torch.tensor([1.0, 1.0, 3e3, 1.0]), torch.tensor([0.0, 0.5, 0.41, 1.5]), tolerance=1e-6,
         want=lambda *_: torch.tensor([0.0, torch.nan, special.betainc(2e3, 3e3, np.float64(np.float32(0.41))), torch.nan]))
    mindspores(case, r)


def mindspores(case, r):
    """Types of MindSpore's own."""
    a, s = r(4, 1, low=0.05, high=20.0), r(4, 5, low=0.0, high=30.0)
    case("CustIgamma", a, s, want=lambda p, v: torch.from_numpy(special.gammainc(p.double().numpy(), v.double().numpy())), tolerance=1e-6)
    case("CustBesselI0", r(5, 4) * 10, want=lambda v: torch.from_numpy(special.i0(v.double().numpy())), tolerance=1e-6)
    x = torch.cat([r(3, 4, low=0.1, high=8.0), torch.tensor([[-0.5, -1.5, 1e-2, 30.0]])])
    for n in (0, 1, 2, 5):
        case("CustPolygamma", const(n), x, want=lambda _, v, n=n: torch.polygamma(n, v.double()), tolerance=1e-5)
    big = r(3, 4, low=2.0, high=9.0)
    case("CustMvlgamma", big, p=3, want=lambda v: torch.mvlgamma(v.double(), 3), tolerance=1e-6)
    case("CustMvlgammaGrad", r(3, 4, low=-1.0), big, p=3, want=lambda g, v: gradient(lambda t: torch.mvlgamma(t, 3), v, by=g)[0])
    scores, target, weight = r(3, 4), torch.tensor([1, 0, 3]), r(4, low=0.5)
    labels = torch.tensor([[1, 3, -1, 0], [0, -1, 2, 1], [2, 1, 0, 3]])
    marks = torch.tensor([[0, 1, 0, 1], [1, 0, 0, 0], [1, 1, 1, 1]])
    for how in ("none", "mean", "sum"):
        dy = r(3, low=-1.0) if how == "none" else torch.tensor(0.7)
        for p, w in ((1, None), (2, weight)):
            loss = lambda v, p=p, w=w, how=how: F.multi_margin_loss(v, target, p, 0.8, None if w is None else w.to(v.dtype), reduction=how)  # noqa: E731
            rule = {"p": p, "margin": 0.8, "reduction": how}
            case("CustMultiMarginLoss", scores, target, w, want=lambda v, *_, f=loss: f(v), **rule)
            case("CustMultiMarginLossGrad", dy, scores, target, w, want=lambda g, v, *_, f=loss: gradient(f, v, by=g)[0], **rule)
        case("CustMultilabelMarginLossGrad", dy, scores, labels, marks, reduction=how,
             want=lambda g, v, *_, how=how: gradient(lambda t: F.multilabel_margin_loss(t, labels, reduction=how), v, by=g)[0])
    points, dy = r(6, 3), r(15, low=-1.0)
    for p in (1.0, 2.0, 3.0, float("inf")):
        case("CustPdistGrad", dy, points, torch.pdist(points, p), p=p, want=lambda g, v, _, p=p: gradient(lambda t: torch.pdist(t, p), v, by=g)[0])
    for offset, axes in ((0, (0, 1)), (1, (0, 2)), (-1, (2, 1))):
        trace = lambda v, o=offset, a=axes: torch.diagonal(v, o, *a).sum(-1)  # noqa: E731
        whole = torch.zeros(3, 4, 5)
        case("CustTraceV2Grad", r(*trace(whole).shape), const([3, 4, 5]), const(offset), const(axes[0]), const(axes[1]),
             want=lambda g, *_, f=trace: gradient(f, torch.zeros(3, 4, 5), by=g)[0])
    photo = r(2, 4, 5, 3)
    boxes, at = torch.tensor([[0.0, 0.0, 1.0, 1.0], [0.2, 0.1, 0.7, 0.9]]), torch.tensor([1, 0], dtype=torch.int32)

    def crops(v, b):
        grids = []
        for y1, x1, y2, x2 in b:
            steps = torch.arange(3).double() / 2, torch.arange(2).double()
            ys, xs = ((low + (high - low) * t) * 2 - 1 for low, high, t in ((y1, y2, steps[0]), (x1, x2, steps[1])))
            grids.append(torch.stack([xs[None].expand(3, 2), ys[:, None].expand(3, 2)], -1))
        return F.grid_sample(v.double().permute(0, 3, 1, 2)[[1, 0]], torch.stack(grids), align_corners=True).permute(0, 2, 3, 1)
    dy = r(2, 3, 2, 3, low=-1.0)
    case("CustCropAndResize", photo, boxes, at, const([3, 2]), want=lambda v, b, *_: crops(v, b.double()))
    case("CustCropAndResizeGradImage", dy, boxes, at, const([2, 4, 5, 3]), want=lambda g, b, *_: gradient(lambda v: crops(v, b.double()), photo, by=g)[0])
    inner = torch.tensor([[0.13, 0.21, 0.83, 0.91], [0.22, 0.14, 0.71, 0.87]])  # no corner lies on a pixel, where there is no gradient
    case("CustCropAndResizeGradBoxes", dy, photo, inner, at, want=lambda g, v, b, _: gradient(lambda t: crops(v, t), b, by=g)[0], tolerance=1e-3)
    case("CustResizeBicubic", photo.permute(0, 3, 1, 2).contiguous(), const([9, 10]), half_pixel_centers=True, tolerance=3e-3,
         want=lambda v, _: F.interpolate(v, (9, 10), mode="bicubic", antialias=True))
    spectra(case, r)
    matrices(case, r)


def matrices(case, r):
    def wide(v):
        return v.to(torch.complex128 if v.is_complex() else torch.float64)
    for shape in ((2, 5, 5), (6, 4), (4, 6), (3, 1, 1)):
        for v in (r(*shape, low=-2.0), r(*shape, low=-2.0).double(), torch.complex(r(*shape, low=-1.0), r(*shape))):
            case("CustGeqrf", v, want=lambda a: list(torch.geqrf(wide(a))), tolerance=1e-4)
            if shape[-2] >= shape[-1]:
                case("CustOrgqr", *(part.contiguous() for part in torch.geqrf(v)), want=lambda a, tau: torch.linalg.householder_product(wide(a), wide(tau)), tolerance=1e-4)
    case("CustOrgqr", torch.geqrf(r(5, 3))[0].contiguous(), r(2), want=lambda a, tau: torch.linalg.householder_product(wide(a), wide(tau)), tolerance=1e-4)
    case("CustGeqrf", torch.tensor([[2.0, 1.0], [0.0, 3.0]]), want=lambda a: list(torch.geqrf(wide(a))))
    for v in (r(3, 5, 5, low=-2.0), torch.complex(r(2, 4, 4), r(2, 4, 4)), r(2, 3, 3).double() * 9, torch.zeros(2, 2), torch.tensor([[torch.nan, 0.0], [0.0, 1.0]])):
        case("CustMatrixExp", v, want=lambda a: torch.full_like(a, torch.nan) if a.real.isnan().any() else torch.linalg.matrix_exp(wide(a)), tolerance=1e-4)
    for of, right in (((4, 4), (4, 3)), ((3, 4, 4), (4, 2)), ((4, 4), (3, 4, 1)), ((2, 1, 3, 3), (4, 3, 2))):
        lu, pivots = torch.linalg.lu_factor(r(*of, low=-2.0) + 3 * torch.eye(of[-1]))
        case("CustLuSolve", r(*right), lu.contiguous(), pivots, want=lambda b, lu, p: torch.linalg.lu_solve(wide(lu), p, wide(b)), tolerance=1e-4)


def spectra(case, r):
    z, x = torch.complex(r(2, 4, 6, 5), r(2, 4, 6, 5, low=-1.0)), r(2, 4, 6, 5)
    for n in (1, 2, 3):
        dims = tuple(range(-n, 0))
        for norm in ("backward", "forward", "ortho"):
            how = {"signal_ndim": n, "norm": norm}
            for v, tolerance in ((z, 1e-4), (z.to(torch.complex128), 1e-10)):
                wide = lambda t: t.to(torch.complex128)  # noqa: E731
                case("CustFFTWithSize", v, inverse=False, real=False, want=lambda t, d=dims, m=norm: torch.fft.fftn(wide(t), dim=d, norm=m), tolerance=tolerance, **how)
                case("CustFFTWithSize", v, inverse=True, real=False, want=lambda t, d=dims, m=norm: torch.fft.ifftn(wide(t), dim=d, norm=m), tolerance=tolerance, **how)
            case("CustFFTWithSize", x, inverse=False, real=True, want=lambda t, d=dims, m=norm: torch.fft.rfftn(t.double(), dim=d, norm=m), **how)
            case("CustFFTWithSize", x, inverse=False, real=True, onesided=False, want=lambda t, d=dims, m=norm: torch.fft.fftn(t.double(), dim=d, norm=m), **how)
            half = torch.fft.rfftn(r(2, 4, 6, 9), dim=dims)
            case("CustFFTWithSize", half, inverse=True, real=True, signal_sizes=[2, 4, 6, 9][-n:], want=lambda t, d=dims, m=norm: torch.fft.irfftn(
                t.to(torch.complex128), s=[2, 4, 6, 9][-len(d):], dim=d, norm=m), **how)
            case("CustFFTWithSize", half, inverse=True, real=True, want=lambda t, d=dims, m=norm: torch.fft.irfftn(t.to(torch.complex128), dim=d, norm=m), **how)
    case("CustFFTWithSize", (x * 9).int(), inverse=False, real=True, signal_ndim=1, want=lambda t: torch.fft.rfft(t.double()), tolerance=1e-4)
    norms = ["backward", "forward", "ortho"]
    for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
        given = x if name in ("rfft", "ihfft") else z
        for more, forms in {"": [(None, None), (5, None), (None, 1), (9, 0)], "2": [(None, None), ((4, 7), (0, 2)), ((5, -1), None)],
                            "n": [(None, None), ((4, 5), None), (None, (3, 1)), ((4, 3, 5), (0, 1, 2))]}.items():
            for number, (sizes, dim) in ((k, form) for k in range(3) for form in forms):
                how = {"n" if more == "" else "s": sizes, "dim": dim, "norm": norms[number]}
                exact = getattr(torch.fft, name + more)
                how = {key: value for key, value in how.items() if value is not None}
                inputs = [None if value is None else const(value) for value in (sizes, dim, number)]
                case("Cust" + (name + more).upper(), given, *inputs, tolerance=1e-4,
                     want=lambda v, *_, f=exact, how=how: f(v.to(torch.complex128 if v.is_complex() else torch.float64), **how))
    case("CustFFT", z.to(torch.complex128), None, None, None, want=lambda v, *_: torch.fft.fft(v), tolerance=1e-10)
    case("CustRFFT", (x * 9).int(), None, None, None, want=lambda v, *_: torch.fft.rfft(v.double()), tolerance=1e-4)
    case("CustFFTShapeCopy", z, const([2, 3, 8, 5]), want=lambda v, _: torch.view_as_complex(F.pad(torch.view_as_real(v[:, :3]), (0, 0, 0, 0, 0, 2))).to(torch.complex128))
    case("CustFFTShapeCopy", x, const([2, 5, 6, 1]), want=lambda v, _: F.pad(v[..., :1], (0, 0, 0, 0, 0, 1)).double())
    for sizes, dim, doubled in ((None, None, np.s_[..., 1:4]), (9, None, np.s_[..., 1:5]), (6, 1, np.s_[:, 1:3]), ([4, 5], [0, 2], np.s_[:, :, 1:3])):
        def twice(v, *_, at=doubled):
            v = v.to(torch.complex128, copy=True)
            v[at] *= 2
            return v
        case("CustIRFFTDouble", z, *(None if value is None else const(value) for value in (sizes, dim)), want=twice)
