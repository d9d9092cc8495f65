"""The kernels of lesser CPUs compute what those of this one do: the tests of types that have loops of their own for each instruction set,
with UPDRAFT_MAX_ISA, and without the tiles of AMX."""
import os
import subprocess
import sys

import pytest

HERE = os.path.dirname(__file__)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("setting", ["UPDRAFT_MAX_ISA=v2", "UPDRAFT_MAX_ISA=v3", "ONEDNN_MAX_CPU_ISA=AVX512_CORE"])  # the last: without AMX
def test_halves(setting):
    files = [os.path.join(HERE, name) for name in ("test_halves.py", "test_matmul_half.py")]
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *files], capture_output=True, text=True,
                          env=dict(os.environ, **dict([setting.split("=")])), timeout=280)
    assert done.returncode == 0, done.stdout[-4000:]
    assert " passed" in done.stdout and "skipped" not in done.stdout, done.stdout[-400:]
