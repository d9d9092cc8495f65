"""Runs programs on the installed Updraft, in folders of their own."""

import csv
import json
import os
import pathlib
import subprocess
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[2]
UPDRAFT = pathlib.Path(sys.executable).with_name("updraft")


def environment(**more):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PROFILING_", "PROFILER_"))}
    return {**env, "PYTHONPATH": str(ROOT / "tests"), **{k: str(v) for k, v in more.items()}}


def run(*command, timeout=120, status=0, **env):
    """Runs `updraft run COMMAND`; checks the exit status (None: any) and gives stdout with stderr behind it."""
    done = subprocess.run([str(UPDRAFT), "run", *map(str, command)], env=environment(**env), text=True, capture_output=True, timeout=timeout)
    text = done.stdout + done.stderr
    assert status is None or done.returncode == status, "status %d\n%s" % (done.returncode, text[-4000:])
    return text


def python(code, *arguments, **options):
    return run(sys.executable, "-c", textwrap.dedent(code), *arguments, **options)


def table(folder, name):
    """The rows of the one file of that name (without time and ending), as dictionaries."""
    found = [p for p in pathlib.Path(folder).rglob("*.csv") if p.name.startswith(name) and not p.name[len(name):].strip("_0123456789.csv")]
    assert len(found) == 1, "%s: %s" % (name, found)
    with open(found[0], newline="") as file:
        return [{k: v.strip("\t") if isinstance(v, str) else v for k, v in row.items()} for row in csv.DictReader(file)]


def timeline(folder):
    found = list(pathlib.Path(folder).rglob("msprof_*.json"))
    assert len(found) == 1, found
    return json.loads(found[0].read_text())
