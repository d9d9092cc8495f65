"""A framework with an environment of its own: steps of networks on the virtual NPU against the framework's own CPU device, both in
processes of their own, with the same threads, in turn. The losses of both are compared."""
import argparse
import math
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]


def _measure(options, models, session, devices, area, peer_name, title):
    from bench.measure import PART, InProcess, interleave, machine, report

    os.environ["UPDRAFT_THREADS"] = str(options.threads)
    before, rows = machine(), {}
    for name in options.models.split(","):
        if name not in models:
            sys.exit(f"no model {name}, want one of {', '.join(models)}")
        ours, peer = (InProcess(session, name, device, options.threads, clock=options.clock) for device in devices)
        ours(True), peer(True)
        if not abs(ours.value - peer.value) <= 1e-3 * abs(peer.value):  # also not for NaN
            sys.exit(f"{name}: the losses differ, {ours.value} and {peer.value}")
        rows[name] = interleave(ours, peer, options.rounds)
        print(name, rows[name], flush=True)
        ours.close(), peer.close()
    if len(rows) > 1:
        print("geometric mean", round(math.exp(sum(math.log(r["ratio"]) for r in rows.values()) / len(rows)), 3))
    whole = options.models == ",".join(models) and options.threads == len(os.sched_getaffinity(0)) and options.clock == "wall"
    report(title + ("" if whole else PART), rows, f"./dev bench {area} " + " ".join(a for a in sys.argv[1:] if a != "--measure"), peer_name, before)


def main(script, description, models, session, devices, area, peer_name, flag=None):
    """The command line of a benchmark. script: the file that calls this, run again in the framework's environment.
    session(model, device, threads) makes a step, a function of the script's module; devices: ours, then the peer's.
    flag: the word of the command line by which the script chose this, which has a table of its own."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--models", default=",".join(models))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--clock", choices=["wall", "cpu"], default="wall", help="cpu: processor time of all threads, with --threads 1 on a busy machine")
    if flag:
        parser.add_argument("--" + flag, action="store_true", help="this table")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not options.measure:
        python = ROOT / f".venv-{area}" / "bin" / "python"
        if not python.exists():
            sys.exit(f"there is no .venv-{area}: ./dev test {area} makes it")
        os.execv(python, [str(python), script, *sys.argv[1:], "--measure"])
    _measure(options, models, session, devices, area, peer_name, f"{area}-{flag}" if flag else area)
