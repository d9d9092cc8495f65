"""Losses of mindspore.nn: python train_layers.py Ascend|CPU STEPS pynative|O0|O1|GE fp32|bf16|O2 MODEL:OPTIMIZER:LOSS…"""
import json
import sys

import mindspore as ms
from layer_models import LOSSES, MODELS, OPTIMIZERS
from mindspore import Tensor
from samples import batch, weight
from steps import training_step


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
    train = training_step(net, criterion, step, level)
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
