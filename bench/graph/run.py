"""Inference of ONNX models through onnxruntime: our execution provider against its CPU provider, both in processes of their own, with
the same threads, in turn. models.py says which; -bf16 runs ours with precision_mode=allow_mix_precision_bf16 against the peer's
float, -int8 the same quantised model on both sides.

    ./dev bench graph [--models resnet50-b1,bert-b1] [--rounds 5] [--threads 2] [--clock cpu]
    ./dev bench graph --compiled [--models resnet50,llama-step]      torch.compile against our own eager (compiled.py)
    ./dev bench graph --builds | --growth      times to compile and load, memory; how they grow with nodes (builds.py)
    ./dev bench graph --calls                  what a call of a graph costs in the library alone (calls.py)
"""
import argparse
import math
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
from bench.graph.models import CLIENT, MODELS, feeds_of, make, path_of  # noqa: E402

# Largest difference from onnxruntime's float (or, of int8, from its own eight bits), in parts of the largest number.
MOST_ERROR = {"bf16": 0.1, "int8": 0.1}


def most_error(name):
    return next((most for numbers, most in MOST_ERROR.items() if f"-{numbers}" in name), 1e-2)


def session(name, provider, threads):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    # ours would keep the compiled model in the working directory, and find it there the next time
    own = {"dump_om_model": "0"} if provider.startswith("CANN") else {}
    if own and "-bf16" in name:
        own["precision_mode"] = "allow_mix_precision_bf16"
    ran = onnxruntime.InferenceSession(str(path_of(name)), options, providers=[(provider, own)])
    assert ran.get_providers()[0] == provider, ran.get_providers()
    feeds = feeds_of(name, ran)

    def step(values=False):
        out = ran.run(None, feeds)
        return out[0] if values else None

    return step


def measure(options):
    import numpy as np

    from bench.measure import PART, InProcess, interleave, machine, report
    os.environ["UPDRAFT_THREADS"] = str(options.threads)
    before, rows = machine(), {}
    for name in options.models.split(","):
        ours, peer = (InProcess(session, name, provider, options.threads, clock=options.clock)
                      for provider in ("CANNExecutionProvider", "CPUExecutionProvider"))
        ours(True), peer(True)
        error = np.abs(ours.value - peer.value).max() / np.abs(peer.value).max()
        assert error < most_error(name), (name, error)
        rows[name] = interleave(ours, peer, options.rounds)
        print(name, f"error {error:.1e}", rows[name], flush=True)
        ours.close(), peer.close()
    if len(rows) > 1:
        print("geometric mean", round(math.exp(sum(math.log(r["ratio"]) for r in rows.values()) / len(rows)), 3))
    whole = options.models == ",".join(MODELS) and options.threads == len(os.sched_getaffinity(0)) and options.clock == "wall"
    report("graph" + ("" if whole else PART), rows, "./dev bench graph " + " ".join(a for a in sys.argv[1:] if a != "--measure"),
           "onnxruntime CPU", before)


def measure_compiled(options):
    os.environ["UPDRAFT_THREADS"] = str(options.threads)
    from bench.graph import compiled
    from bench.measure import PART, machine, report
    names = options.models.split(",") if options.models else list(compiled.MODELS)
    for name in names:
        if name not in compiled.MODELS:
            sys.exit(f"no model {name}, want one of {', '.join(compiled.MODELS)}")
    before = machine()
    rows = compiled.measure(names, options.rounds)
    whole = names == list(compiled.MODELS) and options.threads == len(os.sched_getaffinity(0))
    report("graph-compiled" + ("" if whole else PART), rows, "./dev bench graph " + " ".join(sys.argv[1:]), "our eager", before)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models")
    parser.add_argument("--compiled", action="store_true", help="torch.compile with the wheel's npu backend against our own eager")
    parser.add_argument("--builds", action="store_true", help="times to compile and load, and memory")
    parser.add_argument("--growth", action="store_true", help="the same as the nodes of a graph grow to 50,000")
    parser.add_argument("--calls", action="store_true", help="what a call of a graph of ten small operators costs in the library alone")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--clock", choices=["wall", "cpu"], default="wall", help="cpu: processor time of all threads, with --threads 1 on a busy machine")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.compiled:
        return measure_compiled(options)
    command = "./dev bench graph " + " ".join(sys.argv[1:])
    if options.builds or options.growth:
        from bench.graph import builds
        return builds.measure_builds(command, options.threads) if options.builds else builds.measure_growth(command)
    if options.calls:
        from bench.graph import calls
        return calls.measure_calls(command)
    options.models = options.models or ",".join(MODELS)
    if options.measure:
        return measure(options)
    for name in options.models.split(","):
        if name not in MODELS:
            sys.exit(f"no model {name}, want one of {', '.join(MODELS)}")
        make(name)
    if not CLIENT.exists():
        sys.exit(f"no {CLIENT}: ./dev test graph makes it")
    updraft = str(pathlib.Path(sys.executable).with_name("updraft"))
    os.execv(updraft, [updraft, "run", str(CLIENT), os.path.abspath(__file__), "--measure", *sys.argv[1:]])


if __name__ == "__main__":
    main()
