"""Training steps of MindSpore's own layers on the virtual NPU against MindSpore's CPU device: both in processes of their own, in turn,
each step a graph (`ms.jit`). The losses of both are compared.

    ./dev bench mindspore [--models lenet,bert,resnet50] [--rounds 5] [--threads 2]
"""
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests/mindspore")]
MODELS = ["lenet", "bert", "resnet50"]


def build(name):
    """(network, inputs, labels)"""
    import layer_models
    import numpy as np

    rng = np.random.default_rng(0)
    if name == "lenet":
        return layer_models.LeNet(), rng.standard_normal((64, 1, 32, 32)).astype(np.float32), rng.integers(0, 10, 64).astype(np.int32)
    if name == "bert":
        return layer_models.Bert(1000, 256, 64), rng.integers(0, 1000, (8, 64)).astype(np.int32), rng.integers(0, 10, 8).astype(np.int32)
    return layer_models.MODELS["resnet50"](), rng.standard_normal((4, 3, 128, 128)).astype(np.float32), rng.integers(0, 10, 4).astype(np.int32)


def session(name, device, threads):
    os.environ["GLOG_v"] = "4"
    import mindspore as ms
    from mindspore import Tensor, nn
    from samples import weight

    ms.set_device(device, 0)
    if device == "CPU":
        ms.device_context.cpu.op_tuning.threads_num(threads)
    net, x, y = build(name)
    for p in net.trainable_params():
        p.set_data(Tensor(weight(p.name.replace("gamma", "weight").replace("beta", "bias"), p.shape)))
    net.set_train(True)
    loss_of, optimizer = nn.CrossEntropyLoss(), nn.Adam(net.trainable_params(), 1e-5)

    def forward(x, y):
        return loss_of(net(x), y)

    gradient = ms.value_and_grad(forward, None, optimizer.parameters)
    x, y = Tensor(x), Tensor(y)

    @ms.jit
    def train(x, y):
        loss, gradients = gradient(x, y)
        optimizer(gradients)
        return loss

    def step(values=False):
        value = float(train(x, y).asnumpy())
        return value if values else None

    return step


if __name__ == "__main__":
    from bench.framework import main

    main(__file__, __doc__, MODELS, session, ("Ascend", "CPU"), "mindspore", "MindSpore CPU")
