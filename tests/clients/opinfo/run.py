"""PyTorch's OpInfo on the virtual NPU against the CPU.

    python -m tests.clients.opinfo.run --dtypes float32 --direction forward --jobs 2 --report build/opinfo.json
    python -m tests.clients.opinfo.run --ops add,nn.functional.conv2d --verbose
"""
import argparse
import json
import os
import sys
import time
from pathlib import Path

from . import lists, pool, report

# What ./dev test runs, and what ./dev test all runs beside it: suite, dtype, direction.
ROWS = [("op", "float32", "forward"), ("module", "float32", "forward"), ("optim", "float32", "forward")]
LONG_ROWS = [("op", dtype, "forward") for dtype in ("float16", "bfloat16", "int64", "bool")]
LONG_ROWS += [("op", dtype, "backward") for dtype in ("float32", "float16", "bfloat16")] + [("module", "float32", "backward")]


def parser():
    p = argparse.ArgumentParser(prog="python -m tests.clients.opinfo.run", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--device", default=os.environ.get("UPDRAFT_TEST_DEVICE", "npu"), help="npu, or cpu to test the harness itself")
    p.add_argument("--suite", default="op", choices=("op", "module", "optim"))
    p.add_argument("--dtypes", default="float32", help="comma-separated; with float32, entries that lack it use their first dtype")
    p.add_argument("--direction", default="forward", choices=("forward", "backward"))
    p.add_argument("--jobs", type=int, default=min(4, os.cpu_count() or 1))
    p.add_argument("--ops", default="", help="comma-separated entries; a name without variant means all its variants")
    p.add_argument("--shard", default="0/1", help="i/n: each n-th entry, beginning with the i-th")
    p.add_argument("--max-samples", type=int, default=0, help="at most so many samples of an entry, picked evenly (0: all)")
    p.add_argument("--timeout", type=float, default=600, help="seconds for an entry")
    p.add_argument("--report", type=Path, default=Path("build/opinfo.json"))
    p.add_argument("--rows", default="", help="all, or e.g. op/float16/backward,optim/float32/forward: instead of suite, dtypes and direction")
    p.add_argument("--publish", action="store_true", help="write the counts to docs/reference/opinfo.md and tiers.tsv; rows of other runs stay")
    p.add_argument("--update", action="store_true", help="take what passes from the lists of known failures (or begin the lists)")
    p.add_argument("--accept-new", action="store_true", help="with --update: also list new failures, after a deliberate change only")
    p.add_argument("--candidates", action="store_true", help="print what may be excluded, as TOML")
    p.add_argument("--include-excluded", action="store_true", help="run what excluded.toml lists, too")
    p.add_argument("--verbose", action="store_true", help="print every failure as it comes")
    return p


def chosen(options, known):
    names = sorted(known)
    if options.ops:
        wanted = set(options.ops.split(","))
        names = [n for n in names if n in wanted or any(n.startswith(w + ".") and known[n].info.name == w for w in wanted)]
    i, n = map(int, options.shard.split("/"))
    return names[i::n]


def one(options, names, dtype):
    """One dtype of one suite in one direction."""
    excluded = lists.excluded(options.suite, dtype, options.direction)
    begun = time.monotonic()

    def progress(result):
        bad = [s for s in result.samples if s["status"] in report.BAD]
        if bad and options.verbose:
            print(f"{result.name} [{dtype}] {len(bad)} of {len(result.samples)}, sample {bad[0]['sample']}: {bad[0]['status']}: {bad[0]['text']}", flush=True)

    results = pool.run(options, [n for n in names if n not in excluded or options.include_excluded], dtype, options.direction, progress)
    for name in set(names) - set(results):
        results[name] = pool.Result(name)
    section = report.describe(results, options.suite, dtype, options.direction)
    section["seconds"] = round(time.monotonic() - begun, 1)
    return section


def execute(arguments):
    """Sections of the report; also what test_opinfo.py calls."""
    options = parser().parse_args(arguments)
    options.report.parent.mkdir(parents=True, exist_ok=True)
    options.log = options.report.with_suffix(".log")  # what the workers print
    options.log.write_bytes(b"")
    rows = [(options.suite, dtype, options.direction) for dtype in options.dtypes.split(",")]
    if options.rows:
        rows = ROWS + LONG_ROWS if options.rows == "all" else [tuple(row.split("/")) for row in options.rows.split(",")]
    sections = []
    for row in rows:
        sections.append(section_of(options, *row))
        options.report.write_text(json.dumps({"device": options.device, "sections": sections}, indent=1) + "\n")
        if options.publish and not options.ops and options.shard == "0/1" and not options.max_samples:  # a choice would say nothing
            report.publish(sections[-1:])
    return sections


def section_of(options, suite, dtype, direction):
    from .suites import entries
    options.suite, options.direction = suite, direction
    names = chosen(options, entries(suite))
    if not names:
        raise SystemExit("no such entry")
    section = one(options, names, dtype)
    print(report.summary(section), flush=True)
    if options.candidates:
        print(report.candidates(section))
    if options.update:
        update(section, options.accept_new)
    return section


def update(section, accept_new):
    key = section["suite"], section["dtype"], section["direction"]
    bad = report.failing(section)
    ran = {e["name"] for e in section["entries"]}
    old = lists.known_failures(*key)
    if lists.known_file(*key).exists() and not accept_new:
        keep = {n: bad.get(n, "") for n in old if n in bad or n not in ran}
    else:
        keep = {**{n: "" for n in old - ran}, **bad}
    lists.write_known(*key, keep)


def main():
    status = 0
    for section in execute(sys.argv[1:]):
        new, passing = report.against_list(section)
        for name, why in new.items():
            print(f"NEW FAILURE {section['dtype']} {section['direction']} {name}: {why}")
        for name in passing:
            print(f"PASSES NOW, take it from {lists.known_file(section['suite'], section['dtype'], section['direction']).name}: {name}")
        status |= bool(new or passing)
    return status


if __name__ == "__main__":
    sys.exit(main())
