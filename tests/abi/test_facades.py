"""Every library that a client can name, opened in every way that clients have, each in a fresh process: a refused call comes
back with its code and its text. (An exception that the unwinder cannot follow through the library would end the process.)"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

import contract

ROOT = pathlib.Path(__file__).resolve().parents[2]
CC = shutil.which("cc")
needs_compiler = pytest.mark.skipif(CC is None, reason="no C compiler")
LIBRARIES = {library.soname: library for library in contract.read(ROOT / "abi")}
NO_CONTEXT = 107002  # aclrtMalloc in a thread without a device
# A call of the library itself that is refused when every argument is 0, with the code where it is documented.
REFUSED = {
    "libascendcl.so": ("aclrtSynchronizeStream", NO_CONTEXT),
    "libopapi.so": ("aclnnAddGetWorkspaceSize", 161001),
    "libnnopbase.so": ("aclGetViewShape", None),
    "libhccl.so": ("HcclGetRankSize", None),
    "libacl_op_compiler.so": ("aclopCompile", None),
    "libacl_tdt_channel.so": ("acltdtDestroyChannel", None),
    "libascend_dump.so": ("aclmdlSetDump", None),
    "libmsprofiler.so": ("aclprofDestroyConfig", None),
    "libruntime.so": ("rtKernelLaunch", None),
}


def environment(**more):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("UPDRAFT_", "ASCEND_", "LD_", "PYTHON"))}
    return {**env, "UPDRAFT_LANG": "en", **more}


def run(*command, **env):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=60, env=environment(**env))
    assert done.returncode == 0, "status %d\n%s%s" % (done.returncode, done.stdout, done.stderr)
    return done.stdout


def answers(text):
    """(code, text) of each call: an error's text goes over several lines, a call's answer begins with its code."""
    return [(int(code), words) for code, words in re.findall(r"^(-?\d+) (.*(?:\n(?!-?\d+ ).*)*)", text, re.M)]


def refused(soname):
    return REFUSED.get(soname, ("aclrtMalloc", None))


def check(soname, text):
    (first, why), (second, no_device) = answers(text)
    name, code = refused(soname)
    assert (first == code if code else first != 0) and name.removesuffix("GetWorkspaceSize") in why, text
    assert second == NO_CONTEXT and "aclrtMalloc" in no_device and "aclrtSetDevice" in no_device, text


@pytest.fixture(scope="session")
def opens(tmp_path_factory):
    program = tmp_path_factory.mktemp("opens") / "opens"
    subprocess.run([CC, "-O1", "-Wall", "-Wextra", "-Werror", "-pthread", "-o", program, pathlib.Path(__file__).with_name("opens.c"),
                    "-ldl"], check=True, timeout=60)
    return program


@needs_compiler
@pytest.mark.parametrize("soname", LIBRARIES)
def test_opened_by_a_c_program(opens, lib_dir, soname):
    for binding in ("lazy", "now"):
        for scope in ("local", "global"):
            check(soname, run(opens, binding, scope, refused(soname)[0], lib_dir / soname))


IN_PYTHON = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1], mode=int(sys.argv[2]))
library.aclGetRecentErrMsg.restype = ctypes.c_char_p
for call in (lambda: library[sys.argv[3]](*[None] * 8), lambda: library.aclrtMalloc(ctypes.byref(ctypes.c_void_p()), ctypes.c_size_t(16), 0)):
    print(call(), library.aclGetRecentErrMsg().decode())
assert "torch" not in sys.modules
"""


@pytest.mark.parametrize("soname", LIBRARIES)
def test_opened_by_python(lib_dir, soname):
    for mode in (os.RTLD_LAZY | os.RTLD_LOCAL, os.RTLD_NOW | os.RTLD_GLOBAL):
        check(soname, run(sys.executable, "-S", "-c", IN_PYTHON, lib_dir / soname, mode, refused(soname)[0]))


@needs_compiler
def test_opened_by_two_threads(opens, lib_dir):
    for _ in range(10):
        assert run(opens, "threads", *(lib_dir / soname for soname in LIBRARIES)) == "0 0\n"


LINKED = """
#include <stdio.h>
int NAME(void*, void*, void*, void*, void*, void*, void*, void*);
const char* aclGetRecentErrMsg(void);
int (*volatile address)(void*, void*, void*, void*, void*, void*, void*, void*) = NAME;
int main(void) {
  int code = NAME(0, 0, 0, 0, 0, 0, 0, 0);
  printf("%d %s\\n", code, aclGetRecentErrMsg());
  code = address(0, 0, 0, 0, 0, 0, 0, 0);
  printf("%d %s\\n", code, aclGetRecentErrMsg());
  return 0;
}
"""


@needs_compiler
@pytest.mark.parametrize("soname", sorted(REFUSED))
@pytest.mark.parametrize("flags", [["-pie", "-fPIE"], ["-no-pie", "-fno-pie"], ["-fuse-ld=gold"]], ids=lambda flags: flags[0].strip("-"))
def test_linked_by_a_c_program(lib_dir, tmp_path, soname, flags):
    """-l<facade> finds the names, the program asks for that facade alone, and the call reaches the implementation."""
    if "-fuse-ld=gold" in flags and not shutil.which("ld.gold"):
        pytest.skip("no gold")
    name, code = REFUSED[soname]
    (tmp_path / "linked.c").write_text(LINKED.replace("NAME", name))
    program = tmp_path / "linked"
    needed = [soname] + ([] if soname == "libascendcl.so" else ["libascendcl.so"])
    run(CC, "-O1", *flags, "-o", program, tmp_path / "linked.c", "-L%s" % lib_dir, "-Wl,-rpath,%s" % lib_dir, "-Wl,--as-needed",
        *("-l" + n[3:-3] for n in needed + sorted(set(LIBRARIES) - set(needed))))
    dynamic = run("readelf", "-dW", program)
    assert set(re.findall(r"NEEDED.*\[(.*)\]", dynamic)) <= {*needed, "libc.so.6"}, dynamic
    for answer, why in answers(run(program)):
        assert (answer == code if code else answer != 0) and name.removesuffix("GetWorkspaceSize") in why


def test_one_function_behind_all_names(lib_dir):
    """Whichever library it is asked of, a function is the same, and is libupdraft.so's."""
    code = """
import ctypes, sys
print(*{ctypes.cast(ctypes.CDLL(path).aclrtMalloc, ctypes.c_void_p).value for path in sys.argv[1:]})
"""
    assert len(run(sys.executable, "-S", "-c", code, lib_dir / "libupdraft.so", *(lib_dir / n for n in LIBRARIES)).split()) == 1
