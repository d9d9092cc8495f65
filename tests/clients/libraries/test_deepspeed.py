"""DeepSpeed from PyPI under transformers' Trainer, two ranks: its own NPU accelerator, hccl, and its optimizers on the CPU."""
import pytest

from .library import compare, needs, run

pytestmark = [needs("accelerate", "deepspeed"), pytest.mark.limit(600), pytest.mark.long]

OFFLOAD = {"offload_optimizer": {"device": "cpu"}, "offload_param": {"device": "cpu"}}


@pytest.fixture(scope="module")
def cpu(tmp_path_factory):
    return run("trainer", "cpu", tmp_path_factory.mktemp("cpu"), ranks=2)


@pytest.mark.parametrize("zero", [{"stage": 1}, {"stage": 2}, {"stage": 3}, {"stage": 3, **OFFLOAD}], ids=["1", "2", "3", "offload"])
@pytest.mark.parametrize("half", [False, True], ids=["fp32", "bf16"])
def test_zero(cpu, tmp_path, zero, half):
    config = {"train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto", "gradient_clipping": "auto", "zero_optimization": zero,
              "bf16": {"enabled": "auto"}, "zero_force_ds_cpu_optimizer": False}
    compare(run("trainer", "npu", tmp_path, ranks=2, bf16=half, deepspeed=config), cpu, 2e-2 if half else 1e-4)
