"""Losses of MindSpore's mint on Ascend: python train_mint.py STEPS pynative|O0|O1 fp32|bf16 MODEL:OPTIMIZER…"""
import json
import sys

import mindspore as ms
from mindspore import Tensor, mint
from samples import batch, weight
from sides import mint_side
from twin_models import models

OPTIMIZERS = {"adamw": lambda p: mint.optim.AdamW(p, 1e-3, weight_decay=0.01), "adam": lambda p: mint.optim.Adam(p, 1e-3),
              "slow": lambda p: mint.optim.AdamW(p, 1e-4),
              "sgd": lambda p: mint.optim.SGD(p, 0.002, momentum=0.9)}


def name_in_torch(name):
    """MindSpore names the parameters of normalisations otherwise in some of its layers."""
    return name.replace(".gamma", ".weight").replace(".beta", ".bias").replace("embedding_table", "weight")


def losses(model, optimizer, steps, mode, dtype):
    net = models(mint_side())[model]()
    net.set_train(True)
    for p in net.trainable_params():
        p.set_data(Tensor(weight(name_in_torch(p.name), p.shape)))
    if dtype == "bf16":
        net.to_float(ms.bfloat16)
    x, y = map(Tensor, batch(model))
    step = OPTIMIZERS[optimizer](net.trainable_params())

    def forward(x, y):
        return mint.nn.functional.cross_entropy(net(x).astype(ms.float32), y)

    gradient = ms.value_and_grad(forward, None, step.parameters)

    def train(x, y):
        loss, gradients = gradient(x, y)
        step(gradients)
        return loss

    if mode != "pynative":
        train = ms.jit(train, jit_level=mode)
    return [float(train(x, y).asnumpy()) for _ in range(steps)]


if __name__ == "__main__":
    ms.set_device("Ascend", 0)
    ms.set_context(mode=ms.PYNATIVE_MODE)
    steps, mode, dtype = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    for case in sys.argv[4:]:
        print(json.dumps([case, losses(*case.split(":"), steps, mode, dtype)]), flush=True)
