"""Facades carry C++: functions, vtables, typeinfo and data, implemented or not (docs/internals/facades.md)."""

import pathlib
import re
import shutil
import subprocess
import sys

import pytest

import contract

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent / "cxx"
COMPILE = ["g++", "-std=c++20", "-O1", "-Wall", "-Wextra", "-Werror", f"-I{HERE}"]

pytestmark = [pytest.mark.skipif(not shutil.which("g++"), reason="no g++"), pytest.mark.timeout(400)]


def call(*command, ok=True):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=150)
    assert (done.returncode == 0) == ok, f"{command}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def generate(folder, objects=None, toml=None, ok=True):
    """abi/generate.py on a contract of its own."""
    abi = folder / "abi"
    abi.mkdir(exist_ok=True)
    (abi / "libshapes.toml").write_text(toml or (HERE / "libshapes.toml").read_text())
    command = [sys.executable, ROOT / "abi" / "generate.py", "--abi", abi, "--out", folder / "generated"]
    if objects:
        call("sh", ROOT / "cmake" / "implemented.sh", "readelf", folder / "implemented.txt", objects)
        command += ["--implemented", folder / "implemented.txt"]
    return call(*command, ok=ok)


def object_file(folder):
    call(*COMPILE, "-fPIC", "-fvisibility=hidden", "-c", HERE / "shapes.cpp", "-o", folder / "shapes.o")
    return folder / "shapes.o"


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """libupdraft.so with the library's side and the stubs, and the facade libshapes.so, by what src/CMakeLists.txt does."""
    folder = tmp_path_factory.mktemp("cxx")
    objects = object_file(folder)
    generate(folder, objects)
    call(*COMPILE, "-fPIC", "-fvisibility=hidden", "-shared", "-Wl,--no-undefined", objects, folder / "generated" / "stubs.cpp",
         f"-Wl,--version-script={folder / 'generated' / 'exports.map'}", "-Wl,-soname,libupdraft.so", "-o", folder / "libupdraft.so")
    call("gcc", "-shared", "-fPIC", "-w", "-fno-builtin", folder / "generated" / "facade_libshapes.c", "-Wl,--no-as-needed",
         f"-L{folder}", "-lupdraft", "-Wl,--hash-style=gnu", "-Wl,-soname,libshapes.so", "-Wl,-rpath,$ORIGIN", "-nostdlib", "-o",
         folder / "libshapes.so")
    call(sys.executable, ROOT / "cmake" / "elf" / "link_only.py", folder / "libshapes.so")
    return folder


@pytest.mark.parametrize("code", [["-fPIE", "-pie"], ["-fno-pic", "-no-pie"]], ids=["pie", "copy relocations"])
def test_a_linked_program(tree, tmp_path, code):
    program = tmp_path / "client"
    call(*COMPILE, *code, "-DPROGRAM", HERE / "client.cpp", f"-L{tree}", "-lshapes", f"-Wl,-rpath,{tree}", "-o", program)
    needed = call("readelf", "-dW", program)
    assert "libshapes.so" in needed and "libupdraft.so" not in needed
    copied = set(re.findall(r"R_X86_64_COPY\s+\S+\s+(\S+)", call("readelf", "-rW", program)))
    if "-no-pie" in code:  # the program has the objects, and what the library says of them must be the program's
        assert {"_ZN6shapes5Shape4madeE", "_ZTIN6shapes5ShapeE", "_ZTVN6shapes7RefusalE", "_ZTVN6shapes5GhostE"} <= copied, copied
    assert call(program) == "good\n"


def test_a_client_that_is_opened(tree, tmp_path):
    client, opener = tmp_path / "libclient.so", tmp_path / "opener"
    call(*COMPILE, "-fPIC", "-shared", HERE / "client.cpp", f"-L{tree}", "-lshapes", f"-Wl,-rpath,{tree}", "-o", client)
    call("gcc", HERE / "opener.c", "-o", opener, "-ldl")
    assert call(opener, client) == "good\n"


def test_types_and_sizes_of_the_facade(tree):
    """What a program reserves by the facade's word is what the library has."""
    assert objects(tree / "libshapes.so") == objects(tree / "libupdraft.so", objects(tree / "libshapes.so"))


def objects(path, names=None):
    rows = (line.split() for line in call("readelf", "--dyn-syms", "-W", path).splitlines())
    return {row[7]: int(row[2], 0) for row in rows
            if len(row) > 7 and row[3] == "OBJECT" and row[6] != "UND" and (names is None or row[7] in names)}


def test_optional_names_that_are_missing_are_absent(tree):
    for library in ("libshapes.so", "libupdraft.so"):
        assert "_ZN6shapes7whisperEv" not in set.union(*contract.library_symbols(tree / library))


def test_what_is_implemented_is_strong_and_what_is_not_is_weak(tree):
    strong, weak = contract.library_symbols(tree / "libupdraft.so")
    assert {"_ZN6shapes5ShapeC1Ei", "_ZTVN6shapes5ShapeE", "_ZTIN6shapes7RefusalE", "_ZN6shapes5Shape4madeE"} <= strong
    assert {"_ZTVN6shapes5GhostE", "_ZN6shapes5ChainC1EPKc", "_ZN6shapes7hauntedE"} <= weak


# --- what a contract must not say


@pytest.mark.parametrize("line, text", [
    ('_ZN6shapes5Shape4madeE = { kind = "data", size = 8, name = "shapes::Shape::made" }',
     r"_ZN6shapes5Shape4madeE \(shapes::Shape::made\) has 8 bytes in abi/\*.toml and 4 in the objects"),
    ('_ZN6shapes4makeEi = { kind = "data", size = 8, name = "shapes::make(int)" }',
     r"_ZN6shapes4makeEi \(shapes::make\(int\)\) is a data in abi/\*.toml and FUNC in the objects"),
    ('_ZN6shapes4makeEi = { kind = "shape", name = "shapes::make(int)" }', "is of kind 'shape'; known are"),
    ('_ZN6shapes4makeEi = { kind = "pointer" }', "as c\\+\\+filt writes it"),
    ('_ZN6shapes5ChainC1EPKc = { kind = "constructor", name = "x" }', "a constructor needs size"),
    ('_ZN6shapes4makeEi = { kind = "pointer", size = 8, name = "x" }', "a pointer has no size"),
    ('_ZTVN6shapes5ShapeE = { kind = "vtable", name = "x" }', "a vtable needs slots"),
    ('_ZTVN6shapes5ShapeE = { kind = "vtable", size = 80, name = "x" }', "no stub can stand for a class with several bases"),
    ('_ZTVN6shapes5ShapeE = { kind = "vtable", slots = ["shape"], name = "x" }', "a slot of kind 'shape'"),
])
def test_wrong_contracts_are_refused(tmp_path, line, text):
    toml = re.sub(r"^%s = .*$" % re.escape(line.split()[0]), lambda _: line, (HERE / "libshapes.toml").read_text(), flags=re.M)
    assert re.search(text, generate(tmp_path, object_file(tmp_path), toml, ok=False))


# --- the contract itself


def readable_names(libraries):
    return {name.name: name.readable for library in libraries for name in library.names.values() if name.readable}


def test_readable_names_are_those_of_the_demangler(libraries):
    written = readable_names(libraries)
    assert written
    found = subprocess.run(["c++filt"], input="\n".join(written), capture_output=True, text=True, check=True).stdout.splitlines()
    assert dict(zip(written, found)) == written


def test_what_facades_offer_is_exported(libraries, lib_dir):
    """A name of the contract that our objects define and hide would leave programs with what the facade holds for the linker."""
    exported = set.union(*contract.library_symbols(lib_dir / "libupdraft.so"))
    for library in libraries:
        assert set.union(*contract.library_symbols(lib_dir / library.soname)) <= exported, library.soname


def test_objects_have_the_size_of_the_contract(libraries, lib_dir):
    """In the facades, in libupdraft.so, and so in programs that copy them."""
    for library in libraries:
        expected = {name.name: name.size for name in library.names.values() if name.is_object}
        assert objects(lib_dir / library.soname) == objects(lib_dir / "libupdraft.so", expected), library.soname
