"""A rank that reduces for ever. When another one dies it writes what it was told."""
import pathlib
import sys

import mindspore as ms
import numpy as np
from mindspore import Tensor
from mindspore.mint import distributed as dist

ms.set_device("Ascend")
dist.init_process_group()
folder, rank = pathlib.Path(sys.argv[1]), dist.get_rank()
x = Tensor(np.zeros(1000, np.float32))
(folder / ("pid%d" % rank)).write_text(str(__import__("os").getpid()))
try:
    for n in range(1_000_000):
        dist.all_reduce(x)
        x.asnumpy()
        if n == 10:
            (folder / ("looping%d" % rank)).touch()
except RuntimeError as error:
    (folder / ("told%d" % rank)).write_text(str(error))
    sys.exit(3)
