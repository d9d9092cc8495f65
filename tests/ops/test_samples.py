"""Every operator whose descriptor or class says how a call looks (SAMPLE) is called so through the C ABI: with tensors side
by side and apart, twice, against PyTorch's CPU in float64 where references.py has words for it."""
import re
from pathlib import Path

import pytest
import torch

import references
from samples import Case, operators, sampled, signed, special

UNSAMPLED = Path(__file__).with_name("unsampled.txt")
UNCOMPARED = Path(__file__).with_name("uncompared.txt")
NARROW = Path(__file__).with_name("narrow.txt")


def flat(written):
    return [t for v in written.values() for t in (v if isinstance(v, list) else [v])]


def check(name, got, wanted):
    written = list(got.values())
    assert len(written) == len(wanted), f"{len(written)} outputs, the reference gives {len(wanted)}"
    for output, want in zip(written, wanted):
        if want is None:
            continue
        outputs, wants = (output, want) if isinstance(output, list) else ([output], [want])
        assert len(outputs) == len(wants)
        for o, w in zip(outputs, wants):
            assert list(o.shape) == list(w.shape), f"{list(o.shape)}, want {list(w.shape)}"
            loose = {torch.float16: 2e-3, torch.bfloat16: 2e-2}.get(o.dtype, 2e-5)
            torch.testing.assert_close(o, w.to(o.dtype), rtol=loose, atol=loose, equal_nan=True)


@pytest.mark.parametrize("name", sampled())
def test_sample(name):
    case = Case(name)
    wanted = (function := references.find(name)) and function(*case.read())
    plain, again, apart = case.run(), case.run(), case.run(strided=True)
    for a, b in zip(flat(plain), flat(again), strict=True):
        assert torch.equal(a.reshape(-1).view(torch.uint8), b.reshape(-1).view(torch.uint8)), "two runs differ"
    if wanted is not None:
        check(name, plain, wanted)
        check(name, apart, wanted)
        return
    for a, b in zip(flat(plain), flat(apart), strict=True):
        assert torch.isfinite(a).all()
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-5)


def kinds_of_numbers():
    """{operator: "positive" or "finite"} of those that are not called with every number"""
    return dict(line.split("#")[0].split() for line in NARROW.read_text().splitlines() if not line.startswith("#"))


def test_numbers_that_are_left_out_have_a_reason():
    lines = [line for line in NARROW.read_text().splitlines() if not line.startswith("#")]
    assert all(line.partition("#")[2].strip() for line in lines) and lines == sorted(lines)
    assert not set(kinds_of_numbers()) - set(sampled()) and set(kinds_of_numbers().values()) <= {"positive", "finite"}


@pytest.mark.parametrize("name", [n for n in sampled() if references.find(n) and kinds_of_numbers().get(n) != "positive"])
def test_sample_of_corners(name):
    """With negative numbers and zeros of both signs among the others, and infinities and NaN: the usual 0.1 to 0.9 do not tell Abs
    or Relu from Copy."""
    for seed in range(2):
        case = Case(name, seed=seed, draw=signed if kinds_of_numbers().get(name) == "finite" else special)
        wanted = references.find(name)(*case.read())
        check(name, case.run(strided=seed == 1), wanted)


def texts():
    """(operator, text of it) of all that have a sample"""
    return [(name, p["name"]) for name in sampled() for p in operators()[name]["parameters"] if p["type"] == "Text"]


@pytest.mark.parametrize("name,text", texts())
def test_a_text_that_is_null(name, text):
    """It is what is usual, or refused with its name; the process lives on."""
    case = Case(name)
    case.values[[p["name"] for p in case.parameters].index(text)] = None
    try:
        case.run()
    except RuntimeError as e:
        assert re.search(r": 16100[12]: ", str(e)), e


def test_differences_are_seen():
    case = Case("aclnnAdd")
    self, other, alpha = case.read()
    right = self + alpha * other
    check("aclnnAdd", case.run(), (right,))
    for wrong in (right + 1e-3, right[:, :-1]):
        with pytest.raises(AssertionError):
            check("aclnnAdd", case.run(), (wrong,))


def compare_list(path, present, remedy):
    listed = set(path.read_text().split())
    assert not sorted(present - listed), remedy
    assert not sorted(listed - present), f"remove these from {path.name}, which may only shrink"


def test_operators_without_sample_are_listed():
    compare_list(UNSAMPLED, set(operators()) - set(sampled()), "say by SAMPLE in the operator's file how a call looks")


def test_operators_without_reference_are_listed():
    compare_list(UNCOMPARED, {n for n in sampled() if not references.find(n)}, "give these words in references.py")
