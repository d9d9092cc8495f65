"""UPDRAFT_FIDELITY=card refuses what the product lacks; without it everything works."""
import pytest

from .subproc import python

CODE = """
import torch, torch_npu
x = torch.ones(3).npu()
try:
    print("sum", x.to(torch.bfloat16).float().sum().item())
except RuntimeError as error:
    print("refused:", "has no bfloat16" in str(error))
"""


@pytest.mark.limit(90)
@pytest.mark.parametrize("fidelity,answer", [("", "sum 3.0"), ("card", "refused: True")])
def test_bfloat16_on_910a(fidelity, answer):
    assert answer in python(CODE, UPDRAFT_SOC="Ascend910A", UPDRAFT_FIDELITY=fidelity, ASCEND_LAUNCH_BLOCKING="1")
