"""Cases of graph operators that torch_npu asks for while it compiles each operator by itself: by masks and places, and counts."""
import torch
import torch.nn.functional as F

from graph import const


def add_cases(case, r):
    x, y, rows = r(3, 4), r(3, 4, low=-3.0), r(2, 3, 4)
    yes = x > 0
    first, second = torch.tensor([2, 0, 2]), torch.tensor([1, 3, 0])

    case("TensorEqual", x, x.clone(), want=lambda a, b: torch.tensor([True]))
    case("TensorEqual", x, y, want=lambda a, b: torch.tensor([False]))
    case("MaskedScatter", x, yes, y, want=lambda v, m, u: v.masked_scatter(m, u))
    case("Index", x, const([1]), const([3, 4]), first, want=lambda v, *_: v[first])
    case("Index", x, const([1, 1]), const([3]), first, second, want=lambda v, *_: v[first, second])
    case("Index", rows, const([0, 1, 1]), const([2, 3]), first, second, want=lambda v, *_: v[:, first, second])
    for accumulate in (False, True):
        at = first if accumulate else torch.tensor([2, 0, 1])
        case("IndexPutV2", x, y, const([1]), const([1]), at, accumulate=accumulate,
             want=lambda v, w, *_, at=at, a=accumulate: v.index_put((at,), w, a))
    nan = torch.full((3, 4), float("nan"))  # what is replaced may be anything
    keep = torch.tensor([1.0, 0.0, 1.0])[:, None].expand(3, 4).contiguous()
    case("IndexFillD", torch.where(keep > 0, x, nan), keep, 7 * (1 - keep), dim=0, want=lambda v, k, f: torch.where(k > 0, v, f))
    case("RepeatInterleave", x, const([3]), axis=1, want=lambda v, n: v.repeat_interleave(3, 1))
    case("RepeatInterleave", x, const([2]), want=lambda v, n: v.repeat_interleave(2))

    for p in (2.0, 1.0, 3.5, 0.0, 2147483648.0, -2147483648.0):
        order = {2147483648.0: float("inf"), -2147483648.0: float("-inf")}.get(p, p)
        root = order if 0 < order < float("inf") else 1.0
        case("LpNormReduceV2", rows, p=p, axes=[1], keepdim=True, epsilon=0.0,
             want=lambda v, o=order, e=root: torch.linalg.vector_norm(v, o, 1, True) ** e)
        case("LpNormUpdateV2", x.abs(), p=p, epsilon=0.0, want=lambda v, e=root: v ** (1 / e))
    mean = rows.mean((0, 2), True)
    for unbiased, std in ((True, False), (False, False), (True, True)):
        case("ReduceStdV2Update", rows, mean.expand(2, 3, 4).contiguous(), dim=[0, 2], unbiased=unbiased, if_std=std,
             want=lambda v, m, u=unbiased, s=std: (v.std if s else v.var)((0, 2), correction=int(u)))
    case("ReduceMin", x, const([]), want=lambda v, a: v)  # no axes: nothing is reduced, where the result does not say otherwise

    numbers = torch.tensor([1, 4, 1, 0, 2], dtype=torch.int32)
    weights = r(5)
    case("Bincount", numbers, const(6, torch.int32), weights, want=lambda n, s, w: n.bincount(w, 6).float())
    case("Histogram", x, bins=5, min=-1.0, max=1.0, want=lambda v: v.histc(5, -1, 1))
    case("Cdist", rows, r(2, 3, 4, low=-3.0), p=3.0, want=lambda a, b: torch.linalg.vector_norm(a - b, 3, -1))
    triples = r(4, 3)
    case("Cross", triples, r(4, 3, low=-3.0), want=lambda a, b: torch.linalg.cross(a, b, dim=1))
    case("Cross", rows, r(2, 3, 4, low=-3.0), dim=-2, want=lambda a, b: torch.linalg.cross(a, b, dim=1))
    case("SiluGrad", y, x, want=lambda g, v: torch.ops.aten.silu_backward(g, v))
    image, scale, offset = r(2, 4, 6, 5), r(4, low=0.5), r(4, low=-1.0)
    for swish in (False, True):
        def normalised(v, g, b, swish=swish):
            y, mean, rstd = torch.native_group_norm(v, g, b, 2, 4, 30, 2, 1e-5)
            return F.silu(y) if swish else y, mean, rstd
        case("GroupNormSwish", image, scale, offset, num_groups=2, activate_swish=swish, want=normalised)

