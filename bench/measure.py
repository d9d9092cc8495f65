"""What every benchmark here shares: interleaved timing of us and the peer, the machine's state, and the report."""
import json
import multiprocessing
import os
import pathlib
import statistics
import time

UNSTABLE = 0.15  # a peer whose own repeats differ by more than this tells nothing


def machine():
    model = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "?")
    return {"cpu": model, "cores": len(os.sched_getaffinity(0)), "load": os.getloadavg()[0]}


class InProcess:
    """make(*arguments)() in a process of its own. Two libraries in one process would share it badly: the idle one's
    OpenMP threads go on spinning for a while and take the cores from the one that is measured. make must be a
    module's function. A call gives the seconds that the other process needed."""

    def __init__(self, make, *arguments):
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, make, arguments), daemon=True)
        self.process.start()
        theirs.close()
        self.pipe.recv()  # built

    def __call__(self, *arguments):
        """Seconds that the call took; .value is what it returned."""
        self.pipe.send(arguments)
        seconds, self.value = self.pipe.recv()
        return seconds

    def close(self):
        self.pipe.close()
        self.process.join()


def _serve(pipe, make, arguments):
    call = make(*arguments)
    pipe.send(None)
    while True:
        try:
            arguments = pipe.recv()
        except EOFError:
            return
        start = time.perf_counter()
        value = call(*arguments)
        pipe.send((time.perf_counter() - start, value))


def interleave(ours, peer, rounds=5, warm=2, attempts=3):
    """Seconds of ours() and peer(), called in turn (or what they return, if anything: an InProcess returns seconds). Repeats the whole run while the peer's own spread is too large."""
    for attempt in range(attempts):
        for _ in range(warm):
            ours(), peer()
        times = ([], [])
        for _ in range(rounds):
            for call, seconds in zip((ours, peer), times):
                start = time.perf_counter()
                own = call()
                seconds.append(time.perf_counter() - start if own is None else own)
                if own is not None:
                    time.sleep(0.02)  # until that process's threads sleep
        a, b = times
        quarters = [statistics.quantiles(t, n=4) if len(t) > 1 else [t[0]] * 3 for t in times]
        spread = [(q[2] - q[0]) / statistics.median(t) for q, t in zip(quarters, times)]
        if spread[1] <= UNSTABLE:
            break
    ratios = sorted(y / x for x, y in zip(a, b))
    return {"ours_ms": statistics.median(a) * 1e3, "peer_ms": statistics.median(b) * 1e3, "ratio": statistics.median(ratios),
            "spread_ours": spread[0], "spread_peer": spread[1], "unstable": spread[1] > UNSTABLE, "rounds": rounds}


def report(name, rows, command, peer):
    """Prints the table and writes build/bench/<name>.json and .md. rows: {what: result of interleave}."""
    state = machine()
    lines = [f"{state['cpu']}, {state['cores']} cores, load {state['load']:.1f}; `{command}`", "",
             f"| {name} | Updraft, ms | {peer}, ms | ratio (higher is better) | spread |", "|---|---|---|---|---|"]
    for what, r in rows.items():
        note = " unstable" if r["unstable"] else ""
        lines.append(f"| {what} | {r['ours_ms']:.2f} | {r['peer_ms']:.2f} | {r['ratio']:.2f}{note} | "
                     f"{r['spread_ours']:.0%} / {r['spread_peer']:.0%} |")
    write(name, lines, {"machine": state, "command": command, "rows": rows})


def write(name, lines, data):
    """Prints the table and writes build/bench/<name>.md and .json, which `./dev docs` collects."""
    text = "\n".join(lines)
    print(text)
    folder = pathlib.Path(__file__).resolve().parents[1] / "build" / "bench"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.md").write_text(text + "\n")
    (folder / f"{name}.json").write_text(json.dumps(data, indent=1))
