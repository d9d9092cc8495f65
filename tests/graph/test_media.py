"""Pictures (DVPP) through pyACL: decoded, encoded, resized, cropped and converted as Pillow, numpy and PyTorch do it."""

import pathlib
import re
import sys

import pytest

from tests.graph.test_pyacl import good, run

SCRIPT = pathlib.Path(__file__).parent / "media_programs.py"
NAMES = re.findall(r"^@program\ndef (\w+)", SCRIPT.read_text(), re.M)


@pytest.mark.parametrize("name", NAMES)
def test_pictures(name):
    assert good(run(sys.executable, SCRIPT, name)).endswith("good\n")
