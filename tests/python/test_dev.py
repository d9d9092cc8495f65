"""./dev: what its steps print, and what the target of a plain build holds."""

import os
import pathlib
import pty
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
RELEASE = ROOT / "build" / "release"
NINJA = r"""for n in $(seq 40); do echo "[$n/40] Building CXX object src/CMakeFiles/updraft_objects.dir/ops/call$n.cpp.o"; done; echo to stderr >&2"""


@pytest.fixture
def steps(tmp_path):
    """steps(script): the script, which may call ./dev's functions, as arguments of subprocess.run. Its clock stands still."""
    shutil.copy(ROOT / "dev", tmp_path / "dev")
    begin = "source ./dev help >/dev/null; unset SECONDS; SECONDS=7\n"  # once unset, it is a variable as any other
    return lambda script: dict(args=["bash", "-c", begin + script], cwd=tmp_path, text=True, timeout=60)


def test_a_step_tells_tenths_to_a_file(steps, tmp_path):
    done = subprocess.run(**steps("step build 90 bash -c '%s'" % NINJA), capture_output=True)
    assert done.returncode == 0 and done.stdout == ""
    lines = done.stderr.splitlines()
    assert [re.match(r"  build \[(\d+)/40\] 0 s$", line)[1] for line in lines[:-1]] == [str(4 * n) for n in range(1, 11)]
    assert re.match(r"  build +0 s of +90 s$", lines[-1])
    assert "\r" not in done.stderr and "\033" not in done.stderr
    log = (tmp_path / "build" / "log" / "build.log").read_text().splitlines()
    assert len(log) == 41 and "to stderr" in log


def test_a_step_moves_one_line_on_a_terminal(steps):
    ours, its = pty.openpty()
    run = subprocess.Popen(**{k: v for k, v in steps("step build 90 bash -c '%s'" % NINJA).items() if k != "timeout"},
                           stderr=its, stdout=subprocess.DEVNULL, env=dict(os.environ, TERM="xterm"))
    os.close(its)
    text = b""
    try:
        while chunk := os.read(ours, 4096):
            text += chunk
    except OSError:  # the last writer has gone
        pass
    os.close(ours)
    assert run.wait(60) == 0
    text = text.decode().replace("\r\n", "\n")
    assert text.count("\n") == 1 and re.search(r"\r\033\[K  build +0 s of +90 s\n$", text)
    assert "\r\033[K  build 0 s [1/40] ops/call1.cpp.o" in text and "[40/40] ops/call40.cpp.o" in text


@pytest.mark.parametrize("command, code", [("false", 1), ("bash -c 'echo the reason; exit 3'", 1)])
def test_a_failed_step_shows_its_log(steps, command, code):
    done = subprocess.run(**steps("step build 90 %s; echo went on" % command), capture_output=True)
    assert done.returncode == code and "went on" not in done.stdout
    assert "build failed (whole log: build/log/build.log)" in done.stderr
    assert ("the reason" in done.stderr) == ("reason" in command)


def inputs_of(target):
    done = subprocess.run(["ninja", "-C", str(RELEASE), "-t", "inputs", target], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def installed(component=None):
    """Files of the build folder that `cmake --install` would copy: of one component, or all."""
    found = set()
    for script in RELEASE.rglob("cmake_install.cmake"):
        of = None
        for name, statement in re.findall(r'CMAKE_INSTALL_COMPONENT STREQUAL "(\w+)"|(file\(INSTALL [^)]*\))', script.read_text()):
            of = name or of
            if component in (None, of):
                found.update(re.findall(r'"%s/([^"]+[^"/])"' % re.escape(str(RELEASE)), statement))
    return found


@pytest.mark.skipif(not (RELEASE / "build.ninja").exists(), reason="nothing was configured")
@pytest.mark.parametrize("target, component, some", [("updraft_runtime", "runtime", "cann/lib64/libascendcl.so"),
                                                     ("updraft_product", None, "cann/bin/updraft-migrate")])
def test_a_target_builds_what_is_installed_and_no_test(target, component, some):
    inputs = inputs_of(target)
    assert len(inputs) > 300
    assert not [path for path in inputs if re.match(r"(tests|bench)/|.*(googletest|gtest)", path.removeprefix(str(ROOT) + "/"))]
    files = installed(component)
    assert {"cann/lib64/libupdraft.so", "cann/lib64/libupdraft_onednn.so", some} <= files
    # files that a step writes beside its output, as updraft_describe's, belong to that step
    made = set(inputs) | {"operators.json", "graph_operators.json", "cann/bin/omg", "cann/bin/msprof"}
    assert {file for file in files - made if not any(path.startswith(file + "/") for path in made)} == set()  # a folder: what is in it
    # of the tools only what clients' own profilers start
    assert component is None or {path for path in files if "/bin/" in path} == {"cann/bin/msprof", "cann/tools/profiler/bin/msprof"}
