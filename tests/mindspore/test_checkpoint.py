"""Checkpoints go from the virtual NPU to MindSpore's CPU device and back: training goes on as if it had stayed."""
import json

import pytest
from programs import mindspore


def losses(folder, what, device):
    return json.loads(mindspore(folder, "checkpoint.py", what, device, folder / "state.ckpt")[0].splitlines()[-1])


@pytest.mark.parametrize("saved, loaded", [("Ascend", "CPU"), ("CPU", "Ascend")])
def test_goes_on_elsewhere(tmp_path, saved, loaded):
    before = losses(tmp_path, "save", saved)
    here, there = losses(tmp_path, "load", saved), losses(tmp_path, "load", loaded)
    assert here[-1] < here[0] < before[-1] < before[0], (before, here)
    for a, b in zip(here, there):
        assert abs(a - b) < 1e-4 * abs(a), (here, there)
