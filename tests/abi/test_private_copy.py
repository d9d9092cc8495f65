"""cmake/elf/private_copy.py on libraries made for it: the copy and a foreign library of the same name share a process."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

TOOL = pathlib.Path(__file__).resolve().parents[2] / "cmake" / "elf" / "private_copy.py"
CC = shutil.which("cc")
pytestmark = pytest.mark.skipif(CC is None, reason="no C compiler")

THING = """
#include <stdio.h>
int thing_counter = 7;
int thing_inner(void) { return 1; }
int (*thing_table[])(void) = {thing_inner};
__attribute__((weak)) int thing_weak(void) { return 5; }
static __thread int mine = 40;
int thing_value(void) { return 1000 * thing_inner() + 100 * thing_weak() + 10 * thing_counter + thing_table[0](); }
int thing_thread(void) { return ++mine; }
int thing_text(char* to, int bytes) { return snprintf(to, bytes, "%d", thing_inner()); }
""" + "".join("int other_export_%d(void) { return 3; }\n" % i for i in range(6))
# What another library of that name in the process may do to ours.
HOSTILE = """
int thing_counter = 9, thing_table[8];
int thing_inner(void) { return 9; }
int thing_weak(void) { return 9; }
int thing_value(void) { return 9; }
int thing_thread(void) { return 9; }
int thing_text(char* to, int bytes) { (void)to; (void)bytes; return 9; }
"""
CLIENT = """
int thing_value(void), thing_thread(void), thing_text(char*, int);
int client(void) { char text[8]; return thing_thread() + thing_value() + thing_text(text, 8) + text[0]; }
"""
RIGHT = 41 + 1571 + 1 + ord("1")  # what client() answers with the library's own functions, in a thread's first call


def run(*command, **options):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=60, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def compile_library(folder, name, source, *flags):
    folder.mkdir(exist_ok=True)
    (folder / (name + ".c")).write_text(source)
    run(CC, "-shared", "-fPIC", "-O1", "-o", folder / name, folder / (name + ".c"), "-Wl,-soname," + name, *flags)
    return folder / name


def copy(library, to, *options, keep=r"thing_\w+"):
    to.parent.mkdir(exist_ok=True)
    run(sys.executable, TOOL, library, to, "--keep", keep, "--wrap", to.with_suffix(".wrap"), *options)
    return to


@pytest.fixture(params=["gnu", "sysv", "both"])
def world(request, tmp_path):
    """A library, its private copy, a client of the copy and a hostile library of the original's name."""
    original = compile_library(tmp_path / "original", "libthing.so.1", THING, "-Wl,--hash-style=" + request.param)
    mine = copy(original, tmp_path / "ours" / "libmine.so")
    client = compile_library(tmp_path / "ours", "libclient.so", CLIENT, mine, "-Wl,@%s" % mine.with_suffix(".wrap"),
                             "-Wl,-rpath,$ORIGIN", "-Wl,--no-undefined")
    plain = compile_library(tmp_path / "plain", "libclient.so", CLIENT, original, "-Wl,-rpath," + str(original.parent))
    hostile = compile_library(tmp_path / "hostile", "libthing.so.1", HOSTILE)
    return {"original": original, "mine": mine, "client": client, "plain": plain, "hostile": hostile}


def answer(code, **env):
    return run(sys.executable, "-S", "-c", "import ctypes\n" + code, env=dict(os.environ, **env)).split()


def test_tables_are_sound(world):
    done = subprocess.run(["readelf", "-aW", world["mine"]], capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert re.findall(r"SONAME.*\[(.*)\]", done.stdout) == ["libmine.so"]
    defined = run("nm", "-D", "--defined-only", "--extern-only", world["mine"]).split("\n")[:-1]
    assert sorted(line.split()[-1] for line in defined) == ["__wrap_thing_" + n for n in ("inner", "text", "thread", "value", "weak")]
    client = run("readelf", "-dW", world["client"])
    assert "[libmine.so]" in client and "libthing" not in client


def test_the_client_is_right_alone(world):
    assert answer("print(ctypes.CDLL(%r).client())" % str(world["client"])) == [str(RIGHT)]


@pytest.mark.parametrize("how", ["preload", "before", "after"])
def test_a_foreign_library_of_the_same_name(world, how):
    """It changes a client of the original, which shows that it could, and none of the copy."""
    load = "ctypes.CDLL(%r, mode=ctypes.RTLD_GLOBAL)\n" % str(world["hostile"])
    env = {"LD_PRELOAD": str(world["hostile"])} if how == "preload" else {}
    first, last = (load, "") if how == "before" else ("", load) if how == "after" else ("", "")
    code = first + "c = ctypes.CDLL(%r)\n" + last + "print(c.client())"
    assert answer(code % str(world["client"]), **env) == [str(RIGHT)]
    if how != "after":  # by then the references of the plain client are bound
        assert answer(code % str(world["plain"]), **env) != [str(RIGHT)]


def test_ours_does_not_stand_in_for_the_foreign_library(world, tmp_path):
    """A library that needs libthing.so.1 gets it, not the copy that is already there."""
    needs = compile_library(tmp_path / "needs", "libneeds.so", "int thing_value(void); int needs(void) { return thing_value(); }",
                            world["hostile"], "-Wl,-rpath," + str(world["hostile"].parent))
    code = "c = ctypes.CDLL(%r, mode=ctypes.RTLD_GLOBAL)\nprint(c.client(), ctypes.CDLL(%r).needs(), c.client())"
    # the second call of the thread counts one more
    assert answer(code % (str(world["client"]), str(needs))) == [str(RIGHT), "9", str(RIGHT + 1)]


def test_functions_of_others_are_replaced(tmp_path):
    """The copy calls updraft_NAME where the original calls NAME of another library, which may ask for a version of it."""
    (tmp_path / "versions").write_text("OTHER_1 { global: *; };\n")
    other = compile_library(tmp_path / "other", "libother.so", "int other_a(void) { return 1; }\nint other_b(void) { return 2; }",
                            "-Wl,--version-script=%s" % (tmp_path / "versions"))
    source = THING + "int other_a(void), other_b(void);\nint thing_sum(void) { return 10 * other_a() + other_b(); }"
    original = compile_library(tmp_path / "original", "libthing.so.1", source, other, "-Wl,-rpath," + str(other.parent))
    mine = copy(original, tmp_path / "ours" / "libmine.so", "--replace", "other_a")
    client = compile_library(tmp_path / "ours", "libclient.so",
                             "int thing_sum(void);\nint updraft_other_a(void) { return 7; }\nint client(void) { return thing_sum(); }",
                             mine, "-Wl,@%s" % mine.with_suffix(".wrap"), "-Wl,-rpath,$ORIGIN")
    load = "ctypes.CDLL(%r, mode=ctypes.RTLD_GLOBAL)\n" % str(other)
    assert answer(load + "print(ctypes.CDLL(%r).client())" % str(client)) == ["72"]


def refusal(library, tmp_path, keep=r"thing_\w+"):
    done = subprocess.run([sys.executable, TOOL, library, tmp_path / "x.so", "--keep", keep, "--wrap", tmp_path / "x.wrap"],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and not (tmp_path / "x.so").exists(), done.stderr
    return done.stderr


def test_what_it_cannot_copy_is_refused(tmp_path):
    plain = compile_library(tmp_path, "libthing.so.1", THING)
    assert "no function like nothing_" in refusal(plain, tmp_path, r"nothing_\w+")
    (tmp_path / "versions").write_text("THING_1 { global: *; };\n")
    versioned = compile_library(tmp_path, "libversioned.so", THING, "-Wl,--version-script=%s" % (tmp_path / "versions"))
    assert "defines symbol versions" in refusal(versioned, tmp_path)
    full = compile_library(tmp_path, "libfull.so", "int thing_value(void) { return 1; }\n")
    assert re.search(r"the table of names needs \d+ bytes and has \d+", refusal(full, tmp_path))
    (tmp_path / "text").write_text("no library")
    assert "no 64 bit little endian ELF file" in refusal(tmp_path / "text", tmp_path)
    assert "No such file" in refusal(tmp_path / "absent", tmp_path)
