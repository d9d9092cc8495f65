import pytest


@pytest.fixture
def folder(tmp_path):
    """Where a program's dump goes: it must be there before."""
    made = tmp_path / "dump"
    made.mkdir()
    return made
