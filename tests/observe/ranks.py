"""A job of ranks that profiles itself with torch_npu.profiler: collectives, messages and a little computing.

usage: torchrun … ranks.py FOLDER [text|db]
"""

import os
import sys

import torch
import torch.distributed as dist
import torch_npu

P = torch_npu.profiler
rank = int(os.environ["RANK"])
torch.npu.set_device(rank)
dist.init_process_group("hccl", device_id=torch.device("npu", rank))
net = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 8)).npu())
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
config = P._ExperimentalConfig(profiler_level=P.ProfilerLevel.Level1, export_type=sys.argv[2:] or ["text"])
with P.profile(schedule=P.schedule(wait=0, warmup=1, active=2, repeat=1), on_trace_ready=P.tensorboard_trace_handler(sys.argv[1]),
               record_shapes=True, profile_memory=True, experimental_config=config) as profile:
    for _ in range(4):
        loss = net(torch.randn(16, 64).npu()).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        t = torch.ones(1000, device="npu")
        dist.all_reduce(t)
        dist.broadcast(t, 0)
        if rank == 0 and dist.get_world_size() > 1:
            dist.send(t, 1)
        if rank == 1:
            dist.recv(t, 0)
        torch.npu.synchronize()
        profile.step()
dist.destroy_process_group()
