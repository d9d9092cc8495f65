"""transformers' Trainer and accelerate as PyPI has them; nothing in the program names an NPU."""
import pytest

from .library import compare, needs, run

pytestmark = [needs("accelerate"), pytest.mark.limit(400)]


@pytest.fixture(scope="module")
def cpu(tmp_path_factory):
    return run("trainer", "cpu", tmp_path_factory.mktemp("cpu"))


@pytest.mark.parametrize("options, tolerance", [
    ({}, 1e-4), ({"bf16": True}, 2e-2), ({"fp16": True, "optim": "adamw_torch"}, 5e-3), ({"gradient_checkpointing": True, "gradient_accumulation_steps": 1, "resume": True}, 1e-4)],
    ids=["fp32", "bf16", "fp16", "checkpoints"])
def test_one_device(cpu, tmp_path, options, tolerance):
    compare(run("trainer", "npu", tmp_path, **options), cpu, tolerance)


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """Two processes on the CPU, with gloo."""
    return run("trainer", "cpu", tmp_path_factory.mktemp("two"), ranks=2)


@pytest.mark.long
@pytest.mark.parametrize("options, tolerance", [({}, 1e-4), ({"bf16": True}, 2e-2), ({"fsdp": 1}, 1e-4), ({"fsdp": 2}, 1e-4)], ids=["ddp", "bf16", "fsdp", "fsdp2"])
def test_two_devices(two, tmp_path, options, tolerance):
    compare(run("trainer", "npu", tmp_path, ranks=2, **options), two, tolerance)
