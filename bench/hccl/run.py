"""Collectives between ranks on one machine: HCCL on npu devices against gloo on the CPU and against OpenMPI, in turn.

    ./dev bench hccl [--ranks 2,4] [--rounds 7] [--only torch,c,ddp,hosts,faults] [--only expandable]

Each part of --only is a table of its own.

Sizes are bytes of a rank's larger buffer, numbers fp32. Through torch.distributed (peer: gloo), through the C interface
(hccl_test; peers: gloo's C++ and OpenMPI, where they are installed: C_PEERS), steps of ResNet-18 under DistributedDataParallel, and
between two network namespaces that a virtual cable joins (as root), by UCX and by our own TCP, against gloo over the same cable. Last:
how soon survivors know of a killed rank. By --only expandable: expandable segments against ordinary device memory.
"""
import argparse
import contextlib
import os
import pathlib
import subprocess
import sys
import tempfile
from statistics import median

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from bench.hccl.faults import fault_times
from bench.hccl.ranks import GlooGroup, MPIGroup, gloo_program, mpi_program, torch_group
from bench.measure import PART, heading, interleave, line_of, machine, row, write
from tests.distributed.namespaces import two_hosts, why_not

MB = 1 << 20
PARTS = "torch,c,ddp,hosts,faults"
# operation, bytes, repeats a round
WORK = [("all_reduce", 8, 100), ("all_reduce", MB, 20), ("all_reduce", 16 * MB, 4), ("all_reduce", 64 * MB, 2),
        ("all_gather", 16 * MB, 4), ("reduce_scatter", 16 * MB, 4), ("broadcast", 16 * MB, 4),
        ("alltoall", 16 * MB, 4)]

# peers of the C interface: what makes their program, their group, and the Debian packages that they need
C_PEERS = {"gloo": (gloo_program, GlooGroup, "libgloo-dev"), "OpenMPI": (mpi_program, MPIGroup, "openmpi-bin and libopenmpi-dev")}

BETWEEN_HOSTS = [("all_reduce", 8, 50), ("all_reduce", MB, 10), ("all_reduce", 16 * MB, 3), ("all_reduce", 64 * MB, 1), ("all_gather", 16 * MB, 3)]


def size_name(size):
    return f"{size // MB} MB" if size >= MB else f"{size} B"


def measured(rows, what, ours, peer, rounds):
    rows[what] = interleave(ours, peer, rounds)
    r = rows[what]
    print(f"{what}: {r['ours_ms']:.4f} ms, peer {r['peer_ms']:.4f} ms, ratio {r['ratio']:.2f}", file=sys.stderr, flush=True)


def in_turn(rows, work, ours, peer, what, rounds):
    """A row for each of `work`; `what` is its name but for operation and size."""
    for operation, size, repeat in work:
        measured(rows, f"{what}, {operation} {size_name(size)}; gloo",
                 lambda: ours(operation, size, repeat), lambda: peer(operation, size, repeat), rounds)


def through_torch(rows, ranks, rounds):
    ours, peer = torch_group("npu", ranks), torch_group("cpu", ranks)
    try:
        in_turn(rows, WORK, ours, peer, f"torch, {ranks} ranks", rounds)
    finally:
        ours.close(), peer.close()


def hccl_test(operation, size, repeat, ranks):
    """Seconds of one operation, of an own run of the program (its start is not in them)."""
    from updraft import home
    command = [os.path.join(home(), "bin", "hccl_test"), operation, "-p", ranks, "-b", size, "-e", size, "-n", repeat, "-w", 3,
               "-c", 0, "-s", int(size <= 1024), "-z", int(operation == "all_reduce")]
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=300)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}: {done.stderr}")
    return float(done.stdout.splitlines()[-1].split("|")[1]) * 1e-6


def through_c(rows, ranks, rounds, programs):
    """programs: the peers' by their names."""
    with contextlib.ExitStack() as closing:
        peers = {name: C_PEERS[name][1](program, ranks) for name, program in programs.items()}
        for peer in peers.values():
            closing.callback(peer.close)
        against(rows, ranks, rounds, peers)


def against(rows, ranks, rounds, peers):
    """peers: groups by their names."""
    cores = len(os.sched_getaffinity(0))
    for operation, size, repeat in WORK:
        # Small operations look for the other ranks for a moment before they sleep, where the host has a core for each.
        note = "" if size > 1024 else " (waits spin)" if ranks <= cores else " (waits sleep)"
        for name, peer in peers.items():
            measured(rows, f"C, {ranks} ranks, {operation} {size_name(size)}{note}; {name}",
                     lambda: hccl_test(operation, size, repeat * 10, ranks), lambda: peer(operation, size, repeat * 10), rounds)


def between_hosts(rows, notes, rounds):
    """Two hosts of one rank each, then of three and one."""
    if why_not():
        notes.append(f"Without rows between hosts: {why_not()}.")
        return
    with two_hosts() as hosts:
        peer = torch_group("cpu", 2, hosts)
        try:
            for transport in "ucx", "tcp":
                ours = torch_group("npu", 2, hosts, UPDRAFT_HCCL_TRANSPORT=transport)
                try:
                    in_turn(rows, BETWEEN_HOSTS, ours, peer, f"torch, 2 namespaces, {transport}", rounds)
                finally:
                    ours.close()
        finally:
            peer.close()
        uneven = [hosts[0]] * 3 + [hosts[1]]
        ours, peer = torch_group("npu", 4, uneven, UPDRAFT_HCCL_TRANSPORT="tcp"), torch_group("cpu", 4, uneven)
        try:
            in_turn(rows, BETWEEN_HOSTS, ours, peer, "torch, 3 + 1 ranks in 2 namespaces, tcp", rounds)
        finally:
            ours.close(), peer.close()


def with_expandable_segments(rows, rounds):
    """The peer is we ourselves, without them."""
    ours, peer = torch_group("npu", 2, PYTORCH_NPU_ALLOC_CONF="expandable_segments:True"), torch_group("npu", 2)
    try:
        for operation, size, repeat in WORK[2:]:
            measured(rows, f"torch, 2 ranks, expandable segments, {operation} {size_name(size)}; without them",
                     lambda: ours(operation, size, repeat), lambda: peer(operation, size, repeat), rounds)
    finally:
        ours.close(), peer.close()


def training(rows, notes, rounds):
    """Steps with and without communication stand next to each other, or the machine's moods would be their difference."""
    groups = {"HCCL": torch_group("npu", 2), "gloo": torch_group("cpu", 2)}
    kinds = {"ddp": "step", "ddp_local": "step without communication", "ddp_gradients": "all-reduce of its gradients alone"}
    times = {(side, kind): [] for side in groups for kind in kinds}
    try:
        for turn in range(rounds + 2):
            for side, group in groups.items():
                for kind in list(kinds)[::1 if turn % 2 else -1]:
                    seconds = group(kind, 0, 1)
                    if turn >= 2:
                        times[side, kind].append(seconds)
    finally:
        for group in groups.values():
            group.close()
    for kind, what in kinds.items():
        a, b = times["HCCL", kind], times["gloo", kind]
        rows[f"torch, 2 ranks, ResNet-18 {what}; gloo"] = row(a, b)
    for side in groups:
        step, local, alone = (times[side, kind] for kind in kinds)
        extra, whole = median(x - y for x, y in zip(step, local)) * 1e3, median(alone) * 1e3
        notes.append(f"ResNet-18, batch 8 a rank, {side}: {median(step) * 1e3:.0f} ms a step, {extra:.1f} ms more than without "
                     f"communication, which takes {whole:.1f} ms alone.")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", default="2,4")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", default=PARTS)
    options = parser.parse_args()
    ranks = [int(r) for r in options.ranks.split(",")]
    for part in options.only.split(","):
        table(part, ranks, options.rounds)


def table(part, ranks, rounds):
    state, rows, notes, lines = machine(), {}, [], []
    if part == "c":
        with tempfile.TemporaryDirectory() as folder:
            programs = {name: make(folder) for name, (make, _, _) in C_PEERS.items()}
            if absent := [C_PEERS[name][2] for name, program in programs.items() if not program]:
                notes.append(f"Without peers of the C interface that are not installed here: {', '.join(absent)}.")
            programs = {name: program for name, program in programs.items() if program}
            for n in ranks:
                through_c(rows, n, rounds, programs)
    elif part == "torch":
        for n in ranks:
            through_torch(rows, n, rounds)
    elif part == "ddp":
        training(rows, notes, rounds)
    elif part == "expandable":
        with_expandable_segments(rows, rounds)
    elif part == "hosts":
        between_hosts(rows, notes, rounds)
    elif part == "faults":
        lines = fault_times(max(10, rounds))
    else:
        raise SystemExit(f"no part {part} (there are: {PARTS},expandable)")
    command = f"./dev bench hccl --only {part} --rounds {rounds}"
    if rows:
        lines = ["| collectives, fp32; peer | Updraft, ms | peer, ms | ratio (higher is better) | spread |", "|---|---|---|---|---|"]
        lines += [line_of(what, r) for what, r in rows.items()]
    lines = [heading(state, command), "", *lines, *([""] if rows and notes else []), *notes]
    write(f"hccl-{part}" + ("" if ranks == [2, 4] else PART), lines, {"machine": state, "command": command, "rows": rows, "notes": notes})


if __name__ == "__main__":
    main()
