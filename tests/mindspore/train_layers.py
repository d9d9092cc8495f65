"""Losses of mindspore.nn: python train_layers.py Ascend|CPU STEPS pynative|O0|O1|GE fp32|O2 MODEL:OPTIMIZER:LOSS…"""
import json
import sys

import mindspore as ms
from layer_models import LOSSES, MODELS, OPTIMIZERS
from mindspore import Tensor, amp
from samples import batch, weight


def name_in_torch(name):
    return name.replace(".gamma", ".weight").replace(".beta", ".bias").replace("embedding_table", "weight")


def losses(model, optimizer, loss, steps, mode, level):
    net, criterion = MODELS[model](), LOSSES[loss]()
    net.set_train(True)
    for p in net.trainable_params():
        p.set_data(Tensor(weight(name_in_torch(p.name), p.shape)))
    step = OPTIMIZERS[optimizer](net.trainable_params())
    x, y = batch(model)
    x, y = Tensor(x if x.dtype != "int64" else x.astype("int32")), Tensor(y.astype("int32"))
    scaler = amp.DynamicLossScaler(2 ** 10, 2, 50)
    if level == "O2":
        net = amp.auto_mixed_precision(net, "O2")

    def forward(x, y):
        value = criterion(net(x).astype(ms.float32), y)
        return scaler.scale(value) if level == "O2" else value

    gradient = ms.value_and_grad(forward, None, step.parameters)

    def train(x, y):
        value, gradients = gradient(x, y)
        if level == "O2":
            value, gradients = scaler.unscale(value), scaler.unscale(gradients)
            if amp.all_finite(gradients):
                step(gradients)
        else:
            step(gradients)
        return value

    if mode != "pynative":
        train = ms.jit(train, backend="GE") if mode == "GE" else ms.jit(train, jit_level=mode) if mode != "graph" else ms.jit(train)
    return [float(train(x, y).asnumpy()) for _ in range(steps)]


if __name__ == "__main__":
    device, steps, mode, level = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
    ms.set_device(device, 0)
    ms.set_context(mode=ms.PYNATIVE_MODE)
    for case in sys.argv[5:]:
        try:
            print(json.dumps([case, losses(*case.split(":"), steps, mode, level)]), flush=True)
        except Exception as error:
            print("FAILED %s: %s: %s" % (case, type(error).__name__, str(error).strip()[:2000]), file=sys.stderr, flush=True)
