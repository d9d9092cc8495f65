"""OpInfo, npu against cpu. float32 forward always (of optimizers every third); with UPDRAFT_TEST_LONG=1 the other dtypes and backward.

Fails when an entry fails that the list of known failures lacks, and when a listed entry passes: the lists only shrink."""
import os
from pathlib import Path

import pytest

from . import lists, report, run

ROOT = Path(__file__).resolve().parents[3]
# The percentages of entries that need tier 1 at most (issue 3, section 4).
FLOOR = {("op", "float32", "forward"): 97.0, ("op", "float32", "backward"): 95.0}


@pytest.mark.limit(3600)
@pytest.mark.parametrize("suite,dtype,direction", run.ROWS + [pytest.param(*p, marks=pytest.mark.long) for p in run.LONG_ROWS])
def test_opinfo(device, suite, dtype, direction):
    file = ROOT / "build" / f"opinfo_{suite}_{dtype}_{direction}.json"
    # an optimizer takes 8 s: all of them in the long form
    part = ["--shard", "0/3"] if suite == "optim" and os.environ.get("UPDRAFT_TEST_LONG") != "1" else []
    section, = run.execute(["--device", device, "--suite", suite, "--dtypes", dtype, "--direction", direction, "--report", str(file),
                            "--timeout", "600", *part])
    new, passing = report.against_list(section)
    known = lists.known_file(suite, dtype, direction).name
    assert not new, f"{len(new)} new failures:\n" + "\n".join(f"  {name}: {why}" for name, why in new.items())
    assert device == "cpu" or not passing, f"these pass now, take them from {known} (or run with --update): {passing}"
    percent = section["tier1"]["entries_ok_percent"]
    assert percent is None or percent >= FLOOR.get((suite, dtype, direction), 0), f"{percent} % of tier <= 1"
    if device == "npu" and not part:
        computed = sum(e["by"] == "updraft" and e["status"] == "ok" for e in section["entries"])
        before = report.published().get(f"{suite} {dtype} {direction}")
        before = before["by"].get("updraft", 0) if before else 0
        assert computed >= before, f"Updraft computes {computed} entries, {before} when the page was written; --publish shows which"


@pytest.mark.limit(300)
@pytest.mark.skipif("UPDRAFT_STRICT" in os.environ, reason="all of it runs in this mode")
@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_a_sample_by_default(device, direction):
    """Every eighth entry with two samples, as a user runs it: not strict, and small tasks in the thread that submits them."""
    section, = run.execute(["--device", device, "--direction", direction, "--shard", "3/8", "--max-samples", "2", "--timeout", "100",
                            "--report", str(ROOT / "build" / f"opinfo_default_{direction}.json")])
    new, _ = report.against_list(section)
    assert not new, "\n".join(f"{name}: {why}" for name, why in new.items())
    assert section["all"]["entries"]["ok"] > 50
