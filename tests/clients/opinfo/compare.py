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
# Entries of op_db whose results sum many products, by their names without the variant.
SUMMING = set("""
__rmatmul__ _batch_norm_with_update _native_batch_norm_legit _softmax_backward_data _unsafe_masked_index_put_accumulate
_upsample_bilinear2d_aa addbmm addmm addmv baddbmm bmm cdist corrcoef cov cumprod cumsum cumulative_trapezoid dist dot einsum
fft.fft fft.fft2 fft.fftn fft.hfft fft.hfft2 fft.hfftn fft.ifft fft.ifft2 fft.ifftn fft.ihfft fft.ihfft2 fft.ihfftn fft.irfft
fft.irfft2 fft.irfftn fft.rfft fft.rfft2 fft.rfftn grid_sampler_2d grid_sampler_3d index_reduce.mean index_reduce.prod inner kron linalg.cholesky
linalg.cholesky_ex linalg.cond linalg.cross linalg.det linalg.eig linalg.eigh linalg.eigvals linalg.eigvalsh
linalg.householder_product linalg.inv linalg.inv_ex linalg.ldl_factor linalg.ldl_factor_ex linalg.ldl_solve linalg.lstsq linalg.lu
linalg.lu_factor linalg.lu_factor_ex linalg.lu_solve linalg.matrix_norm linalg.matrix_power linalg.matrix_rank linalg.multi_dot
linalg.norm linalg.pinv linalg.qr linalg.slogdet linalg.solve linalg.solve_ex linalg.solve_triangular linalg.svd linalg.svdvals
linalg.tensorinv linalg.tensorsolve linalg.vecdot linalg.vector_norm log_softmax logcumsumexp logsumexp masked.cumprod
masked.cumsum masked.log_softmax masked.logsumexp masked.mean masked.norm masked.normalize masked.prod masked.softmax masked.std
masked.sum masked.var matmul mean mm mv nanmean nansum native_batch_norm native_group_norm native_layer_norm
nn.functional.adaptive_avg_pool1d nn.functional.adaptive_avg_pool2d nn.functional.adaptive_avg_pool3d nn.functional.avg_pool1d
nn.functional.avg_pool2d nn.functional.avg_pool3d nn.functional.batch_norm nn.functional.bilinear
nn.functional.binary_cross_entropy nn.functional.binary_cross_entropy_with_logits nn.functional.conv1d nn.functional.conv2d
nn.functional.conv3d nn.functional.conv_transpose1d nn.functional.conv_transpose2d nn.functional.conv_transpose3d
nn.functional.cosine_embedding_loss nn.functional.cross_entropy nn.functional.ctc_loss nn.functional.embedding_bag
nn.functional.gaussian_nll_loss nn.functional.grid_sample nn.functional.group_norm nn.functional.hinge_embedding_loss
nn.functional.huber_loss nn.functional.instance_norm nn.functional.interpolate.area
nn.functional.interpolate.bicubic nn.functional.interpolate.bilinear nn.functional.interpolate.linear
nn.functional.interpolate.trilinear nn.functional.l1_loss nn.functional.layer_norm
nn.functional.linear nn.functional.linear_cross_entropy nn.functional.local_response_norm nn.functional.margin_ranking_loss
nn.functional.mse_loss nn.functional.multi_head_attention_forward nn.functional.multi_margin_loss
nn.functional.multilabel_margin_loss nn.functional.multilabel_soft_margin_loss nn.functional.nll_loss nn.functional.normalize
nn.functional.pairwise_distance nn.functional.pdist nn.functional.poisson_nll_loss nn.functional.rms_norm
nn.functional.scaled_dot_product_attention nn.functional.smooth_l1_loss nn.functional.soft_margin_loss
nn.functional.triplet_margin_loss nn.functional.triplet_margin_with_distance_loss nn.functional.upsample_bilinear norm prod renorm
scatter_reduce.mean scatter_reduce.prod scatter_reduce.sum softmax sparse.mm sparse.sampled_addmm std std_mean sum sum_to_size tensordot torch._scaled_mm torch._scaled_mm_v2
torch.ops.aten._efficient_attention_forward torch.ops.aten._safe_softmax trapezoid trapz var var_mean vdot
""".split())

# What memory happens to hold: only shape and dtype say anything.
UNINITIALISED = {"empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided", "resize_", "resize_as_"}


class Wrong(Exception):
    def __init__(self, text, difference=None):
        super().__init__(text)
        self.difference = difference


def tolerance(name, dtype, direction):
    dtype = REAL_OF.get(dtype, dtype)
    table = SUMMED if direction == "backward" or sums(name) else PLAIN
    return table.get(dtype, (0.0, 0.0))


def sums(name):
    """Whether this entry, or the one that it is a variant of, is in the list."""
    return name in SUMMING or name.rpartition(".")[0] in SUMMING


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


def settle(expected, actual, accepted, met=None):
    """([numbers of leaves], expected, actual) without the differences that `accepted`, a pattern of Wrong's text, allows: a leaf of
    another shape or none at all is left out, one of another dtype is compared in the device's dtype. Their texts are put into
    `met`."""
    kept = []
    for n, (e, a) in enumerate(pairs(expected, actual)):
        try:
            check_kind(e, a, f"result {n}")
        except Wrong as wrong:
            if accepted and accepted.fullmatch(str(wrong)):
                if met is not None:
                    met.append(str(wrong))
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


def as_exact(exact, expected, actual, near, low, name="", direction="forward"):
    """Is each number that is not within tolerance at most four times as far from the float64 result as rounding may cost there? Then
    neither is wrong: they round differently. What it may cost is the greatest of the CPU's own error in this number, a rounding of the number (to
    `low` where the result's dtype is wider), how far it moves when the operands and what every operator gives move by a rounding (the
    results `near`), and a rounding of the largest number in float32, in which sums are kept. True or False."""
    near = [tree_flatten(n)[0] for n in near]
    try:
        triples = [(e, a, x) for (e, a), (_, x) in zip(pairs(expected, actual), pairs(expected, exact))]
    except Wrong:
        return False
    for n, (e, a, x) in enumerate(triples):
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
        if low.is_floating_point:
            eps = max(eps, torch.finfo(low).eps)
        rtol, atol = tolerance(name, e.dtype, direction)
        x, e, a = wide(x), wide(e), wide(a)
        moved = torch.zeros(x.shape, dtype=torch.float64)
        for other in near:
            if n < len(other) and isinstance(other[n], torch.Tensor) and other[n].shape == x.shape:
                moved = torch.maximum(moved, (wide(other[n]) - x).abs().nan_to_num(0, 0, 0))
        if not e.is_complex():  # what does not fit the result's dtype is an infinity there
            x = torch.where(x.abs() > bound.max * (1 + bound.eps / 2), torch.sign(x) * float("inf"), x)
        finite = torch.isfinite(x)
        if not torch.isclose(a, x, rtol=0, atol=float("inf"), equal_nan=True)[~finite].all() or not torch.isfinite(a)[finite].all():
            return False
        least = max(least, min(bound.eps, torch.finfo(torch.float32).eps) * (x.abs()[finite].max().item() if finite.any() else 0))
        cost = torch.maximum(torch.maximum((e - x).abs().nan_to_num(0, 0, 0), eps * x.abs()), moved.clamp(min=least))
        if (((a - x).abs() > 4 * cost) & ~torch.isclose(a, e, rtol=rtol, atol=atol))[finite].any():
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
DROPOUT = re.compile(r"dropout", re.IGNORECASE)
ALARM = 5.4  # standard deviations: a false alarm in 1e-7 of the tests


def distribution(name, expected_runs, actual_runs):
    """Three tests, each at a probability of about 1e-7 of a false alarm. Kolmogorov-Smirnov on the pooled values of each leaf
    needs no moments to exist (Cauchy) and no list of the distributions. It counts draws, which are the runs where elements
    depend on each other, and says little then; so what is zeroed by a mask is judged by the mask, and the rest by the means and
    variances of whole runs."""
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
            e, a = (x.double().flatten(1).numpy() if x.dim() > 1 else x.double()[:, None].numpy() for x in (e, a))
            if not (numpy.isfinite(e).all() and numpy.isfinite(a).all()):
                continue
            if not (DROPOUT.search(name) and masks(n, e, a)) and not INDEPENDENT.match(name):
                dtype = getattr(es[0], "dtype", torch.float64)
                moments(n, e, a, torch.finfo(dtype).eps if dtype.is_floating_point or dtype.is_complex else 0)


def masks(n, e, a):
    """runs x elements of two values each, one of which (0, or alpha dropout's constant) is the same for all: is it met as often, and
    does it fall on as many elements independently, on the same ones together? False: these are no such results."""
    low, high = numpy.minimum(e.min(0), a.min(0)), numpy.maximum(e.max(0), a.max(0))
    moving = e.min(0) < e.max(0)
    e, a, low, high = e[:, moving], a[:, moving], low[moving], high[moving]
    if not e.shape[1]:
        return False
    near = lambda x, value: numpy.abs(x - value) <= 1e-3 * numpy.abs(high - low)
    if not (near(e, e.min(0)) | near(e, e.max(0))).all():
        return False
    constants, counts = numpy.unique(numpy.round(numpy.concatenate([e.min(0), e.max(0)]), 3), return_counts=True)
    dropped = constants[counts.argmax()]
    close = 2e-3 * max(1.0, abs(dropped))
    fits = (numpy.abs(e.min(0) - dropped) <= close) | (numpy.abs(e.max(0) - dropped) <= close)
    if not fits.all():
        return False
    if not (near(a, e.min(0)) | near(a, e.max(0))).all():
        raise Wrong(f"random result {n}: a value that is neither dropped nor kept")
    e, a = numpy.abs(e - dropped) <= close, numpy.abs(a - dropped) <= close
    units, first, member = numpy.unique(e, axis=1, return_index=True, return_inverse=True)
    if (a != a[:, first][:, member.reshape(-1)]).any():
        raise Wrong(f"random result {n}: the mask parts what is dropped together")
    if len(e) >= 64 and (found := numpy.unique(a[:, first], axis=1).shape[1]) < units.shape[1]:
        raise Wrong(f"random result {n}: {found} independent masks instead of {units.shape[1]}")
    draws = units.size
    rates = units.mean(), a[:, first].mean()
    middle = sum(rates) / 2
    if abs(rates[0] - rates[1]) > ALARM * (2 * max(middle * (1 - middle), 1 / draws) / draws) ** 0.5:
        raise Wrong(f"random result {n}: dropped with a rate of {rates[1]:.3f} instead of {rates[0]:.3f} in {draws} draws", abs(rates[0] - rates[1]))
    return True


def moments(n, e, a, eps=0.0):
    """Runs are independent whatever their elements are: the mean and the variance over the elements of a run, in units of the
    elements' own deviations, have to be the same on average over the runs. An element that moves by less than a rounding (`eps`) of the
    largest says only how its operator rounds."""
    runs = len(e)
    spread = (e.std(0) + a.std(0)) / 2
    moving = spread > max(1e-6, eps) * max(numpy.abs(e).max(), 1e-30)
    if not moving.any() or runs < 3:
        return
    e, a, spread = e[:, moving], a[:, moving], spread[moving]
    t = ALARM + (ALARM**3 + ALARM) / (8 * (runs - 1))  # of Student's distribution
    centre = (e.mean(0) + a.mean(0)) / 2
    sign = numpy.where(centre < 0, -1, 1)  # or another scale would cancel between positive and negative elements
    square = lambda x: ((x - x.mean(0)) / spread) ** 2 * (runs / (runs - 1))
    for what, x, y in (("mean", sign * (e - centre) / spread, sign * (a - centre) / spread), ("variance", square(e), square(a))):
        x, y = x.mean(1), y.mean(1)
        error = max(((x.var(ddof=1) + y.var(ddof=1)) / runs) ** 0.5, 1e-3)
        if abs(x.mean() - y.mean()) > t * error:
            raise Wrong(f"random result {n}: another {what} ({abs(x.mean() - y.mean()):.3f} deviations, allowed {t * error:.3f}, {runs} runs)")


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
