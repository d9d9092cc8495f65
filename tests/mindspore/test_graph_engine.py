"""MindSpore's backend GE: whole graphs go to sessions of the graph engine. And data sets that feed steps by a channel of the device."""
import json

import pytest
from programs import LONG, STRICT, assert_close, losses, mindspore

STEPS = 20 if LONG else 4
CASES = ["lenet:momentum:sparse", "bert:decay:cross"] + (["lenet:adam:cross", "lenet:rmsprop:cross", "lstm:adam:cross", "gpt:adam:cross", "vit:adam:cross",
                                                          "resnet18:momentum:sparse"] if LONG else [])


def test_layers(tmp_path):
    wanted = losses(mindspore(tmp_path, "train_layers.py", "CPU", STEPS, "pynative", "fp32", *CASES)[0])
    out, err = mindspore(tmp_path, "train_layers.py", "Ascend", STEPS, "GE", "fp32", *CASES, **STRICT)
    assert "FAILED" not in err, err[-3000:]
    assert_close(losses(out), wanted)


def trained(folder, *arguments, **env):
    return json.loads(mindspore(folder, "train_dataset.py", *arguments, **env)[0].splitlines()[-1])


@pytest.fixture(scope="module")
def on_cpu(tmp_path_factory):
    return trained(tmp_path_factory.mktemp("cpu"), "CPU", "O0", "0")


@pytest.mark.parametrize("mode", ["O0", "O2", *(["pynative"] if LONG else [])])
def test_sinking(tmp_path, on_cpu, mode):
    """With it a callback comes once an epoch, where steps are graphs; O2 is GE, which repeats them itself."""
    found = trained(tmp_path, "Ascend", mode, "1")
    assert set(found["losses"]) == ({"8", "16"} if mode != "pynative" else {str(n + 1) for n in range(16)})
    for step, loss in found["losses"].items():
        assert abs(loss - on_cpu["losses"][step]) < 1e-5, (step, loss)
    assert abs(found["weights"] - on_cpu["weights"]) < 1e-6 * on_cpu["weights"]


def test_loss_scaling(tmp_path):
    """In GE a step is skipped by a branch that takes one of the inputs of its node, by that one's index. The first steps overflow."""
    wanted = trained(tmp_path, "Ascend", "O0", "0", "O2")
    assert wanted["losses"]["9"] == wanted["losses"]["1"] != wanted["losses"]["16"]
    for sink in ("0", "1"):
        found = trained(tmp_path, "Ascend", "O2", sink, "O2")
        assert set(found["losses"]) == ({"8", "16"} if sink == "1" else {str(n + 1) for n in range(16)})
        for step, loss in found["losses"].items():
            assert abs(loss - wanted["losses"][step]) < 1e-4, (step, loss)


def test_what_is_missing_is_named(tmp_path):
    """An operator that is not here fails by its name, also where a session takes the graph later."""
    code = """
import mindspore as ms, numpy as np
from mindspore import Tensor
from mindspore.ops.operations._inner_ops import NonZeroWithValue
ms.set_device("Ascend", 0)
@ms.jit(backend="GE")
def f(x):
    return NonZeroWithValue()(x)
try:
    f(Tensor(np.array([[1.0, 0.0], [0.0, 2.0]], np.float32)))
except Exception as error:
    print("REFUSED", str(error))
"""
    (tmp_path / "program.py").write_text(code)
    out, err = mindspore(tmp_path, tmp_path / "program.py")
    assert "REFUSED" in out and "NonZeroWithValue" in out + err, (out + err)[-3000:]


@pytest.mark.parametrize("level", ["O2", "O0"])
def test_weights_of_four_bits(tmp_path, level):
    """Parameters of qint4x2, two in a byte: INT4 in MindSpore's graphs, eight in a word in ours."""
    code = """
import sys, numpy as np, mindspore as ms
from mindspore import Parameter, Tensor, nn
from mindspore.ops.auto_generate import WeightQuantBatchMatmul
ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_level=sys.argv[1])
class Net(nn.Cell):
    def __init__(self, weight):
        super().__init__()
        self.product, self.weight = WeightQuantBatchMatmul(False, False, 0), weight
    def construct(self, x, scale, offset):
        return self.product(x, self.weight, scale, offset, None, None, None)
draw = np.random.default_rng(3)
numbers = draw.integers(-8, 8, (8, 16)).astype(np.int8)
bits = numbers & 15
net = Net(Parameter(Tensor((bits[:, ::2] | bits[:, 1::2] << 4).astype(np.int8), dtype=ms.qint4x2)))
x = draw.random((4, 8)).astype(np.float16)
y = net(Tensor(x), Tensor([0.1], dtype=ms.float16), Tensor([-4], dtype=ms.float16)).asnumpy()
print("DIFFERENCE", np.abs(y - x.astype(np.float64) @ ((numbers - 4) * 0.1)).max(), np.abs(y).max())
"""
    (tmp_path / "program.py").write_text(code)
    out, err = mindspore(tmp_path, tmp_path / "program.py", level)
    difference, size = map(float, next(line for line in out.splitlines() if line.startswith("DIFFERENCE")).split()[1:])
    assert size > 1 and difference < 5e-3 * size, (out, err[-2000:])
