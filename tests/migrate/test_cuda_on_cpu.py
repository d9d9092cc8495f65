"""A CUDA script of everything that scripts do with CUDA, on the CPU (UPDRAFT_CUDA_ON_CPU=1, the reference of --verify)."""

import os
import subprocess
import sys

SCRIPT = r'''
import threading
import torch, torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset
assert torch.cuda.is_available() and torch.cuda.device_count() == 1
torch.manual_seed(0); torch.cuda.manual_seed_all(0)
torch.backends.cudnn.benchmark = True; torch.backends.cudnn.deterministic = True
torch.backends.cuda.matmul.allow_tf32 = True
torch.cuda.set_device(0)
dev = torch.device("cuda:0")
x = torch.ones(3, device="cuda"); y = torch.ones(3).cuda(); y2 = torch.ones(3).cuda(0, non_blocking=True); z = torch.ones(3).to(dev)
assert x.is_cuda, "is_cuda"
b = torch.ones(3); c = b.cuda(); c.add_(1); assert b[0] == 1; d = c.cpu(); d.add_(1); assert c[0] == 2
e = b.to("cuda", torch.float16); assert e.dtype == torch.float16
f = b.to(device="cuda", dtype=torch.float64, non_blocking=True); f2=b.to(0); f3 = b.to(c); 
g = torch.zeros_like(x, device="cuda"); h = x.new_zeros(2, device=dev); i = torch.randn(3, device=0); k = torch.tensor([1.], device="cuda", pin_memory=False)
torch.full((2,), 1, device=torch.device("cuda", 0)); torch.arange(3, device="cuda"); torch.from_numpy(b.numpy()).cuda()
t = torch.ones(3).pin_memory().cuda(non_blocking=True); torch.ones(3, pin_memory=True)
u = torch.cuda.FloatTensor([1., 2.]); v = u.type("torch.cuda.DoubleTensor"); v = u.type(torch.cuda.HalfTensor)
gen = torch.Generator(device="cuda").manual_seed(1); torch.randn(3, device="cuda", generator=gen); assert isinstance(gen, torch.Generator)
gen2 = torch.Generator(); gen2.manual_seed(3); torch.randperm(4, generator=gen2)
s = torch.cuda.Stream()
with torch.cuda.stream(s):
    w = x * 2
torch.cuda.current_stream().wait_stream(s); w.record_stream(s)
e1, e2 = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True); e1.record(); e2.record(); torch.cuda.synchronize(); e1.elapsed_time(e2)
print(torch.cuda.get_device_name(0), torch.cuda.get_device_properties(0).total_memory > 0, torch.cuda.memory_allocated() / 2**20, torch.version.cuda)
with torch.cuda.device(0): pass
class Net(nn.Module):
    def __init__(self):
        super().__init__(); self.c = nn.Conv2d(1, 4, 3); self.bn = nn.BatchNorm2d(4); self.l = nn.Linear(4 * 36, 3); self.register_buffer("q", torch.ones(1))
    def forward(self, x): return self.l(torch.relu(self.bn(self.c(x))).flatten(1))
net = nn.DataParallel(Net().cuda(), device_ids=[0])
net = net.to(dev); net.module.to("cuda"); net.cuda(0)
opt = torch.optim.AdamW(net.parameters(), lr=1e-2, fused=False)
ds = TensorDataset(torch.randn(64, 1, 8, 8), torch.randint(0, 3, (64,)))
dl = DataLoader(ds, 16, shuffle=True, num_workers=2, pin_memory=True)
sc = torch.cuda.amp.GradScaler(); sc2 = torch.amp.GradScaler("cuda")
net2 = torch.compile(net)
crit = nn.CrossEntropyLoss().cuda()
for ep in range(2):
    for a, l in dl:
        a, l = a.cuda(non_blocking=True), l.to(dev, non_blocking=True)
        opt.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.float16):
            o = net2(a); loss = crit(o, l)
        assert o.dtype == torch.float16
        with torch.cuda.amp.autocast(): assert net(a).dtype == torch.float16
        sc.scale(loss).backward(); sc.unscale_(opt); nn.utils.clip_grad_norm_(net.parameters(), 1.0); sc.step(opt); sc.update()
        print(f"epoch {ep} loss {loss.item():.5f}")
torch.save({"m": net.state_dict(), "dev": dev}, "checkpoint.pt")
ck = torch.load("checkpoint.pt", map_location="cuda:0"); torch.load("checkpoint.pt", map_location=lambda s, l: s.cuda(0)); torch.load("checkpoint.pt", map_location={"cuda:0": "cuda:0"}); net.load_state_dict(ck["m"])
def work(): 
    assert torch.ones(2, device="cuda").sum() == 2
th = threading.Thread(target=work); th.start(); th.join()
from torch.utils.checkpoint import checkpoint
q = torch.ones(4, requires_grad=True, device="cuda"); checkpoint(lambda v: v * 2, q, use_reentrant=False).sum().backward(); assert q.grad is not None
torch.cuda.empty_cache(); torch.cuda.reset_peak_memory_stats(); torch.cuda.nvtx.range_push("x"); torch.cuda.nvtx.range_pop()
torch.cuda.set_rng_state(torch.cuda.get_rng_state())
torch.set_default_device("cuda"); assert torch.ones(1).sum() == 1; torch.set_default_device("cpu")
torch.set_default_tensor_type("torch.cuda.FloatTensor"); torch.set_default_tensor_type(torch.cuda.FloatTensor)
with torch.device("cuda"): m = nn.Linear(2, 2); m(torch.ones(1, 2))
import torch.distributed as dist, os
os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(20000 + os.getpid() % 20000), RANK="0", WORLD_SIZE="1")
dist.init_process_group("nccl", device_id=torch.device("cuda:0")); assert dist.is_nccl_available()
n = nn.parallel.DistributedDataParallel(nn.Linear(2, 2).cuda(), device_ids=[0], output_device=0); n(torch.ones(1, 2, device="cuda")).sum().backward()
r = torch.ones(2, device="cuda"); dist.all_reduce(r, op=dist.ReduceOp.AVG); dist.all_reduce(r, op=dist.ReduceOp.AVG, async_op=True).wait(); dist.barrier(device_ids=[0])
sb = nn.SyncBatchNorm.convert_sync_batchnorm(Net()).cuda(); sb(torch.ones(2, 1, 8, 8, device="cuda")); grp = dist.new_group([0], backend="nccl"); dist.all_reduce(r, group=grp)
dist.destroy_process_group()
print("tensor on", x.device, "end")
torch.multiprocessing.set_start_method("spawn", force=True)
print("OK")
'''


def run(script, tmp_path, **variables):
    (tmp_path / "script.py").write_text(script)
    env = {k: v for k, v in os.environ.items() if k != "UPDRAFT_DISABLE"}
    env.update(TORCH_DEVICE_BACKEND_AUTOLOAD="0", UPDRAFT_VERIFY_MARK=str(tmp_path / "mark"), **variables)
    return subprocess.run([sys.executable, "script.py"], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=300)


def test_a_cuda_script_runs_on_the_cpu(tmp_path):
    done = run(SCRIPT, tmp_path, UPDRAFT_CUDA_ON_CPU="1")
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.endswith("tensor on cpu end\nOK\n") and (tmp_path / "mark").exists()


def test_only_when_asked(tmp_path):
    done = run("import torch\nassert not torch.cuda.is_available()\ntorch.ones(1).cuda()\n", tmp_path)
    assert done.returncode == 1 and "CUDA" in done.stderr and not (tmp_path / "mark").exists()


def test_results_are_those_of_pytorchs_cpu(tmp_path):
    script = """
import torch
torch.manual_seed(0)
device = %s
model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.GELU(), torch.nn.Linear(8, 2)).to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
for _ in range(3):
    optimizer.zero_grad()
    loss = model(torch.randn(4, 8).to(device)).pow(2).mean()
    loss.backward()
    optimizer.step()
    print(loss.item().hex())
"""
    ours = run(script % '"cuda"', tmp_path, UPDRAFT_CUDA_ON_CPU="1")
    plain = run(script % '"cpu"', tmp_path)
    assert ours.returncode == plain.returncode == 0, ours.stderr
    assert ours.stdout == plain.stdout and plain.stdout.count("0x") == 3
