"""Graph operators that draw: what they draw obeys its rules, and what follows from it is right."""
import math

import pytest
import torch

from graph import call, const


def r(*shape, low=-2.0, high=2.0):
    return torch.rand(shape, generator=torch.Generator().manual_seed(sum(shape))) * (high - low) + low


@pytest.mark.parametrize("kind", ["FractionalMaxPool", "FractionalAvgPool"])
@pytest.mark.parametrize("how", [{}, {"pseudo_random": True}, {"overlapping": True}])
def test_windows_of_two_sizes(kind, how):
    images = r(2, 17, 20, 3)
    for seed in range(1, 6):
        y, rows, columns = call(kind, images, pooling_ratio=[1.0, 1.7, 1.44, 1.0], seed=seed, **how)
        assert y.shape == (2, 10, 13, 3) and all(torch.equal(a, b) for a, b in zip((y, rows, columns), call(kind, images, pooling_ratio=[1.0, 1.7, 1.44, 1.0], seed=seed, **how)))
        for at, size in ((rows, 17), (columns, 20)):
            assert at[0] == 0 and at[-1] == size and set(at.diff().tolist()) == {1, 2}
        more = int(how.get("overlapping", False))
        reduce = torch.amax if "Max" in kind else torch.mean
        want = torch.stack([torch.stack([reduce(images[:, a:b + more, c:d + more], (1, 2)) for c, d in zip(columns, columns[1:])], 1)
                            for a, b in zip(rows, rows[1:])], 1)
        torch.testing.assert_close(y, want)
    drawn = {tuple(call(kind, images, pooling_ratio=[1.0, 1.7, 1.44, 1.0], **how)[2].tolist()) for _ in range(6)}
    assert len(drawn) > 1
    with pytest.raises(RuntimeError, match="pooling_ratio"):
        call(kind, images, pooling_ratio=[1.0, 0.5, 1.44, 1.0])


@pytest.mark.parametrize("noise", ["uniform", "gaussian"])
def test_noise_around_a_glimpse(noise):
    images = r(1, 6, 5, 2, low=3.0, high=5.0)
    y, = call("ExtractGlimpse", images, const([60, 50]), torch.zeros(1, 2), uniform_noise=False, noise=noise)
    torch.testing.assert_close(y[:, 27:33, 22:27], images, rtol=0, atol=0)
    outside = torch.cat([y[:, :27].flatten(), y[:, 33:].flatten()])
    assert images.min() <= outside.min() and outside.max() <= images.max() and len(outside.unique()) > 1000
    assert abs(outside.mean() - images.mean()) < 0.2


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.float64])
def test_truncated_normal(dtype):
    y, = call("TruncatedNormal", const([200, 300]), dtype=dtype, seed=3)
    assert y.dtype == dtype and y.shape == (200, 300) and y.double().abs().max() <= 2
    assert abs(y.double().mean()) < 0.02 and abs(y.double().std() - 0.8796) < 0.01  # of the normal distribution between -2 and 2
    assert torch.equal(y, call("TruncatedNormal", const([200, 300]), dtype=dtype, seed=3)[0])
    assert not torch.equal(*(call("TruncatedNormal", const([200, 300]), dtype=dtype)[0] for _ in range(2)))


@pytest.mark.parametrize("kind", ["UniformCandidateSampler", "LogUniformCandidateSampler", "CustLogUniformCandidateSampler"])
def test_candidates(kind):
    log = "Log" in kind
    chance = lambda k: torch.log1p(1 / (k.double() + 1)) / math.log1p(50) if log else torch.full(k.shape, 1 / 50).double()  # noqa: E731
    classes = torch.tensor([[0, 49], [7, 3]])
    drawn, of_true, of_drawn = call(kind, classes, num_true=2, num_sampled=20000, unique=False, range_max=50, seed=5)
    counts = torch.bincount(drawn, minlength=50)
    expected = chance(torch.arange(50)) * 20000
    assert len(counts) == 50 and (counts - expected).abs().max() < 6 * expected.max() ** 0.5
    torch.testing.assert_close(of_true, (chance(classes) * 20000).float())
    torch.testing.assert_close(of_drawn, (chance(drawn) * 20000).float())
    drawn, of_true, of_drawn = call(kind, classes, num_true=2, num_sampled=50, unique=True, range_max=50, seed=5)
    assert drawn.sort().values.tolist() == list(range(50)) and (of_drawn <= 1).all() and (of_drawn > 0.5).all()
    torch.testing.assert_close(of_true.flatten(), torch.stack([of_drawn[drawn == k][0] for k in classes.flatten()]))
    with pytest.raises(RuntimeError, match="num_sampled is 51 and range_max 50"):
        call(kind, classes, num_true=2, num_sampled=51, unique=True, range_max=50)


def repeats(kind, *inputs, **attributes):
    """What it draws with these seeds, which is the same each time."""
    first, again = (call(kind, *inputs, **attributes) for _ in range(2))
    assert all(torch.equal(a, b) for a, b in zip(first, again))
    return first if len(first) > 1 else first[0]


def test_gamma_and_poisson():
    shape, alpha, beta = const([4000, 1]), torch.tensor([0.5, 2.0, 9.0]), torch.tensor([2.0])
    y = repeats("CustGamma", shape, alpha, beta, const(5), const(6))
    assert y.shape == (4000, 3)
    torch.testing.assert_close(y.mean(0), alpha / 2, rtol=0.06, atol=0)
    torch.testing.assert_close(y.var(0), alpha / 4, rtol=0.15, atol=0)
    mean = torch.tensor([0.5, 3.0, 40.0])
    y = repeats("CustPoisson", shape, mean, const(5), const(6))
    assert y.shape == (4000, 3) and y.dtype == torch.int32
    torch.testing.assert_close(y.double().mean(0), mean.double(), rtol=0.06, atol=0)
    torch.testing.assert_close(y.double().var(0), mean.double(), rtol=0.1, atol=0)
    y = repeats("CustRandomPoisson", const([20, 100]), mean, None, None, seed=3)
    assert y.shape == (20, 100, 3) and y.dtype == torch.int64
    torch.testing.assert_close(y.double().mean((0, 1)), mean.double(), rtol=0.08, atol=0)


def test_classes_by_weights():
    weights = torch.tensor([[1.0, 0.0, 3.0], [0.0, 2.0, 0.0]])
    y = repeats("CustMultinomial", weights, const(8000), None, None, seed=3)
    assert y.shape == (2, 8000) and y.dtype == torch.int32 and set(y[1].tolist()) == {1}
    assert not (y[0] == 1).any() and abs((y[0] == 2).double().mean() - 0.75) < 0.02
    y = repeats("CustRandomCategorical", (weights + 1).log(), const(8000), const(3), None, None)
    assert y.dtype == torch.int64 and abs((y[0] == 2).double().mean() - 4 / 7) < 0.02 and abs((y[1] == 1).double().mean() - 3 / 5) < 0.02
    with pytest.raises(RuntimeError, match="rows of weights"):
        call("CustMultinomial", weights[None], const(1), None, None)


def test_random_orders():
    x = r(50, 3)
    y = repeats("CustRandomShuffle", x, None, None, seed=3)
    assert not torch.equal(x, y) and torch.equal(x[x[:, 0].argsort()], y[y[:, 0].argsort()])
    assert torch.equal(call("CustRandomShuffle", torch.tensor(2.5), None, None)[0], torch.tensor(2.5))
    y, = call("CustRandperm", torch.tensor([30]), max_length=40, pad=-1, dtype=torch.int64)
    assert sorted(y[:30].tolist()) == list(range(30)) and y[:30].tolist() != list(range(30)) and y[30:].tolist() == [-1] * 10
    true = r(6, 7) > 0.5
    places, there = repeats("CustRandomChoiceWithMask", true, None, None, count=8, seed=3)
    assert there.all() and len({tuple(p) for p in places.tolist()}) == 8 and true[places[:, 0].long(), places[:, 1].long()].all()
    places, there = call("CustRandomChoiceWithMask", true, None, None, count=60)
    assert sorted(map(tuple, places[there].tolist())) == sorted(map(tuple, true.nonzero().tolist())) and not places[~there].any()


@pytest.mark.parametrize("kind, shape", [("CustDropout2D", (40, 50, 3, 3)), ("CustDropout3D", (40, 50, 2, 3, 3))])
def test_dropout_of_channels(kind, shape):
    x = r(*shape, low=0.5)
    y, mask = call(kind, x, keep_prob=0.7)
    kept = mask.flatten(2)
    assert mask.dtype == torch.bool and (kept.all(2) | ~kept.any(2)).all() and abs(kept.double().mean() - 0.7) < 0.04
    torch.testing.assert_close(y, x * mask / 0.7)


def test_distributions_with_long_tails():
    y = repeats("CustStandardLaplace", const([100, 200]), None, None, seed=3)
    assert abs(y.mean()) < 0.04 and abs(y.abs().mean() - 1) < 0.03 and abs(y.var() - 2) < 0.15
    y, = call("CustCauchy", size=[100, 200], sigma=2.0, median=3.0)
    assert y.shape == (100, 200) and abs(y.median() - 3) < 0.1 and abs((y < 1).double().mean() - 0.25) < 0.02 and abs((y > 5).double().mean() - 0.25) < 0.02


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_numbers_with_normal_logarithms(dtype):
    y, = call("CustLogNormalReverse", torch.zeros(300, 200, dtype=dtype), mean=0.5, std=0.25)
    logs = y.double().log()
    assert y.dtype == dtype and y.shape == (300, 200) and abs(logs.mean() - 0.5) < 0.01 and abs(logs.std() - 0.25) < 0.01
    assert not torch.equal(y, call("CustLogNormalReverse", torch.zeros(300, 200, dtype=dtype), mean=0.5, std=0.25)[0])
