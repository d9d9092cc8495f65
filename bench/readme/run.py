"""Everything that README gives figures of, one section after the other, then docs/reference/benchmarks.md and both READMEs.

    ./dev bench readme [--sections train-fp32,hccl-c,…]

Each section has seconds in which unstable rows may be repeated, and is ended at twice that; all together stay below 25 minutes. Sections that
are not named, or that fail, keep the figures that the page has.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(HERE.parent))
from bench import figures

# name of the section: program, options, seconds
SECTIONS = {
    "train-fp32": ("train", [], 150), "train-bf16": ("train", ["--mode", "bf16"], 120),
    "train-bf16-self": ("train", ["--mode", "bf16", "--against", "npu-fp32"], 120),
    "train-fp16-self": ("train", ["--mode", "fp16", "--against", "npu-fp32"], 120),
    "hccl-torch": ("hccl", ["--only", "torch"], 120), "hccl-c": ("hccl", ["--only", "c"], 150), "hccl-ddp": ("hccl", ["--only", "ddp"], 60),
    "hccl-faults": ("hccl", ["--only", "faults"], 60), "runtime": ("runtime", [], 40), "memory": ("memory", [], 60), "ops": ("ops", [], 100),
}
WHOLE = 25 * 60


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sections", default=",".join(SECTIONS))
    wanted = parser.parse_args().sections.split(",")
    if unknown := set(wanted) - set(SECTIONS):
        raise SystemExit(f"no section {', '.join(unknown)} (there are: {', '.join(SECTIONS)})")
    failed, begun = [], time.monotonic()
    for name in wanted:
        program, options, seconds = SECTIONS[name]
        start, left = time.monotonic(), begun + WHOLE - time.monotonic()
        environment = {**os.environ, "UPDRAFT_BENCH_SECONDS": str(seconds)}
        process = subprocess.Popen([sys.executable, HERE / program / "run.py", *options], env=environment, start_new_session=True)
        try:
            code = process.wait(max(1, min(2 * seconds, left)))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)  # with the processes that it measures
            process.wait()
            code = "killed"
        print(f"== {name}: {time.monotonic() - start:.0f} s{'' if code == 0 else f', failed ({code})'}", file=sys.stderr, flush=True)
        if code:
            failed.append(name)
    figures.main()
    if failed:
        raise SystemExit(f"these keep their old figures: {', '.join(failed)}")


if __name__ == "__main__":
    main()
