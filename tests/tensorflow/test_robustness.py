"""Long runs, interruptions, threads and forks."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest
import tensorflow as tf

pytestmark = pytest.mark.usefixtures("npu")
L = tf.keras.layers
LONG = bool(os.environ.get("UPDRAFT_TEST_LONG"))


def resident():
    """Of this process, in MiB."""
    return int(next(line for line in open("/proc/self/status") if line.startswith("VmRSS")).split()[1]) / 1024


def step_of(model):
    optimizer = tf.keras.optimizers.Adam(0.01)
    loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    @tf.function
    def step(x, y):
        with tf.GradientTape() as tape:
            loss = loss_of(y, model(x, training=True))
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        return loss

    return step


def test_steps_keep_no_memory():
    """10,000 steps in the long form. The words of a batch differ, so that gradients have other sizes each time."""
    steps = 10_000 if LONG else 600
    model = tf.keras.Sequential([L.Input((12,), dtype="int32"), L.Embedding(200, 16), L.LSTM(16), L.Dense(4)])
    step, rng = step_of(model), np.random.default_rng(0)

    def run(count):
        for _ in range(count):
            loss = step(tf.constant(rng.integers(0, 200, (8, 12)), tf.int32), tf.constant(rng.integers(0, 4, 8)))
        return float(loss)

    run(300)  # most sizes have been there
    before = resident()
    assert np.isfinite(run(steps))
    assert resident() - before < 40, (before, resident())


PROGRAM = """
import os, signal, threading, time
import npu_device
npu_device.open().as_default()
import numpy as np
import tensorflow as tf
model = tf.keras.Sequential([tf.keras.layers.Input((16,)), tf.keras.layers.Dense(32, activation="relu"), tf.keras.layers.Dense(4)])
model.compile("adam", "mse")
x, y = np.ones((512, 16), "f"), np.ones((512, 4), "f")
model.fit(x, y, epochs=1, verbose=0)
threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
begin = time.monotonic()
try:
    model.fit(x, y, epochs=10**7, verbose=0)
except KeyboardInterrupt:
    print("interrupted", time.monotonic() - begin < 60)
model.fit(x, y, epochs=1, verbose=0)
print("trains on", np.isfinite(model.evaluate(x, y, verbose=0)))
"""


def test_fit_can_be_interrupted(tmp_path):
    done = subprocess.run([sys.executable, "-c", PROGRAM], cwd=tmp_path, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0 and "interrupted True" in done.stdout and "trains on True" in done.stdout, done.stderr[-2000:]


def test_several_functions_in_several_threads():
    """Each thread trains a network of its own, and they share a function with variables."""
    shared = tf.Variable(tf.zeros([4]))

    @tf.function
    def add(x):
        return shared.assign_add(x)

    failures, results = [], {}

    def work(index):
        try:
            model = tf.keras.Sequential([L.Input((6,)), L.Dense(8 + index, activation="tanh"), L.Dense(3)])
            step = step_of(model)
            x = tf.constant(np.random.default_rng(index).standard_normal((16, 6)), tf.float32)
            y = tf.constant(np.arange(16) % 3)
            losses = [float(step(x, y)) for _ in range(20)]
            for _ in range(5):
                add(tf.ones([4]))
            results[index] = losses
        except Exception as e:
            failures.append(e)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures, failures
    assert all(losses[-1] < losses[0] for losses in results.values()) and len(results) == 4


def test_processes_that_tf_data_forks():
    """A generator of tf.data that forks workers, as loaders of images do, beside training."""
    import multiprocessing

    def samples():
        with multiprocessing.get_context("fork").Pool(2) as pool:
            yield from pool.imap(square, range(32))

    dataset = tf.data.Dataset.from_generator(samples, output_signature=tf.TensorSpec((2,), tf.float32)).batch(8).prefetch(2)
    model = tf.keras.Sequential([L.Input((2,)), L.Dense(4)])
    step = step_of(model)
    seen = 0
    for x in dataset:
        step(x, tf.zeros([8], tf.int32))
        seen += x.shape[0]
    assert seen == 32


def square(i):
    return np.full(2, i * i, "f")
