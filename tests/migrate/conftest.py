"""The installed tool, run as its users run it."""

import os
import pathlib
import subprocess
import sys

import pytest

import updraft
from warm import Warm

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def tree():
    return pathlib.Path(updraft.home())


@pytest.fixture(scope="session")
def tool(tree):
    """tool(*arguments, **subprocess options): the finished process."""

    def run(*arguments, status=0, **options):
        env = dict(os.environ, UPDRAFT_LANG="en")
        done = subprocess.run([str(tree / "bin" / "updraft-migrate"), *map(str, arguments)], capture_output=True, timeout=120,
                              env=env, **options)
        if status is not None:
            assert done.returncode == status, (done.returncode, done.stdout[-2000:], done.stderr[-2000:])
        return done

    return run


@pytest.fixture(scope="session")
def warm():
    """warm.run(script, *arguments, cwd=…): a script with torch and torch_npu imported already (warm.py)."""
    warm = Warm()
    yield warm
    warm.close()


@pytest.fixture
def rewrite(tool):
    """One source as text, through standard input."""

    def run(text, *arguments):
        return tool("-", *arguments, input=text.encode() if isinstance(text, str) else text).stdout.decode()

    return run
