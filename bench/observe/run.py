"""What profiling costs: a training step of ResNet-50 (batch 8, 224 x 224) with a profile running against the same step without, in one
process in turn; and how long, and in how much memory, msprof exports a million tasks.

    ./dev bench observe [--rounds 5] [--tasks 1000000] [--levels 0,1,2] [--clock wall|cpu]

cpu: processor time of all threads, which says more on a machine that others use, too.
"""
import argparse
import ctypes
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from bench.measure import heading, interleave, machine, report, write

# what torch_npu asks for (its levels 0, 1 and 2)
LEVELS = {"level 0": 0x800 | 0x1, "level 1": 0x2 | 0x1 | 0x20 | 0x4, "level 2": 0x2 | 0x1 | 0x20 | 0x4 | 0x2000 | 0x100 | 0x8}


class Profile:
    """aclprof… by ctypes: nothing of torch_npu's own profiler runs."""

    def __init__(self, folder):
        self.acl = ctypes.CDLL("libascendcl.so")
        self.acl.aclprofCreateConfig.restype = ctypes.c_void_p
        self.call("aclprofInit", os.fsencode(folder), ctypes.c_size_t(len(os.fsencode(folder))))
        self.config = None

    def call(self, name, *arguments):
        code = getattr(self.acl, name)(*arguments)
        if code:
            sys.exit("%s gave %d" % (name, code))

    def start(self, bits):
        device = ctypes.c_uint32(0)
        self.config = ctypes.c_void_p(self.acl.aclprofCreateConfig(ctypes.byref(device), 1, 1, None, ctypes.c_uint64(bits)))
        self.call("aclprofStart", self.config)

    def stop(self):
        self.call("aclprofStop", self.config)
        self.call("aclprofDestroyConfig", self.config)


def overhead(levels, rounds, clock):
    import torch
    import torch_npu  # noqa: F401

    from bench.train.run import stepper

    folder = tempfile.mkdtemp(prefix="updraft-bench-")
    step = stepper("resnet50", "npu", "fp32")
    profile = Profile(folder)
    rows = {}
    for name, bits in LEVELS.items():
        if name.split()[1] not in levels:
            continue

        def profiled(bits=bits):
            profile.start(bits)
            start = clock()
            step()
            seconds = clock() - start
            profile.stop()
            return seconds

        def plain():
            start = clock()
            step()
            return clock() - start

        rows["ResNet-50 step, " + name] = interleave(profiled, plain, rounds)
        print(name, rows["ResNet-50 step, " + name], flush=True)
    shutil.rmtree(folder)
    return rows


def run(command):
    """Runs it and gives the most memory that it had at once, in KiB."""
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    peak = 0
    while child.poll() is None:
        try:
            status = pathlib.Path("/proc/%d/status" % child.pid).read_text()
            peak = max(peak, int(status.split("VmHWM:")[1].split()[0]))
        except (OSError, IndexError):
            pass  # it has just ended
        time.sleep(0.02)
    if child.returncode:
        sys.exit("%s ended with %d" % (command[0], child.returncode))
    return peak


def export(tasks):
    lines = ["| tasks | export | seconds | processor seconds | most memory, MB | files, MB |", "|---|---|---|---|---|---|"]
    data = {}
    folder = tempfile.mkdtemp(prefix="updraft-bench-")
    code = "import raw_profile, sys; print(raw_profile.many_tasks(sys.argv[1], int(sys.argv[2])))"
    made = subprocess.run([sys.executable, "-c", code, folder, str(tasks)], check=True, capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(ROOT / "tests" / "observe")})
    profile = pathlib.Path(made.stdout.strip())
    program = shutil.which("msprof") or str(ROOT / "build/release/cann/tools/profiler/bin/msprof")
    for kind in ("text", "db"):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        start = time.perf_counter()
        peak = run([program, "--export=on", "--type=" + kind, "--output=%s" % profile])
        seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
        files = list(profile.glob("mindstudio_profiler_output/*")) if kind == "text" else list(profile.glob("*.db"))
        row = {"seconds": seconds, "cpu": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
               "memory_mb": peak / 1024, "files_mb": sum(f.stat().st_size for f in files) / 1e6}
        data[kind] = row
        lines.append("| %d | %s | %.1f | %.1f | %.0f | %.0f |" % (tasks, kind, row["seconds"], row["cpu"], row["memory_mb"], row["files_mb"]))
    shutil.rmtree(folder)
    return lines, data


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tasks", type=int, default=1000000)
    parser.add_argument("--levels", default="0,1,2")
    parser.add_argument("--clock", default="wall", choices=["wall", "cpu"])
    options = parser.parse_args()
    before, command = machine(), "./dev bench observe " + " ".join(sys.argv[1:])
    if options.tasks:
        lines, data = export(options.tasks)
        write("observe-export", [heading(before, command), "", *lines], {"machine": before, "command": command, "rows": data})
    clock = time.process_time if options.clock == "cpu" else time.perf_counter
    report("observe", overhead(options.levels.split(","), options.rounds, clock), command, "without a profile", before)


if __name__ == "__main__":
    main()
