"""OpInfo, npu against cpu. float32 forward always; with UPDRAFT_TEST_LONG=1 the other dtypes and backward.

Fails when an entry fails that the list of known failures lacks, and when a listed entry passes: the lists only shrink."""
import os
from pathlib import Path

import pytest

from . import lists, report, run

LONG = pytest.mark.skipif(os.environ.get("UPDRAFT_TEST_LONG") != "1", reason="long: UPDRAFT_TEST_LONG=1")
ROOT = Path(__file__).resolve().parents[3]
# The percentages of entries that need tier 1 at most (issue 3, section 4).
FLOOR = {("op", "float32", "forward"): 97.0, ("op", "float32", "backward"): 95.0}

PLANS = [("op", "float32", "forward"), ("module", "float32", "forward"), ("optim", "float32", "forward")]
LONG_PLANS = [("op", dtype, "forward") for dtype in ("float16", "bfloat16", "int64", "bool")]
LONG_PLANS += [("op", dtype, "backward") for dtype in ("float32", "float16", "bfloat16")] + [("module", "float32", "backward")]


@pytest.mark.limit(3600)
@pytest.mark.parametrize("suite,dtype,direction", PLANS + [pytest.param(*p, marks=LONG) for p in LONG_PLANS])
def test_opinfo(device, suite, dtype, direction):
    file = ROOT / "build" / f"opinfo_{suite}_{dtype}_{direction}.json"
    section, = run.execute(["--device", device, "--suite", suite, "--dtypes", dtype, "--direction", direction, "--report", str(file),
                            "--timeout", "600"])
    new, passing = report.against_list(section)
    known = lists.known_file(suite, dtype, direction).name
    assert not new, f"{len(new)} new failures:\n" + "\n".join(f"  {name}: {why}" for name, why in new.items())
    assert device == "cpu" or not passing, f"these pass now, take them from {known} (or run with --update): {passing}"
    percent = section["tier1"]["entries_ok_percent"]
    assert percent is None or percent >= FLOOR.get((suite, dtype, direction), 0), f"{percent} % of tier <= 1"
