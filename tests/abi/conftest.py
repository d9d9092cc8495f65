"""The libraries under test: UPDRAFT_LIB_DIR, else those of the installed package."""

import os
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "abi"))

import contract  # noqa: E402


@pytest.fixture(scope="session")
def libraries():
    return contract.read(ROOT / "abi")


@pytest.fixture(scope="session")
def lib_dir():
    folder = os.environ.get("UPDRAFT_LIB_DIR")
    if not folder:
        updraft = pytest.importorskip("updraft", reason="no installed package; set UPDRAFT_LIB_DIR")
        folder = updraft.library_dir()
    folder = pathlib.Path(folder)
    if not (folder / "libupdraft.so").exists():
        pytest.skip(f"no libupdraft.so in {folder}")
    return folder


@pytest.fixture(scope="session")
def implemented(lib_dir):
    """(what libupdraft.so implements, what it only has stubs for)"""
    return contract.library_symbols(lib_dir / "libupdraft.so")
