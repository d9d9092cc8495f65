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


@pytest.mark.parametrize("library, name", [("libacl_dvpp.so", "aclvdecCreateChannel"), ("libacl_dvpp_mpi.so", "hi_mpi_sys_init")])
def test_what_is_absent_names_itself(library, name):
    code = ("import ctypes, sys; lib = ctypes.CDLL(sys.argv[1]); acl = ctypes.CDLL('libascendcl.so')\n"
            "acl.aclGetRecentErrMsg.restype = ctypes.c_char_p\n"
            "print(getattr(lib, sys.argv[2])(None), acl.aclGetRecentErrMsg().decode())")
    text = good(run(sys.executable, "-c", code, library, name))
    assert text.startswith("200001 ") and "%s is not implemented" % name in text, text
