"""atc --framework=3: frozen graphs of TensorFlow become om files that give what TensorFlow's CPU kernels gave."""

import json
import pathlib
import subprocess

import numpy as np
import pytest

from tests.graph.offline_model import OfflineModel
from tests.graph.test_atc import DONE, EXACT, SOC, atc, refused

ROOT = pathlib.Path(__file__).parents[2]
PYTHON = ROOT / ".venv-tensorflow" / "bin" / "python"
NAMES = ["activations", "choices", "control", "convolutions", "elementwise", "encoder", "images", "indices", "integers", "mobilenet",
         "products", "recurrent", "reductions", "shapes"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("tensorflow")
    subprocess.run([PYTHON, pathlib.Path(__file__).with_name("tensorflow_models.py"), made], check=True, timeout=300)
    return made


def test_every_model_is_here(folder):
    assert sorted(p.stem for p in folder.glob("*.pb")) == NAMES


def compiled(folder, name, *arguments, output=None):
    """The om of NAME.pb, and (inputs, outputs, tolerance) as TensorFlow has them."""
    arrays = dict(np.load(folder / f"{name}.npz"))
    outputs = [k for k in arrays if k.startswith("out/")]
    om = folder / (output or name)
    done = atc("--framework=3", f"--model={folder / name}.pb", f"--output={om}", SOC, *arguments,
               "--out_nodes=" + ";".join(k.split("/", 2)[2] for k in outputs))
    assert done.returncode == 0 and DONE in done.stdout, done.stdout + done.stderr
    inputs = {k[3:]: v for k, v in arrays.items() if k.startswith("in/")}
    return pathlib.Path(f"{om}.om"), inputs, [arrays[k] for k in outputs], float(arrays["tolerance"])


def compare(got, want, tolerance):
    assert len(got) == len(want)
    for i, (a, b) in enumerate(zip(got, want)):
        assert a.dtype == b.dtype and a.shape == b.shape, (i, a.dtype, a.shape, b.dtype, b.shape)
        np.testing.assert_allclose(a.astype(np.float64), b.astype(np.float64), rtol=tolerance,
                                   atol=tolerance * max(1.0, float(np.nanmax(np.abs(b.astype(np.float64)), initial=0))), err_msg=f"output {i}")


@pytest.mark.parametrize("name", NAMES)
def test_results(folder, name):
    om, inputs, outputs, tolerance = compiled(folder, name, EXACT)
    with OfflineModel(om) as model:
        assert sorted(model.inputs) == sorted(inputs)
        compare(model.run(inputs), outputs, tolerance)
