"""Loops over iterators inside functions: nothing of Python runs between their steps, and the log tells what the guide shows (10.2.8)."""

import os
import re
import subprocess
import sys

BEGIN = """
import npu_device as npu
npu.open().as_default()
import numpy as np, tensorflow as tf
total, seen = tf.Variable(0.0), []
data = tf.data.Dataset.from_tensor_slices(np.arange(100, dtype="f"))
@tf.function
def loop_fn(iterator, steps):
    for _ in tf.range(steps):
        total.assign_add(next(iterator))
@tf.function
def one(iterator):
    total.assign_add(next(iterator))
"""


def lines_of(folder, code, **variables):
    script = folder / "script.py"  # AutoGraph reads the source
    script.write_text(BEGIN + code)
    environment = {n: v for n, v in os.environ.items() if n != "TF_CPP_MIN_LOG_LEVEL"}
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120, env={**environment, **variables})
    assert done.returncode == 0, done.stderr
    form = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}: I ((?:core|kernels)/(?:npu_\w+|iterator_h2d)\.cpp):\d+\] (.*)")
    return [m.groups() for m in map(form.match, done.stderr.splitlines()) if m], done.stdout.split()


def test_steps_that_are_left_and_the_log(tmp_path):
    """The guide's sample: 100 steps, 30 a call, and a last call of 10."""
    lines, out = lines_of(tmp_path, """
iterator, remaining, base = iter(data), 100, 30
npu.set_npu_loop_size(base)
while remaining >= base:
    loop_fn(iterator, tf.constant(base))
    remaining -= base
npu.set_npu_loop_size(remaining)
loop_fn(iterator, tf.constant(remaining))
print(total.numpy(), loop_fn.experimental_get_tracing_count())
try: loop_fn(iterator, tf.constant(remaining))
except tf.errors.OutOfRangeError: print("end", total.numpy())
""")
    assert out == ["4950.0", "1", "end", "4950.0"]
    device, channel = "core/npu_device.cpp", "kernels/iterator_h2d.cpp"
    lines = [line for line in lines if not line[1].startswith("Npu device")]
    lines = [line for line in lines if not (line[1].startswith("Graph ") and "loop_fn" not in line[1])]
    lines = [(f, re.sub(r"loop_fn_\d+", "loop_fn_N", t)) for f, t in lines]

    def call(times):
        return [(device, "Start consume iterator resource AnonymousIterator0 %d times" % times),
                (device, "Start run ge graph 1 pin to cpu, loop size %d" % times),
                (device, "Iterator resource AnonymousIterator0 consume %d times done with status OK" % times)]

    begin = [(device, "Set npu loop size to 30"), (device, "Iterator resource provider for AnonymousIterator0 created"),
             (channel, "Hdc channel for iterator resource AnonymousIterator0 to device [0] created"),
             (device, "Graph __inference_loop_fn_N can loop: true")]
    want = begin + call(30) * 3 + [(device, "Set npu loop size to 10")] + call(10) + call(10)[:2]
    graph = {t.split()[4] for _, t in lines if t.startswith("Start run ge graph")}
    assert len(graph) == 1
    lines = [(f, t.replace("graph %s pin" % graph.copy().pop(), "graph 1 pin")) for f, t in lines]
    assert lines[:len(want)] == want
    failed, *end = lines[len(want):]
    assert failed[1].startswith("Iterator resource AnonymousIterator0 consume 0 times done with status ") and "End of sequence" in failed[1]
    assert end == [(device, "Stopping iterator resource provider for AnonymousIterator0"),
                   ("core/npu_hdc.cpp", "Hdc channel AnonymousIterator0 closed"), ("core/npu_wrapper.cpp", "Stop tensorflow model parser succeed"),
                   ("core/npu_wrapper.cpp", "Stop graph engine succeed")]


def test_the_variable_and_other_functions(tmp_path):
    lines, out = lines_of(tmp_path, """
loop_fn(iter(data), tf.constant(5))
iterator = iter(data)
one(iterator)
loop_fn(iterator, tf.constant(3))
print(total.numpy())
""", NPU_LOOP_SIZE="5")
    texts = [t for _, t in lines]
    assert out == ["16.0"]
    # said once, where the first loop begins, as the guide shows it
    place = texts.index("Set npu loop size to 5")
    assert texts.count("Set npu loop size to 5") == 1 and texts[place - 1].endswith("can loop: true")
    assert texts[place + 1] == "Start consume iterator resource AnonymousIterator0 5 times"
    assert "Start consume iterator resource AnonymousIterator0 5 times" in texts
    assert any(re.fullmatch(r"Graph __inference_one_\d+ can loop: false", t) for t in texts)
    assert "Iterator resource AnonymousIterator1 consume 1 times done with status OK" in texts
    # a loop that makes another number of steps does what its condition says, and the log says so
    assert "Iterator resource AnonymousIterator1 consume 3 times done with status OK" in texts
    assert "The loop made 3 steps, and the npu loop size is 5: set both alike" in texts


def test_the_log_of_a_strategy(tmp_path):
    """Its data come by an iterator for several devices, from which that of the device is fed."""
    lines, out = lines_of(tmp_path, """
strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
iterator = iter(strategy.experimental_distribute_dataset(data))
npu.set_npu_loop_size(4)
loop_fn(iterator, tf.constant(4))
print(total.numpy())
""")
    assert out == ["6.0"]
    texts = [t for _, t in lines]
    wanted = ["Iterator resource provider for AnonymousMultiDeviceIterator0 created", "Iterator resource provider for AnonymousIterator0 created",
              "Start consume iterator resource AnonymousIterator0 4 times", "Stopping iterator resource provider for AnonymousIterator0",
              "Stopping iterator resource provider for AnonymousMultiDeviceIterator0", "Hdc channel AnonymousIterator0 closed"]
    assert [t for t in texts if t in wanted] == wanted
