"""examples/tensorflow on the NPU: with the losses that TensorFlow's CPU kernels give without the lines about the NPU, and on two devices."""

import json
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest
from test_distribution import start as ranks_of

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "examples" / "tensorflow"
GELU = "lambda x: tf.nn.gelu(x, approximate=True)"


@pytest.fixture(scope="module")
def arguments(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mnist")
    random = np.random.default_rng(0)
    blobs = [np.clip(np.add.outer(np.hanning(28), np.hanning(28)) * random.integers(0, 160, (n, 1, 1)), 0, 255).astype("u1") for n in (64, 32)]
    np.savez(folder / "mnist.npz", x_train=blobs[0], y_train=np.zeros(64), x_test=blobs[1], y_test=np.zeros(32))
    return {"vae": ["--data_path", str(folder), "--batch_size", "16", "--epochs", "3"], "bert": ["--steps", "12", "--steps_per_loop", "3", "--width", "32"]}


def said(process):
    out, error = process.communicate(timeout=240)
    assert process.returncode == 0, error
    return json.loads(out.strip().splitlines()[-1])


def without_npu(text):
    """The script before its migration."""
    text = text.replace("npu.ops.gelu", GELU)
    return "\n".join(line for line in text.splitlines() if not re.search(r"^(import npu|npu\.)|= npu\.|^    npu\.|^        grads = npu\.", line))


@pytest.mark.parametrize("name", ["vae", "bert"])
def test_losses_are_those_of_the_cpu(tmp_path, arguments, name):
    original = tmp_path / (name + ".py")
    original.write_text(without_npu((FOLDER / (name + ".py")).read_text()))
    assert "npu." not in original.read_text().split('"""', 2)[2]
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2"}
    runs = [subprocess.Popen([sys.executable, str(path), *arguments[name]], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**environment, **more})
            for path, more in ((FOLDER / (name + ".py"), {}), (original, {"UPDRAFT_DISABLE": "1"}))]
    got, want = map(said, runs)
    assert len(got["loss"]) >= 3 and got["loss"][-1] < got["loss"][0]
    np.testing.assert_allclose(got["loss"], want["loss"], rtol=1e-4)
    np.testing.assert_allclose(got["weights"], want["weights"], rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("name", ["vae", "bert"])
def test_two_devices_have_the_same_weights(tmp_path, arguments, name):
    run = "import os, runpy, sys; words = %r + (['--rank_size', '2', '--device_id', os.environ['RANK_ID']] if %r else []); sys.argv = [%r, *words]; runpy.run_path(sys.argv[0], run_name='__main__')"
    code = run % (arguments[name], name == "vae", str(FOLDER / (name + ".py")))
    first, second = map(said, ranks_of(tmp_path, code, 2, begin=""))
    assert first["weights"] == second["weights"] and first["loss"] != second["loss"]
    assert first["loss"][-1] < first["loss"][0]
