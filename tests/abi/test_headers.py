"""Each public header compiles alone, as C and as C++."""

import pathlib
import shutil
import subprocess

import pytest

INCLUDE = pathlib.Path(__file__).resolve().parents[2] / "include"
HEADERS = sorted(str(path.relative_to(INCLUDE)) for path in INCLUDE.rglob("*.h"))
CXX_ONLY = ("ge/", "graph/")  # interfaces that are C++ by nature


def compile_alone(header, language, standard):
    return subprocess.run(["gcc", "-x", language, f"-std={standard}", "-fsyntax-only", "-Wall", "-Wextra", "-Werror",
                           f"-I{INCLUDE}", "-"], input=f"#include <{header}>\n", capture_output=True, text=True)


@pytest.mark.skipif(not shutil.which("gcc"), reason="no gcc")
@pytest.mark.parametrize("language,standard", [("c", "c11"), ("c++", "c++17")])
@pytest.mark.parametrize("header", HEADERS)
def test_header_compiles_alone(header, language, standard):
    if language == "c" and header.startswith(CXX_ONLY):
        pytest.skip("C++ only")
    done = compile_alone(header, language, standard)
    assert done.returncode == 0, done.stderr


def test_there_are_headers():
    assert {"acl/acl.h", "aclnn/acl_meta.h", "hccl/hccl.h"} <= set(HEADERS)
