"""The same bits from run to run, and, but for what oneDNN divides by threads, for every number of threads; with
torch.use_deterministic_algorithms for that, too."""
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("determinism.py")
# oneDNN's weight gradients and products with a long inner dimension add up partial sums of the threads.
BY_THREADS = ("conv", "linear", "matmul", "bmm")


def hashes(threads, *options):
    done = subprocess.run([sys.executable, "-W", "ignore", str(SCRIPT), *options], capture_output=True, text=True, timeout=200,
                          env=dict(os.environ, UPDRAFT_THREADS=str(threads)))
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


def differing(one, other):
    assert one.keys() == other.keys() and len(one) > 100
    return [name for name in one if one[name] != other[name]]


@pytest.fixture(scope="module")
def two_threads():
    return hashes(2)


@pytest.mark.limit(300)
def test_the_same_from_run_to_run(two_threads):
    assert differing(two_threads, hashes(2)) == []


@pytest.mark.limit(300)
def test_only_what_onednn_divides_depends_on_the_threads(two_threads):
    for threads in (1, 3):
        assert [name for name in differing(two_threads, hashes(threads)) if not name.startswith(BY_THREADS)] == []


@pytest.mark.limit(300)
def test_deterministic_algorithms_do_not_depend_on_the_threads():
    assert differing(hashes(1, "strict"), hashes(3, "strict")) == []
