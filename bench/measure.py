"""What every benchmark here shares: interleaved timing of us and the peer, the machine's state, and the report."""
import json
import multiprocessing
import os
import pathlib
import statistics
import time

UNSTABLE = 0.15  # a side whose own repeats differ by more than this tells little
# Until then runs that were unstable are repeated; `./dev bench readme` gives each of its sections a time.
DEADLINE = time.monotonic() + float(os.environ.get("UPDRAFT_BENCH_SECONDS", "inf"))
TURN = 0.1  # seconds: calls that are shorter are repeated within a turn
PART = "-part"  # ends the names of tables of a choice of rows: they do not go to the page
ISA = {"avx2": "AVX2", "avx512f": "AVX-512", "avx512_bf16": "BF16", "avx512_fp16": "FP16", "amx_bf16": "AMX"}


def generation(vendor, family, model):
    """Of an AMD CPU, whose name in a virtual machine says no more than EPYC; else ""."""
    if vendor != "AuthenticAMD":
        return ""
    fourth = 0x10 <= model <= 0x1f or 0x60 <= model <= 0x7f or 0xa0 <= model <= 0xaf
    return {23: " Zen 2" if model >= 0x30 else " Zen", 25: " Zen 4" if fourth else " Zen 3", 26: " Zen 5"}.get(family, "")


def machine():
    """The CPU by name and instruction sets, cores that this process may use, load, and the date."""
    facts = dict(line.split(":", 1) for line in open("/proc/cpuinfo") if ":" in line)
    facts = {key.strip(): value.strip() for key, value in facts.items()}
    has = facts.get("flags", "").split()
    isa = [name for flag, name in ISA.items() if flag in has]
    made = generation(facts.get("vendor_id"), int(facts.get("cpu family", 0)), int(facts.get("model", 0)))
    return {"cpu": f"{facts.get('model name', '?')}{made} ({', '.join(isa) or 'no AVX2'})", "cores": len(os.sched_getaffinity(0)), "load": os.getloadavg()[0],
            "date": time.strftime("%Y-%m-%d")}


def heading(state, command):
    """The line above every table."""
    return f"{state['cpu']}, {state['cores']} cores, load {state['load']:.1f} before, {state['date']}; `{command.strip()}`"


CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}


class InProcess:
    """make(*arguments)() in a process of its own. Two libraries in one process would share it badly: the idle one's
    OpenMP threads go on spinning for a while and take the cores from the one that is measured. make must be a
    module's function. A call gives the seconds that the other process needed. clock: "wall", or "cpu" for the seconds of
    processor time of all its threads, which tell more where other programs are busy on the machine."""

    def __init__(self, make, *arguments, clock="wall"):
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, make, arguments, CLOCKS[clock]), daemon=True)
        self.process.start()
        theirs.close()
        self.pipe.recv()  # built

    def __call__(self, *arguments):
        """Seconds that the call took; .value is what it returned."""
        self.pipe.send(arguments)
        seconds, self.value = self.pipe.recv()
        return seconds

    def rest(self, longest=1.0):
        """Waits until that process uses no CPU time: onnxruntime's workers spin for about 30 ms after their last work,
        and would take a core from the other side's turn."""
        end, before = time.monotonic() + longest, self._used()
        while time.monotonic() < end:
            time.sleep(0.01)
            now = self._used()
            if now - before < 0.001:
                return
            before = now

    def _used(self):
        """Seconds of CPU time of all its threads."""
        ran = 0
        for path in pathlib.Path(f"/proc/{self.process.pid}/task").glob("*/schedstat"):
            try:
                ran += int(path.read_text().split()[0])
            except OSError:
                pass  # the thread has ended
        return ran / 1e9

    def close(self):
        self.pipe.close()
        self.process.join()


def _serve(pipe, make, arguments, now):
    call = make(*arguments)
    pipe.send(None)
    while True:
        try:
            arguments = pipe.recv()
        except EOFError:
            return
        start = now()
        value = call(*arguments)
        pipe.send((now() - start, value))


def spread_of(seconds):
    """The middle half of the repeats, in parts of their median."""
    if len(seconds) < 2:
        return 0.0
    quarter = statistics.quantiles(seconds, n=4)
    return (quarter[2] - quarter[0]) / statistics.median(seconds)


def row(ours, peer, scale=1e3):
    """What a table says of seconds that were measured in turn. A row is unstable when either side's own repeats are."""
    spread = spread_of(ours), spread_of(peer)
    return {"ours_ms": statistics.median(ours) * scale, "peer_ms": statistics.median(peer) * scale,
            "ratio": statistics.median(y / x for x, y in zip(ours, peer)), "spread_ours": spread[0], "spread_peer": spread[1],
            "unstable": max(spread) > UNSTABLE, "rounds": len(ours)}


def interleave(ours, peer, rounds=5, warm=2, attempts=3):
    """The row of ours() and peer(), called in turn for their seconds (or what they return, if anything: an InProcess returns
    seconds). While either side is unstable the whole run is repeated; the steadiest run counts, whatever its ratio.
    An InProcess is called for TURN seconds in each turn, as clients call a model, and counts with the mean: its single
    call behind the other side's turn would tell how fast threads wake up and caches fill."""
    def seconds_of(call):
        start = time.perf_counter()
        own = call()
        if own is None:
            return time.perf_counter() - start
        if not isinstance(call, InProcess):
            return own
        all_calls = [own]
        while time.perf_counter() - start < TURN:
            all_calls.append(call())
        call.rest()
        return statistics.mean(all_calls)

    best = None
    for attempt in range(attempts):
        for _ in range(warm):
            seconds_of(ours), seconds_of(peer)
        times = ([], [])
        for _ in range(rounds):
            for call, seconds in zip((ours, peer), times):
                seconds.append(seconds_of(call))
        measured = row(*times)
        unrest = lambda r: max(r["spread_ours"], r["spread_peer"])
        if best is None or unrest(measured) < unrest(best):
            best = measured
        if not best["unstable"] or time.monotonic() > DEADLINE:
            break
    return best


def line_of(what, r):
    """A row of a table: milliseconds with four figures, since some last microseconds and some seconds."""
    note = " unstable" if r["unstable"] else ""
    figures = lambda ms: f"{ms:.2f}" if ms >= 10 else f"{ms:.4g}"
    return (f"| {what} | {figures(r['ours_ms'])} | {figures(r['peer_ms'])} | {r['ratio']:.2f}{note} | "
            f"{r['spread_ours']:.0%} / {r['spread_peer']:.0%} |")


def report(name, rows, command, peer, before=None):
    """Prints the table and writes build/bench/<name>.json and .md. rows: {what: result of interleave}; before: the machine()
    that was asked before them."""
    state = before or machine()
    lines = [heading(state, command), "",
             f"| {name} | Updraft, ms | {peer}, ms | ratio (higher is better) | spread |", "|---|---|---|---|---|"]
    lines += [line_of(what, r) for what, r in rows.items()]
    write(name, lines, {"machine": state, "command": command, "rows": rows})


def write(name, lines, data):
    """Prints the table and writes build/bench/<name>.md and .json, which `./dev docs` collects."""
    text = "\n".join(lines)
    print(text)
    folder = pathlib.Path(__file__).resolve().parents[1] / "build" / "bench"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.md").write_text(text + "\n")
    (folder / f"{name}.json").write_text(json.dumps(data, indent=1))
