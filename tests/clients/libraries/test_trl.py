"""Trainers of trl."""
import pytest

from .library import compare, needs, run

pytestmark = [needs("accelerate", "trl", "datasets"), pytest.mark.limit(600), pytest.mark.long]


@pytest.mark.parametrize("kind", ["sft", "dpo"])
def test_like_the_cpu(tmp_path, kind):
    compare(run("preferences", "npu", tmp_path, kind=kind), run("preferences", "cpu", tmp_path, kind=kind), 1e-4)


def test_answers_that_are_drawn(tmp_path):
    """Group-relative preferences: drawn answers are not the CPU's, but those of another run with the same seed."""
    first, second = (run("preferences", "npu", tmp_path, kind="grpo") for _ in range(2))
    assert first == second and len(set(first["reward"])) > 1 and min(first["grad_norm"]) > 0
