"""The official onnxruntime-cann, unmodified, in an environment of its own (./dev makes it): results are those of its CPU provider."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
PYTHON = ROOT / ".venv-onnxruntime" / "bin" / "python"
NAMES = ["elementwise", "small_network_of_any_batch", "unknown_sizes_that_only_one_fits", "recurrent_layers_of_any_length",
         "shapes_that_values_decide", "pieces_of_a_graph", "places_that_count_from_the_end", "four_threads",
         "microsoft_operators", "optical_character_recognition", "an_operator_that_there_is_not"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    updraft = pathlib.Path(sys.executable).parent / "updraft"
    environment = {**os.environ, "TMPDIR": str(tmp_path_factory.mktemp("onnxruntime"))}
    done = subprocess.run([updraft, "run", PYTHON, pathlib.Path(__file__).with_name("onnxruntime_programs.py")], env=environment,
                          capture_output=True, text=True, timeout=600)
    answers = [json.loads(line[2:]) for line in done.stdout.splitlines() if line.startswith("@@")]
    assert answers, done.stderr[-4000:]
    return {answer["name"]: answer for answer in answers}, done.stderr


@pytest.mark.parametrize("name", NAMES)
def test_device_is_cpu(run, name):
    answer = run[0][name]
    assert "error" not in answer, answer["error"] + "\n" + answer["trace"]
    assert answer["difference"] <= 2e-5, answer


def test_the_reason_of_a_refusal_is_on_stderr(run):
    assert "words (TfIdfVectorizer)" in run[1]


def test_results_of_a_model_count_as_written(tmp_path):
    """The provider copies them to the host on the model's stream, before the model has run."""
    updraft, report = pathlib.Path(sys.executable).parent / "updraft", tmp_path / "report.json"
    done = subprocess.run([updraft, "run", "--sanitize", "--sanitize-report", report, PYTHON, pathlib.Path(__file__).with_name("onnxruntime_programs.py"),
                           "elementwise", "small_network_of_any_batch"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and json.loads(report.read_text())["findings"] == [], done.stderr[-3000:]


def test_all_programs_are_tested():
    lines = pathlib.Path(__file__).with_name("onnxruntime_programs.py").read_text().splitlines()
    assert [line[4:-3] for before, line in zip(lines, lines[1:]) if before == "@program"] == NAMES
