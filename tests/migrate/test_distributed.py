"""A script for one GPU (distributed/) becomes one for several NPUs, and trains as before.

Two ranks with batches of 8 see what one process with batches of 16 sees: the losses on the validation data, which every
rank reads whole, and the saved weights are the same.
"""
import os
import pathlib
import re
import socket
import subprocess
import sys

import pytest
import torch

HERE = pathlib.Path(__file__).resolve().parent
OF_LAUNCHERS = ("MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE", "LOCAL_RANK")
pytestmark = pytest.mark.timeout(300)


def tool():
    if "UPDRAFT_MIGRATE" in os.environ:
        return os.environ["UPDRAFT_MIGRATE"]
    from updraft import home
    return str(pathlib.Path(home()) / "bin" / "updraft-migrate")


def run(*command, cwd, **variables):
    environment = {k: v for k, v in os.environ.items() if k not in OF_LAUNCHERS}
    environment["PATH"] = str(pathlib.Path(sys.executable).parent) + os.pathsep + environment["PATH"]
    done = subprocess.run(command, cwd=cwd, env=environment | variables, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return str(s.getsockname()[1])


@pytest.fixture(scope="module")
def converted(tmp_path_factory):
    out = tmp_path_factory.mktemp("converted")
    run(tool(), "gpu2npu", "-i", HERE / "distributed", "-o", out, "-v", "2.7.1", "distributed", "-m", "main.py", "-t", "model", cwd=out)
    return out / "distributed_msft_multi"


def losses(text):
    return [float(v) for v in re.findall(r"val_loss (\S+)", text)]


@pytest.fixture(scope="module")
def trained_alone(converted, warm):
    """Started without a launcher: a world of one."""
    def train(*options):
        done = warm.run("main.py", *options, cwd=converted, env={k: v for k, v in os.environ.items() if k not in OF_LAUNCHERS}, timeout=240)
        assert done.returncode == 0, done.stdout + done.stderr
        return losses(done.stdout)

    return train


@pytest.fixture(scope="module")
def alone(trained_alone, tmp_path_factory):
    saved = tmp_path_factory.mktemp("alone") / "model.pt"
    return trained_alone("--batch-size", "16", "--out", saved), saved


def test_two_ranks_train_as_one_on_the_joined_batch(converted, alone, tmp_path):
    saved = tmp_path / "model.pt"
    text = run("./run_distributed_npu.sh", "--batch-size", "8", "--out", saved, cwd=converted, NPROC_PER_NODE="2", MASTER_PORT=free_port())
    assert len(losses(text)) == 3, "rank 0 alone tells the progress:\n" + text
    assert losses(text) == pytest.approx(alone[0], abs=2e-5)
    here, there = torch.load(saved), torch.load(alone[1])
    assert here["model"].keys() == there["model"].keys() and not any(k.startswith("module.") for k in here["model"])
    for name, value in here["model"].items():
        torch.testing.assert_close(value.cpu(), there["model"][name].cpu(), rtol=1e-4, atol=1e-5)


def test_the_shards_matter(trained_alone, alone):
    """What two ranks do is not what one does on half the batch: the comparison above could fail."""
    other = trained_alone("--batch-size", "8", "--out", os.devnull)
    assert other != pytest.approx(alone[0], abs=2e-5)


def test_cards_are_counted(converted, tmp_path):
    """By ASCEND_RT_VISIBLE_DEVICES, else by npu-smi."""
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    (bin_folder / "torchrun").write_text('#!/bin/sh\necho "$@"\n')
    (bin_folder / "npu-smi").write_text("#!/bin/sh\nprintf '\\tTotal Count : 2\\n\\n\\tNPU ID : 0\\n\\tChip Count : 2\\n\\n\\tNPU ID : 1\\n\\tChip Count : 1\\n'\n")
    for file in bin_folder.iterdir():
        file.chmod(0o755)

    def words(**variables):
        environment = {"PATH": f"{bin_folder}:/usr/bin:/bin"} | variables
        return subprocess.run(["bash", converted / "run_distributed_npu.sh", "--a", "b c"], env=environment, capture_output=True, text=True, check=True).stdout

    assert "--nproc_per_node 3 " in words()
    assert "--nproc_per_node 4 " in words(ASCEND_RT_VISIBLE_DEVICES="0,2-4")
    assert "--nproc_per_node 5 " in words(NPROC_PER_NODE="5", ASCEND_RT_VISIBLE_DEVICES="0")
    assert words().endswith("main.py --a b c\n")
    (bin_folder / "npu-smi").write_text("#!/bin/sh\nexit 1\n")
    with pytest.raises(subprocess.CalledProcessError) as error:
        words()
    assert "NPROC_PER_NODE" in error.value.stderr


def test_two_ranks_write_each_file_once_and_read_what_is_whole(tmp_path):
    """Bare models, dictionaries, ONNX, TorchScript, arrays, pictures and logs: by rank 0, without the wrapper, before anybody
    reads them; progress is told once, and a folder that the other rank has made is no error."""
    run(tool(), HERE / "saves", "--distributed", "main.py", "-o", tmp_path, "-q", cwd=tmp_path)
    out, files = tmp_path / "saves_msft_multi", tmp_path / "files"
    files.mkdir()
    text = run("./run_distributed_npu.sh", files, cwd=out, NPROC_PER_NODE="2", MASTER_PORT=free_port())
    assert len(losses(text.replace("epoch", "val_loss"))) == 2, "rank 0 alone tells the progress:\n" + text
    source = (out / "main.py").read_text()
    assert source.count("LOCAL_RANK") and "tqdm(" in source and "disable=" in source
    assert len((files / "log.txt").read_text().splitlines()) == 2, "each line once"
    assert (files / "pictures" / "losses.png").stat().st_size > 1000
    script = (
        "import sys, torch, torch_npu\n"
        "whole = torch.load(sys.argv[1] + '/whole.pt', weights_only=False)\n"
        "inner = torch.load(sys.argv[1] + '/dictionary.pt', weights_only=False)['model']\n"
        "assert type(whole) is type(inner) is torch.nn.Linear, (type(whole), type(inner))\n"
        "import onnx, numpy\n"
        "graph = onnx.load(sys.argv[1] + '/model.onnx').graph\n"
        "assert {tuple(w.dims) for w in graph.initializer} == {(2, 4), (2,)} and not any('module' in w.name for w in graph.initializer)\n"
        "assert numpy.load(sys.argv[1] + '/losses.npy').shape == (4,)\n"
        "assert torch.jit.load(sys.argv[1] + '/script.pt')(torch.ones(1, 4).npu()).shape == (1, 2)\n")
    run(sys.executable, "-c", script, files, cwd=tmp_path)
    assert {(files / f"read{rank}.txt").read_text() for rank in range(2)} == {"Linear"}
