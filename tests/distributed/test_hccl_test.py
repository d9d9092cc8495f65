"""hccl_test, the performance program: all operations are right, wrong ones are found, and all ways to start it work."""
import os
import shutil
import signal
import subprocess
import time

import pytest
from updraft import home

from tests.distributed import jobs

PROGRAM = os.path.join(home(), "bin", "hccl_test")
REDUCTIONS = ("all_reduce", "reduce", "reduce_scatter", "reduce_scatter_v")
MOVES = ("all_gather", "all_gather_v", "broadcast", "scatter", "alltoall", "alltoallv", "alltoallvc", "send_recv", "batch_send_recv")
SHORT = ("-n", 2, "-w", 1)


def rows(output):
    """{bytes: check_result}"""
    cells = [line.split("|") for line in output.splitlines() if line.count("|") == 3]
    assert [c.strip() for c in cells[0]] == ["data_size(Bytes)", "avg_time(us)", "alg_bandwidth(GB/s)", "check_result"]
    return {int(c[0]): c[3].strip() for c in cells[1:]}


def right(ended, sizes):
    assert ended.status == 0, ended.output
    found = rows(ended.output)
    assert len(found) == sizes and set(found.values()) == {"success"}, ended.output


@pytest.mark.parametrize("ranks", [1, 3, 4])
@pytest.mark.parametrize("operation", REDUCTIONS + MOVES)
def test_every_operation(operation, ranks):
    if ranks == 1 and operation.endswith("send_recv"):
        ended, = jobs.run([PROGRAM, operation, "-p", 1])
        assert ended.status != 0 and "2 ranks" in ended.output
        return
    # from 8 bytes, where some ranks have no element, to several pieces
    ended, = jobs.run([PROGRAM, operation, "-p", ranks, "-b", 8, "-e", "5M", "-f", 23, "-r", ranks - 1, *SHORT])
    right(ended, 5)


# The arithmetic of every type is tests/unit/collective/reduce_test.cpp's; this is the way of the type to it.
TYPES = [(kind, op) for kind in ("int8", "fp16", "bfp16", "fp32") for op in ("sum", "prod", "max", "min")]
TYPES += [(kind, "sum") for kind in ("int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "fp64")]


@pytest.mark.parametrize("kind, op", TYPES)
def test_every_type(kind, op):
    ended, = jobs.run([PROGRAM, "reduce_scatter", "-p", 3, "-b", 16, "-e", "1M", "-f", 99, "-d", kind, "-o", op, *SHORT])
    right(ended, 3)


def test_steps_and_columns():
    ended, = jobs.run([PROGRAM, "all_reduce", "-p", 2, "-b", "1K", "-e", "4K", "-i", 1024, "-c", 0, "-z", 1, "-s", 1, *SHORT])
    assert ended.status == 0, ended.output
    assert rows(ended.output) == {1024: "NULL", 2048: "NULL", 3072: "NULL", 4096: "NULL"}


BROKEN = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
int HcclAllGather(void *s, void *r, uint64_t n, int t, void *c, void *st) {
  int (*f)(void *, void *, uint64_t, int, void *, void *) = dlsym(RTLD_NEXT, "HcclAllGather");
  return f(s, r, n - 1, t, c, st); /* an element too few */
}
int HcclReduce(void *s, void *r, uint64_t n, int t, int op, uint32_t root, void *c, void *st) {
  int (*f)(void *, void *, uint64_t, int, int, void *, void *) = dlsym(RTLD_NEXT, "HcclAllReduce");
  return f(s, r, n, t, op, c, st); /* who is not root gets it, too */
}
int HcclReduceScatter(void *s, void *r, uint64_t n, int t, int op, void *c, void *st) {
  int (*f)(void *, void *, uint64_t, int, int, void *, void *) = dlsym(RTLD_NEXT, "HcclReduceScatter");
  return f(s, r, n, t, 2, c, st); /* another reduction */
}
"""


@pytest.fixture(scope="module")
def broken(tmp_path_factory):
    folder = tmp_path_factory.mktemp("broken")
    (folder / "broken.c").write_text(BROKEN)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", folder / "broken.so", folder / "broken.c", "-ldl"], check=True)
    return folder / "broken.so"


@pytest.mark.parametrize("operation", ["all_gather", "reduce", "reduce_scatter"])
def test_wrong_results_are_found(operation, broken):
    ended, = jobs.run([PROGRAM, operation, "-p", 2, "-b", "4K", "-e", "4K", *SHORT], [{"LD_PRELOAD": broken}])
    assert ended.status == 1 and rows(ended.output) == {4096: "failed"}, ended.output


@pytest.mark.parametrize("names", [("RANK_ID", "RANK_SIZE"), ("RANK", "WORLD_SIZE", "LOCAL_RANK"),
                                   ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"),
                                   ("PMI_RANK", "PMI_SIZE")])
def test_started_by_others(names, tmp_path):
    # What an earlier job left is not taken for this one's.
    file = tmp_path / "root"
    file.write_bytes(b"hccl_test another job\n" + bytes(4108))
    command = [PROGRAM, "all_reduce", "-b", "1K", "-e", "1K", "--root-info", file, *SHORT]
    ended = jobs.run(command, [dict(zip(names, (rank, 2, rank)), MASTER_ADDR="127.0.0.1", MASTER_PORT=1) for rank in (1, 0)])
    assert ended[0].status == 0, ended[0].output
    right(ended[1], 1)
    assert not file.exists()


def test_the_root_info_is_nobody_elses(tmp_path):
    """It holds the job's key: others must neither read it, nor have it written where they like, nor plant one of their own."""
    variables = dict(HCCL_TEST_JOB="17", RANK_SIZE=2, TMPDIR=tmp_path)
    file, elsewhere = tmp_path / f"hccl_test-{os.getuid()}-17", tmp_path / "elsewhere"
    elsewhere.write_text("untouched")
    file.symlink_to(elsewhere)  # does not count, and goes
    command = [str(c) for c in (PROGRAM, "all_reduce", "-b", "1K", "-e", "1K", *SHORT)]
    ranks = []
    try:
        for rank in (1, 0):
            ranks.append(subprocess.Popen(command, env=jobs.environment(RANK_ID=rank, **variables), cwd=jobs.ROOT, umask=0,
                                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
            if rank:
                ranks[0].send_signal(signal.SIGSTOP)  # it comes when all has been looked at
        end = time.monotonic() + 30
        while file.is_symlink() or not file.exists():
            assert time.monotonic() < end and ranks[1].poll() is None
            time.sleep(0.005)
        assert file.stat().st_mode & 0o777 == 0o600
        ranks[0].send_signal(signal.SIGCONT)
        for process in ranks:
            text = process.communicate(timeout=60)[0]
            assert process.returncode == 0, text
    finally:
        for process in ranks:
            process.kill()
    assert elsewhere.read_text() == "untouched" and not file.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to be two users")
def test_a_planted_root_info_does_not_count(tmp_path):
    variables = dict(HCCL_TEST_JOB="18", RANK_SIZE=2, TMPDIR=tmp_path)
    file = tmp_path / f"hccl_test-{os.getuid()}-18"
    file.write_bytes(b"hccl_test 18//\n" + bytes(4108))
    os.chown(file, 65534, 65534)
    ended = jobs.run([PROGRAM, "all_reduce", "-b", "1K", "-e", "1K", *SHORT], [dict(variables, RANK_ID=r) for r in (1, 0)])
    assert ended[0].status == 0, ended[0].output
    right(ended[1], 1)


@pytest.mark.skipif(not shutil.which("mpirun"), reason="needs mpirun (openmpi-bin)")
def test_mpirun():
    ended, = jobs.run(["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", 2, PROGRAM, "all_gather", "-b", "1K", "-e", "1K", *SHORT])
    right(ended, 1)


@pytest.mark.parametrize("arguments, text", [
    ([], "no operation"), (["sort", "-p", 2], "there is no operation sort"), (["all_reduce"], "-p N starts N ranks"),
    (["all_reduce", "-p", 0], "-p is 0"), (["all_reduce", "-p", 2, "-b", "5X"], "-b is 5X"), (["all_reduce", "-p", 2, "-b", 8, "-e", 4], "-b is larger"),
    (["all_reduce", "-p", 2, "-d", "fp8"], "-d is fp8"), (["all_reduce", "-p", 2, "-o", "avg"], "-o is avg"), (["all_reduce", "-p"], "-p wants a value"),
    (["all_reduce", "-x", 2], "no option -x"), (["broadcast", "-z", 1], "-z 1 is for all_reduce"),
    (["all_reduce", "--rank", 1], "--rank-table and --rank come together"), (["all_reduce", "--rank-table", "x", "--rank", 0, "-p", 2], "goes without -p")])
def test_refusals(arguments, text):
    ended, = jobs.run([PROGRAM, *arguments])
    assert ended.status == 2 and text in ended.output, ended.output


@pytest.mark.parametrize("soc, arguments, text", [
    ("Ascend910A", ["all_reduce", "-p", 3], "Ascend 910 takes 1, 2, 4 or 8"),
    ("Ascend910A", ["broadcast", "-p", 2, "-d", "int16"], "HcclBroadcast of int16: Ascend 910 takes int8, "),
    ("Ascend910B2", ["reduce", "-p", 2, "-d", "bfp16", "-o", "max"], "HcclReduce, max, of bfp16: Ascend 910B takes int8, int16, int32, fp16, fp32"),
    ("Ascend910B2", ["send_recv", "-p", 9], "Ascend 910B takes 8 at most")])
def test_what_the_product_does_not_take(soc, arguments, text):
    """Refused with UPDRAFT_FIDELITY=card, done without it."""
    command = [PROGRAM, *arguments, "-b", "1K", "-e", "1K", *SHORT]
    job = dict(UPDRAFT_SOC=soc, UPDRAFT_DEVICES=9, UPDRAFT_MEMORY="64M")
    ended, = jobs.run(command, [dict(job, UPDRAFT_FIDELITY="card")])
    assert ended.status == 1 and "EI0003: " in ended.output and text in ended.output, ended.output
    ended, = jobs.run(command, [job])
    right(ended, 1)
