"""Notes which operators the tests reach: the library traces its calls from the moment it is loaded."""
import os
import tempfile
from pathlib import Path


def pytest_configure(config):
    if "UPDRAFT_TRACE" not in os.environ:
        config.operator_trace = os.environ["UPDRAFT_TRACE"] = tempfile.mkstemp(prefix="updraft-ops-", suffix=".tsv")[1]


def pytest_unconfigure(config):
    if made := getattr(config, "operator_trace", None):
        os.environ.pop("UPDRAFT_TRACE", None)
        os.unlink(made)


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: item.path.name == "test_operators.py")  # last: it looks at what the others did


def pytest_collection_finish(session):
    """Whether this run is the whole folder: part of it says nothing about what is never reached."""
    here = Path(__file__).parent
    run = {item.path for item in session.items}
    session.config.whole_folder = all(p in run for p in here.glob("test_*.py")) and not (
        session.config.option.keyword or session.config.option.markexpr or any("::" in a for a in session.config.args))
