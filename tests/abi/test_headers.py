"""Each public header compiles alone, as C and as C++."""

import pathlib
import shutil
import subprocess

import pytest

INCLUDE = pathlib.Path(__file__).resolve().parents[2] / "include"
HEADERS = sorted(str(path.relative_to(INCLUDE)) for path in INCLUDE.rglob("*.h"))
CXX_ONLY = ("ge/", "graph/", "parser/")  # interfaces that are C++ by nature


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


@pytest.mark.skipif(not shutil.which("gcc"), reason="no gcc")
def test_operator_headers(lib_dir):
    """The generated headers compile as C and as C++ and describe every operator and parameter."""
    folder = lib_dir.parent / "include" / "aclnnop"
    assert folder.is_dir(), "the tree has no operator headers: build all (ninja), they are made by updraft_describe"
    headers = sorted(folder.glob("aclnn_*.h"))
    assert len(headers) > 400
    for language, standard in (("c", "c11"), ("c++", "c++17")):
        source = "".join(f"#include <aclnnop/{header.name}>\n" for header in headers)
        done = subprocess.run(["gcc", "-x", language, f"-std={standard}", "-fsyntax-only", "-Wall", "-Wextra", "-Werror",
                               f"-I{folder.parent}", "-"], input=source, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    text = (folder / "aclnn_add.h").read_text()
    assert "out = self + alpha * other" in text and "@param self [in]" in text and "@param out [out]" in text
    assert "@param selfRef [in, out]" in text
    for header in headers:
        for comment in header.read_text().split("/**\n")[1:]:
            assert not comment.startswith(" * @param"), f"{header.name}: an operator has no summary"


def test_there_are_headers():
    assert {"acl/acl.h", "aclnn/acl_meta.h", "hccl/hccl.h"} <= set(HEADERS)
