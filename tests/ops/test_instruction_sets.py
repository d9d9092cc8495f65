"""The kernels of lesser CPUs compute what those of this one do: the tests of types that have loops of their own for each instruction set,
with UPDRAFT_MAX_ISA."""
import os
import subprocess
import sys

import pytest

HERE = os.path.dirname(__file__)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("isa", ["v2", "v3"])
def test_halves(isa):
    files = [os.path.join(HERE, name) for name in ("test_halves.py", "test_matmul_half.py")]
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *files], capture_output=True, text=True,
                          env=dict(os.environ, UPDRAFT_MAX_ISA=isa), timeout=280)
    assert done.returncode == 0, done.stdout[-4000:]
    assert " passed" in done.stdout and "skipped" not in done.stdout, done.stdout[-400:]
