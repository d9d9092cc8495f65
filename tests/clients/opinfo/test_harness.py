"""The harness itself: that it sees what is wrong, forgives only rounding, and outlives its workers. Needs no device."""
import argparse
import re

import pytest
import torch

from . import compare, pool, report
from .moving import Mover
from .suites import entries
from .worker import Runner


def options(tmp_path, **more):
    return argparse.Namespace(device="cpu", suite="op", jobs=2, timeout=3, max_samples=0, log=tmp_path / "log",
                              worker="tests.clients.opinfo.fake_worker", **more)


def test_workers_that_die_hang_or_lose_their_device_are_replaced(tmp_path):
    names = ["good1", "crash", "hang", "poison", "allcrash", "fork", "good2"]
    results = pool.run(options(tmp_path), names, "float32", "forward")
    verdicts = {n: report.verdict(results[n], {}) for n in names}
    assert verdicts == {"good1": "ok", "crash": "crash", "hang": "timeout", "poison": "ok", "allcrash": "crash", "fork": "crash", "good2": "ok"}
    assert [s["status"] for s in results["crash"].samples] == ["ok", "crash", "ok"]
    assert [s["status"] for s in results["poison"].samples] == ["ok", "ok", "ok"]
    assert [s["status"] for s in results["hang"].samples] == ["ok", "timeout"]


@pytest.mark.parametrize("actual", [torch.tensor([1.0, 2.1]), torch.tensor([1.0, float("nan")]), torch.tensor([1.0, float("inf")]),
                                    torch.tensor([1.0, 2.0], dtype=torch.float64), torch.tensor([[1.0, 2.0]]), (torch.ones(1), torch.ones(1)), 1.0])
def test_wrong_results_are_seen(actual):
    with pytest.raises(compare.Wrong):
        compare.close("add", torch.tensor([1.0, 2.0]), actual, "forward")


def test_special_values_match():
    x = torch.tensor([float("nan"), float("inf"), -float("inf"), 0.0])
    compare.close("add", x, x.clone(), "forward")
    assert compare.mismatch(x, -x, 0.1, 0.1) == float("inf")
    with pytest.raises(compare.Wrong):
        compare.close("add", torch.tensor([2**62 + 1]), torch.tensor([2**62]), "forward")


def test_only_rounding_is_forgiven():
    exact = torch.tensor([1.0, 1000.0], dtype=torch.float64)
    cpu = exact.float()
    wide = torch.float64
    assert compare.as_exact(exact, cpu, cpu + torch.tensor([1e-6, 0]), wide)
    assert not compare.as_exact(exact, cpu, cpu * 1.001, wide)
    assert compare.as_exact(exact, cpu, cpu * 1.001, torch.float16) and not compare.as_exact(exact, cpu, cpu * 1.01, torch.float16)
    assert not compare.as_exact(exact, cpu, torch.tensor([float("nan"), 1000.0]), torch.float16)
    # 70000 is infinite in float16; -infinity is another value
    big = torch.tensor([70000.0], dtype=torch.float64)
    half = torch.tensor([float("inf")], dtype=torch.float16)
    assert compare.as_exact(big, half, half, wide) and not compare.as_exact(big, half, -half, wide)


def test_equal_keys_may_come_in_any_order():
    keys, stable = torch.tensor([2, 1, 1, 3]), torch.tensor([1, 2, 0, 3])
    assert compare.same_choice(keys, 0, stable, torch.tensor([2, 1, 0, 3]))
    assert not compare.same_choice(keys, 0, stable, torch.tensor([0, 1, 2, 3]))  # not in order
    assert not compare.same_choice(keys, 0, stable, torch.tensor([1, 1, 0, 3]))  # one twice
    assert not compare.same_choice(keys, 0, stable, torch.tensor([1, 4, 0, 3]))
    assert compare.same_choice(torch.tensor(5), -1, torch.tensor(0), torch.tensor(0))


def test_gradients_of_equal_keys_may_be_exchanged():
    keys, gradient = torch.tensor([2.0, 1, 1, 3]), torch.tensor([5.0, 6, 7, 8])
    assert compare.same_but_for_ties(keys, 0, gradient, torch.tensor([5.0, 7, 6, 8]))
    assert not compare.same_but_for_ties(keys, 0, gradient, torch.tensor([6.0, 5, 7, 8]))  # of different keys
    assert not compare.same_but_for_ties(keys, 0, gradient, torch.tensor([5.0, 7, 7, 8]))
    assert compare.same_but_for_ties(keys[None], 1, gradient[None], torch.tensor([[5.0, 7, 6, 8]]))
    assert not compare.same_but_for_ties(keys[None], 0, gradient[None], torch.tensor([[5.0, 7, 6, 8]]))  # along the other dimension


def test_distributions():
    draw = lambda make, seed: [(torch.manual_seed(seed + n), make())[1] for n in range(48)]
    x = torch.ones(40)
    drop = lambda p, scale=1.0: (lambda: torch.nn.functional.dropout(x, p) * scale)
    compare.distribution("nn.functional.dropout", draw(drop(0.5), 0), draw(drop(0.5), 1000))
    compare.distribution("cauchy", draw(lambda: torch.empty(40).cauchy_(), 0), draw(lambda: torch.empty(40).cauchy_(), 1000))
    for wrong in (drop(0.3), drop(0.5, 0.5), lambda: x.clone()):
        with pytest.raises(compare.Wrong):
            compare.distribution("nn.functional.dropout", draw(drop(0.5), 0), draw(wrong, 1000))


def test_a_random_operator_is_found_by_a_second_seed():
    class Case:
        def __init__(self, spread):
            self.spread = spread

        def run(self, device, precise=False):
            return torch.rand(50) * (self.spread if device == "meta" else 1.0)

    runner = Runner("cpu", "forward")
    assert runner.check("rand", Case(1.0))[0] == "ok"
    runner.device = "meta"  # only a word by which this case knows that it is the device
    assert runner.check("rand", Case(0.8))[0] == "wrong"


def test_moving_keeps_strides_and_sharing():
    base = torch.arange(24.0).reshape(4, 6)
    view, expanded = base.t()[1:4, ::2], torch.ones(1, 3).expand(5, 3)
    a, b, c, twice = Mover("cpu")((base, view, expanded, base))
    assert a is twice and a is not base and b.stride() == view.stride() and b.storage_offset() == view.storage_offset()
    assert torch.equal(b, view) and c.stride() == (0, 1)
    a.zero_()
    assert b.sum() == 0 and base.sum() > 0  # shared among the copies, apart from the sample
    high, dtype = Mover("cpu", precise=True)((view, torch.float16))
    assert high.dtype == torch.float64 and dtype == torch.float64


def test_the_database_sets_no_seeds():
    case = next(iter(entries("op")["randn"].cases(torch.float32, "forward")))
    runner = Runner("cpu", "forward")
    assert not compare.identical(runner.on_cpu(case, 1), runner.on_cpu(case, 2))
    assert compare.identical(runner.on_cpu(case, 1), runner.on_cpu(case, 1))


def test_only_the_listed_difference_is_accepted():
    rule = re.compile("result 1: (dtype torch.int32 instead of torch.int64|shape .* instead of .*)")
    value, index = torch.ones(2), torch.tensor([3, 4])
    kept, expected, actual = compare.settle((value, index), (value, index.int()), rule)
    assert kept == [0, 1]
    compare.close("pool", expected, actual, "forward")
    _, expected, actual = compare.settle((value, index), (value, index.int() + 1), rule)
    with pytest.raises(compare.Wrong):  # another dtype excuses no other value
        compare.close("pool", expected, actual, "forward")
    assert compare.settle((value, index), (value, index[:1]), rule)[0] == [0]
    _, expected, actual = compare.settle((index, value), (index.int(), value), rule)
    with pytest.raises(compare.Wrong):
        compare.close("pool", expected, actual, "forward")
