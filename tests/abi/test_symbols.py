"""What clients ask for is there, what is optional is there only when it works."""

import glob
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

import contract

# dlopen and dlsym in a process of its own: prints, for each library, the names that do not resolve.
RESOLVE = """
import ctypes, json, os, sys
request = json.load(sys.stdin)
missing = {}
for path, names in request.items():
    library = ctypes.CDLL(path, mode=os.RTLD_LAZY | os.RTLD_LOCAL)
    missing[path] = [name for name in names if not hasattr(library, name)]
json.dump(missing, sys.stdout)
"""


def unresolved(request):
    done = subprocess.run([sys.executable, "-c", RESOLVE], input=json.dumps(request), capture_output=True, text=True,
                          timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def dynamic(path):
    """(DT_SONAME, DT_NEEDED, DT_FILTER) of a library."""
    text = subprocess.run(["readelf", "-dW", path], check=True, capture_output=True, text=True).stdout
    pick = lambda tag: re.findall(rf"\({tag}\).*\[(.*)\]", text)
    return (pick("SONAME") or [""])[0], pick("NEEDED"), pick("FILTER")


def test_contract_is_readable(libraries):
    assert {"libascendcl.so", "libopapi.so", "libhccl.so"} <= {library.soname for library in libraries}
    for library in libraries:
        assert list(library.names) == sorted(library.names)


def test_facades_name_themselves_and_need_the_library(libraries, lib_dir):
    for library in libraries:
        soname, needed, filtered = dynamic(lib_dir / library.soname)
        assert soname == library.soname
        assert needed == ["libupdraft.so"]
        assert filtered == []  # what dlopen maps for a filter is unknown to the unwinder


def test_required_names_resolve(libraries, lib_dir):
    request = {str(lib_dir / library.soname): library.having("required") for library in libraries}
    assert {path: names for path, names in unresolved(request).items() if names} == {}


def test_fallback_names_resolve_only_when_implemented(libraries, lib_dir, implemented):
    strong, weak = implemented
    request = {str(lib_dir / library.soname): library.having("fallback") for library in libraries}
    for path, missing in unresolved(request).items():
        names = set(request[path])
        assert not names & weak, f"{path}: stubs of optional names"
        assert names - set(missing) == names & strong, path


def test_facade_exports_are_the_contract(libraries, lib_dir, implemented):
    strong, _ = implemented
    for library in libraries:
        exported = set.union(*contract.library_symbols(lib_dir / library.soname))
        expected = set(library.having("required")) | (set(library.having("fallback")) & strong)
        assert exported == expected, library.soname


def test_what_is_implemented_is_in_the_contract(libraries, implemented):
    strong, weak = implemented
    known = {name for library in libraries for name in library.names}
    prefixes = re.compile(r"(acl|Hccl|Hcomm|Msprof|mstx|mspti|hal|rt)[A-Z_a-z]|_ZT?[VIS]?(NK?)?(2ge|4gert)")
    assert {name for name in strong if prefixes.match(name)} - known == set(), "add them to abi/*.toml"
    assert weak & known == {n for lib in libraries for n in lib.having("required")} - strong


def test_operators_have_both_functions(libraries, implemented):
    strong, _ = implemented
    for library in libraries:
        for table in library.operators:
            for operator in table.get("required", []) + table.get("fallback", []):
                first, second = contract.operator_functions(operator)
                assert (first in strong) == (second in strong), operator


# --- the pinned wheels


def wheel_folder(package):
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        pytest.skip(f"{package} is not installed")
    return pathlib.Path(list(spec.submodule_search_locations)[0])


def undefined(path):
    text = subprocess.run(["nm", "-D", "--undefined-only", path], check=True, capture_output=True, text=True).stdout
    words = (line.split() for line in text.splitlines())
    return {re.sub(r"@.*", "", w[-1]) for w in words if w[-2] == "U"}  # weak ones may stay undefined


def system_folders():
    paths = subprocess.run(["gcc", "-print-search-dirs"], capture_output=True, text=True).stdout
    found = re.search(r"libraries: =(.*)", paths)
    return (found[1].split(":") if found else []) + ["/lib", "/usr/lib", "/lib64", "/usr/lib64"]


class Closure:
    """A library and all that it needs; ours are those with a SONAME of the contract."""

    def __init__(self, path, ours, folders):
        self.ours, self.others, self.unknown = set(), set(), set()
        todo = [path]
        while todo:
            for name in dynamic(todo.pop())[1]:
                if name in ours:
                    self.ours.add(name)
                    continue
                found = next((f for folder in folders if os.path.exists(f := os.path.join(folder, name))), None)
                if found is None:
                    self.unknown.add(name)
                elif os.path.realpath(found) not in self.others:
                    self.others.add(os.path.realpath(found))
                    todo.append(found)


DEFINED = {}


def defined(path):
    if path not in DEFINED:
        DEFINED[path] = set.union(*contract.library_symbols(path))
    return DEFINED[path]


@pytest.mark.parametrize("pattern", ["lib/libtorch_npu.so", "_C*.so", "lib/libtensorpipe.so", "lib/libnpu_profiler.so",
                                     "dynamo/torchair/core/*.so"])
def test_wheel_finds_its_symbols(libraries, lib_dir, pattern):
    """Every name that the wheel leaves undefined is in a library that it needs, ours or another."""
    wheel, torch = wheel_folder("torch_npu"), wheel_folder("torch")
    files = glob.glob(str(wheel / pattern))
    assert files, pattern
    ours = {library.soname for library in libraries}
    folders = [wheel / "lib", torch / "lib", wheel / "dynamo/torchair/core", *system_folders()]
    for file in files:
        closure = Closure(file, ours, folders)
        # libtorch_npu.so has no DT_NEEDED of its own for all of ours in libnpu_profiler.so: they are in the process.
        needed = closure.ours | Closure(str(wheel / "lib/libtorch_npu.so"), ours, folders).ours
        have = set()
        for library in sorted(needed):
            have |= set.union(*contract.library_symbols(lib_dir / library))
        for other in closure.others:
            have |= defined(other)
        left = {name for name in undefined(file) - have if not re.match(r"_?Py|_Z(?!NK?(2ge|4gert))|__(cxa|gxx)", name)}
        assert left == set(), f"{file}; not found: {sorted(closure.unknown)}"


def test_names_that_the_wheel_looks_up_are_known(libraries):
    """Interface names that occur as strings in the wheel are in the contract."""
    wheel = wheel_folder("torch_npu")
    data = (wheel / "lib/libtorch_npu.so").read_bytes()
    strings = re.findall(rb"\x00((?:aclrt|aclprof|aclop|aclmdl|Hccl|hal)[A-Z][A-Za-z0-9]+)(?=\x00)", data)
    known = {name for library in libraries for name in library.names}
    assert {s.decode() for s in strings} - known - NOT_FUNCTIONS == set()


# strings of the wheel that only look like functions: names of its own trace events and error messages
NOT_FUNCTIONS = {
    "HcclAllgather", "HcclAllgatherBase", "HcclAllgatherTogather", "HcclAllreduce", "HcclCommActivateCommMemoryFace",
    "HcclCommDeactivateCommMemoryFace", "HcclCommList", "HcclCommResumeFace", "HcclCommSetMemoryRangeFace",
    "HcclCommUnsetMemoryRangeFace", "HcclGetCommNameFace", "HcclReduceScatterBase",
}
