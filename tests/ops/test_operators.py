"""Every operator is reached by some test of this folder, but for those that unreached.txt lists; it may only shrink."""
import os
import re
from pathlib import Path

import pytest

HERE = Path(__file__).parent
TABLE = HERE.parents[1] / "docs" / "reference" / "operators.md"


def test_every_operator_is_reached(request):
    if not request.config.whole_folder:
        pytest.skip("only part of tests/ops runs")
    operators = set(re.findall(r"^\| (acl\w+) \|", TABLE.read_text(), re.M))
    assert len(operators) > 600
    with open(os.environ["UPDRAFT_TRACE"]) as trace:
        fields = [line.split("\t") for line in trace]
    reached = {f[2] for f in fields if len(f) > 3 and f[3] == "0"}
    allowed = set((HERE / "unreached.txt").read_text().split())
    assert not sorted(operators - reached - allowed), "no test reaches these: compare them with PyTorch"
    assert not sorted(allowed & reached), "these are reached now: remove them from unreached.txt"
    assert not sorted(allowed - operators), "these are no operators"
