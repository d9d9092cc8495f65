"""TensorFlow on the virtual NPU. The tests run in .venv-tensorflow: ./dev test tensorflow."""

import importlib.util
import os

import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
if importlib.util.find_spec("tensorflow") is None:
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(scope="session")
def npu():
    """The device, which is the default one of all threads from here on; tf.device("CPU:0") is the reference, which has Inf and NaN."""
    import npu_device

    opened = npu_device.open().as_default()
    npu_device.npu_device.set_device_sat_mode(1)
    return opened
