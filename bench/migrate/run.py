"""Migration of whole projects with all reports: CPU seconds and peak memory, and parsing against CPython's ast.

    ./dev bench migrate [--rounds N] [--projects transformers,timm]

The projects are PyPI's source distributions, pinned by hash (requirements.txt). Counted are the user and system seconds of
all threads and the largest resident set of the program, which writes the output tree and every report. Parsing is timed
without reading; both sides parse the same files in turn, and the peer gives its ast.
"""
import argparse
import hashlib
import os
import pathlib
import statistics
import subprocess
import sys
import tarfile
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT))
from bench.measure import heading, machine, write

CACHE = pathlib.Path(os.environ.get("UPDRAFT_TEST_CACHE") or pathlib.Path.home() / ".cache" / "updraft-tests")
BARS = {"transformers": (3.0, 150), "timm": (0.5, 150)}  # CPU seconds, MiB
PEER = """
import ast, sys, time, warnings
warnings.simplefilter("ignore")
texts = [open(name.rstrip("\\n"), "rb").read() for name in sys.stdin]
start = time.process_time()
for text in texts:
    ast.parse(text)
print(time.process_time() - start)
"""


def archive(name):
    """The archive: of an earlier run, else by pip, which refuses other bytes than those of the hash."""
    line = next(x for x in (HERE / "requirements.txt").read_text().splitlines() if x.startswith(name + "=="))
    requirement, digest = line.split(" --hash=sha256:")
    found = CACHE / f"{name}-{requirement.split('==')[1]}.tar.gz"
    if not found.is_file() or hashlib.sha256(found.read_bytes()).hexdigest() != digest:
        CACHE.mkdir(parents=True, exist_ok=True)
        wanted = CACHE / f"{name}.txt"
        wanted.write_text(line + "\n")
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--require-hashes",
                        "--no-binary", name, "--dest", str(CACHE), "--requirement", str(wanted)], check=True)
    return found


def migrate(tool, source, output):
    """CPU seconds and MiB of one run, into a folder of its own: ext4 is slow to make files where many were just deleted."""
    process = subprocess.Popen([str(tool), str(source), "-o", str(output), "--quiet"])
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{tool} {source}: exit status {process.returncode}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def parsed(command, names):
    done = subprocess.run(command, input="\n".join(names) + "\n", capture_output=True, text=True, check=True)
    return float(done.stdout.split()[0])


def spread(values):
    return (max(values) - min(values)) / statistics.median(values)


def parsable(files):
    """CPython must understand what it is measured with (templates are not Python, nor is Python 2)."""
    import ast
    import warnings

    names = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for file in files:
            try:
                ast.parse(file.read_bytes())
                names.append(str(file))
            except (SyntaxError, ValueError):
                pass
    return names


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--projects", default="transformers,timm")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    options = parser.parse_args()
    subprocess.run(["cmake", "--build", str(options.build), "--target", "updraft-migrate", "bench_parse"], check=True, stdout=subprocess.DEVNULL)
    tool, parse = options.build / "cann" / "bin" / "updraft-migrate", options.build / "bench" / "migrate" / "bench_parse"
    state = machine()
    head = heading(state, "./dev bench migrate")
    whole = ["| project, all reports | files | MB | CPU s | bar | peak MiB | bar | spread |", "|---|---|---|---|---|---|---|---|"]
    parts = ["| parsing | MB/s | ast of CPython, MB/s | ratio (higher is better) | spread |", "|---|---|---|---|---|"]
    rows = {}
    with tempfile.TemporaryDirectory(prefix="updraft-bench-") as root:  # nothing is deleted before the last run
        for name in options.projects.split(","):
            folder = pathlib.Path(root) / name
            folder.mkdir()
            with tarfile.open(archive(name)) as tar:
                tar.extractall(folder / "in", filter="data")
            source = next((folder / "in").iterdir())
            files = sorted(source.rglob("*.py"))
            size = sum(f.stat().st_size for f in files) / 1e6
            migrate(tool, source, folder / "warm")
            runs = [migrate(tool, source, folder / f"out{i}") for i in range(options.rounds)]
            cpu, memory = (statistics.median(r[i] for r in runs) for i in (0, 1))
            names = parsable(files)
            bytes_ = sum(os.path.getsize(n) for n in names) / 1e6
            peer = [sys.executable, "-c", PEER]
            pairs = [(parsed([str(parse)], names), parsed(peer, names)) for _ in range(options.rounds)]
            ours, theirs = (statistics.median(p[i] for p in pairs) for i in (0, 1))
            ratio = statistics.median(b / a for a, b in pairs)
            noise = [spread([p[i] for p in pairs]) for i in (0, 1)]
            bar = BARS[name]
            rows[name] = {"files": len(files), "mb": size, "cpu_s": cpu, "cpu_bar_s": bar[0], "peak_mib": memory, "memory_bar_mib": bar[1],
                          "runs": runs, "parse_s": ours, "peer_parse_s": theirs, "ratio": ratio, "parsed_mb": bytes_}
            whole.append(f"| {name} | {len(files)} | {size:.1f} | {cpu:.2f} | {'<=' if cpu <= bar[0] else 'MISSED:'} {bar[0]} | {memory:.0f} | "
                         f"{'<=' if memory <= bar[1] else 'MISSED:'} {bar[1]} | {spread([r[0] for r in runs]):.0%} |")
            parts.append(f"| {name} | {bytes_ / ours:.1f} | {bytes_ / theirs:.1f} | {ratio:.2f}{' unstable' if noise[1] > 0.15 else ''} | "
                         f"{noise[0]:.0%} / {noise[1]:.0%} |")
            print(whole[-1], parts[-1], sep="\n", flush=True)
    write("migrate", [head, "", *whole, "", *parts], {"machine": state, "rows": rows})


if __name__ == "__main__":
    main()
