"""Programs with libraries of .venv-libraries, run on the CPU and on the NPU: what they print is compared."""
import json
import subprocess
import sys
from pathlib import Path

import pytest

from ..subproc import ROOT, environment

PROGRAMS = Path(__file__).parent / "programs"
LIBRARIES = ROOT / ".venv-libraries"


def needs(*names):
    """Skips where a library is missing, and says how it gets there."""
    missing = [n for n in names if not (LIBRARIES / n).is_dir()]
    return pytest.mark.skipif(bool(missing), reason=f"{', '.join(missing)}: ./dev test clients, or ./dev test all, installs it")


def run(program, device, folder, ranks=1, timeout=240, **options):
    """What rank 0 of programs/PROGRAM.py gives. `folder` is for its files."""
    result = folder / "result.json"
    command = [sys.executable, "-W", "ignore"]
    if ranks > 1:
        command += ["-m", "torch.distributed.run", f"--nproc_per_node={ranks}", "--standalone"]
    command += [str(PROGRAMS / f"{program}.py"), device, str(result), json.dumps(options)]
    # the CPU's run has no torch_npu, which some of these libraries use as soon as it is there
    more = {} if device == "npu" else {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=timeout,
                          env=environment(PYTHONPATH=f"{ROOT}:{LIBRARIES}", HF_HUB_OFFLINE="1", **more))
    assert done.returncode == 0, f"{program} {device} {options}: status {done.returncode}\n{done.stdout[-6000:]}"
    return json.loads(result.read_text())


def compare(got, want, tolerance):
    """Dictionaries of numbers and lists of them. Relative to the largest of a list, because gradients and losses may be near zero."""
    assert got.keys() == want.keys()
    for name in want:
        a, b = (v if isinstance(v, list) else [v] for v in (got[name], want[name]))
        assert len(a) == len(b), name
        largest = max(map(abs, b), default=0)
        assert all(abs(p - q) <= tolerance * largest for p, q in zip(a, b)), (name, a, b)
