"""Models in eight bits: convolutions, products and sums of whole numbers are what ONNX says of them, on CPUs with such products and on others."""

import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

from tests.graph.test_atc import EXACT, ONNX_PYTHON, ROOT, atc, compiled

# What each model is made of when it is compiled. A positive part stays a node where zero is not the lowest number.
TYPES = {"convolutions": {"RequantConv2D": 6, "Relu": 1, "QuantizeLinear": 7}, "residual": {"RequantConv2D": 2, "QuantizeLinear": 1},
         "summed": {"RequantConv2D": 2, "RequantAdd": 1, "QuantizeLinear": 1},
         "products": {"RequantMatMul": 3, "Tanh": 1, "QuantizeLinear": 3}, "table": {"GatherV2": 1, "DequantizeLinear": 1, "QuantizeLinear": 1},
         "moved": {"Reshape": 1, "Transpose": 2, "DequantizeLinear": 1, "QuantizeLinear": 2},
         "functions": {"ByteTable": 2, "QuantizeLinear": 4, "DequantizeLinear": 1, "Sigmoid": 1, "Mul": 1}}
RUN = """
import sys
import numpy as np
from tests.graph.offline_model import OfflineModel
feeds = {k[3:]: v for k, v in np.load(sys.argv[2]).items() if k.startswith("in/")}
with OfflineModel(sys.argv[1]) as model:
    np.savez(sys.argv[3], *model.run(feeds))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("quantized")
    subprocess.run([ONNX_PYTHON, pathlib.Path(__file__).with_name("quantized_models.py"), made], check=True, timeout=300)
    return made


@pytest.mark.parametrize("name", TYPES)
def test_nodes_are_of_eight_bits(folder, name):
    om = compiled(folder, name, EXACT)
    text = om.with_suffix(".json")
    assert atc("--mode=1", f"--om={om}", f"--json={text}").returncode == 0
    nodes = [op["type"] for graph in json.loads(text.read_text())["graph"] for op in graph["op"]]
    assert {kind: nodes.count(kind) for kind in set(nodes) - {"Data", "Const", "Constant", "NetOutput"}} == TYPES[name]


# without the pass and on CPUs that have no products of eight bits, sums are those of FLOAT: they may come near another whole number
@pytest.mark.parametrize("how", ["native", "v3", "switched off"])
@pytest.mark.parametrize("name", TYPES)
def test_numbers_are_onnxs(folder, name, how):
    options = [EXACT]
    if how == "switched off":
        switches = folder / "off.json"
        switches.write_text(json.dumps({"Switch": {"GraphFusion": {"RequantFusionPass": "off", "ByteTableFusionPass": "off"}}}))
        options.append(f"--fusion_switch_file={switches}")
    om, made = compiled(folder, name, *options, output=f"{name}-{how.split()[0]}"), folder / f"{name}-{how.split()[0]}.npz"
    environment = {**os.environ, **({"UPDRAFT_MAX_ISA": "v3", "ONEDNN_MAX_CPU_ISA": "AVX2"} if how == "v3" else {})}
    done = subprocess.run([sys.executable, "-c", RUN, om, folder / f"{name}.npz", made], env=environment, cwd=ROOT, capture_output=True,
                          text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-4000:]
    got, arrays = list(np.load(made).values()), np.load(folder / f"{name}.npz")
    wanted = [(key, arrays[key], arrays["real/" + key[4:]]) for key in arrays if key.startswith("out/")]
    assert len(got) == len(wanted)
    for result, (key, want, steps) in zip(got, wanted):
        assert result.dtype == want.dtype and result.shape == want.shape
        differs = result != want
        if name == "residual" and how == "switched off":  # what is added is rounded before: half a step of its own
            assert np.abs(result.astype(int) - want.astype(int)).max() <= 1 and differs.mean() < 0.7
            continue
        # only where the sum lies in the middle between two numbers, within what FLOAT rounds
        tie = np.abs(np.abs(steps - np.floor(steps)) - 0.5) < 2e-3
        assert not (differs & ~tie).any(), (key, steps[differs & ~tie][:5], result[differs & ~tie][:5], want[differs & ~tie][:5])
        assert np.abs(result.astype(int) - want.astype(int)).max() <= 1
        assert differs.mean() < 0.02 and (want != want.flat[0]).mean() > 0.2
