"""Programs in a process of their own: for what an environment variable decides at start, and for what may go wrong."""
import os
import subprocess
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def environment(**more):
    changed = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONFAULTHANDLER": "1"}
    changed.update(more)
    return changed


def python(code, timeout=90, status=0, **env):
    """Runs code; checks the exit status (None: any that is no signal) and returns stdout with stderr behind it."""
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], cwd=ROOT, env=environment(**env), timeout=timeout,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    text = done.stdout + done.stderr
    assert done.returncode >= 0, f"killed by signal {-done.returncode}\n{text[-4000:]}"
    assert status is None or done.returncode == status, f"status {done.returncode}\n{text[-4000:]}"
    return text


def start(code, **env):
    """Begins code without waiting."""
    return subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], cwd=ROOT, env=environment(**env), stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True)
