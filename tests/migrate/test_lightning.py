"""PyTorch Lightning: what is written beside the sources, and that migrated projects run with stock Lightning.

UPDRAFT_TEST_LONG=1: pytorch_lightning, too, which is the same code under another name, Fabric and --verify.
"""

import ast
import os
import pathlib
import subprocess
import sys

import pytest

MODULE = pathlib.Path(__file__).resolve().parents[2] / "migrate" / "rewrite" / "lightning" / "lightning_npu.py"
PACKAGES = {"lightning": "lightning.pytorch", "pytorch_lightning": "pytorch_lightning"}

PROJECT = '''
import sys
import torch
import {package} as pl

class Model(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.BatchNorm1d(16), torch.nn.Linear(16, 1))

    def training_step(self, batch, index):
        x, y = batch
        out = self.net(x)
        self.seen = f"{{x.device.type}} {{out.dtype}}"
        return torch.nn.functional.mse_loss(out.float(), y)

    def validation_step(self, batch, index):
        x, y = batch
        self.log("val", torch.nn.functional.mse_loss(self.net(x).float(), y), sync_dist=True)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.02)

def main(where, **more):
    pl.seed_everything(1)
    x = torch.randn(64, 8)
    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, x.sum(1, keepdim=True)), batch_size=8)
    trainer = pl.Trainer(accelerator="gpu" if where == "gpu" else where, max_epochs=2, enable_progress_bar=False, logger=False,
                         enable_model_summary=False, num_sanity_val_steps=0, **more)
    model = Model()
    trainer.fit(model, data, data)
    again = Model.load_from_checkpoint(trainer.checkpoint_callback.best_model_path)
    assert all(torch.equal(a.cpu(), b.cpu()) for a, b in zip(again.state_dict().values(), model.state_dict().values()))
    line = f"RANK {{trainer.global_rank}} of {{trainer.world_size}} {{trainer.strategy.root_device}} {{model.seen}}"
    print(line + f" {{float(trainer.callback_metrics['val']):.6f}}\\n", end="", flush=True)

if __name__ == "__main__":
    for run in sys.argv[1:]:
        eval(f"main({{run}})")
'''

FABRIC = '''
import sys
import torch
from {package} import Fabric

def main(where):
    fabric = Fabric(accelerator="cuda" if where == "gpu" else "cpu", devices=2, strategy="ddp")
    fabric.launch()
    fabric.seed_everything(3)
    model = torch.nn.Linear(8, 1)
    model, optimizer = fabric.setup(model, torch.optim.SGD(model.parameters(), 0.05))
    x = torch.randn(64, 8)
    data = torch.utils.data.TensorDataset(x, x.sum(1, keepdim=True))
    for a, b in fabric.setup_dataloaders(torch.utils.data.DataLoader(data, batch_size=8)):
        loss = torch.nn.functional.mse_loss(model(a), b)
        optimizer.zero_grad()
        fabric.backward(loss)
        optimizer.step()
    mean = float(fabric.all_reduce(loss.detach()))
    line = f"RANK {{fabric.global_rank}} of {{fabric.world_size}} {{fabric.device}} {{a.device.type}} {{loss.dtype}}"
    print(f"{{line}} {{mean:.6f}}\\n", end="", flush=True)

if __name__ == "__main__":
    main(sys.argv[1])
'''


def test_only_the_module_is_written(tool, tmp_path):
    project = tmp_path / "project"
    (project / "sub").mkdir(parents=True)
    (project / "train.py").write_text("import lightning as L\nt = L.Trainer(accelerator='gpu')\n")
    (project / "sub" / "plain.py").write_text("import torch\nx = torch.ones(1).cuda()\n")
    tool(project, "--in-place", "-q")
    assert [path.name for path in (project / "ascend_function").iterdir()] == ["lightning_npu.py"]
    written = project / "ascend_function" / "lightning_npu.py"
    assert written.read_bytes() == MODULE.read_bytes()
    tool(project, "--check")  # neither sources nor the module are changed again
    tool(project, "-o", tmp_path / "out", "-q")
    (copied,) = (tmp_path / "out").rglob("lightning_npu.py")
    assert copied.read_bytes() == MODULE.read_bytes()


def test_beside_the_functions_of_similar(tool, tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    (project / "train.py").write_text("import torch\nimport lightning as L\nt = L.Trainer(accelerator='gpu')\n"
                                      "x = torch.nn.functional.pdist(torch.ones(2, 2))\n")
    tool(project, "--in-place", "-q", "--similar")
    text = (project / "train.py").read_text()
    assert "import ascend_function\n" in text and "import ascend_function.lightning_npu\n" in text
    assert {"__init__.py", "lightning_npu.py"} <= {path.name for path in (project / "ascend_function").iterdir()}


def test_nothing_is_written_without_lightning(tool, tmp_path):
    (tmp_path / "train.py").write_text("from transformers import Trainer\nt = Trainer(accelerator='gpu')\n")
    tool(tmp_path, "--in-place", "-q")
    assert [path.name for path in tmp_path.iterdir()] == ["train.py"]


def test_the_module_is_python_3_8():
    ast.parse(MODULE.read_text(), feature_version=(3, 8))


def module_in(folder, code):
    """What Python says that has the module beside it, and whatever Lightning there is."""
    (folder / "ascend_function").mkdir(exist_ok=True)
    (folder / "ascend_function" / "lightning_npu.py").write_bytes(MODULE.read_bytes())
    return subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, timeout=120,
                          env=dict(os.environ, UPDRAFT_DEVICES="2", PYTHONDONTWRITEBYTECODE="1"))


def test_devices_that_are_asked_for(tmp_path):
    code = """if True:
        from ascend_function.lightning_npu import _indices
        for asked in (1, 2, "2", -1, "-1", "auto", [1], (0, 1), "0,1", "1,", [-1]):
            print(_indices(asked))
        for asked in (0, 3, [], [0, 0], [2], "0,2", -2):
            try:
                print("accepted", asked, _indices(asked))
            except ValueError as error:
                print("2 NPUs are visible" in str(error))
    """
    done = module_in(tmp_path, code)
    assert done.returncode == 0, done.stderr[-2000:]
    both = "[0, 1]"
    assert done.stdout.splitlines() == ["[0]", both, both, both, both, both, "[1]", both, both, "[1]", both] + ["True"] * 7


def test_a_lightning_that_is_too_old_is_refused(tmp_path):
    (tmp_path / "pytorch_lightning").mkdir()
    (tmp_path / "pytorch_lightning" / "__init__.py").write_text("__version__ = '1.8.6'\n")
    done = module_in(tmp_path, "import pytorch_lightning\nimport ascend_function.lightning_npu\n")
    assert done.returncode == 1 and "pytorch_lightning 1.8.6" in done.stderr and "pip install -U pytorch-lightning" in done.stderr


@pytest.fixture(scope="module", params=["lightning", pytest.param("pytorch_lightning", marks=pytest.mark.long)])
def package(request):
    return request.param


@pytest.fixture
def run(tool, tmp_path):
    """run(script, arguments…, launcher=[]): the lines that begin with RANK."""

    def run(text, *arguments, launcher=()):
        project = tmp_path / "project"
        if not project.exists():
            project.mkdir()
            (project / "main.py").write_text(text)
            tool(project, "--in-place", "-q")
        env = dict(os.environ, UPDRAFT_DEVICES="2", PYTHONWARNINGS="ignore", PYTHONDONTWRITEBYTECODE="1")
        done = subprocess.run([sys.executable, *launcher, "main.py", *arguments], cwd=project, capture_output=True, text=True,
                              timeout=180, env=env)
        assert done.returncode == 0, done.stderr[-3000:]
        return [line for line in done.stdout.splitlines() if line.startswith("RANK")]

    return run


def value(line):
    return float(line.rsplit(" ", 1)[1])


@pytest.mark.timeout(400)
def test_one_npu(run, package):
    runs = ["'cpu', devices=1", "'gpu', devices=1", "'auto', devices=[1]", "'gpu', devices=1, precision='16-mixed'",
            "'cuda', devices=1, precision='bf16-mixed'"]
    cpu, npu, second, half, brain = run(PROJECT.format(package=PACKAGES[package]), *runs)
    loss = value(cpu)
    assert npu.startswith("RANK 0 of 1 npu:0 npu torch.float32") and value(npu) == pytest.approx(loss, rel=1e-4)
    assert second.startswith("RANK 0 of 1 npu:1 npu torch.float32") and value(second) == pytest.approx(loss, rel=1e-4)
    assert half.startswith("RANK 0 of 1 npu:0 npu torch.float16") and value(half) < 1.5 * loss
    assert brain.startswith("RANK 0 of 1 npu:0 npu torch.bfloat16") and value(brain) == pytest.approx(loss, rel=0.1)


@pytest.mark.timeout(400)
def test_two_npus(run, package):
    text = PROJECT.format(package=PACKAGES[package])
    cpu = run(text, "'cpu', devices=2, strategy='ddp'")
    launches = [("'gpu', devices=2", ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"))]
    if os.environ.get("UPDRAFT_TEST_LONG"):
        launches.append(("'gpu', devices=2, strategy='ddp'", ()))
    for arguments, launcher in launches:
        npu = sorted(run(text, arguments, launcher=launcher))
        assert [line.rsplit(" ", 1)[0] for line in npu] == [f"RANK {n} of 2 npu:{n} npu torch.float32" for n in (0, 1)]
        assert value(npu[0]) == value(npu[1]) == pytest.approx(value(cpu[0]), rel=1e-4)


@pytest.mark.long
@pytest.mark.timeout(400)
def test_fabric(run, package):
    text = FABRIC.format(package={"lightning": "lightning.fabric", "pytorch_lightning": "lightning_fabric"}[package])
    cpu, npu = run(text, "cpu"), sorted(run(text, "gpu"))
    assert [line.rsplit(" ", 1)[0] for line in npu] == [f"RANK {n} of 2 npu:{n} npu torch.float32" for n in (0, 1)]
    assert value(npu[0]) == value(npu[1]) == pytest.approx(value(cpu[0]), rel=1e-4)


@pytest.mark.long
@pytest.mark.timeout(400)
def test_original_and_result_train_alike(tmp_path, package):
    """--verify: the original on the CPU, as if that were a GPU, and the result on the virtual NPU."""
    (tmp_path / "project").mkdir()
    text = PROJECT.format(package=PACKAGES[package]).replace("return torch.nn", "print('loss', torch.nn").replace(
        "mse_loss(out.float(), y)", "mse_loss(out.float(), y).item())\n        return torch.nn.functional.mse_loss(out.float(), y)")
    (tmp_path / "project" / "main.py").write_text(text)
    done = subprocess.run([sys.executable, "-m", "updraft", "migrate", "project", "-o", "out", "--verify",
                           f"{sys.executable} main.py \"'gpu', devices=1\""], cwd=tmp_path, capture_output=True, text=True,
                          timeout=300, env=dict(os.environ, UPDRAFT_LANG="en"))
    assert done.returncode == 0 and "verified: 16 losses agree" in done.stdout + done.stderr, done.stdout + done.stderr[-3000:]


@pytest.mark.long
def test_too_many_npus_are_refused(tmp_path, tool, package):
    (tmp_path / "main.py").write_text(f"import {PACKAGES[package]} as pl\npl.Trainer(gpus=3, logger=False)\n")
    tool(tmp_path, "--in-place", "-q")
    done = subprocess.run([sys.executable, "main.py"], cwd=tmp_path, capture_output=True, text=True, timeout=120,
                          env=dict(os.environ, UPDRAFT_DEVICES="2"))
    assert done.returncode == 1 and "devices=3): 2 NPUs are visible" in done.stderr, done.stderr[-2000:]
