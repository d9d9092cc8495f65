"""msprof --dynamic, --pid, --delay and --duration: profiles of programs that run already."""

import os
import signal
import subprocess
import sys
import time

import pytest

from .programs import UPDRAFT, environment, table

# Marks each of its operators by the number of bytes, until its input ends. Without torch, whose import takes longer than all else.
PROGRAM = """
import ctypes, select, sys
lib = ctypes.CDLL("libascendcl.so")
assert lib.aclInit(None) == 0 and lib.aclrtSetDevice(0) == 0
stream, p = ctypes.c_void_p(), ctypes.c_void_p()
assert lib.aclrtCreateStream(ctypes.byref(stream)) == 0
assert lib.aclrtMalloc(ctypes.byref(p), ctypes.c_size_t(4096), 0) == 0
print("ready", flush=True)
while not select.select([sys.stdin], [], [], 0.002)[0]:
    assert lib.aclrtMemsetAsync(p, ctypes.c_size_t(4096), 0, ctypes.c_size_t(4096), stream) == 0
    assert lib.aclrtSynchronizeStream(stream) == 0
print("ends", flush=True)
"""


started = []


@pytest.fixture(autouse=True)
def nothing_stays():
    yield
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    started.clear()


def start(*command, **env):
    process = subprocess.Popen([str(UPDRAFT), "run", *map(str, command)], env=environment(**env), text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, start_new_session=True)
    started.append(process)
    return process


class Program:
    """The program above, with what msprof's programs are started with."""

    def __init__(self, **env):
        self.process = start(sys.executable, "-c", PROGRAM, **env)
        assert self.process.stdout.readline() == "ready\n"
        self.pid = self.process.pid

    def __enter__(self):
        return self

    def __exit__(self, *_):
        said, _ = self.process.communicate("\n", timeout=60)
        assert self.process.returncode == 0 and said.endswith("ends\n"), said


def say_until(msprof, word, answer, seconds=60):
    """Says the word until the answer comes; gives the line."""
    end = time.monotonic() + seconds
    msprof.stdin.write(word + "\n")
    msprof.stdin.flush()
    said = ""
    while time.monotonic() < end:
        line = msprof.stdout.readline()
        said += line
        assert line, said
        if answer in line:
            return line
        if "try again" in line:
            time.sleep(0.2)
            msprof.stdin.write(word + "\n")
            msprof.stdin.flush()
    raise AssertionError(said)


def profiles(folder):
    return sorted(p for p in folder.iterdir() if p.name.startswith("PROF_"))


def tasks(profile):
    return sum("MEMSET" in r["kernel_name"] or "MEMSET" in r["kernel_type"] for r in table(profile, "task_time"))


def test_a_running_program_is_attached_to_twice(tmp_path):
    with Program(PROFILING_MODE="dynamic") as program:
        msprof = start("msprof", "--dynamic=on", "--pid=%d" % program.pid, "--output=%s" % tmp_path)
        for _ in range(2):
            say_until(msprof, "start", "process %d is profiled" % program.pid)
            assert "runs already" in say_until(msprof, "start", "[ERROR]")
            time.sleep(0.3)
            say_until(msprof, "stop", "stopped")
            assert "no profile runs" in say_until(msprof, "stop", "[ERROR]")
        assert "want start, stop or quit" in say_until(msprof, "begin", "[ERROR]")
        # a second one is told, and the first goes on
        other = subprocess.run([str(UPDRAFT), "run", "msprof", "--dynamic=on", "--pid=%d" % program.pid, "--output=%s" % tmp_path], text=True,
                               capture_output=True, env=environment(), timeout=60, input="")
        assert other.returncode == 1 and "another msprof" in other.stderr
        said, _ = msprof.communicate("quit\n", timeout=120)
        assert msprof.returncode == 0, said
    made = profiles(tmp_path)
    assert len(made) == 2
    assert all(tasks(p) > 0 for p in made)


def test_a_program_that_is_started(tmp_path):
    """Launch mode, by a shell in between: what it starts is found; the exit status is the program's."""
    msprof = start("msprof", "--dynamic=on", "--output=%s" % tmp_path, "sh", "-c", "\"$0\" -c \"$1\" < /dev/zero; exit 5", sys.executable,
                   PROGRAM.replace("select.select([sys.stdin], [], [], 0.002)[0]", "__import__('os').path.exists(%r)" % str(tmp_path / "end")))
    say_until(msprof, "start", "is profiled")
    time.sleep(0.2)
    say_until(msprof, "stop", "stopped")
    (tmp_path / "end").touch()
    said, _ = msprof.communicate("q\n", timeout=120)
    assert msprof.returncode == 5, said
    (made,) = profiles(tmp_path)
    assert tasks(made) > 0


def test_msprof_that_goes_ends_the_profile(tmp_path):
    with Program(PROFILING_MODE="dynamic") as program:
        msprof = start("msprof", "--dynamic=on", "--pid=%d" % program.pid, "--output=%s" % tmp_path)
        say_until(msprof, "start", "is profiled")
        msprof.kill()
        msprof.wait()
        again = start("msprof", "--dynamic=on", "--pid=%d" % program.pid, "--output=%s" % tmp_path)
        say_until(again, "start", "is profiled")
        again.communicate("quit\n", timeout=120)  # a profile that runs is stopped
        assert again.returncode == 0
    assert len(profiles(tmp_path)) == 2


def test_delay_and_duration(tmp_path):
    code = PROGRAM.replace("while not select.select([sys.stdin], [], [], 0.002)[0]:", "import time\nend = time.time() + 3.5\nwhile time.time() < end:")
    done = subprocess.run([str(UPDRAFT), "run", "msprof", "--delay=1", "--duration=1", "--output=%s" % tmp_path, sys.executable, "-c", code], text=True,
                          capture_output=True, env=environment(), timeout=120)
    assert done.returncode == 0 and "ends" in done.stdout, done.stdout + done.stderr
    (made,) = profiles(tmp_path)
    begins = [float(r["task_start(us)"]) for r in table(made, "task_time")]
    assert begins and max(begins) - min(begins) < 3e6  # not all of it


@pytest.mark.parametrize("options, said", [
    (["--dynamic=on"], "wants a program to start, or --pid"),
    (["--dynamic=on", "--pid=%d" % os.getpid()], "must be started with PROFILING_MODE=dynamic"),
    (["--dynamic=on", "--pid=4194305"], "there is no process 4194305"),
    (["--dynamic=on", "--pid=1,x"], "want numbers of processes"),
    (["--pid=1"], "--pid wants --dynamic=on"),
    (["--dynamic=on", "--delay=1", "true"], "give one of the two"),
    (["--delay=1"], "want a program"),
])
def test_wrong_uses(tmp_path, options, said):
    done = subprocess.run([str(UPDRAFT), "run", "msprof", "--output=%s" % tmp_path, *options], text=True, capture_output=True, env=environment(),
                          timeout=60, input="")
    assert done.returncode == 1 and said in done.stderr, done.stderr
