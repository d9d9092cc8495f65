"""U-Nets, samplers and the autoencoder of diffusers, which takes torch_npu's fused operators by itself."""
import pytest

from .library import compare, needs, run

pytestmark = [needs("accelerate", "diffusers"), pytest.mark.limit(600), pytest.mark.long]


def test_train_and_draw(tmp_path):
    compare(run("diffusion", "npu", tmp_path), run("diffusion", "cpu", tmp_path), 1e-3)
