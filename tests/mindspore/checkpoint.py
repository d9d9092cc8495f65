"""python checkpoint.py save|load Ascend|CPU FILE: trains and saves, or loads and goes on; the losses as JSON. The optimizer's state is in the file, too."""
import json
import sys

import mindspore as ms
from layer_models import LOSSES, MODELS, OPTIMIZERS
from mindspore import Tensor, nn
from samples import batch, weight

what, device, file = sys.argv[1:]
ms.set_device(device, 0)
net = MODELS["lenet"]()
for p in net.trainable_params():
    p.set_data(Tensor(weight(p.name, p.shape)))
step = nn.TrainOneStepCell(nn.WithLossCell(net, LOSSES["cross"]()), OPTIMIZERS["adam"](net.trainable_params()))
step.set_train()
if what == "load":
    absent, unknown = ms.load_param_into_net(step, ms.load_checkpoint(file))
    assert not absent and not unknown, (absent, unknown)
x, y = batch("lenet")
x, y = Tensor(x), Tensor(y.astype("int32"))
losses = [float(step(x, y).asnumpy()) for _ in range(4)]
if what == "save":
    ms.save_checkpoint(step, file)
print(json.dumps(losses))
