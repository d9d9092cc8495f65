"""Adapters of peft: LoRA, with weights taken apart (DoRA), and from the weights' singular vectors (PiSSA)."""
import pytest

from .library import compare, needs, run

pytestmark = [needs("accelerate", "peft"), pytest.mark.limit(400)]


@pytest.mark.parametrize("options", [
    {}, pytest.param({"use_dora": True}, marks=pytest.mark.long), pytest.param({"init_lora_weights": "pissa", "use_rslora": True}, marks=pytest.mark.long)],
    ids=["lora", "dora", "pissa"])
def test_adapter(tmp_path, options):
    compare(run("adapters", "npu", tmp_path, **options), run("adapters", "cpu", tmp_path, **options), 1e-4)
