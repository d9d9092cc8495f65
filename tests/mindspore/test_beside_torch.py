"""MindSpore beside torch_npu in one process: both train on one device."""
import sysconfig

import pytest
from programs import LONG, mindspore


@pytest.mark.parametrize("first", ["torch", "mindspore"] if LONG else ["mindspore"])
def test_both_train(tmp_path, first):
    out, _ = mindspore(tmp_path, "beside_torch.py", first, sysconfig.get_paths()["purelib"])
    assert out.splitlines()[-1] == "both True Ascend", out
