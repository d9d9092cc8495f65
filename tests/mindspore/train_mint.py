"""Losses of MindSpore's mint on Ascend: python train_mint.py STEPS pynative|O0|O1 fp32|bf16|O2 MODEL:OPTIMIZER…

O2 is MindSpore's automatic mixed precision of that name, float16 with a loss scaler."""
import json
import sys

import mindspore as ms
from mindspore import Tensor, mint
from samples import batch, weight
from sides import mint_side
from steps import training_step
from twin_models import models

OPTIMIZERS = {"adamw": lambda p: mint.optim.AdamW(p, 1e-3, weight_decay=0.01), "adam": lambda p: mint.optim.Adam(p, 1e-3),
              "slow": lambda p: mint.optim.AdamW(p, 1e-4),
              "sgd": lambda p: mint.optim.SGD(p, 0.002, momentum=0.9)}


def name_in_torch(name):
    """MindSpore names the parameters of normalisations otherwise in some of its layers."""
    return name.replace(".gamma", ".weight").replace(".beta", ".bias").replace("embedding_table", "weight")


def losses(model, optimizer, steps, mode, level):
    net = models(mint_side())[model]()
    net.set_train(True)
    for p in net.trainable_params():
        p.set_data(Tensor(weight(name_in_torch(p.name), p.shape)))
    x, y = map(Tensor, batch(model))
    step = OPTIMIZERS[optimizer](net.trainable_params())
    train = training_step(net, mint.nn.functional.cross_entropy, step, level)
    if mode != "pynative":
        train = ms.jit(train, jit_level=mode)
    return [float(train(x, y).asnumpy()) for _ in range(steps)]


if __name__ == "__main__":
    ms.set_device("Ascend", 0)
    ms.set_context(mode=ms.PYNATIVE_MODE)
    steps, mode, level = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    for case in sys.argv[4:]:
        print(json.dumps([case, losses(*case.split(":"), steps, mode, level)]), flush=True)
