"""The cost of getting work to the device: a loop of tiny operators against operators that do nothing, and copies against libc's memcpy
in one thread. Our copies of that size use all cores.

    ./dev bench runtime
    ./dev bench runtime --against OTHER/libupdraft.so     adds in C alone, of this build and another in turns (adds.c); nothing is recorded
"""
import argparse
import ctypes
import os
import pathlib
import subprocess
import sys
import tempfile

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


def main():
    arguments = argparse.ArgumentParser(prog="./dev bench runtime")
    arguments.add_argument("--against", metavar="LIBRARY", help="compare a small add with that of another build's libupdraft.so")
    other = arguments.parse_args().against
    if other:
        return against(other)
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
