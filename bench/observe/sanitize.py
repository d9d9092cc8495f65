"""What the sanitizer costs, in processes with and without it: a training step of ResNet-50 (batch 8, 224 x 224), adds of 4 x 4 tensors, the
same where all results are kept, and adds of a program in C (bench/runtime/adds.c, which has its own clock).

    python bench/observe/sanitize.py [--rounds 3] [--steps 2] [--clock wall|cpu]

cpu: processor time of all threads, which says more on a machine that others use, too. torch_npu's task queue is off in both, as the sanitizer
wants it; `queue` is the usual run, with it.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
ADDS = 5000
ROWS = ["adds", "kept", "c", "resnet50"]


def measure(what, steps, clock):
    """In a process of its own: the seconds of the fastest of some steps."""
    sys.path.insert(0, str(ROOT))
    import torch
    import torch_npu  # noqa: F401

    if what == "resnet50":
        from bench.train.run import stepper

        step = stepper("resnet50", "npu", "fp32")
    else:
        x = torch.ones(4, 4).npu()

        def step():
            y = x
            kept = []
            for _ in range(ADDS):
                y = y + 1
                if what == "kept":
                    kept.append(y)

    now = time.process_time if clock == "cpu" else time.perf_counter

    def run():
        step()
        torch.npu.synchronize()

    run()
    best = None
    for _ in range(steps):
        begin = now()
        run()
        best = min(best or 1e9, now() - begin)
    print(json.dumps(best))


def program_in_c(command):
    """Seconds of ADDS calls: those of the fastest round."""
    import updraft

    library = pathlib.Path(updraft.__file__).parent / "cann/lib64/libupdraft.so"
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "adds")
        subprocess.run(["cc", "-O2", str(ROOT / "bench/runtime/adds.c"), "-ldl", "-o", program], check=True)
        done = subprocess.run(command + [program, str(library)], text=True, capture_output=True)
    if done.returncode:
        sys.exit(done.stderr[-3000:])
    return float(done.stdout.split("fastest ")[1].split(",")[0]) * 1e-9 * ADDS


def child(what, arguments, sanitize, queue=False):
    command = [sys.executable, "-m", "updraft", "run"] + ["--sanitize"] * sanitize
    if what == "c":
        return program_in_c(command)
    command += [sys.executable, __file__, "--child", what, "--steps", str(arguments.steps), "--clock", arguments.clock]
    env = dict(os.environ, TASK_QUEUE_ENABLE="1" if queue else "0", UPDRAFT_LANG="en")
    done = subprocess.run(command, env=env, text=True, capture_output=True)
    if done.returncode:
        sys.exit(done.stderr[-3000:])
    return json.loads(done.stdout.strip().splitlines()[-1])


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--steps", type=int, default=2)
    options.add_argument("--clock", choices=["wall", "cpu"], default="wall")
    options.add_argument("--only", choices=ROWS)
    options.add_argument("--child", help=argparse.SUPPRESS)
    arguments = options.parse_args()
    if arguments.child:
        return measure(arguments.child, arguments.steps, arguments.clock)
    print("load %.1f, %s clock, fastest of %d rounds of %d steps" % (os.getloadavg()[0], arguments.clock, arguments.rounds, arguments.steps))
    for what in [arguments.only] if arguments.only else ROWS:
        plain = with_it = usual = None
        for _ in range(arguments.rounds):  # in turn
            usual = min(usual or 1e9, child(what, arguments, False, queue=True))
            plain = min(plain or 1e9, child(what, arguments, False))
            with_it = min(with_it or 1e9, child(what, arguments, True))
        unit, scale = ("us", 1e6 / ADDS) if what != "resnet50" else ("ms", 1e3)
        print("%-9s queue %9.2f %s   without %9.2f %s   sanitized %9.2f %s   ratio %.2f (to queue %.2f)" % (
            what, usual * scale, unit, plain * scale, unit, with_it * scale, unit, with_it / plain, with_it / usual), flush=True)


if __name__ == "__main__":
    main()
