"""kill -9 of a rank at any moment, in the middle of whatever it does: the others end, say who died, and nothing is left.

40 kills; UPDRAFT_TEST_LONG=1: 1000. KILLS says another number, KILLS_SEED chooses others, KILLS_HOME the tree of another build.
"""
import os
import random
import re
import signal
import subprocess
import time

import pytest

from tests.distributed import jobs

SOURCE = jobs.ROOT / "tests" / "distributed" / "kills.cpp"
RANKS, STEPS = 3, 40
LONG = bool(os.environ.get("UPDRAFT_TEST_LONG"))
KILLS = int(os.environ.get("KILLS", 1000 if LONG else 40))
SECONDS = 20  # within which all must have ended
TIMED_OUT = re.compile(r"HCCL_(CONNECT|EXEC)_TIMEOUT|in time\b")
pytestmark = pytest.mark.timeout(KILLS * 6)


def home():
    if "KILLS_HOME" in os.environ:
        return os.environ["KILLS_HOME"]
    from updraft import home as installed
    return str(installed())


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    cann, file = home(), tmp_path_factory.mktemp("kills") / "kills"
    subprocess.run(["c++", "-std=c++17", "-O1", "-I", jobs.ROOT / "include", SOURCE, "-o", file, "-L", f"{cann}/lib64", "-lascendcl", "-lhccl",
                    f"-Wl,-rpath,{cann}/lib64", f"-Wl,-rpath-link,{cann}/lib64", "-pthread"], check=True)
    return file


class Job:
    def __init__(self, program, folder, seed):
        self.folder, self.run = folder, folder / "run"
        self.run.mkdir(parents=True)
        variables = dict(UPDRAFT_RUN_DIR=self.run, TMPDIR=folder, UPDRAFT_HCCL_CONNECT_TIMEOUT=2, UPDRAFT_HCCL_EXEC_TIMEOUT=100,
                         UPDRAFT_MEMORY="256M", UPDRAFT_THREADS=1, ASCEND_PROCESS_LOG_PATH=folder / "log", ASCEND_GLOBAL_LOG_LEVEL=4)
        self.outputs = [open(folder / f"out-{rank}", "w+b") for rank in range(RANKS)]
        self.start = time.monotonic()
        self.ranks = [subprocess.Popen([program, str(rank), str(RANKS), folder, str(seed), str(STEPS)], env=jobs.environment(**variables),
                                       stdin=subprocess.DEVNULL, stdout=self.outputs[rank], stderr=subprocess.STDOUT, start_new_session=True)
                      for rank in range(RANKS)]

    def wait(self, seconds):
        """True when all have ended by themselves. A machine that stands still for a while, as shared ones do, counts little."""
        try:
            for _ in range(int(seconds * 100)):
                if all(rank.poll() is not None for rank in self.ranks):
                    return True
                time.sleep(0.01)
            self.stacks = stacks([rank.pid for rank in self.ranks if rank.poll() is None])
            return False
        finally:
            self.seconds = time.monotonic() - self.start
            for rank in self.ranks:
                rank.kill()
                rank.wait()
            self.texts = []
            for output in self.outputs:
                output.seek(0)
                self.texts.append(output.read().decode(errors="replace"))
                output.close()

    def __str__(self):
        return "\n".join(f"── rank {i}: status {r.returncode}\n{t[-1500:]}" for i, (r, t) in enumerate(zip(self.ranks, self.texts))) + \
            getattr(self, "stacks", "")


def stacks(pids):
    """Of those that hang, where a debugger is at hand."""
    found = ""
    for pid in pids:
        try:
            found += subprocess.run(["gdb", "-p", str(pid), "-batch", "-ex", "thread apply all bt 12"], capture_output=True, text=True, timeout=30).stdout
        except (OSError, subprocess.TimeoutExpired):
            pass
    return "\n" + found[-8000:]


def shared():
    """What outlives a process when nobody removes it: shared memory, and the abstract sockets of the ranks of a host."""
    sockets = [line.split()[-1] for line in open("/proc/net/unix") if "updraft-hccl" in line]
    return set(os.listdir("/dev/shm")), set(sockets)


def last(text, word):
    """The number of the last communicator of all ranks that a rank began, or joined."""
    return max((int(n) for n in re.findall(rf"^{word} (\d+)$", text, re.M)), default=-1)


def check(job, victim, killed):
    """What the survivors said. Who ends because of the victim may in turn be somebody's reason. A time-out is how they learn
    of a rank that never came to their communicator, and no way to learn of one that did."""
    failures = {}
    for rank in set(range(RANKS)) - {victim}:
        status, text = job.ranks[rank].returncode, job.texts[rank]
        # 4: it waited for rank 0's root info
        assert status in (0, 3) or (status == 4 and (victim == 0 or job.ranks[0].returncode == 3)), f"rank {rank} ended with {status}\n{job}"
        if status == 3:
            line = re.search(r"FAILED ranks ([\d,or ]+): code -?\d+ (.*)", text, re.S)
            assert line, str(job)
            came = last(job.texts[victim], "JOINED") >= last(text, "BEGIN")
            assert not (came and TIMED_OUT.search(line[2])), f"only a time-out told rank {rank} of a rank that had joined\n{job}"
            failures[rank] = [[int(r) for r in group.split(",")] for group in line[1].split(" or ")], line[2]
    if not killed:
        assert not failures, f"nobody was killed\n{job}"
    named = {}
    for rank, (groups, text) in failures.items():
        assert re.search("EI0002|EI0006|EI0015", text), f"rank {rank} does not say what happened\n{job}"
        named[rank] = {group[int(n)] for n in re.findall(r"\brank (\d+)\b", text) for group in groups if int(n) < len(group)} - {rank}
        assert named[rank] & ({victim} | set(failures)), f"rank {rank} does not say who died\n{job}"
    if failures:
        assert any(victim in who for who in named.values()), f"nobody says that it was rank {victim}\n{job}"


def test_kills_at_any_moment(program, tmp_path):
    seed = int(os.environ.get("KILLS_SEED", random.randrange(1 << 30)))
    print("KILLS_SEED", seed)
    choice = random.Random(seed)
    before = shared()
    lasts = []
    for n in range(3):
        calm = Job(program, tmp_path / f"calm-{n}", seed)
        assert calm.wait(100) and all(rank.returncode == 0 for rank in calm.ranks), str(calm)
        lasts.append(calm.seconds)
    last = sorted(lasts)[1]
    survived = slowest = 0
    for n in range(KILLS):
        job, victim = Job(program, tmp_path / f"kill-{n}", seed + n), choice.randrange(RANKS)
        time.sleep(choice.uniform(0, last))
        killed = job.ranks[victim].poll() is None
        job.ranks[victim].send_signal(signal.SIGKILL)
        killed_at = time.monotonic()
        where = f"seed {seed}, kill {n} of rank {victim} after {killed_at - job.start:.3f} s\n"
        assert job.wait(SECONDS), f"{where}somebody hangs\n{job}"
        slowest = max(slowest, time.monotonic() - killed_at)
        try:
            check(job, victim, killed)
        except AssertionError as error:
            raise AssertionError(where + str(error)) from None
        survived += all(job.ranks[r].returncode == 0 for r in range(RANKS) if r != victim)
        records = [p for p in job.run.rglob("*") if not p.is_dir()]
        assert all(p.relative_to(job.run).parts[0] == "devices" for p in records), f"{where}run folder: {records}"
        left = [p.name for p in job.folder.iterdir() if not re.match(r"root\.\d+|out-\d|run|log", p.name)]
        assert not left, f"{where}TMPDIR: {left}"
    print(f"{KILLS} kills in jobs of {last:.2f} s, {survived} too late to hurt; the slowest end {slowest:.2f} s later")
    assert survived < KILLS * 0.7, "the kills come too late to test anything"
    after = shared()
    assert not {s for s in after[1] - before[1]}, f"sockets: {after[1] - before[1]}"
    assert not {f for f in after[0] - before[0] if "updraft" in f}, f"/dev/shm: {after[0] - before[0]}"
