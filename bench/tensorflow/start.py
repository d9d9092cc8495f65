"""What a step costs before it is fast: the first call of the compiled function (tracing, compiling, one step) and the most memory that the
process has held after a few steps, on the NPU, on TensorFlow's CPU kernels, and by XLA (jit_compile=True). Each in a process of its own.

    .venv-tensorflow/bin/python bench/tensorflow/start.py [--models mnist,resnet50,bert] [--threads 2]
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
MODELS = "mnist,resnet50,bert,resnet50-inference"  # XLA has no loops with lists of unknown sizes: no lstm


def one(name, device, threads):
    """A row: seconds of tracing, of the first call behind that, CPU seconds of it, and the peak of memory in MiB."""
    os.environ.update(UPDRAFT_THREADS=str(threads), TF_CPP_MIN_LOG_LEVEL="3")
    from bench.tensorflow.run import functions
    run, arguments = functions(name, device, threads)
    before = resident()
    begin = time.perf_counter()
    run.get_concrete_function(*arguments)
    traced = time.perf_counter()
    used = time.process_time()
    run(*arguments).numpy()
    first, cpu = time.perf_counter() - traced, time.process_time() - used
    for _ in range(3):
        run(*arguments).numpy()
    steady = time.process_time()
    run(*arguments).numpy()
    return {"trace_s": traced - begin, "first_s": first, "compile_cpu_s": cpu - (time.process_time() - steady), "before_MiB": before,
            "peak_MiB": resident("VmHWM")}


def resident(what="VmRSS"):
    return int(next(line for line in open("/proc/self/status") if line.startswith(what)).split()[1]) // 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", default=MODELS)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(one(*options.one, options.threads)))
        return
    print(f"{'model':20}{'':6}{'trace s':>9}{'first s':>9}{'compile CPU s':>15}{'peak MiB':>10}")
    for name in options.models.split(","):
        for device in ["npu", "cpu", "xla"]:
            done = subprocess.run([sys.executable, __file__, "--one", name, device, "--threads", str(options.threads)], capture_output=True, text=True)
            if done.returncode:
                print(f"{name:20}{device:6} failed: {done.stderr.strip().splitlines()[-1][:120]}", flush=True)
                continue
            row = json.loads(done.stdout.strip().splitlines()[-1])
            print(f"{name:20}{device:6}{row['trace_s']:9.2f}{row['first_s']:9.2f}{row['compile_cpu_s']:15.2f}{row['peak_MiB']:10}", flush=True)


if __name__ == "__main__":
    main()
