"""The same architectures by mindone's classes: FOLDER. A line of JSON each: name, distance of the result, of a second one, of the gradients' size."""
import json
import pathlib
import sys

import mindone.transformers
import mindspore as ms
import numpy as np
from mindspore import Tensor

ms.set_device("Ascend", 0)


def first_tensor(out):
    out = out.to_tuple() if hasattr(out, "to_tuple") else out
    return next(x for x in out if isinstance(x, Tensor)) if isinstance(out, (tuple, list)) else out


for folder in sorted(pathlib.Path(sys.argv[1]).iterdir()):
    model, size = json.loads((folder / "wanted.json").read_text())
    net = getattr(mindone.transformers, model).from_pretrained(str(folder), attn_implementation="eager")
    net.set_train(False)
    given, wanted = {key: Tensor(x) for key, x in np.load(folder / "given.npz").items()}, np.load(folder / "wanted.npy")

    def result():
        return first_tensor(net(**given))

    def loss():
        out = result()
        return (out * out).mean()

    def distance(found):
        return float(np.abs(found.asnumpy().astype(np.float64) - wanted).max() / np.abs(wanted).max())

    first = distance(result())
    gradients = ms.value_and_grad(loss, None, net.trainable_params())()[1]
    found = sum(float(np.abs(g.asnumpy().astype(np.float64)).sum()) for g in gradients)
    print(json.dumps([folder.name, first, distance(result()), abs(found - size) / size]), flush=True)
