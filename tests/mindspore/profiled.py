"""Two steps under MindSpore's profiler: python profiled.py FOLDER"""
import sys

import mindspore as ms
import numpy as np
from mindspore import Tensor, mint
from mindspore.profiler import ProfilerActivity, ProfilerLevel, _ExperimentalConfig, profile, schedule, tensorboard_trace_handler

ms.set_device("Ascend", 0)
ms.runtime.synchronize()  # MindSpore makes its device's context at first use without a lock: two threads that do so at once crash
x = Tensor(np.ones((64, 64), np.float32))
with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.NPU], schedule=schedule(wait=0, warmup=0, active=2, repeat=1, skip_first=0),
             on_trace_ready=tensorboard_trace_handler(sys.argv[1]),
             experimental_config=_ExperimentalConfig(profiler_level=ProfilerLevel.Level1)) as p:
    for _ in range(2):
        y = mint.nn.functional.relu(mint.matmul(x, x)) + 1
        ms.runtime.synchronize()
        p.step()
print(float(y.asnumpy()[0, 0]))
