"""The options of the guide's command line and ours beside them: what they change, what they leave, and that it runs."""

import os
import subprocess
import sys

import pytest

TRAIN = """import torch
from torch import nn

torch.manual_seed(0)


def train(model, loader, criterion, optimizer):
    for step, (x, y) in enumerate(loader):
        x, y = x.cuda(), y.cuda()
        optimizer.zero_grad()
        output = model(x)  # forward
        # the loss
        loss = criterion(output,
                         y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        print(f"step {step} loss: {loss.item():.4f}")


if __name__ == "__main__":
    net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3)).cuda()
    data = [(torch.randn(4, 8), torch.randint(0, 3, (4,))) for _ in range(4)]
    train(net, data, nn.CrossEntropyLoss(), torch.optim.AdamW(net.parameters(), lr=1e-2))
"""
MIXED = """import torch
import torch_npu
from torch import nn

scaler = torch.amp.GradScaler("npu")

torch.manual_seed(0)


def train(model, loader, criterion, optimizer):
    for step, (x, y) in enumerate(loader):
        x, y = x.npu(), y.npu()
        optimizer.zero_grad()
        with torch.autocast("npu", dtype=torch.float16):
            output = model(x)  # forward
            # the loss
            loss = criterion(output,
                             y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        print(f"step {step} loss: {loss.item():.4f}")


"""


def on_npu(warm, script, folder):
    (folder / "run.py").write_text(script)
    done = warm.run("run.py", cwd=folder)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_mixed_precision(rewrite, warm, tmp_path):
    after = rewrite(TRAIN, "--mixed-precision")
    assert after.startswith(MIXED), after
    assert rewrite(after, "--mixed-precision") == after
    assert rewrite(after) == after
    assert rewrite(TRAIN) != after and "autocast" not in rewrite(TRAIN)
    out = on_npu(warm, after + '    print("scale", scaler.get_scale(), "autocast", torch.is_autocast_enabled("npu"))\n', tmp_path)
    assert out.count("loss:") == 4 and "nan" not in out and "scale 65536.0" in out


LOOP = """import torch
model, optimizer = torch.nn.Linear(2, 2), None
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x in [torch.ones(1, 2)]:
%s
"""
PLAIN = {
    "one statement": "    loss = model(x).sum()\n    loss.backward()\n    optimizer.step()",
    "zero_grad between": "    y = model(x)\n    loss = y.sum()\n    optimizer.zero_grad()\n    loss.backward(retain_graph=True)\n    optimizer.step()",
    "tabs": "\tloss = model(x).sum()\n\tloss.backward()\n\toptimizer.step()",
    "a text over lines": "    loss = model(x).sum() * len('''a\nb''')\n    loss.backward()\n    optimizer.step()",
    "moved first": "    x = x.to('cpu')\n    loss = model(x).sum()\n    loss.backward()\n    optimizer.step()",
}
NOT_PLAIN = {
    "accumulated": "    loss = model(x).sum()\n    loss.backward()\n    if x.sum() > 1:\n        optimizer.step()",
    "a closure": "    loss = model(x).sum()\n    loss.backward()\n    optimizer.step(lambda: loss)",
    "no name": "    model(x).sum().backward()\n    optimizer.step()",
    "in a branch": "    if x.sum() > 0:\n        loss = model(x).sum()\n    else:\n        loss = model(x).mean()\n    loss.backward()\n    optimizer.step()",
    "gradients used": "    loss = model(x).sum()\n    loss.backward()\n    print(model.weight.grad)\n    optimizer.step()",
    "one line": "    loss = model(x).sum(); loss.backward(); optimizer.step()",
    "two passes": "    loss = model(x).sum()\n    loss.backward()\n    optimizer.step()\n    other = model(x).sum()\n    other.backward()",
    "no optimizer": "    loss = model(x).sum()\n    loss.backward()\n    scheduler.step()",
    "kept": "    loss = model(x).sum()\n    loss.backward()  # updraft: keep\n    optimizer.step()",
    "autocast already": "    with torch.autocast('cpu'):\n        loss = model(x).sum()\n    loss.backward()\n    optimizer.step()",
}


@pytest.mark.parametrize("name", PLAIN)
def test_plain_loops(rewrite, name):
    before = LOOP % PLAIN[name]
    after = rewrite(before, "--mixed-precision")
    compile(after, "x.py", "exec")
    assert 'torch.autocast("npu"' in after and "scaler.scale(loss).backward(" in after and "scaler.update()" in after
    assert after.index("GradScaler") < after.index("for x in")
    if name == "a text over lines":
        assert "'''a\nb'''" in after
    assert rewrite(after, "--mixed-precision") == after


@pytest.mark.parametrize("name", NOT_PLAIN)
def test_loops_that_are_not_plain_stay(rewrite, name):
    before = LOOP % NOT_PLAIN[name]
    assert rewrite(before, "--mixed-precision") == before


def test_specify_device(rewrite, tmp_path):
    before = 'import torch\n\nif __name__ == "__main__":\n    print(torch.cuda.device_count(), torch.ones(1, device="cuda:0").device)\n'
    after = rewrite(before, "--specify-device")
    assert after.startswith('import os\nos.environ.setdefault("ASCEND_RT_VISIBLE_DEVICES", os.environ.get("DEVICE_ID", "0"))\nimport torch\n')
    assert rewrite(after, "--specify-device") == after
    (tmp_path / "run.py").write_text(after)  # a process of its own: the variable must be set before torch is imported
    done = subprocess.run([sys.executable, "run.py"], cwd=tmp_path, env=dict(os.environ, UPDRAFT_MEMORY="512M", DEVICE_ID="3"),
                          capture_output=True, text=True, timeout=300)
    assert done.stdout.split() == ["1", "npu:0"], done.stderr[-3000:]
    library = "import torch\n\n\ndef f(x):\n    return x + torch.ones(1)\n"
    assert rewrite(library, "--specify-device") == library
    assert rewrite('if __name__ == "__main__":\n    print(1)\n', "--specify-device") == 'if __name__ == "__main__":\n    print(1)\n'


SIMILAR = """import torch
import torch.nn.functional as F
from torch import nn, var_mean

x = torch.arange(12.0).reshape(3, 4).cuda()
variance, mean = var_mean(x, dim=1)
print("%.4f %.4f" % (variance[0].item(), mean[0].item()))
print(torch.heaviside(x[0] - 1, torch.tensor(0.5).cuda()).tolist())
print(F.adaptive_max_pool2d(x.reshape(1, 1, 3, 4), 2).flatten().tolist())
print(nn.MaxPool1d(2)(x.unsqueeze(0))[0, 0].tolist())
print(F.pdist(x).cpu().round().tolist())
print(round(F.triplet_margin_loss(x, x + 1, x - 1).item(), 4))
print(torch.unique_consecutive(torch.tensor([1, 1, 2]).cuda()).tolist())
print(abs(torch.poisson(torch.full((1000,), 40.0).cuda()).mean().item() - 40) < 2)
"""


def test_similar(tool, warm, tmp_path):
    project = tmp_path / "project"
    (project / "tools").mkdir(parents=True)
    (project / "train.py").write_text(SIMILAR)
    (project / "tools" / "job.py").write_text('import torch\n\nif __name__ == "__main__":\n    print(torch.std_mean(torch.ones(3).cuda()))\n')
    (project / "plain.py").write_text("import torch\n\n\ndef var_mean(x):\n    return x\n\n\nprint(var_mean(torch.relu(torch.ones(1))))\n")
    tool(project, "-o", tmp_path / "out", "--similar")
    out = tmp_path / "out" / "project_msft"
    text = (out / "train.py").read_text()
    assert text.count("ascend_function.") == 8 and "import ascend_function\n" in text
    assert (out / "plain.py").read_text() == (project / "plain.py").read_text()
    assert (out / "ascend_function" / "__init__.py").is_file()
    for script in ("train.py", "tools/job.py"):
        done = warm.run(script, cwd=out)
        assert done.returncode == 0, done.stderr[-3000:]
        if script == "train.py":
            assert done.stdout.splitlines() == ["1.6667 1.5000", "[0.0, 0.5, 1.0, 1.0]", "[5.0, 7.0, 9.0, 11.0]", "[1.0, 3.0]",
                                                "[8.0, 16.0, 8.0]", "1.0", "[1, 2]", "True"]
    done = tool(out, "--similar", "--check")
    assert b"0 changed" in done.stderr
    tool(project, "-o", tmp_path / "plain")
    assert not (tmp_path / "plain" / "project_msft" / "ascend_function").exists()


def test_similar_only_where_the_product_lacks_it(rewrite):
    keep = "import torch\nx = torch.softmax(torch.ones(3), 0)\ny = torch.nn.Conv2d(1, 1, 1)\n"
    assert rewrite(keep, "--similar") == keep
    assert "ascend_function" not in rewrite("import torch\nx = torch.nn.functional.triplet_margin_loss  # updraft: keep\n", "--similar")
    subclass = "import torch\n\n\nclass Mine(torch.nn.MaxPool1d):\n    pass\n"
    assert rewrite(subclass, "--similar") == subclass  # for review


@pytest.mark.parametrize("call, fused", [
    ("torch.optim.AdamW(p, lr=0.1)", True), ("torch.optim.AdamW(p, 0.1, (0.9, 0.99), 1e-8, 0.1, True)", True),
    ("torch.optim.SGD(p, lr=0.1, momentum=0.9)", True), ("torch.optim.SGD(p)", False), ("torch.optim.Adam(p, fused=True)", False),
    ("torch.optim.Adam(*p)", False), ("torch.optim.Adam(p, **o)", False), ("torch.optim.AdamW", False), ("torch.optim.LBFGS(p)", False),
    ("torch.optim.RMSprop(p, momentum=0.1)", True), ("torch.optim.Adadelta(p, rho=0.8)", True), ("torch.optim.AdamW(p, maximize=True)", False),
])
def test_affinity(rewrite, call, fused):
    before = "import torch\noptimizer = %s\n" % call
    after = rewrite(before, "--affinity", "resnet50")
    assert ("torch_npu.optim.NpuFused" in after) == fused, after
    assert rewrite(after, "--affinity", "resnet50") == after
    assert rewrite(before) == before
    if fused:
        assert "import torch_npu\n" in after
        assert "NpuFused" not in rewrite(before + "optimizer.zero_grad(set_to_none=True)\n", "--affinity", "m")


CLIPPED = """import torch
torch.manual_seed(0)
model = torch.nn.Linear(4, 4).cuda()
other = torch.nn.Linear(4, 4).cuda()
optimizer = torch.optim.%s(model.parameters(), lr=0.1)
for step in range(3):
    optimizer.zero_grad()
    model(torch.ones(2, 4).cuda()).pow(2).sum().backward()
    norm = torch.nn.utils.clip_grad_norm_(%s)
    optimizer.step()
print(round(norm.item(), 4), [round(w, 4) for w in model.weight.flatten().tolist()])
"""


@pytest.mark.parametrize("name", ["AdamW", "SGD"])
@pytest.mark.parametrize("arguments", ["model.parameters(), 0.5", "model.parameters(), max_norm=0.5, norm_type=1.0"])
def test_clipping_by_the_fused_optimizer(rewrite, warm, tmp_path, name, arguments):
    before = CLIPPED % (name, arguments)
    after = rewrite(before, "--affinity", "m")
    assert "norm = optimizer.clip_grad_norm_fused_(" + arguments.partition(", ")[2] + ")\n" in after
    assert rewrite(after, "--affinity", "m") == after
    assert on_npu(warm, after, tmp_path) == on_npu(warm, rewrite(before), tmp_path)


@pytest.mark.parametrize("arguments", ["other.parameters(), 0.5", "list(model.parameters()), 0.5", "model.parameters(), 0.5, foreach=True",
                                       "model.parameters(), *limits", "[model.weight], 0.5"])
def test_clipping_that_stays(rewrite, arguments):
    before = CLIPPED % ("AdamW", arguments)
    assert "clip_grad_norm_fused_" not in rewrite(before, "--affinity", "m")
    twice = before.replace("for step", "if step_twice:\n    optimizer = torch.optim.LBFGS(model.parameters())\nfor step")
    assert "clip_grad_norm_fused_" not in rewrite(twice.replace(arguments, "model.parameters(), 0.5"), "--affinity", "m")
    function = before.replace("for step in range(3):", "def train(optimizer):").replace(arguments, "model.parameters(), 0.5")
    assert "clip_grad_norm_fused_" not in rewrite(function, "--affinity", "m")


def test_clipping_in_a_class_and_with_mixed_precision(rewrite):
    before = TRAIN.replace("    train(net", "    net.zero_grad()\n    train(net")
    assert "clip_grad_norm_fused_" not in rewrite(before, "--affinity", "m", "--mixed-precision")  # a parameter's optimizer
    both = rewrite("import torch\nmodel = torch.nn.Linear(2, 2)\noptimizer = torch.optim.SGD(model.parameters(), lr=0.1)\nfor x in [torch.ones(1, 2)]:\n"
                   "    loss = model(x).sum()\n    loss.backward()\n    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n    optimizer.step()\n",
                   "--affinity", "m", "--mixed-precision")
    assert "    scaler.unscale_(optimizer)\n    optimizer.clip_grad_norm_fused_(1.0)\n" in both, both
    cls = ("import torch\nclass T:\n    def __init__(self, model):\n        self.model = model\n"
           "        self.opt = torch.optim.AdamW(self.model.parameters(), lr=0.1)\n    def step(self, loss):\n        loss.backward()\n"
           "        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)\n        self.opt.step()\n")
    assert "self.opt.clip_grad_norm_fused_(1.0)" in rewrite(cls, "--affinity", "m")


def test_fused_optimizers_take_these_arguments(warm, tmp_path):
    out = on_npu(warm, """
import inspect, torch, torch_npu
for name in ("Adam", "AdamW", "SGD", "RMSprop", "Adadelta"):
    theirs = list(inspect.signature(getattr(torch_npu.optim, "NpuFused" + name).__init__).parameters)[1:]
    torchs = list(inspect.signature(getattr(torch.optim, name).__init__).parameters)[1:]
    assert torchs[:len(theirs)] == theirs, name
    weights = []
    for kind in (getattr(torch.optim, name), getattr(torch_npu.optim, "NpuFused" + name)):
        torch.manual_seed(0)
        model = torch.nn.Linear(4, 4).npu()
        optimizer = kind(model.parameters(), lr=1e-2, weight_decay=0.1)
        for _ in range(4):
            optimizer.zero_grad()
            model(torch.ones(2, 4).npu()).pow(2).sum().backward()
            optimizer.step()
        weights.append(model.weight.detach().cpu())
    torch.testing.assert_close(*weights)
    print(name, " ".join(theirs))
""", tmp_path)
    assert out.splitlines() == ["Adam params lr betas eps weight_decay amsgrad", "AdamW params lr betas eps weight_decay amsgrad",
                                "SGD params lr momentum dampening weight_decay nesterov",
                                "RMSprop params lr alpha eps weight_decay momentum centered", "Adadelta params lr rho eps weight_decay"]


def test_the_guides_spelling(tree, tmp_path):
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "train.py").write_text(TRAIN + "    torch.var_mean(torch.ones(2))\n")
    script = tree / "tools" / "ms_fmk_transplt" / "pytorch_gpu2npu.sh"
    subprocess.run([script, "-i", tmp_path / "project", "-o", tmp_path / "out", "-v", "2.1", "-s", "-sim", "--affinity", "resnet",
                    "--mixed-precision"], check=True, capture_output=True, timeout=60)
    text = (tmp_path / "out" / "project_msft" / "train.py").read_text()
    for part in ("DEVICE_ID", "ascend_function.var_mean", "NpuFusedAdamW", "autocast"):
        assert part in text
    changes = (tmp_path / "out" / "project_msft" / "change_list.csv").read_text()
    assert changes.count("train.py") >= 5


ACCUMULATED = """import torch
import torch.nn as nn
from torch.cuda.amp import autocast, GradScaler


def train(model, loader, optimizer, scaler, steps):
    for i, (x, y) in enumerate(loader):
        x, y = x.cuda(), y.cuda()
        with autocast():
            out = model(x)
            # the loss
            loss = nn.functional.cross_entropy(out, y) / 2
        scaler.scale(loss).backward()
        if (i + 1) % 2 == 0:
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
        print("loss", loss.item())


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    scaler = GradScaler(init_scale=1024.0)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 10)
    loader = [(torch.randn(4, 8), torch.randint(0, 4, (4,))) for _ in range(8)]
    train(model, loader, optimizer, scaler, steps=3)
    state = {"model": model.state_dict(), "scaler": scaler.state_dict()}


if __name__ == "__main__":
    main()
"""
TWO_OPTIMIZERS = """import torch
use_amp = True
torch.manual_seed(0)
netD = torch.nn.Linear(4, 1).cuda()
netG = torch.nn.Linear(4, 4).cuda()
optD = torch.optim.Adam(netD.parameters(), 1e-2)
optG = torch.optim.Adam(netG.parameters(), 1e-2)
scaler = torch.cuda.amp.GradScaler(enabled=use_amp)
for step in range(4):
    z = torch.randn(8, 4).cuda()
    optD.zero_grad()
    with torch.cuda.amp.autocast(enabled=use_amp):
        fake = netG(z)
        errD = netD(fake.detach()).pow(2).mean()
    scaler.scale(errD).backward()
    scaler.step(optD)
    with torch.cuda.amp.autocast(enabled=use_amp), torch.autograd.set_detect_anomaly(False):
        errG = (1 - netD(fake)).pow(2).mean()
    optG.zero_grad()
    scaler.scale(errG).backward(retain_graph=True)
    scaler.step(optG)
    scaler.update()
    print("loss", errD.item(), errG.item())
"""
IN_A_CLASS = """import torch
class Trainer:
    def __init__(self, enabled):
        self.model = torch.nn.Linear(4, 1)
        self.model.to("cuda")
        self.optimizer = torch.optim.SGD(self.model.parameters(), 0.1)
        self.scaler = torch.amp.GradScaler("cuda", enabled=enabled)
    @torch.no_grad()
    def evaluate(self, x):
        with torch.amp.autocast("cuda", enabled=False):
            return self.model(x.cuda().float())
    def step(self, x, enabled):
        with torch.autocast(device_type="cuda", dtype=torch.float16, enabled=enabled):
            loss = self.model(x.cuda()).pow(2).mean()
        self.optimizer.zero_grad()
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return loss.item()
if __name__ == "__main__":
    torch.manual_seed(0)
    t = Trainer(True)
    for _ in range(3):
        print("loss", t.step(torch.ones(2, 4), True))
    print("loss", t.evaluate(torch.ones(1, 4)).dtype)
"""


@pytest.mark.parametrize("script, models", [(ACCUMULATED, "model"), (TWO_OPTIMIZERS, "netD,netG"), (IN_A_CLASS, "model")],
                         ids=["accumulated and clipped", "two optimizers", "in a class"])
def test_apex_amp_trains_as_torch_amp(rewrite, tmp_path, script, models):
    """The same losses, to the last bit, by torch.npu.amp and by apex.amp."""
    after = rewrite(script, "--amp-model", models)
    assert "from apex import amp" in after and "amp.initialize(" in after and "scale_loss(" in after
    assert "GradScaler" not in after and "scaler." not in after and "autocast" not in after
    assert rewrite(after, "--amp-model", models) == after and rewrite(after) == after
    losses = []
    for name, text in (("torch_amp.py", rewrite(script)), ("apex_amp.py", after)):
        (tmp_path / name).write_text(text)
        done = subprocess.run([sys.executable, name], cwd=tmp_path, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr[-3000:]
        losses.append([line for line in done.stdout.splitlines() if line.startswith("loss ")])
    assert losses[0] == losses[1] and len(losses[0]) >= 4


@pytest.mark.parametrize("before, after, why", [
    ("    scaler.update()\n", "    before = scaler.get_scale()\n    scaler.update()\n", "GradScaler.get_scale"),
    ("autocast(enabled=use_amp):", "autocast(enabled=use_amp, dtype=torch.bfloat16):", "float16 alone"),
    ("autocast(enabled=use_amp):", "autocast():", "autocast is not"),
    ("scaler.scale(errD).backward()", "scaled = scaler.scale(errD)\n    scaled.backward()", "more than backward"),
    ("optD = torch", "netD = torch.nn.parallel.DistributedDataParallel(netD)\noptD = torch", "DataParallel"),
    ("netD", "critic", "no variable netD"),
    ("scaler = ", "scaler = other = ", "not simply given"),
    ("    scaler.step(optD)\n", "    help(scaler)\n    scaler.step(optD)\n", "others may call"),
])
def test_what_apex_amp_leaves(rewrite, tool, before, after, why):
    """What cannot be converted with certainty stays torch.npu.amp as a whole, and is said."""
    script = TWO_OPTIMIZERS.replace(before, after)
    assert script != TWO_OPTIMIZERS
    assert rewrite(script, "--amp-model", "netD,netG") == rewrite(script)
    found = tool("-", "--amp-model", "netD,netG", "--json", input=script.encode()).stdout.decode()
    assert "PT823" in found and why in found


JOB = """import argparse
import os
import torch
parser = argparse.ArgumentParser()
parser.add_argument("--data-dir", default="./data")
parser.add_argument("--output-dir", default="out/models")
parser.add_argument("--device", default="cuda")
args = parser.parse_args()
if __name__ == "__main__":
    numbers = [float(line) for line in open(os.path.join(args.data_dir, "numbers.txt"))]
    os.makedirs(args.output_dir, exist_ok=True)
    torch.save(torch.tensor(numbers, device=args.device).sum().cpu(), os.path.join(args.output_dir, "sum.pt"))
"""
MOXING = """import shutil
class file:
    @staticmethod
    def copy_parallel(source, target):
        place = lambda p: p.replace("obs://", BUCKET)
        shutil.copytree(place(source), place(target), dirs_exist_ok=True)
"""


def test_a_modelarts_job(tree, tmp_path):
    """-m: data come from --data_url and results go to --train_url, by moxing from OBS and by copies from mounted folders."""
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "train.py").write_text(JOB)
    script = tree / "tools" / "ms_fmk_transplt" / "pytorch_gpu2npu.sh"
    subprocess.run([script, "-i", tmp_path / "project", "-o", tmp_path / "out", "-v", "2.1", "-m"], check=True, capture_output=True,
                   timeout=60)
    out = tmp_path / "out" / "project_msft"
    text = (out / "train.py").read_text()
    assert text.startswith("import ascend_modelarts_function\n") and "autocast" not in text
    assert (out / "ascend_modelarts_function" / "paths.json").read_text() == """{
  "data": [
    {
      "local": "./data",
      "remote": ""
    }
  ],
  "output": [
    {
      "local": "out/models",
      "remote": ""
    }
  ]
}
"""
    bucket = tmp_path / "bucket"
    (bucket / "mine" / "data").mkdir(parents=True)
    (bucket / "mine" / "data" / "numbers.txt").write_text("1\n2\n")
    (out / "moxing.py").write_text("BUCKET = %r\n" % (str(bucket) + "/") + MOXING)
    for data, train in (("obs://mine/data", "obs://mine/results"), (bucket / "mine/data", bucket / "mine/mounted")):
        job = tmp_path / ("job%s" % len(str(data)))
        job.mkdir()
        done = subprocess.run([sys.executable, out / "train.py", "--data_url", str(data), "--train_url=%s" % train, "--device", "npu"], cwd=job,
                              capture_output=True, text=True, timeout=120, env=dict(os.environ, TMPDIR=str(job)))
        assert done.returncode == 0, done.stderr[-2000:]
        assert not list(job.glob("modelarts-data-*"))
    for folder in ("results", "mounted"):
        import torch
        assert torch.load(bucket / "mine" / folder / "sum.pt").item() == 3
    # without the job's options it is the script that it was
    home = tmp_path / "home"
    (home / "data").mkdir(parents=True)
    (home / "data" / "numbers.txt").write_text("4\n")
    subprocess.run([sys.executable, out / "train.py"], cwd=home, check=True, timeout=120)
    assert (home / "out" / "models" / "sum.pt").exists()


def test_modelarts_leaves_scripts_that_know_it(rewrite):
    script = JOB.replace("--data-dir", "--data_url").replace("args.data_dir", "args.data_url")
    assert "ascend_modelarts_function" not in rewrite(script, "--modelarts")
    once = rewrite(JOB, "--modelarts")
    assert rewrite(once, "--modelarts") == once


def test_the_guides_letters(tree, tmp_path):
    """-a is apex's amp, -m ModelArts, -i takes a file: never our affinity and mixed precision."""
    (tmp_path / "train.py").write_text(TRAIN)
    script = tree / "tools" / "ms_fmk_transplt" / "pytorch_gpu2npu.sh"
    subprocess.run([script, "-i", tmp_path / "train.py", "-o", tmp_path / "out", "-v", "2.1", "-a", "net", "-m"], check=True,
                   capture_output=True, text=True, timeout=60)
    text = (tmp_path / "out" / "train_msft" / "train.py").read_text()
    assert "autocast" not in text and "NpuFused" not in text and "apex" not in text and "ascend_modelarts_function" in text
    both = subprocess.run([script, "-i", tmp_path / "train.py", "-o", tmp_path / "o", "-v", "2.1", "-a", "net", "distributed", "-m", "train.py"],
                          capture_output=True, text=True, timeout=60)
    assert both.returncode == 2 and "amp.initialize" in both.stderr


def test_analysis_by_mode(tree, tmp_path):
    (tmp_path / "train.py").write_text(TRAIN)
    script = tree / "tools" / "ms_fmk_transplt" / "pytorch_analyse.sh"
    tables = {}
    for mode in ("torch_apis", "third_party", "affinity_apis", "dynamic_shape"):
        subprocess.run([script, "-i", tmp_path / "train.py", "-o", tmp_path / mode, "-v", "2.1", "-m", mode, "-env", "/nowhere"], check=True,
                       capture_output=True, timeout=60)
        tables[mode] = {f.name for f in (tmp_path / mode / "train_analysis").glob("*.csv")}
    assert all(tables.values()) and tables["affinity_apis"] == {"affinity_api_call.csv"}
    names = [name for found in tables.values() for name in found]
    assert len(names) == len(set(names)), "no table belongs to two modes"
