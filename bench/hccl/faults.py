"""How soon the survivors of a killed rank know: seconds from kill -9 to the error of the stream, in each survivor's process."""
import pathlib
import signal
import statistics
import tempfile
import time

from tests.distributed.namespaces import two_hosts, why_not
from tests.distributed.native_job import Process

# what; ranks; victim; floats of the all-reduce that is going on; between two namespaces, and by which transport
CASES = [("2 ranks, small all-reduces", 2, 1, 10, None), ("2 ranks, 1 MB", 2, 1, 250_000, None), ("4 ranks, 1 MB", 4, 2, 250_000, None),
         ("4 ranks, 1 MB, rank 0 dies", 4, 0, 250_000, None), ("2 namespaces, TCP, 1 MB", 2, 1, 250_000, "tcp"),
         ("2 namespaces, TCP, 1 MB, rank 0 dies", 2, 0, 250_000, "tcp"), ("2 namespaces, UCX, 1 MB", 2, 1, 250_000, "ucx")]


def once(folder, ranks, victim, floats, transport, hosts):
    """Seconds of each survivor."""
    def place(rank):
        return {"namespace": hosts[rank * len(hosts) // ranks][0], "UPDRAFT_HCCL_TRANSPORT": transport} if transport else {}

    processes = [Process(("reduce_until_it_fails", pathlib.Path(folder, "root"), r, ranks, floats), **place(r)) for r in range(ranks)]
    try:
        for process in processes:
            process.line("ready")
        time.sleep(0.05)
        killed = time.monotonic()
        processes[victim].process.send_signal(signal.SIGKILL)
        found = []
        for rank in {*range(ranks)} - {victim}:
            when, _, text = processes[rank].line(tuple("0123456789")).split(" ", 2)
            if f"rank {victim}" not in text:
                raise RuntimeError(f"rank {rank} does not name rank {victim}: {text}")
            found.append(float(when) - killed)
        return found
    finally:
        for process in processes:
            process.kill()


def fault_times(rounds):
    """Lines of a table."""
    lines = ["| kill -9 of a rank in | kills | median, ms | worst, ms |", "|---|---|---|---|"]
    reason = why_not()
    with two_hosts() if not reason else tempfile.TemporaryDirectory() as hosts:
        for what, ranks, victim, floats, transport in CASES:
            if transport and reason:
                lines.append(f"| {what} | not run: {reason} | | |")
                continue
            seconds = []
            for _ in range(rounds):
                with tempfile.TemporaryDirectory() as folder:
                    seconds += once(folder, ranks, victim, floats, transport, hosts)
            lines.append(f"| {what} | {rounds} | {statistics.median(seconds) * 1e3:.1f} | {max(seconds) * 1e3:.1f} |")
    return lines
