"""Results and sizes of gradients of mindcv's models: DEVICE NAME…; a line of JSON each."""
import json
import sys

import mindspore as ms
import numpy as np
from mindcv.models import create_model
from mindspore import Tensor

ms.set_device(sys.argv[1], 0)
ms.set_context(mode=ms.PYNATIVE_MODE)
for name in sys.argv[2:]:
    ms.set_seed(0)
    np.random.seed(0)
    net, rng = create_model(name, num_classes=10), np.random.default_rng(1)
    for p in net.get_parameters():
        if len(p.shape) > 1:
            p.set_data(Tensor((rng.standard_normal(p.shape) / np.sqrt(np.prod(p.shape[1:]))).astype(np.float32)))
    net.set_train(False)
    size = 224 if name.startswith(("xcit", "swin", "pvt", "convit", "mlp")) else 96
    x = Tensor(rng.standard_normal((1, 3, size, size)).astype(np.float32))

    def loss(x):
        out = net(x)
        return (out * out).mean(), out

    (_, out), gradients = ms.value_and_grad(loss, None, net.trainable_params(), has_aux=True)(x)
    sizes = [float(np.abs(g.asnumpy().astype(np.float64)).sum()) for g in gradients]
    print(json.dumps([name, out.asnumpy().ravel().tolist(), sum(sizes)]), flush=True)
