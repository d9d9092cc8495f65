"""open(), as_default(), scope(): which device operators run on."""

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


def test_what_has_no_operator_is_listed(npu):
    tf.raw_ops.Ndtri(x=tf.constant([0.5]))
    assert npu.host_operators()["Ndtri"] == "the NPU has no operator for it"
    assert "MatMul" not in npu.host_operators()
