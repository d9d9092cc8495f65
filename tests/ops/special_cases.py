"""Cases of graph operators that are functions of mathematics, against SciPy in float64."""
import numpy as np
import torch
from scipy import special


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
    case("Zeta", torch.tensor([1.0, 0.5]), torch.tensor([2.0, 2.0]), want=lambda s, q: torch.tensor([torch.inf, torch.nan]))
    case("Betainc", a, r(4, 5, low=0.1, high=9.0), r(5, low=0.0, high=1.0), tolerance=1e-6,
         want=lambda a, b, x: torch.from_numpy(special.betainc(*(v.double().numpy() for v in (a, b, x)))))
    case("Betainc", torch.tensor([1.0, 0.0, 2e3, 1.0]), torch.tensor([1.0, 1.0, 3e3, 1.0]), torch.tensor([0.0, 0.5, 0.41, 1.5]), tolerance=1e-6,
         want=lambda *_: torch.tensor([0.0, torch.nan, special.betainc(2e3, 3e3, np.float64(np.float32(0.41))), torch.nan]))
