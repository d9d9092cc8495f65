"""Ranks: forks of this process that run one function and report what it returned or raised, with their logs.

torch and torch_npu are imported once, in the parent, which never uses the device; so a rank starts in milliseconds.
UPDRAFT_DIST_DEVICE=cpu lets gloo on CPU tensors stand in for hccl on npu: that tests the tests.
"""
import ctypes
import faulthandler
import os
import pickle
import signal
import sys
import time
import traceback
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.distributed as dist

DEVICE = os.environ.get("UPDRAFT_DIST_DEVICE", "npu")
BACKEND = {"npu": "hccl", "cpu": "gloo"}[DEVICE]
LONG = bool(os.environ.get("UPDRAFT_TEST_LONG"))
if DEVICE == "npu":
    import torch_npu  # noqa: F401

PR_SET_PDEATHSIG = 1


@dataclass
class Outcome:
    rank: int
    status: int | None  # exit status, negative: a signal, None: it hung and was killed
    log: str
    value: object = None
    error: str | None = None  # of the exception

    def __str__(self):
        how = "hung" if self.status is None else f"status {self.status}"
        return f"── rank {self.rank}: {how}\n{self.error or ''}{tail(self.log)}"


def tail(log):
    """Its end, without what stacks say of the parent (a fork has them too) and the list of extension modules."""
    kept, skips = [], False
    for line in log.splitlines():
        skips = skips and line.startswith("  File ")
        if not skips and not line.startswith("Extension modules: ") and "frame #" not in line:
            kept.append(line[:1000])
        skips = skips or " in run_rank" in line
    return "\n".join(kept[-60:])


def says(outcomes):
    return "\n".join(map(str, outcomes))


class World:
    """What a rank's function is given."""

    def __init__(self, rank, size, folder, host="127.0.0.1", hosts=1):
        self.rank, self.size, self.folder, self.host, self.hosts = rank, size, Path(folder), host, hosts
        self.local_size = size // hosts
        self.local_rank = rank % self.local_size
        # Not the local rank: torch_npu opens a group of sends and receives on device (global rank % devices), whatever set_device
        # said, and when that is another device the group's two ends go to different threads. Hosts with all devices in use agree.
        self.device = torch.device(DEVICE, rank) if DEVICE == "npu" else torch.device("cpu")
        self.backend, self.group, self.store = BACKEND, None, None

    def connect(self):
        """Rank 0's store listens on whatever port is free and tells the others by a file."""
        place = self.folder / "port"
        if self.rank == 0:
            self.store = dist.TCPStore(self.host, 0, self.size, is_master=True, wait_for_workers=False)
            place.with_suffix(".new").write_text(str(self.store.port))
            place.with_suffix(".new").rename(place)
        else:
            while not place.exists():
                time.sleep(0.005)
            self.store = dist.TCPStore(self.host, int(place.read_text()), self.size, is_master=False)
        os.environ.update(RANK=str(self.rank), LOCAL_RANK=str(self.local_rank), WORLD_SIZE=str(self.size),
                          LOCAL_WORLD_SIZE=str(self.local_size), GROUP_RANK=str(self.rank // self.local_size), MASTER_ADDR=self.host,
                          MASTER_PORT=str(self.store.port))

    def init(self, **options):
        if DEVICE == "npu":
            torch.npu.set_device(self.device)
        dist.init_process_group(self.backend, store=dist.PrefixStore("group", self.store), rank=self.rank, world_size=self.size, **options)
        self.group = dist.group.WORLD

    def meet(self, name):
        """A barrier through the store: it touches no device."""
        self.store.add(f"meet/{name}", 1)
        while self.store.add(f"meet/{name}", 0) < self.size:
            time.sleep(0.002)

    def leave(self):
        """The last meeting: rank 0, whose store it is, goes when the others no longer need it."""
        self.meet("end")
        if self.rank:
            self.store.add("gone", 1)
        while self.rank == 0 and self.store.add("gone", 0) < self.size - 1:
            time.sleep(0.002)

    def synchronize(self):
        if DEVICE == "npu":
            torch.npu.synchronize()

    def tensor(self, x):
        return x.to(self.device, copy=True)


class Launch:
    """Runs function(world, *args) on every rank. env: variables that the forks set before they do anything; what is read when
    torch_npu is imported needs a process of its own (tests/clients/subproc.py). hosts: (network namespace, address, interface) of each."""

    def __init__(self, folder, function, ranks, *args, env=None, init=True, hosts=()):
        self.folder, self.ranks, self.ended = Path(folder), ranks, {}
        self.folder.mkdir(parents=True, exist_ok=True)
        sys.stdout.flush()
        sys.stderr.flush()
        # a fork would inherit the lock of pytest's watchdog without its thread
        faulthandler.cancel_dump_traceback_later()
        self.pids = {}
        for rank in range(ranks):
            pid = os.fork()
            if pid == 0:
                run_rank(self.folder, rank, ranks, function, args, env or {}, init, hosts)
            self.pids[rank] = pid

    def poll(self):
        for rank, pid in self.pids.items():
            if rank not in self.ended:
                who, status = os.waitpid(pid, os.WNOHANG)
                if who:
                    self.ended[rank] = os.waitstatus_to_exitcode(status)
        return len(self.ended) == self.ranks

    def kill(self, rank, number=signal.SIGKILL):
        os.kill(self.pids[rank], number)

    def stop(self):
        """Shows the stacks of those that still run, then kills them and what they started."""
        alive = [rank for rank in self.pids if rank not in self.ended]
        for rank in alive:
            os.kill(self.pids[rank], signal.SIGUSR1)
        if alive:
            time.sleep(1)
        for rank in alive:
            os.kill(self.pids[rank], signal.SIGKILL)
            os.waitpid(self.pids[rank], 0)
            self.ended[rank] = None
        for pid in self.pids.values():
            try:
                os.killpg(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def wait(self, seconds):
        end = time.monotonic() + seconds
        while not self.poll() and time.monotonic() < end:
            time.sleep(0.01)
        self.stop()
        return self.outcomes()

    def outcomes(self):
        found = []
        for rank in range(self.ranks):
            log = (self.folder / f"log-{rank}").read_text(errors="replace")
            outcome = Outcome(rank, self.ended.get(rank), log)
            try:
                outcome.value, outcome.error = pickle.loads((self.folder / f"result-{rank}").read_bytes())
            except (FileNotFoundError, EOFError):
                pass
            found.append(outcome)
        return found


CLONE_NEWNS, MS_REC, MS_SLAVE, MNT_DETACH = 0x20000, 0x4000, 0x80000, 2


def enter(namespace):
    """Moves this process, which has one thread still, into a network namespace, with a /sys that shows its interfaces."""
    c = ctypes.CDLL(None, use_errno=True)
    with open(f"/run/netns/{namespace}") as file:
        good = (c.setns(file.fileno(), 0) == 0 and c.unshare(CLONE_NEWNS) == 0 and c.mount(b"", b"/", b"none", MS_REC | MS_SLAVE, None) == 0
                and (c.umount2(b"/sys", MNT_DETACH), c.mount(b"sysfs", b"/sys", b"sysfs", 0, None))[1] == 0)
    if not good:
        raise OSError(ctypes.get_errno(), f"cannot enter network namespace {namespace}")


def run_rank(folder, rank, ranks, function, args, env, init, hosts):
    status = 1
    try:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        os.setsid()
        log = os.open(folder / f"log-{rank}", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
        os.dup2(log, 1)
        os.dup2(log, 2)
        sys.stdout, sys.stderr = open(1, "w", buffering=1, closefd=False), open(2, "w", buffering=1, closefd=False)
        faulthandler.enable(file=sys.stderr)
        faulthandler.register(signal.SIGUSR1, file=sys.stderr, all_threads=True, chain=False)
        os.environ.update(env)
        if hosts:
            namespace, address, interface = hosts[rank * len(hosts) // ranks]
            enter(namespace)
            os.environ["GLOO_SOCKET_IFNAME"] = interface
        world = World(rank, ranks, folder, hosts[0][1] if hosts else "127.0.0.1", max(1, len(hosts)))
        value, error = None, None
        try:
            torch.manual_seed(0)
            torch.set_num_threads(1)
            world.connect()
            if init:
                world.init()
            value = function(world, *args)
            status = 0
        except Exception:
            error = traceback.format_exc()
        (folder / f"result-{rank}").write_bytes(pickle.dumps((value, error)))
        if status == 0 and dist.is_initialized():
            dist.destroy_process_group()
            world.leave()
    except SystemExit as leave:
        status = leave.code
    except BaseException:
        status = 1
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def launch(folder, function, ranks, *args, seconds=60, **options):
    """All ranks must succeed; returns their values."""
    outcomes = Launch(folder, function, ranks, *args, **options).wait(seconds)
    assert all(o.status == 0 for o in outcomes), says(outcomes)
    return [o.value for o in outcomes]
