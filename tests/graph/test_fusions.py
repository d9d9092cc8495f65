"""Models that PyTorch exports: their attention and normalisations become operators, and results stay PyTorch's."""

import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

from tests.graph.offline_model import OfflineModel
from tests.graph.test_atc import EXACT, SOC, atc, compare

ATTENTION, NORM, ROOT_NORM, BATCH_NORM = ("ZAttentionScoreFusionPass", "LayerNormONNXFusionPass", "RmsNormFusionPass",
                                          "ConvBatchnormFusionPass")
# What each model has of them.
WANTED = {"bert_eager": {ATTENTION: 2, NORM: 5}, "bert_sdpa": {ATTENTION: 2, NORM: 5}, "gpt2": {ATTENTION: 2, NORM: 5},
          "llama": {ATTENTION: 2, ROOT_NORM: 5}, "vit": {ATTENTION: 2}, "multi_head": {ATTENTION: 1}, "causal": {ATTENTION: 1},
          "rows_without_keys": {ATTENTION: 1}, "batch_norms": {BATCH_NORM: 4}, "pyramid": {}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("fusions")
    subprocess.run([sys.executable, pathlib.Path(__file__).with_name("fusion_models.py"), made], check=True, timeout=300)
    return made


def compiled(folder, name, *arguments, output=""):
    """The om, and how often each pass changed something."""
    om = folder / (name + output)
    done = atc("--framework=5", f"--model={folder / name}.onnx", f"--output={om}", SOC, "--log=info", *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    return pathlib.Path(f"{om}.om"), {p: int(n) for p, n in re.findall(r"(\w+Pass) changed (\d+) places", done.stdout)}


def arrays(folder, name):
    loaded = np.load(folder / f"{name}.npz")
    return {k[3:]: v for k, v in loaded.items() if k.startswith("in/")}, [loaded["out/y"]]


def test_every_model_is_here(folder):
    assert sorted(p.stem for p in folder.glob("*.npz")) == sorted(WANTED)


@pytest.mark.parametrize("name", WANTED)
def test_results(folder, name):
    om, changes = compiled(folder, name, EXACT)
    feeds, want = arrays(folder, name)
    with OfflineModel(om) as model:
        compare(model.run(feeds), want, 1e-5)
    assert {p: changes[p] for p in WANTED[name]} == WANTED[name], changes


def test_results_with_the_passes_off(folder):
    om, changes = compiled(folder, "bert_eager", EXACT, f"--optimization_switch={ATTENTION}:off;{NORM}:off", output="-off")
    feeds, want = arrays(folder, "bert_eager")
    with OfflineModel(om) as model:
        compare(model.run(feeds), want, 1e-5)
    assert changes[ATTENTION] == changes[NORM] == 0


@pytest.mark.parametrize("name", ["bert_eager", "llama", "rows_without_keys"])
def test_half_precision(folder, name):
    """atc's default computes in FP16."""
    om, changes = compiled(folder, name, output="-half")
    feeds, want = arrays(folder, name)
    with OfflineModel(om) as model:
        compare([y.astype(np.float32) for y in model.run(feeds)], want, 2e-2)
    assert changes[ATTENTION] == WANTED[name][ATTENTION]
