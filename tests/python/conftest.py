"""A tree with dummy libraries, and an interpreter that starts as with updraft-preload.pth in its site-packages."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python" / "updraft"
PTH = ROOT / "packaging" / "updraft-preload.pth"
FACADES = ["libascendcl.so", "libhccl.so", "libopapi.so"]
RUN_DIR = tempfile.mkdtemp(prefix="updraft-test-")


def clean_environment(**more):
    env = {k: v for k, v in os.environ.items()
           if not k.startswith(("UPDRAFT_", "ASCEND_", "TORCH_", "PYTHON")) and k != "LD_LIBRARY_PATH"}
    # a folder of our own: what other processes of this machine do must not show
    env.update(PYTHONPATH=str(PACKAGE.parent), UPDRAFT_LANG="en", UPDRAFT_RUN_DIR=RUN_DIR)
    env.update({k: str(v) for k, v in more.items()})
    return env


@pytest.fixture(scope="session")
def built_tree(tmp_path_factory):
    """The static tree with a libupdraft.so and facades that need it, made by the C compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler")
    tree = tmp_path_factory.mktemp("tree") / "cann"
    shutil.copytree(PACKAGE / "tree", tree)
    lib = tree / "lib64"
    lib.mkdir()
    source = tree / "dummy.c"
    source.write_text("int updraft_answer(void) { return 42; }\n")
    build = [compiler, "-shared", "-fPIC"]
    subprocess.run([*build, str(source), "-Wl,-soname,libupdraft.so", "-o", str(lib / "libupdraft.so")], check=True)
    empty = tree / "empty.c"
    empty.write_text("int updraft_facade;\n")
    for name in FACADES:
        subprocess.run([*build, str(empty), "-Wl,-soname," + name, "-Wl,--no-as-needed", "-L" + str(lib), "-lupdraft",
                        "-Wl,-rpath,$ORIGIN", "-o", str(lib / name)], check=True)
    return tree


@pytest.fixture
def python(tmp_path):
    """python(code, **env): runs code after the site folder with the .pth was added; clients are in tmp_path."""
    site = tmp_path / "site"
    site.mkdir()
    shutil.copy(PTH, site)

    def run(code, **env):
        # -S: the hook of an installed updraft must not help
        code = "import site; site.addsitedir(%r)\n%s" % (str(site), code)
        return subprocess.run([sys.executable, "-S", "-c", code], env=clean_environment(**env), text=True,
                              capture_output=True, timeout=60, cwd=str(tmp_path))

    run.site = site
    return run
