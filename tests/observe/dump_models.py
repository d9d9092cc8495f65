"""Makes small.onnx, the offline models of it with and without fusions, their graphs as JSON, and what PyTorch computes of
each node in reference/, as a reference of TensorFlow or ONNX would be named: NODE.OUTPUT.TIME.npy."""

import pathlib
import subprocess
import sys

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper

FOLDER = pathlib.Path(sys.argv[1])
UPDRAFT = pathlib.Path(sys.executable).parent / "updraft"


def atc(*arguments):
    done = subprocess.run([UPDRAFT, "run", "atc", *map(str, arguments)], capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stdout + done.stderr


def main():
    rng = np.random.default_rng(0)
    w, b = rng.normal(size=(4, 3, 3, 3)).astype(np.float32), rng.normal(size=4).astype(np.float32)
    m = rng.normal(size=(256, 10)).astype(np.float32) * np.float32(0.1)
    bn = [rng.uniform(0.5, 1.5, 4).astype(np.float32) for _ in range(4)]
    constants = {"w": w, "b": b, "m": m, **{"bn%d" % i: v for i, v in enumerate(bn)}}
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], name="net/conv.1", pads=[1, 1, 1, 1]),
        helper.make_node("BatchNormalization", ["c", "bn0", "bn1", "bn2", "bn3"], ["n"], name="net/bn"),
        helper.make_node("Relu", ["n"], ["r"], name="net/relu"),
        helper.make_node("Flatten", ["r"], ["f"], name="net/flatten"),
        helper.make_node("MatMul", ["f", "m"], ["g"], name="net/matmul"),
        helper.make_node("Softmax", ["g"], ["y"], name="net/softmax", axis=-1),
    ]
    graph = helper.make_graph(nodes, "small", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 8, 8])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 10])],
                              [numpy_helper.from_array(v, k) for k, v in constants.items()])
    path = FOLDER / "small.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)
    (FOLDER / "off.cfg").write_text('{"Switch": {"GraphFusion": {"ALL": "off"}, "UBFusion": {"ALL": "off"}}}')
    for name, more in (("small", []), ("small_off", ["--fusion_switch_file=%s" % (FOLDER / "off.cfg")])):
        atc("--framework=5", f"--model={path}", f"--output={FOLDER / name}", "--soc_version=Ascend910B2", *more)
        atc("--mode=1", f"--om={FOLDER / name}.om", f"--json={FOLDER / name}.json")

    x = torch.from_numpy(np.random.default_rng(1).normal(size=(1, 3, 8, 8)).astype(np.float32)).double()
    t = {k: torch.from_numpy(v).double() for k, v in constants.items()}
    c = torch.nn.functional.conv2d(x, t["w"], t["b"], padding=1)
    n = torch.nn.functional.batch_norm(c, t["bn2"], t["bn3"], t["bn0"], t["bn1"], eps=1e-5)
    r = n.relu()
    g = r.flatten(1) @ t["m"]
    made = {"x": x, "net_conv_1": c, "net_bn": n, "net_relu": r, "net_flatten": r.flatten(1), "net_matmul": g, "net_softmax": g.softmax(-1)}
    reference = FOLDER / "reference"
    reference.mkdir()
    for i, (name, value) in enumerate(made.items()):
        np.save(reference / f"{name}.0.{1700000000000000 + i}.npy", value.float().numpy())


if __name__ == "__main__":
    main()
