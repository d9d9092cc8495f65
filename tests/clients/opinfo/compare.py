"""Are two results the same? Values within a tolerance, or as near to the float64 result as the CPU's own, or, for random
operators, of one distribution."""
import re

import numpy
import torch
from torch.utils._pytree import tree_flatten

# dtype: (rtol, atol). The first column is torch.testing.assert_close's own; the second is for results that sum many products.
PLAIN = {torch.float64: (1e-7, 1e-7), torch.float32: (1.3e-6, 1e-5), torch.float16: (1e-3, 1e-5), torch.bfloat16: (1.6e-2, 1e-5)}
SUMMED = {torch.float64: (1e-7, 1e-7), torch.float32: (1e-4, 1e-5), torch.float16: (1e-2, 1e-3), torch.bfloat16: (2e-2, 1e-2)}
REAL_OF = {torch.complex128: torch.float64, torch.complex64: torch.float32, torch.complex32: torch.float16}
SUMMING = re.compile(r"matmul|mm|mv|dot|conv|linear|linalg|norm|sum|mean|std|var|cov|corrcoef|cum|softmax|loss|entropy|attention|"
                     r"einsum|inner|outer|ger|trapz|trapezoid|interpolate|upsample|grid_sample|pool|fft|dist|kron|embedding_bag|prod")

# What memory happens to hold: only shape and dtype say anything.
UNINITIALISED = {"empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided", "resize_", "resize_as_"}


class Wrong(Exception):
    def __init__(self, text, difference=None):
        super().__init__(text)
        self.difference = difference


def tolerance(name, dtype, direction):
    dtype = REAL_OF.get(dtype, dtype)
    table = SUMMED if direction == "backward" or SUMMING.search(name) else PLAIN
    return table.get(dtype, (0.0, 0.0))


def pairs(expected, actual):
    """Leaves side by side; tuples, lists and named tuples of one length count as the same structure."""
    left, right = tree_flatten(expected)[0], tree_flatten(actual)[0]
    if len(left) != len(right):
        raise Wrong(f"{len(right)} results instead of {len(left)}")
    return list(zip(left, right))


def check_kind(e, a, where):
    if isinstance(e, torch.Tensor) != isinstance(a, torch.Tensor):
        raise Wrong(f"{where}: {type(a).__name__} instead of {type(e).__name__}")
    if isinstance(e, torch.Tensor):
        if e.shape != a.shape:
            raise Wrong(f"{where}: shape {tuple(a.shape)} instead of {tuple(e.shape)}")
        if e.dtype != a.dtype:
            raise Wrong(f"{where}: dtype {a.dtype} instead of {e.dtype}")


def settle(expected, actual, accepted):
    """([numbers of leaves], expected, actual) without the differences that `accepted`, a pattern of Wrong's text, allows: a leaf of
    another shape or none at all is left out, one of another dtype is compared in the device's dtype."""
    kept = []
    for n, (e, a) in enumerate(pairs(expected, actual)):
        try:
            check_kind(e, a, f"result {n}")
        except Wrong as wrong:
            if accepted.fullmatch(str(wrong)):
                if not isinstance(e, torch.Tensor) or not isinstance(a, torch.Tensor) or e.shape != a.shape:
                    continue
                e = e.to(a.dtype)
        kept.append((n, e, a))
    return [n for n, _, _ in kept], [e for _, e, _ in kept], [a for _, _, a in kept]


def wide(x):
    """float64, complex128 or int64, in which all comparisons are done."""
    return x.to(torch.complex128 if x.is_complex() else torch.float64 if x.is_floating_point() else x.dtype if x.dtype == torch.uint64 else torch.int64)


def mismatch(e, a, rtol, atol):
    """None, or the greatest difference; infinities and NaN have to be in the same places."""
    if e.numel() == 0:
        return None
    e, a = wide(e), wide(a)
    if rtol == atol == 0 and torch.equal(e, a):
        return None
    if torch.isclose(a, e, rtol=rtol, atol=atol, equal_nan=True).all():
        return None
    diff = (a - e).abs().to(torch.float64)
    same = (a == e) | (torch.isnan(e) & torch.isnan(a)) if e.is_floating_point() or e.is_complex() else a == e
    diff = torch.where(same, torch.zeros_like(diff), diff)
    return float("inf") if torch.isnan(diff).any() else diff.max().item()


def close(name, expected, actual, direction):
    """Raises Wrong unless every leaf is within tolerance."""
    for n, (e, a) in enumerate(pairs(expected, actual)):
        where = f"result {n}"
        check_kind(e, a, where)
        if isinstance(e, torch.Tensor):
            if name in UNINITIALISED:
                continue
            difference = mismatch(e, a, *tolerance(name, e.dtype, direction))
            if difference is not None:
                raise Wrong(f"{where}: greatest difference {difference:.3g} ({e.dtype}, shape {tuple(e.shape)})", difference)
        elif isinstance(e, (bool, int, float, complex)):
            rtol, atol = SUMMED[torch.float32] if isinstance(e, (float, complex)) else (0, 0)
            if not (numpy.isclose(a, e, rtol=rtol, atol=atol, equal_nan=True)):
                raise Wrong(f"{where}: {a} instead of {e}")
        elif isinstance(e, (str, torch.dtype, torch.layout, torch.memory_format)) and e != a:
            raise Wrong(f"{where}: {a} instead of {e}")


def same_choice(keys, dim, expected, actual):
    """Of equal keys an order that need not be stable may put any first. Do both indices choose the same keys along dim, and
    the device's none twice?"""
    if keys.dim() == 0:
        keys, expected, actual = keys.reshape(1), expected.reshape(1), actual.reshape(1)
    if expected.shape != actual.shape or actual.dtype != torch.int64 or actual.numel() == 0:
        return False
    if actual.min() < 0 or actual.max() >= keys.shape[dim]:
        return False
    ordered = actual.sort(dim)[0]
    if (ordered.diff(dim=dim) == 0).any():
        return False
    return mismatch(keys.gather(dim, expected), keys.gather(dim, actual), 0, 0) is None


def same_but_for_ties(keys, dim, expected, actual):
    """Gradients of `keys` where the operator chose among equal keys as it liked: does each set of equal keys along dim have the
    same gradients, in whatever order?"""
    if keys.dim() == 0 or expected.shape != keys.shape or actual.shape != keys.shape:
        return False

    def ordered(gradient):
        by_value = gradient.argsort(dim=dim, stable=True)
        by_key = keys.gather(dim, by_value).argsort(dim=dim, stable=True)
        return gradient.gather(dim, by_value.gather(dim, by_key))

    return mismatch(ordered(wide(expected)), ordered(wide(actual)), *tolerance("sort", expected.dtype, "backward")) is None


def as_exact(exact, expected, actual, low):
    """Is the device's error against the float64 result at most four times the CPU's own (or four roundings of the largest
    value, to `low` where the result's dtype is wider than the operands')? Then neither is wrong: they round differently. True or
    False."""
    try:
        triples = [(e, a, x) for (e, a), (_, x) in zip(pairs(expected, actual), pairs(expected, exact))]
    except Wrong:
        return False
    for e, a, x in triples:
        if not isinstance(e, torch.Tensor) or e.numel() == 0:
            continue
        if not (e.is_floating_point() or e.is_complex()):
            if not torch.equal(e, a):
                return False
            continue
        if x.shape != e.shape:
            return False
        bound = torch.finfo(e.dtype)
        eps, least = bound.eps, bound.tiny
        if low.is_floating_point and torch.finfo(low).eps > eps:  # what cancels leaves roundings of the lower dtype
            eps, least = torch.finfo(low).eps, SUMMED[low][1] / 4
        x, e, a = wide(x), wide(e), wide(a)
        if not e.is_complex():  # what does not fit the result's dtype is an infinity there
            x = torch.where(x.abs() > bound.max * (1 + bound.eps / 2), torch.sign(x) * float("inf"), x)
        finite = torch.isfinite(x)
        if not torch.isclose(a, x, rtol=0, atol=float("inf"), equal_nan=True)[~finite].all() or not torch.isfinite(a)[finite].all():
            return False
        if not finite.any():
            continue
        e_error = (e - x).abs()[finite & torch.isfinite(e)]
        scale = x.abs()[finite].max().item()
        allowed = 4 * max(e_error.max().item() if e_error.numel() else 0.0, eps * scale, least)
        if (a - x).abs()[finite].max().item() > allowed:
            return False
    return True


def identical(one, two):
    """Bit for bit, NaN equal: does a second seed change the result?"""
    for x, y in pairs(one, two):
        if isinstance(x, torch.Tensor):
            if x.shape != y.shape or x.dtype != y.dtype or mismatch(x, y, 0, 0) is not None:
                return False
        elif x != y and x == x:
            return False
    return True


# Elements of these results are drawn independently, so that every element counts as a draw.
INDEPENDENT = re.compile(r"^(bernoulli|uniform|normal|rand|nn\.functional\.rrelu|cauchy|exponential|geometric|log_normal|multinomial|native_dropout|nn\.functional\.(alpha_)?dropout$)")


def distribution(name, expected_runs, actual_runs):
    """A two-sample Kolmogorov-Smirnov test on the pooled values of each leaf at a probability of about 1e-7 of a false alarm:
    it needs no moments to exist (Cauchy) and no list of the distributions."""
    for e, a in ((e, a) for ee, aa in zip(expected_runs, actual_runs) for e, a in pairs(ee, aa)):
        check_kind(e, a, "random result")
    leaves = zip(zip(*[tree_flatten(r)[0] for r in expected_runs]), zip(*[tree_flatten(r)[0] for r in actual_runs]))
    for n, (es, rs) in enumerate(leaves):
        if isinstance(es[0], torch.Tensor):
            if es[0].numel() == 0:
                continue
            e, a = (torch.stack([wide(x) for x in runs]) for runs in (es, rs))
            parts = [(e.real, a.real), (e.imag, a.imag)] if e.is_complex() else [(e, a)]
        elif isinstance(es[0], (bool, int, float)):
            parts = [(torch.tensor(es, dtype=torch.float64), torch.tensor(rs, dtype=torch.float64))]
        else:
            continue
        for e, a in parts:
            draws = min(e.numel() if INDEPENDENT.match(name) else e.shape[0], 20000)
            statistic = kolmogorov_smirnov(e.flatten().double().numpy(), a.flatten().double().numpy())
            if statistic > 2.9 * (2 / draws) ** 0.5:
                raise Wrong(f"random result {n}: the distributions differ (KS {statistic:.3f}, {draws} draws)", statistic)


def kolmogorov_smirnov(e, a):
    if numpy.isnan(e).mean() != numpy.isnan(a).mean():
        return 1.0
    e, a = numpy.sort(e[~numpy.isnan(e)]), numpy.sort(a[~numpy.isnan(a)])
    if not len(e):
        return 0.0
    # float rounding must not tear equal atoms (0 of a dropout, 1/(1-p) computed in two ways) apart
    merged = numpy.sort(numpy.concatenate([e, a]))
    steps = numpy.diff(merged) > 1e-5 * numpy.maximum(1e-3, numpy.abs(merged[1:]))
    points = merged[numpy.append(steps, True)]
    return float(numpy.abs(numpy.searchsorted(e, points, "right") / len(e) - numpy.searchsorted(a, points, "right") / len(a)).max())
