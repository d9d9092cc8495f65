import pytest
import torch

from ..conftest import DEVICE


@pytest.fixture(params=sorted({"cpu", DEVICE}))
def on(request, device):
    """The device under test, and PyTorch's CPU device: apex works on both. `device` makes each test a process of its own,
    which is what amp's state belongs to."""
    torch.manual_seed(0)
    return request.param
