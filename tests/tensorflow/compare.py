"""What the NPU gives against what TensorFlow's CPU kernels give."""

import numpy as np
import tensorflow as tf

CPU = "/job:localhost/replica:0/task:0/device:CPU:0"
NPU = "/job:localhost/replica:0/task:0/device:NPU:0"  # tf.device(None) is TensorFlow's own choice: the CPU


def numbers(value):
    return tf.cast(value, tf.float64).numpy() if value.dtype.is_floating else value.numpy()


def close(got, want, tolerance, what=""):
    assert got.dtype == want.dtype and got.shape == want.shape, (what, got.dtype, got.shape, want.dtype, want.shape)
    with tf.device(CPU):
        got, want = numbers(got), numbers(want)
    if not np.issubdtype(want.dtype, np.floating):
        np.testing.assert_array_equal(got, want, err_msg=what)
        return
    finite = want[np.isfinite(want)]
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance * max(1.0, np.abs(finite).max(initial=0)), err_msg=what)


def is_on(value, device):
    return value.device.endswith(device)
