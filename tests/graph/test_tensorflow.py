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
    assert sorted(p.stem for p in folder.glob("*.npz") if p.stem != "any_batch") == NAMES


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


def test_half_precision(folder):
    """atc's default computes in FP16; inputs and outputs keep their types."""
    om, inputs, outputs, _ = compiled(folder, "mobilenet", output="mobilenet-half")
    with OfflineModel(om) as model:
        compare(model.run(inputs), outputs, 1e-2)


def test_a_batch_of_any_size_and_gears(folder):
    dense = np.load(folder / "any_batch.npz")["dense"]
    model_file, x = folder / "any_batch.pb", np.arange(12, dtype=np.float32).reshape(4, 3) - 5
    done = atc("--framework=3", f"--model={model_file}", f"--output={folder / 'any'}", SOC, EXACT, "--input_shape=x:-1,3")
    assert DONE in done.stdout, done.stdout
    with OfflineModel(folder / "any.om") as model:
        for n in (1, 4):
            compare(model.run({"x": x[:n]}, sizes={"x"}), [np.maximum(x[:n] @ dense, 0)], 1e-5)
    done = atc("--framework=3", f"--model={model_file}", f"--output={folder / 'fixed'}", SOC, EXACT, "--input_shape=x:2,3", "--out_nodes=y")
    assert DONE in done.stdout, done.stdout
    with OfflineModel(folder / "fixed.om") as model:
        compare(model.run({"x": x[:2]}), [np.maximum(x[:2] @ dense, 0)], 1e-5)


@pytest.mark.parametrize("name, code, words", [
    ("no_converter", "E19010", "(Ndtri): there is no converter for this operator"),
    ("texts", "E19010", "(AsString): there is no converter for this operator"),
    ("older_loop", "E10001", "(Enter): branches and loops of TensorFlow 1"),
    ("zero_stride", "E10001", "(Conv2D): attribute strides has a 0, want positive values"),
    ("wide_stride", "E10001", "a stride or a dilation of the window is 1099511627776, want 2147483647 at most"),
    ("wide_block", "E10001", "(DepthToSpace): attribute block_size is 4294967296, want 1 to 65536"),
    ("wide_constant", "E10001", "a constant has the shape [32768, 32768]: 2147483648 bytes are the most"),
    ("wide_constants", "E10001", "constants that do not write out their elements have more than 2147483648 bytes together"),
    ("nobody", "E10001", "reads nobody, which is no node of the graph"),
])
def test_refusals(folder, name, code, words):
    said = refused(code, "--framework=3", f"--model={folder / name}.pb", f"--output={folder / 'none'}", SOC)
    assert words in said, said
    assert not (folder / "none.om").exists()


def test_files_that_are_no_graph(folder):
    whole = (folder / "mobilenet.pb").read_bytes()
    for content, words in ((b"saved_model_schema_version: 1", "does not begin as a GraphDef"),
                           (whole[:len(whole) // 2], "the file is cut off"), (whole[:3], "does not begin as a GraphDef")):
        broken = folder / "broken.pb"
        broken.write_bytes(content)
        assert words in refused("E10001", "--framework=3", f"--model={broken}", f"--output={folder / 'none'}", SOC)


def test_wrong_names_and_shapes(folder):
    model = f"--model={folder / 'mobilenet'}.pb"
    said = refused("E10001", "--framework=3", model, f"--output={folder / 'none'}", SOC, "--input_shape=picture:1,96,96,3")
    assert "picture, which is no input of the model (its inputs: image)" in said
    said = refused("E10001", "--framework=3", model, f"--output={folder / 'none'}", SOC, "--input_shape=image:2,95,96,3")
    assert "input image is to have shape [2, 95, 96, 3], the model says [2, 96, 96, 3]" in said
    said = refused("E10001", "--framework=3", model, f"--output={folder / 'none'}", SOC, "--out_nodes=nowhere:0")
    assert "output nowhere:0 is asked for" in said


def test_check_lists_every_node(folder):
    report = folder / "report.json"
    said = refused("E19010", "--mode=3", "--framework=3", f"--model={folder / 'no_converter'}.pb", f"--check_report={report}")
    assert "1 of" in said
    nodes = {n["op_type"]: n for n in json.loads(report.read_text())["op"]}
    assert nodes["Ndtri"]["result"] == "failed" and nodes["Placeholder"]["result"] == "success"
