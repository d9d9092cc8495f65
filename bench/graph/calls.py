"""What a call of a compiled graph costs in the library alone, without the Python of torch.compile and TorchAir: ten small operators
as one graph (ge::Session::RunGraphWithStreamAsync) against the same ten by the aclnn interface, from C++ (calls.cpp).

    ./dev bench graph --calls
"""
import os
import pathlib
import subprocess
import tempfile

SOURCE = pathlib.Path(__file__).with_name("calls.cpp")
ROUNDS, CALLS = 41, 2000


def measure_calls(command):
    from bench.measure import machine, report, row
    from updraft import home
    before, cann = machine(), pathlib.Path(home())
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder, "calls")
        subprocess.run(["c++", "-std=c++17", "-O2", SOURCE, f"-I{cann}/include", f"-L{cann}/lib64", f"-Wl,-rpath,{cann}/lib64",
                        "-lgraph", "-lge_runner", "-lascendcl", "-lopapi", "-lnnopbase", "-o", program], check=True)
        done = subprocess.run([program, str(ROUNDS), str(CALLS)], check=True, capture_output=True, text=True,
                              env=dict(os.environ, UPDRAFT_DEVICES="1"))
    times = [[float(t) * 1e-9 for t in line.split()] for line in done.stdout.splitlines()]
    report("graph-calls", {"ten operators": row(*zip(*times))}, command, "one by one, by aclnn", before)
