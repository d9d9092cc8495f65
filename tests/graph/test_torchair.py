"""torch.compile through TorchAir, the compiler inside the official torch_npu wheel: compiled results are the eager ones."""

import json
import os
import subprocess
import sys

import pytest

NAMES = ["static_forward", "backend_by_name", "dynamic_forward", "gears_in_pairs", "gears_of_all_pairs", "shapes_in_the_graph", "input_that_is_updated",
         "inputs_that_stay", "frozen_parameters",
         "training_of_convolutions", "training_of_a_residual_network", "training_of_an_encoder", "decoder_forward",
         "generation_with_a_cache", "attention", "training_of_attention",
         "dropout_in_training", "random_draws", "compiled_again_from_disk"]


def run(*names, **environment):
    done = subprocess.run([sys.executable, "-W", "ignore", "-m", "tests.graph.torchair_programs", *names], capture_output=True,
                          text=True, timeout=600, env={**os.environ, **environment})
    found = [json.loads(line[2:]) for line in done.stdout.splitlines() if line.startswith("@@")]
    assert found, done.stderr[-4000:]
    return {answer["name"]: answer for answer in found}


@pytest.fixture(scope="module")
def answers():
    """All programs in one process, because TorchAir takes seconds to import."""
    return run()


def check(answer):
    assert "error" not in answer, answer["error"] + "\n" + answer["trace"]
    assert all(answer["shapes"]), answer
    assert answer["difference"] <= 1e-5, answer


@pytest.mark.parametrize("name", NAMES)
def test_compiled_is_eager(answers, name):
    check(answers[name])


@pytest.mark.parametrize("name", ["attention", "training_of_attention"])
def test_attention_may_be_the_first_graph_and_wants_no_compiler(name):
    """TorchAir asks for converters before the first graph of a process has opened its session; what has none by then is
    compiled by g++."""
    check(run(name, PATH="/nowhere")[name])


@pytest.mark.timeout(1300)
def test_cases_of_the_wheel():
    """The 811 cases that the wheel's converters declare, a ninth of them in the short form."""
    every, least = (1, 780) if os.environ.get("UPDRAFT_TEST_LONG") else (9, 80)
    done = subprocess.run([sys.executable, "-W", "ignore", "-m", "tests.graph.torchair_cases", "--every", str(every)],
                          capture_output=True, text=True, timeout=1200)
    answers = [json.loads(line[2:]) for line in done.stdout.splitlines() if line.startswith("@@")]
    assert answers, done.stderr[-4000:]
    assert not answers[0]["names"], done.stdout
    assert answers[0]["equal"] >= least, done.stdout


def test_all_programs_are_tested():
    text = open(__file__.replace("test_torchair", "torchair_programs")).read()
    assert [line[4:-3] for before, line in zip(text.splitlines(), text.splitlines()[1:]) if before == "@program"] == NAMES
