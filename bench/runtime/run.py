"""The cost of getting work to the device: a loop of tiny operators against operators that do nothing, and copies against libc's memcpy
in one thread. Our copies of that size use all cores.

    ./dev bench runtime
    ./dev bench runtime --against OTHER/libupdraft.so     adds in C alone, of this build and another in turns (adds.c); nothing is recorded
    … --instructions     the same, counted by valgrind: no neighbour on the machine changes that
"""
import argparse
import ctypes
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from bench.measure import interleave, machine, report

# An operator library that clients look into first (ASCEND_CUSTOM_OPP_PATH): its add does nothing.
NOTHING = """
#include <stdint.h>
static int executor;
int aclnnAddGetWorkspaceSize(void *a, void *b, void *c, void *d, uint64_t *size, void **out) { *size = 0; *out = &executor; return 0; }
int aclnnAdd(void *a, uint64_t b, void *c, void *d) { return 0; }
int aclnnAddsGetWorkspaceSize(void *a, void *b, void *c, void *d, uint64_t *size, void **out) { *size = 0; *out = &executor; return 0; }
int aclnnAdds(void *a, uint64_t b, void *c, void *d) { return 0; }
"""

LOOP = """
import sys, time, torch, torch_npu
x = torch.ones(4, 4).npu(); y = torch.ones(4, 4).npu()
for line in sys.stdin:
    start = time.perf_counter()
    for _ in range(10000): z = x + y
    torch.npu.synchronize()
    print(time.perf_counter() - start, flush=True)
"""


def child(environment):
    process = subprocess.Popen([sys.executable, "-c", LOOP], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                               env=dict(os.environ, **environment), stderr=subprocess.DEVNULL)

    def call():
        process.stdin.write("go\n")
        process.stdin.flush()
        return float(process.stdout.readline())

    return call


def against(other):
    """The last line of adds.c is the ratio."""
    import updraft

    with tempfile.TemporaryDirectory() as folder:
        adds = pathlib.Path(folder, "adds")
        subprocess.run(["cc", "-O2", pathlib.Path(__file__).with_name("adds.c"), "-ldl", "-o", adds], check=True)
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("UPDRAFT_TRACE", "UPDRAFT_PROFILE", "UPDRAFT_SANITIZE"))}
        subprocess.run([adds, pathlib.Path(other).resolve(), pathlib.Path(updraft.home(), "lib64/libupdraft.so").resolve()], check=True, env=environment)


def instructions(other):
    """Instructions of an add, of both libraries: what a program of more calls executes beyond one of fewer."""
    import updraft

    few, many = 2000, 6000
    per_call = []
    # valgrind cannot reserve a card's memory
    environment = {k: v for k, v in os.environ.items() if not k.startswith("UPDRAFT_")} | {"UPDRAFT_MEMORY": "256M", "UPDRAFT_THREADS": "1"}
    with tempfile.TemporaryDirectory() as folder:
        for library in pathlib.Path(other).resolve(), pathlib.Path(updraft.home(), "lib64/libupdraft.so").resolve():
            counted = []
            for calls in few, many:
                program, log = pathlib.Path(folder, f"adds{calls}"), pathlib.Path(folder, f"{len(per_call)}-{calls}.%p")
                subprocess.run(["cc", "-O2", f"-DCALLS={calls}", "-DROUNDS=1", pathlib.Path(__file__).with_name("adds.c"), "-ldl", "-o", program], check=True)
                subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--trace-children=yes", f"--log-file={log}", program, library],
                               check=True, env=environment, stdout=subprocess.DEVNULL)
                counted.append(children_of(log))
            per_call.append((counted[1] - counted[0]) / (2 * (many - few)))  # the first round, too, warms up with so many
            print(f"{per_call[-1]:.0f} instructions a call: {library}", flush=True)
    print(f"{per_call[1] / per_call[0]:.4f}")


def children_of(log):
    """What valgrind counted for the process that calls the library: it outlives the program that reads its answers."""
    for _ in range(600):
        counts = [int(m[1]) for f in log.parent.glob(log.name.replace("%p", "*")) if (m := re.search(r"Collected : (\d+)", f.read_text()))]
        if len(counts) == 2:
            return max(counts)
        time.sleep(0.1)
    sys.exit(f"valgrind counted {len(counts)} of two processes")


def main():
    arguments = argparse.ArgumentParser(prog="./dev bench runtime")
    arguments.add_argument("--against", metavar="LIBRARY", help="compare a small add with that of another build's libupdraft.so")
    arguments.add_argument("--instructions", action="store_true", help="with --against: count instructions by valgrind instead of taking the time")
    chosen = arguments.parse_args()
    if chosen.against:
        return instructions(chosen.against) if chosen.instructions else against(chosen.against)
    if chosen.instructions:
        arguments.error("--instructions compares: give the other library by --against")
    import torch
    import torch_npu  # noqa: F401
    before, rows = machine(), {}
    with tempfile.TemporaryDirectory() as folder:
        library = pathlib.Path(folder, "nothing/op_api/lib/libcust_opapi.so")
        library.parent.mkdir(parents=True)
        source = pathlib.Path(folder, "nothing.c")
        source.write_text(NOTHING)
        subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-o", library, source], check=True)
        rows["10,000 adds of 4x4; peer: operators that do nothing"] = interleave(
            child({}), child({"ASCEND_CUSTOM_OPP_PATH": str(library.parents[2])}))
    for megabytes in (4, 16, 64):
        n = megabytes << 20
        pageable, target = torch.ones(n, dtype=torch.uint8), torch.ones(n, dtype=torch.uint8)
        pinned = pageable.pin_memory()
        device = torch.empty(n, dtype=torch.uint8, device="npu")

        def memcpy():
            ctypes.memmove(target.data_ptr(), pageable.data_ptr(), n)

        def copier(to, source):
            def copy():
                to.copy_(source)
                torch.npu.synchronize()
            return copy

        for kind, host in ("pageable", pageable), ("pinned", pinned):
            for what, to, source in ("host to device", device, host), ("device to host", host, device):
                rows[f"{megabytes} MiB {what}, {kind}; peer: memcpy, one thread"] = interleave(copier(to, source), memcpy, 51)
    report("runtime", rows, "./dev bench runtime", "peer", before)


if __name__ == "__main__":
    main()
