"""The functions that -sim writes, each against PyTorch's own: results and gradients in float64."""

import importlib.util
import pathlib
import sys

import pytest
import torch
import torch.nn.functional as F

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "migrate" / "rewrite" / "options" / "ascend_function"


@pytest.fixture(scope="module")
def ours():
    spec = importlib.util.spec_from_file_location("ascend_function", FOLDER / "__init__.py", submodule_search_locations=[str(FOLDER)])
    module = importlib.util.module_from_spec(spec)
    sys.modules["ascend_function"] = module
    spec.loader.exec_module(module)
    yield module
    for name in [n for n in sys.modules if n.split(".")[0] == "ascend_function"]:
        del sys.modules[name]


def tensor(*shape):
    return torch.randn(*shape, dtype=torch.float64)


def flat(result):
    return [result] if isinstance(result, torch.Tensor) else list(result)


def same(mine, theirs, *inputs, seeded=False, **options):
    """Both on copies of the inputs; floating ones are compared in their gradients as well."""
    sides = []
    for function in (mine, theirs):
        copies = [x.detach().clone().requires_grad_() if isinstance(x, torch.Tensor) and x.is_floating_point() else x for x in inputs]
        if seeded:
            torch.manual_seed(0)
        results = flat(function(*copies, **options))
        real = [r for r in results if r.is_floating_point() and r.requires_grad]
        torch.manual_seed(1)
        leaves = [c for c in copies if isinstance(c, torch.Tensor) and c.requires_grad]
        gradients = torch.autograd.grad([(r * torch.randn_like(r)).sum() for r in real], leaves, allow_unused=True) if real else []
        sides.append((results, gradients))
    (a, ga), (b, gb) = sides
    assert len(a) == len(b)
    for x, y in zip(a, b):
        assert x.dtype == y.dtype and x.shape == y.shape, (x.dtype, y.dtype, x.shape, y.shape)
        torch.testing.assert_close(x, y, rtol=1e-10, atol=1e-12, equal_nan=True)
    for x, y in zip(ga, gb):
        zero = torch.zeros(1, dtype=torch.float64)
        torch.testing.assert_close(*torch.broadcast_tensors(zero if x is None else x, zero if y is None else y), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["var_mean", "std_mean"])
@pytest.mark.parametrize("args, options", [((), {}), ((1,), {}), (((0, 2),), {"keepdim": True}), ((False,), {}), ((0, False), {}),
                                           ((-1, True, True), {}), ((), {"correction": 0}), ((1,), {"correction": 2, "keepdim": True})])
def test_moments(ours, name, args, options):
    same(getattr(ours, name), getattr(torch, name), tensor(3, 4, 5), *args, **options)


def test_heaviside(ours):
    x = torch.tensor([-1.0, 0, 2, -0.0], dtype=torch.float64)
    for values in (torch.tensor(0.5, dtype=torch.float64), tensor(4), tensor(3, 1)):
        torch.testing.assert_close(ours.heaviside(x, values), torch.heaviside(x, values))
    i = torch.tensor([-1, 0, 2])
    assert torch.equal(ours.heaviside(i, torch.tensor(7)), torch.heaviside(i, torch.tensor(7)))
    with pytest.raises(RuntimeError, match="dtype"):
        ours.heaviside(x, i)


@pytest.mark.parametrize("dim", [None, 0, 1, -1])
@pytest.mark.parametrize("flags", [{}, {"return_inverse": True}, {"return_counts": True}, {"return_inverse": True, "return_counts": True}])
def test_unique_consecutive(ours, dim, flags):
    x = torch.tensor([[1, 1, 2], [1, 1, 2], [3, 3, 1], [1, 1, 2]])
    for x in (x, x.double(), x[:1], torch.tensor([[5]])):
        mine, theirs = (flat(f(x, dim=dim, **flags)) for f in (ours.unique_consecutive, torch.unique_consecutive))
        assert len(mine) == len(theirs)
        for a, b in zip(mine, theirs):
            assert a.dtype == b.dtype and torch.equal(a, b)
    assert ours.unique_consecutive(torch.tensor([])).shape == (0,)


@pytest.mark.parametrize("interpolation", ["linear", "lower", "higher", "midpoint", "nearest"])
@pytest.mark.parametrize("dim, keepdim", [(None, False), (0, False), (1, True), (-1, True), (None, True)])
def test_nanquantile(ours, interpolation, dim, keepdim):
    x = tensor(4, 7)
    x[0, 2] = x[2, 5] = float("nan")
    q = torch.tensor([0.0, 0.3, 0.5, 1.0], dtype=torch.float64)
    same(ours.nanquantile, torch.nanquantile, x, q, dim, keepdim, interpolation=interpolation)
    same(ours.nanquantile, torch.nanquantile, x, 0.4, dim, keepdim, interpolation=interpolation)
    x[3] = float("nan")  # nothing is left of this row
    torch.testing.assert_close(ours.nanquantile(x, q, dim, keepdim, interpolation=interpolation),
                               torch.nanquantile(x, q, dim, keepdim, interpolation=interpolation), equal_nan=True)


@pytest.mark.parametrize("hard", [False, True])
def test_gumbel_softmax(ours, hard):
    same(ours.gumbel_softmax, F.gumbel_softmax, tensor(5, 6), seeded=True, tau=0.7, hard=hard, dim=0)


@pytest.mark.parametrize("size", [1, 3, 7, (5,), None])
def test_adaptive_max_pool(ours, size):
    if size is not None:
        same(ours.adaptive_max_pool1d, F.adaptive_max_pool1d, tensor(2, 3, 10), size, True)
        same(ours.AdaptiveMaxPool1d(size), torch.nn.AdaptiveMaxPool1d(size), tensor(3, 10))
    two = size if isinstance(size, int) else (4, None)
    same(ours.adaptive_max_pool2d, F.adaptive_max_pool2d, tensor(2, 3, 10, 9), two, True)
    same(ours.AdaptiveMaxPool2d(two), torch.nn.AdaptiveMaxPool2d(two), tensor(3, 8, 9))


@pytest.mark.parametrize("args", [(3,), (3, 2), (2, 1, 1), (3, 2, 1, 2), (3, 2, 1, 1, True), (3, 2, 1, 1, True, True), ((3,), (2,), (1,))])
def test_max_pool1d(ours, args):
    same(ours.MaxPool1d(*args), torch.nn.MaxPool1d(*args), tensor(2, 3, 11))
    same(ours.MaxPool1d(*args), torch.nn.MaxPool1d(*args), tensor(3, 11))


@pytest.mark.parametrize("args", [(2,), (3, 2), (3, 2, 1), ((2, 3, 1), (1, 2, 3), (1, 1, 0)), (3, 2, 1, True), (3, 2, 1, True, False),
                                  (3, 3, 1, False, False), (2, None, 0, False, True, 3), (2, 2, 1, True, True)])
def test_avg_pool3d(ours, args):
    same(ours.avg_pool3d, F.avg_pool3d, tensor(2, 3, 7, 8, 9), *args)
    same(ours.AvgPool3d(*args), torch.nn.AvgPool3d(*args), tensor(3, 7, 8, 9))


@pytest.mark.parametrize("p", [0.0, 0.5, 1.0, 2.0, 3.0, float("inf")])
def test_pdist(ours, p):
    same(ours.pdist, F.pdist, tensor(6, 4), p)
    twice = tensor(3, 4)
    if p >= 1:
        same(ours.pdist, F.pdist, torch.cat([twice, twice]), p)
    assert ours.pdist(tensor(1, 4)).shape == (0,)


@pytest.mark.parametrize("options", [{}, {"margin": 0.3, "p": 1}, {"swap": True}, {"reduction": "sum"}, {"reduction": "none"},
                                     {"reduce": False}, {"size_average": False}])
def test_triplet(ours, options):
    same(ours.triplet_margin_loss, F.triplet_margin_loss, tensor(5, 4), tensor(5, 4), tensor(5, 4), **options)


@pytest.mark.parametrize("options", [{}, {"swap": True, "margin": 0.2}, {"distance_function": lambda a, b: (a - b).abs().sum(-1)}])
def test_triplet_with_distance(ours, options):
    same(ours.triplet_margin_with_distance_loss, F.triplet_margin_with_distance_loss, tensor(5, 4), tensor(5, 4), tensor(5, 4), **options)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_losses(ours, reduction):
    target = torch.randint(0, 2, (5, 4)).double()
    same(lambda x: ours.multilabel_soft_margin_loss(x, target, reduction=reduction),
         lambda x: F.multilabel_soft_margin_loss(x, target, reduction=reduction), tensor(5, 4))
    weight = torch.rand(4, dtype=torch.float64)
    same(lambda x: ours.multilabel_soft_margin_loss(x, target, weight), lambda x: F.multilabel_soft_margin_loss(x, target, weight), tensor(5, 4))
    sign = torch.tensor([1, -1, 1, -1, -1])
    for margin in (0.0, 0.4):
        same(lambda a, b: ours.CosineEmbeddingLoss(margin, reduction=reduction)(a, b, sign),
             lambda a, b: torch.nn.CosineEmbeddingLoss(margin, reduction=reduction)(a, b, sign), tensor(5, 4), tensor(5, 4))
    labels = torch.tensor([[3, 0, -1, 1], [-1, 0, 1, 2], [0, 1, 2, 3], [2, -1, -1, -1], [1, 2, -1, 2]])
    same(lambda x: ours.MultiLabelMarginLoss(reduction=reduction)(x, labels),
         lambda x: torch.nn.MultiLabelMarginLoss(reduction=reduction)(x, labels), tensor(5, 4))
    same(lambda x: ours.MultiLabelMarginLoss()(x, labels[0]), lambda x: torch.nn.MultiLabelMarginLoss()(x, labels[0]), tensor(4))


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("options", [{}, {"include_last_offset": True}, {"padding_idx": 2}])
def test_embedding_bag(ours, mode, options):
    index = torch.tensor([1, 2, 4, 5, 4, 3, 2, 9])
    offsets = torch.tensor([0, 4, 4, 8] if "include_last_offset" in options else [0, 4, 4])
    same(lambda w: ours.embedding_bag(index, w, offsets, mode=mode, **options), lambda w: F.embedding_bag(index, w, offsets, mode=mode, **options),
         tensor(10, 3))
    if not options:
        same(lambda w: ours.embedding_bag(index.reshape(2, 4), w, mode=mode), lambda w: F.embedding_bag(index.reshape(2, 4), w, mode=mode),
             tensor(10, 3))


def test_embedding_bag_weights(ours):
    index, offsets = torch.tensor([1, 2, 4, 5]), torch.tensor([0, 3])
    same(lambda w, p: ours.embedding_bag(index, w, offsets, mode="sum", per_sample_weights=p),
         lambda w, p: F.embedding_bag(index, w, offsets, mode="sum", per_sample_weights=p), tensor(10, 3), tensor(4))
    with pytest.raises(NotImplementedError):
        ours.embedding_bag(index, tensor(10, 3), offsets, mode="mean", per_sample_weights=tensor(4))


@pytest.mark.parametrize("padding", [1, (1, 2, 0, 1, 2, 1), (0, 0, 1, 1, 0, 0)])
def test_padding(ours, padding):
    for x in (tensor(2, 3, 4, 5, 6), tensor(3, 4, 5, 6)):
        same(ours.ReplicationPad3d(padding), torch.nn.ReplicationPad3d(padding), x)
        same(ours.ReflectionPad3d(padding), torch.nn.ReflectionPad3d(padding), x)
    with pytest.raises(RuntimeError):
        ours.ReflectionPad3d(9)(tensor(1, 2, 3, 3, 3))


def test_rrelu(ours):
    same(ours.RReLU().eval(), torch.nn.RReLU().eval(), tensor(3, 4))
    x = -torch.ones(20000, dtype=torch.float64)
    y = -ours.RReLU(0.2, 0.6)(x)
    assert 0.2 <= y.min() < 0.21 and 0.59 < y.max() <= 0.6 and abs(y.mean() - 0.4) < 0.01
    z = x.clone()
    assert ours.RReLU(inplace=True).eval()(z) is z and z[0] == -(1 / 8 + 1 / 3) / 2


@pytest.mark.parametrize("rate", [0.0, 0.4, 3.0, 9.9, 10.0, 25.0, 600.0])
def test_poisson(ours, rate):
    """By the distribution: chi squared over the counts that are expected at least 20 times."""
    torch.manual_seed(0)
    count = 100000
    draws = ours.poisson(torch.full((count,), rate))
    assert draws.dtype == torch.float32 and (draws >= 0).all() and (draws == draws.floor()).all()
    k = torch.arange(int(rate + 10 * rate**0.5) + 3, dtype=torch.float64)
    expected = count * torch.exp(torch.special.xlogy(k, torch.tensor(rate, dtype=torch.float64)) - rate - torch.lgamma(k + 1))
    seen = torch.bincount(draws.long(), minlength=len(k))[:len(k)]
    known = expected >= 20
    if rate == 0:
        assert (draws == 0).all()
    else:
        freedom = int(known.sum())
        assert ((seen - expected)[known] ** 2 / expected[known]).sum() < freedom + 6 * (2 * freedom) ** 0.5


def test_poisson_of_shapes_and_types(ours):
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    again = torch.Generator().manual_seed(1)
    rates = torch.tensor([[0.0, 5.0], [50.0, 1e6]], dtype=torch.float16).clamp(max=6e4)
    draws = ours.poisson(rates, generator=generator)
    assert draws.shape == rates.shape and draws.dtype == torch.float16 and draws[0, 0] == 0
    assert torch.equal(draws, ours.poisson(rates, again))
    large = ours.poisson(torch.full((20000,), 1e6))
    assert abs(large.mean() - 1e6) < 50 and abs(large.double().std() - 1e3) < 50


@pytest.mark.parametrize("n", [1, 2, 7, 8])
def test_frequencies(ours, n):
    for dim in (None, 0, (0, 1), -1):
        same(ours.fftshift, torch.fft.fftshift, tensor(n, 5), dim)
        same(ours.ifftshift, torch.fft.ifftshift, tensor(n, 5), dim)
    for options in ({}, {"d": 0.25}, {"dtype": torch.float64}):
        for name in ("fftfreq", "rfftfreq"):
            torch.testing.assert_close(getattr(ours, name)(n, **options), getattr(torch.fft, name)(n, **options))


def test_every_function_is_tested_here_and_named(ours):
    import re

    text = pathlib.Path(__file__).read_text()
    for file in FOLDER.glob("*.py"):
        for api, name in re.findall(r"^# replaces (\S+)\n(?:def|class) (\w+)", file.read_text(), re.M):
            assert name in ours.__all__ and ("ours.%s" % name in text or '"%s"' % name in text), name
            assert api.split(".")[-1] == name
