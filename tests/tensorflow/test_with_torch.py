"""TensorFlow and PyTorch in one process, each on the virtual NPU, whichever comes first. torch and torch_npu are those of .venv."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

PROGRAM = """
import json, os, sys
sys.path.append(sys.argv[2])
def torch_learns():
    import torch, torch_npu
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 3)
    x, losses = torch.randn(8, 4), []
    for device in ("npu", "cpu"):
        copy = torch.nn.Linear(4, 3)
        copy.load_state_dict(model.state_dict())
        copy.to(device)
        optimizer = torch.optim.SGD(copy.parameters(), 0.1)
        for _ in range(3):
            optimizer.zero_grad()
            loss = copy(x.to(device)).square().mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses[:3], losses[3:]
def tensorflow_learns():
    import npu_device as npu
    name = npu.open().as_default().name()
    import tensorflow as tf
    x, weights, losses = tf.random.stateless_normal([8, 4], [1, 2]), None, []
    for device in (name, "CPU:0"):
        with tf.device(device):
            model = tf.keras.Sequential([tf.keras.layers.Input((4,)), tf.keras.layers.Dense(3)])
            if weights: model.set_weights(weights)
            weights = model.get_weights()
            model.compile(tf.keras.optimizers.SGD(0.1), "mse")
            losses += model.fit(x, tf.zeros([8, 3]), epochs=3, verbose=0).history["loss"]
    return losses[:3], losses[3:]
print(json.dumps([torch_learns() if word == "t" else tensorflow_learns() for word in sys.argv[1]]))
"""


@pytest.mark.parametrize("order", ["tft", "ftf"])
def test_both_in_one_process(order):
    site = list(pathlib.Path(__file__).resolve().parents[2].glob(".venv/lib/python*/site-packages"))
    if not site or not (site[0] / "torch_npu").is_dir():
        pytest.skip("there is no torch_npu in .venv (./dev setup)")
    done = subprocess.run([sys.executable, "-c", PROGRAM, order, str(site[0])], capture_output=True, text=True, timeout=240,
                          env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2"})
    assert done.returncode == 0, done.stderr
    for got, want in json.loads(done.stdout.splitlines()[-1]):
        assert got == pytest.approx(want, rel=1e-5) and want[2] < want[0]
