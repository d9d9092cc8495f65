"""open(), as_default(), scope(): which device operators run on."""

import ast
import subprocess
import sys
import threading

import numpy as np
import pytest
import tensorflow as tf

from tests.tensorflow.compare import CPU

NAME = "/job:localhost/replica:0/task:0/device:NPU:0"


def run(code, **environment):
    import os

    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env={**os.environ, **environment})


def test_operators_run_on_the_default_device(npu):
    assert npu.name() == NAME and npu.workers_num == 1 and npu.worker_id == 0
    x = tf.constant([1.0, 2.0])
    assert x.device == NAME and (x + x).device == NAME
    np.testing.assert_array_equal((x + x).numpy(), [2, 4])


def test_scopes(npu):
    with tf.device(CPU):
        assert tf.add(1.0, 2.0).device == CPU
        with npu.scope():
            assert tf.add(1.0, 2.0).device == NAME
        assert tf.add(1.0, 2.0).device == CPU


def test_tensors_go_from_one_device_to_the_other(npu):
    with tf.device(CPU):
        x = tf.constant([1.0, 2.0])
    y = x * 2.0  # the NPU reads it where it lies
    with tf.device(CPU):
        z = y + 1.0
    assert (x.device, y.device, z.device) == (CPU, NAME, CPU)
    np.testing.assert_array_equal(z.numpy(), [3, 5])


def test_every_thread_has_it(npu):
    seen = []

    def work():
        seen.append((tf.constant(1.0) + 1.0).device)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert seen == [NAME, NAME]


def test_a_process_has_one_device(npu):
    import npu_device

    assert npu_device.open(0) is npu_device.open() is npu


@pytest.mark.parametrize("device_id", [1, -1, 9999, "0", True, 0.0])
def test_other_numbers_are_refused(npu, device_id):
    import npu_device

    with pytest.raises((ValueError, RuntimeError), match="device_id is|NPU 0 is open"):
        npu_device.open(device_id)


def test_the_device_of_the_environment():
    code = "import npu_device as npu; print(npu.open().as_default().name())"
    done = run(code, UPDRAFT_DEVICES="2", ASCEND_DEVICE_ID="1", TF_CPP_MIN_LOG_LEVEL="0")
    assert done.stdout.strip() == NAME[:-1] + "1", done.stderr
    assert "Npu device instance /job:localhost/replica:0/task:0/device:NPU:1 created" in done.stderr
    done = run(code, ASCEND_DEVICE_ID="one")
    assert done.returncode and "ASCEND_DEVICE_ID is 'one', want a number from 0 to" in done.stderr


CARD = {"UPDRAFT_FIDELITY": "card"}


def test_types_that_no_card_has():
    """Refused by node and type with UPDRAFT_FIDELITY=card; casts, gathers and the CPU's own nodes go on. Without it all is computed."""
    done = run("""
import numpy as np, tensorflow as tf, npu_device as npu
npu.open().as_default()
def said(f):
    try: return np.asarray(f()).tolist()
    except tf.errors.OpError as e: return type(e).__name__ + ": " + e.message
x = tf.constant([1.5, 2.5], tf.float64)
@tf.function
def product(v): return tf.multiply(v, 2.0, name="twice")
@tf.function
def spectrum(v): return tf.abs(tf.signal.fft(tf.complex(v, v)))
print([said(lambda: product(x)), said(lambda: x + x), said(lambda: spectrum(tf.constant([1.0, 0.0]))),
       said(lambda: tf.cast(tf.gather(x, [1]), tf.float32)), said(lambda: product(tf.cast(x, tf.float32))),
       said(lambda: next(iter(tf.data.Dataset.from_tensor_slices(np.array([7.5])))))])
""", **CARD)
    assert done.returncode == 0, done.stderr
    product, total, spectrum, gathered, single, item = ast.literal_eval(done.stdout.strip().splitlines()[-1])
    assert product.startswith("UnimplementedError") and "node twice (Mul) has float64: Ascend910B2 has no such tensors" in product
    assert "(AddV2) has float64" in total and "has complex64" in spectrum
    assert (gathered, single, item) == ([2.5], [3, 5], 7.5)


def test_what_has_no_operator_is_listed(npu):
    tf.raw_ops.Ndtri(x=tf.constant([0.5]))
    assert npu.host_operators()["Ndtri"] == "the NPU has no operator for it"
    assert "MatMul" not in npu.host_operators()
