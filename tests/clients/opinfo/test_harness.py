"""The harness itself: that it sees what is wrong, forgives only rounding, and outlives its workers. Needs no device."""
import argparse
import re

import pytest
import torch

from . import compare, lists, observed, pool, report, run
from .moving import Mover, Shake
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
    assert compare.as_exact(exact, cpu, cpu + torch.tensor([4e-7, 0]), [], wide)
    assert not compare.as_exact(exact, cpu, cpu * 1.001, [], wide)
    assert compare.as_exact(exact, cpu, cpu * 1.001, [], torch.float16) and not compare.as_exact(exact, cpu, cpu * 1.01, [], torch.float16)
    assert not compare.as_exact(exact, cpu, torch.tensor([float("nan"), 1000.0]), [], torch.float16)
    # 70000 is infinite in float16; -infinity is another value
    big = torch.tensor([70000.0], dtype=torch.float64)
    half = torch.tensor([float("inf")], dtype=torch.float16)
    assert compare.as_exact(big, half, half, [], wide) and not compare.as_exact(big, half, -half, [], wide)


def test_a_large_number_excuses_no_small_one():
    exact = torch.tensor([1.0, 1000.0], dtype=torch.float64)
    cpu = exact.bfloat16()
    for wrong in ([1.5, 1000.0], [0.0, 1000.0]):
        assert not compare.as_exact(exact, cpu, torch.tensor(wrong).bfloat16(), [], torch.bfloat16, "add", "backward")


def test_what_cancels_may_follow_its_terms():
    """1000 - 999.5 of bfloat16 numbers: a rounding of either moves the result by more than itself."""
    operands = torch.tensor([1000.0, -1000.0, 0.5]).bfloat16()
    exact = operands.double().sum().reshape(1)
    near = [Shake(n, torch.bfloat16)(operands.double(), torch.bfloat16).sum().reshape(1) for n in range(8)]
    ours = torch.tensor([2.5]).bfloat16()
    assert compare.as_exact(exact, exact.bfloat16(), ours, near, torch.bfloat16)
    assert not compare.as_exact(exact, exact.bfloat16(), ours, [], torch.bfloat16)
    assert not compare.as_exact(exact, exact.bfloat16(), torch.tensor([100.0]).bfloat16(), near, torch.bfloat16)


def test_what_operators_give_is_moved_as_well():
    """(x + 1000) - 1000: no operand says what is lost on the way."""
    lost = lambda x: (x + 1000) - 1000
    x = torch.tensor([0.001, 0.002], dtype=torch.float64)
    moved = []
    for n in range(8):
        with Shake(n, torch.float32) as shake:
            moved.append((lost(x) - x).abs().max().item())
    assert shake and 1e-5 < max(moved) < 3e-4


def test_names_alone_loosen_nothing():
    summing = ["mm", "sum", "nn.functional.linear", "addmm.decomposed", "masked.softmax", "linalg.pinv.singular", "scatter_reduce.sum"]
    plain = ["lgamma", "digamma", "polygamma.polygamma_n_1", "mvlgamma.mvlgamma_p_3", "signal.windows.hamming", "signal.windows.general_hamming",
             "meshgrid.variadic_tensors", "igamma", "cummax", "scatter_reduce.amax", "nn.functional.max_pool2d", "log_normal"]
    assert [n for n in summing if not compare.sums(n)] == [] and [n for n in plain if compare.sums(n)] == []
    known = entries("op")
    of_variants = {n.rpartition(".")[0] for n in known}
    assert sorted(n for n in compare.SUMMING if n not in known and n not in of_variants) == [], "names of no entry"


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


def test_roundings_of_small_numbers_are_no_distribution():
    draw = lambda small, dtype, seed: [(torch.manual_seed(seed + n), torch.cat([torch.randn(20), torch.randn(20) * small]).to(dtype))[1] for n in range(48)]
    compare.distribution("bmm", draw(1e-5, torch.float16, 0), draw(3e-5, torch.float16, 1000))
    for small, dtype in ((1e-2, torch.float16), (1e-5, torch.float32)):
        with pytest.raises(compare.Wrong, match="another variance"):
            compare.distribution("bmm", draw(small, dtype, 0), draw(3 * small, dtype, 1000))


def channels(p, scale=1.0, shape=(2, 3, 4, 4)):
    """What dropout2d does."""
    def draw():
        mask = (torch.rand(shape[:2]) >= p).float()[..., None, None].expand(shape)
        return torch.linspace(-2, 2, mask.numel()).reshape(shape) * mask * scale / (1 - p)
    return draw


def drawn(make, seed, runs=512):
    return [(torch.manual_seed(seed + n), make())[1] for n in range(runs)]


def test_masks_of_channels():
    """Few draws a run: Kolmogorov-Smirnov alone lets 0.4 pass for 0.5 here."""
    name = "nn.functional.dropout2d"
    compare.distribution(name, drawn(channels(0.5), 0), drawn(channels(0.5), 10_000))
    x = torch.linspace(-2, 2, 96).reshape(2, 3, 4, 4)
    alike = lambda: x * 2 * (torch.rand(1) >= 0.5).float()  # all channels together
    for wrong in (channels(0.4), channels(0.6), channels(0.5, 0.9), lambda: torch.nn.functional.dropout(x, 0.5), alike):
        with pytest.raises(compare.Wrong):
            compare.distribution(name, drawn(channels(0.5), 0), drawn(wrong, 10_000))


def test_masks_of_alpha_dropout():
    x = torch.linspace(-1, 2, 40).reshape(2, 4, 5)
    name, right = "nn.functional.feature_alpha_dropout.with_train", lambda p: lambda: torch.nn.functional.feature_alpha_dropout(x, p, True)
    compare.distribution(name, drawn(right(0.5), 0), drawn(right(0.5), 10_000))
    for wrong in (right(0.4), lambda: torch.nn.functional.dropout1d(x, 0.5)):
        with pytest.raises(compare.Wrong):
            compare.distribution(name, drawn(right(0.5), 0), drawn(wrong, 10_000))


def test_dropout_inside_of_an_operator():
    """As in attention: every result is a sum over a mask."""
    q, v = torch.linspace(-1, 1, 24).reshape(6, 4), torch.linspace(-1, 2, 32).reshape(8, 4)
    mixed = lambda p: lambda: torch.nn.functional.dropout((q @ v.t()).softmax(-1), p) @ v
    name = "nn.functional.scaled_dot_product_attention"
    compare.distribution(name, drawn(mixed(0.2), 0, 64), drawn(mixed(0.2), 10_000, 64))
    for wrong in (mixed(0.4), mixed(0.05), lambda: mixed(0.2)() * 0.8):
        with pytest.raises(compare.Wrong):
            compare.distribution(name, drawn(mixed(0.2), 0, 64), drawn(wrong, 10_000, 64))


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


def test_a_refusal_is_an_entrys_own():
    rule = lists.rules("refusal")[0]
    assert all(x["names"] for kind in ("refusal", "sample", "difference") for x in lists.rules(kind))
    assert lists.rule("refusal", rule["names"][0], f"RuntimeError: {rule['text']}") == rule["reason"]
    assert lists.rule("refusal", "add", f"RuntimeError: {rule['text']}") is None


def test_a_shake_keeps_gradients(device):  # in a fork: where autograd has run, no test forks any more
    case = next(iter(entries("op")["cov"].cases(torch.float32, "backward")))
    with Shake(0, torch.float32) as shake:
        assert all(g is not None for g in Runner("cpu", "backward").on_cpu(case, precise=shake))


def test_a_rule_may_hold_in_one_direction():
    text = "args=(Tensor[size=(0, 5)], 1.0)"
    assert lists.rule("sample", "cdist", text, "backward") and not lists.rule("sample", "cdist", text, "forward")


def test_who_computed():
    line = "7\t7\t{}\t{}\t1.0\tself=f32[2]"
    trace = "\n".join(line.format(*x) for x in [("aclrtMalloc", 0), ("aclnnAdd", 0), ("aclopCreateAttr", 0), ("aclnnMul", 561103),
                                                 ("aclopCompileAndExecute", 0), ("aclnnInplaceCopy", 0)]) + "\n7\t7\taclnn"
    assert observed.calls_of(trace, observed.OPERATOR) == ["aclnnAdd", "aclopCompileAndExecute", "aclnnInplaceCopy"]
    assert [observed.who(*x) for x in [(["aclnnAdd"], 0), (["aclnnAdd"], 1), (["aclnnInplaceCopy"], 1), (["aclnnInplaceCopy"], 0), ([], 1), ([], 0)]] == \
        ["updraft", "mixed", "cpu", "updraft", "cpu", "none"]
    assert [observed.who([], 0, copies) for copies in (0, 1, 2)] == ["none", "none", "cpu"]
    assert [observed.of_entry(x) for x in [["updraft", "none"], ["cpu"], ["cpu", "updraft"], ["none"], []]] == ["updraft", "cpu", "mixed", "none", ""]


def test_the_page_says_what_was_counted():
    rows = report.published()
    assert set(rows) <= {" ".join(row) for row in run.ROWS + run.LONG_ROWS}
    assert report.PAGE_FILE.read_text() == report.page(rows), "written by hand? python -m tests.clients.opinfo.run --publish"
    for row in rows.values():
        assert sum(row["by"].values()) == row["entries"]
