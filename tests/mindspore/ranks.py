"""Ranks of msrun: collectives, alone and inside a graph, and steps of data-parallel training. Each writes what it has as JSON."""
import json
import sys

import mindspore as ms
import numpy as np
from mindspore import Tensor, mint, nn, ops
from mindspore.communication import comm_func, get_group_size, get_rank, init

ms.set_device("Ascend")
init()
rank, size = get_rank(), get_group_size()
one = lambda value, n=4: Tensor(np.full(n, value, np.float32))  # noqa: E731
mine = lambda: one(rank + 1)  # noqa: E731


@ms.jit(jit_level="O0")
def in_a_graph(x):
    return ops.AllReduce()(x) * 2


found = {
    "all_reduce": comm_func.all_reduce(mine())[0],
    "all_gather": comm_func.all_gather_into_tensor(mine())[0],
    "reduce_scatter": comm_func.reduce_scatter_tensor(Tensor(np.arange(2 * size, dtype=np.float32) + rank))[0],
    "broadcast": comm_func.broadcast(mine(), 1),
    "graph": in_a_graph(mine()),
}
comm_func.barrier()

ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
net = nn.SequentialCell(mint.nn.Linear(8, 16), mint.nn.ReLU(), mint.nn.Linear(16, 4))
for i, p in enumerate(net.get_parameters()):
    p.set_data(Tensor(np.random.default_rng(i).standard_normal(p.shape).astype(np.float32) * 0.3))
step = mint.optim.AdamW(net.trainable_params(), 1e-2)
reducer = nn.DistributedGradReducer(step.parameters)
rng = np.random.default_rng(7)
x, y = rng.standard_normal((16, 8)).astype(np.float32), rng.integers(0, 4, 16).astype(np.int64)
share = slice(rank * 16 // size, (rank + 1) * 16 // size)
gradient = ms.value_and_grad(lambda a, b: mint.nn.functional.cross_entropy(net(a), b), None, step.parameters)
for _ in range(5):
    _, gradients = gradient(Tensor(x[share]), Tensor(y[share]))
    step(reducer(gradients))
found["weights"] = net[0].weight
values = {name: np.asarray(value.asnumpy(), np.float64).ravel().tolist() for name, value in found.items()}
json.dump(values, open("%s/rank%d.json" % (sys.argv[1], rank), "w"))
