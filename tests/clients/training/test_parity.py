"""Twenty steps from the same weights on the same data: npu and cpu go the same way."""
import importlib.util

import pytest

from .tasks import TASKS, train

NEEDS_TRANSFORMERS = {"bert", "llama"}


@pytest.mark.limit(240)
@pytest.mark.parametrize("name", TASKS)
def test_losses_follow_the_cpu(device, name):
    if name in NEEDS_TRANSFORMERS and not importlib.util.find_spec("transformers"):
        pytest.skip("transformers is not installed (tests/clients/training/requirements.txt)")
    cpu = train(TASKS[name], "cpu")
    npu = train(TASKS[name], device)
    assert min(cpu[-4:]) < cpu[0], "the task itself does not learn"
    for step, (c, n) in enumerate(zip(cpu, npu)):
        assert abs(n - c) <= (1e-4 if step < 5 else 1e-3) * abs(c), f"step {step}: {n} on {device}, {c} on cpu\n{npu}\n{cpu}"
