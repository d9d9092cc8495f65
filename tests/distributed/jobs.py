"""Jobs of separate programs: one process a rank, each with its variables; all are ended when the time is over."""
import os
import signal
import socket
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# what another launcher, or the one who runs the tests, may have left
LAUNCHERS = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK", "DEVICE_ID", "ASCEND_DEVICE_ID", "MASTER_ADDR", "MASTER_PORT")


@dataclass
class Ended:
    status: int | None  # None: it was ended when the time was over
    output: str


def environment(**variables):
    """Servers of a rank table are processes of this machine, and share no secret."""
    variables = {"UPDRAFT_HCCL_TRUST_NETWORK": 1, **variables}
    env = {k: v for k, v in os.environ.items() if k not in LAUNCHERS and not k.startswith(("RANK_", "CM_", "HCCL_", "TORCHELASTIC_"))}
    env.update({k: str(v) for k, v in variables.items()})
    return env


def run(command, ranks=({},), timeout=100, cwd=ROOT, each=None):
    """Starts the command once for each dict of variables, with the words of `each` behind it; gives what became of them, in this order."""
    logs = [tempfile.TemporaryFile() for _ in ranks]
    processes = [subprocess.Popen([str(c) for c in (*command, *words)], env=environment(**variables), cwd=cwd, stdout=log,
                                  stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True)
                 for variables, words, log in zip(ranks, each or [[]] * len(ranks), logs)]
    end = time.monotonic() + timeout
    try:
        statuses = []
        for process in processes:
            try:
                statuses.append(process.wait(max(0.01, end - time.monotonic())))
            except subprocess.TimeoutExpired:
                statuses.append(None)
    finally:
        for process in processes:  # with the workers that it may have left
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
    ended = []
    for status, log in zip(statuses, logs):
        log.seek(0)
        ended.append(Ended(status, log.read().decode(errors="replace")))
        log.close()
    return ended


def report(ended):
    return "\n".join("── %d: status %s\n%s" % (i, e.status, e.output[-3000:]) for i, e in enumerate(ended))


def free_base_port():
    """The first of 16 ports that nobody listens on."""
    while True:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            base = probe.getsockname()[1]
        if base > 65000:
            continue
        sockets = [socket.socket() for _ in range(16)]
        try:
            for n, s in enumerate(sockets):
                s.bind(("127.0.0.1", base + n))
            return base
        except OSError:
            continue
        finally:
            for s in sockets:
                s.close()
