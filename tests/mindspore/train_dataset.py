"""Losses of Model.train on a data set: python train_dataset.py Ascend|CPU pynative|O0|O2 SINK(0|1) [AMP_LEVEL]. Prints the loss of each callback
by its step, and what the weights sum up to."""
import json
import sys

import mindspore as ms
import numpy as np
from layer_models import LeNet
from mindspore import Model, Tensor, nn
from mindspore.dataset import NumpySlicesDataset
from samples import weight

device, mode, sink, level = sys.argv[1], sys.argv[2], sys.argv[3] == "1", sys.argv[4] if len(sys.argv) > 4 else "O0"
ms.set_device(device, 0)
ms.set_context(mode=ms.PYNATIVE_MODE if mode == "pynative" else ms.GRAPH_MODE)
if mode != "pynative":
    ms.set_context(jit_config={"jit_level": mode})
rng = np.random.default_rng(0)
images, labels = rng.standard_normal((64, 1, 32, 32)).astype(np.float32), rng.integers(0, 10, 64).astype(np.int32)
data = NumpySlicesDataset((images, labels), ["image", "label"], shuffle=False).batch(8)
net = LeNet()
for p in net.trainable_params():
    p.set_data(Tensor(weight(p.name, p.shape)))
losses = {}


class Note(ms.Callback):
    def step_end(self, run_context):
        now = run_context.original_args()
        out = now.net_outputs  # with a loss scaler also whether it overflowed, and the scale
        losses[now.cur_step_num] = float((out[0] if isinstance(out, tuple) else out).asnumpy())


loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
Model(net, loss, nn.Momentum(net.trainable_params(), 0.01, 0.9), amp_level=level).train(2, data, callbacks=[Note()], dataset_sink_mode=sink)
print(json.dumps({"losses": losses, "weights": float(sum(np.abs(p.asnumpy()).sum() for p in net.trainable_params()))}))
