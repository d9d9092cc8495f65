"""Functions that succeed and do nothing say so: a mark at the definition (src/base/accepted.h), and a reason."""

import re

import pytest

import contract
from conftest import ROOT

# Where the C interface is defined.
FOLDERS = ("src/acl", "src/aclnn", "src/hccl", "src/observe")
IDLE = re.compile(r"\b(\w+)\([^()]*(?:\([^()]*\)[^()]*)*\)\s*\{\s*return (?:0|kHcclSuccess|kOk|code::kOk);\s*\}")


def idle_functions(text):
    """Names of the functions whose body is nothing but a success."""
    return IDLE.findall(text)


@pytest.fixture(scope="module")
def marked(lib_dir):
    return contract.accepted(lib_dir / "libupdraft.so")


def test_every_idle_function_is_marked(marked):
    found = {name: path.relative_to(ROOT) for folder in FOLDERS for path in (ROOT / folder).rglob("*.cpp")
             for name in idle_functions(path.read_text(encoding="utf-8"))}
    assert found, "the pattern finds nothing any more"
    unmarked = {name: str(path) for name, path in found.items() if name not in marked}
    assert unmarked == {}, "these succeed and do nothing: implement or refuse, or give them ACCEPTED and the reason"


def test_marks_are_of_exported_functions(marked, implemented, libraries):
    strong, _ = implemented
    known = {name for library in libraries for name in library.names}
    assert set(marked) <= strong & known
    for name, (reason, chinese) in marked.items():
        assert len(reason) > 15 and not reason.endswith("."), name
        assert re.search(r"[\u4e00-\u9fff]", chinese), name


def test_the_pattern_finds_what_it_should():
    assert idle_functions("ACL_API aclrtX(void*, size_t) { return 0; }") == ["aclrtX"]
    assert idle_functions("ACL_API M(uint32_t, int (*)(uint32_t, void*)) {\n  return 0;\n}") == ["M"]
    assert idle_functions("ACL_API aclrtX(int a) { return guard(a); }") == []


def test_what_only_refuses_is_not_listed_as_implemented(lib_dir, implemented, libraries):
    refused = contract.refused(lib_dir / "libupdraft.so")
    strong, _ = implemented
    known = {name for library in libraries for name in library.names}
    assert "aclmdlLoadFromFileWithQ" in refused and refused <= strong & known
    lines = (ROOT / "docs/reference/support.md").read_text(encoding="utf-8").splitlines()
    for name in refused:
        assert all(line.startswith("Not yet") for line in lines if f"`{name}`" in line), name
