"""torch_npu and MindSpore in one process, imported in either order: python beside_torch.py torch|mindspore FOLDER, where torch_npu lies."""
import sys

import numpy as np

first, folder = sys.argv[1:]
sys.path.append(folder)  # behind this environment's own: numpy is MindSpore's
if first == "torch":
    import torch
    import torch_npu
    import mindspore as ms
else:
    import mindspore as ms
    import torch
    import torch_npu
from mindspore import mint, nn

ms.set_device("Ascend", 0)
rng = np.random.default_rng(0)
x, w = rng.standard_normal((8, 16)).astype(np.float32), rng.standard_normal((4, 16)).astype(np.float32)
theirs = torch.nn.Linear(16, 4, bias=False).npu()
with torch.no_grad():
    theirs.weight.copy_(torch.from_numpy(w))
ours = mint.nn.Linear(16, 4, bias=False, weight_init=ms.Tensor(w))
step, other = torch.optim.SGD(theirs.parameters(), 0.1), mint.optim.SGD(ours.trainable_params(), 0.1)
gradient = ms.value_and_grad(lambda a: mint.square(ours(a)).mean(), None, other.parameters)
for n in range(5):
    step.zero_grad()
    loss = theirs(torch.from_numpy(x).npu()).square().mean()
    loss.backward()
    step.step()
    value, gradients = gradient(ms.Tensor(x))
    other(gradients)
    assert abs(loss.item() - float(value.asnumpy())) < 1e-5 * abs(loss.item()), (n, loss.item(), value)
    w = w - 0.1 * 2 * (x @ w.T).T @ x / 32
assert np.allclose(theirs.weight.detach().cpu().numpy(), w, atol=1e-5) and np.allclose(ours.weight.asnumpy(), w, atol=1e-5)
print("both", torch_npu.npu.device_count() >= 1, ms.get_context("device_target"))
