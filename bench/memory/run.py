"""Peak memory of a training step on npu:0 against PyTorch's CPU device.

    ./dev bench memory [--models bert,gpt2]

Each side trains in a process of its own. Counted is the largest resident set, shared pages (device memory) included,
above that after the imports.
"""
import argparse
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from bench.measure import PART, InProcess, heading, machine, write


ALL = "resnet50,bert,gpt2,vit-s"


def resident(key):
    for line in open("/proc/self/status"):
        if line.startswith(key):
            return int(line.split()[1]) / 1024


def peak(name, device, steps=3):
    """A call that trains and returns MiB."""
    from bench.train.run import stepper
    before = resident("VmRSS")

    def call():
        step = stepper(name, device, "fp32")
        for _ in range(steps):
            step()
        return resident("VmHWM") - before

    return call


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", default=ALL)
    options = parser.parse_args()
    state = machine()
    lines = [heading(state, "./dev bench memory"), "",
             "| peak memory of training | Updraft, MiB | PyTorch CPU, MiB | ours / peer (lower is better) |", "|---|---|---|---|"]
    rows = {}
    for name in options.models.split(","):
        sides = []
        for device in ("npu", "cpu"):
            process = InProcess(peak, name, device)
            process()
            sides.append(process.value)
            process.close()
        rows[name] = {"ours_mib": sides[0], "peer_mib": sides[1], "ratio": sides[0] / sides[1]}
        lines.append(f"| {name} | {sides[0]:.0f} | {sides[1]:.0f} | {sides[0] / sides[1]:.2f} |")
        print(lines[-1], flush=True)
    write("memory" if options.models == ALL else "memory" + PART, lines, {"machine": state, "rows": rows})


if __name__ == "__main__":
    main()
