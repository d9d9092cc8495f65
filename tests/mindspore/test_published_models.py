"""Models of PyPI that nobody here wrote, in the long form: mindone's transformers against PyTorch's, mindcv's against MindSpore's CPU device."""
import json
import sys

import numpy as np
import pytest
from architectures import ARCHITECTURES
from programs import HERE, PYTHON, run

MODELS = HERE.parents[1] / ".venv-mindspore-models"
# Of mindcv's families those that MindSpore's CPU device computes within a few seconds.
OF_MINDCV = ["convit_tiny", "densenet121", "ghostnet_050", "googlenet", "inception_v3", "mlp_mixer_s_p32", "mnasnet_050", "mobilenet_v2_035_96",
             "pvt_v2_b0", "regnet_x_200mf", "res2net50", "resnest14", "resnet18", "seresnet18", "shufflenet_v2_x0_5", "skresnet18", "squeezenet1_0",
             "swin_tiny"]
pytestmark = [pytest.mark.long, pytest.mark.timeout(3000)]


def lines(text):
    return [json.loads(line) for line in text.splitlines() if line.startswith("[\"")]


def test_transformers(tmp_path):
    run(tmp_path, sys.executable, HERE / "published_by_torch.py", tmp_path / "models", *ARCHITECTURES)
    out, _ = run(tmp_path, PYTHON, HERE / "published_by_mindone.py", tmp_path / "models", PYTHONPATH=MODELS, TRANSFORMERS_VERBOSITY="error")
    found = {name: distances for name, *distances in lines(out)}
    assert sorted(found) == sorted(ARCHITECTURES)
    far = {name: distances for name, distances in found.items() if not max(distances) < 2e-3}
    assert not far


def test_mindcv(tmp_path):
    by_device = [{name: rest for name, *rest in lines(run(tmp_path, PYTHON, HERE / "published_by_mindcv.py", device, *OF_MINDCV, PYTHONPATH=MODELS)[0])}
                 for device in ("Ascend", "CPU")]
    assert [sorted(found) for found in by_device] == [sorted(OF_MINDCV)] * 2
    for name, (wanted, size) in by_device[1].items():
        result, found = by_device[0][name]
        assert np.abs(np.subtract(result, wanted)).max() <= 1e-3 * np.abs(wanted).max(), name
        assert abs(found - size) <= 1e-3 * size, name
