"""torch.compile through TorchAir, the compiler inside the official torch_npu wheel: compiled results are the eager ones."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

NAMES = ["static_forward", "backend_by_name", "dynamic_forward", "gears_in_pairs", "gears_of_all_pairs", "shapes_in_the_graph", "input_that_is_updated",
         "inputs_that_stay", "caches_that_are_written", "frozen_parameters",
         "training_of_convolutions", "training_of_a_residual_network", "training_of_an_encoder", "decoder_forward",
         "generation_with_a_cache", "attention", "attention_by_torch_npu", "quantised_and_grouped_products", "experts_by_torch_npu",
         "between_the_products_of_experts", "sparse_and_linear_attention", "what_serving_asks_for",
         "latent_attention_and_what_experts_give_back", "parts_of_attention_and_pages_of_caches",
         "weights_in_formats_of_the_units", "hints_and_spectra", "four_bits_in_products", "numbers_of_four_bits", "training_of_attention",
         "dropout_in_training", "random_draws", "printed_tensors", "compiled_again_from_disk"]


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


def test_memory_that_a_graph_takes_is_no_fault(tmp_path):
    """TorchAir gives a graph memory of torch_npu's allocator for its results, of which torch_npu tells the sanitizer nothing, and runs attention
    on empty tensors to learn its shapes."""
    report = tmp_path / "report.json"
    done = subprocess.run([pathlib.Path(sys.executable).with_name("updraft"), "run", "--sanitize", "--sanitize-report", report, sys.executable, "-W", "ignore",
                           "-m", "tests.graph.torchair_programs", "dynamic_forward", "input_that_is_updated", "training_of_attention"], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0 and json.loads(report.read_text())["findings"] == [], done.stderr[-3000:]


@pytest.mark.long  # takes a minute: a full collection of garbage must come while a graph is traced
def test_garbage_of_compilations_is_no_fault(tmp_path):
    report = tmp_path / "report.json"
    done = subprocess.run([pathlib.Path(sys.executable).with_name("updraft"), "run", "--sanitize", "--sanitize-report", report, sys.executable, "-W", "ignore",
                           "-m", "tests.graph.torchair_programs"], capture_output=True, text=True, timeout=1000)
    assert done.returncode == 0 and json.loads(report.read_text())["findings"] == [], done.stderr[-3000:]


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


# What CompilerConfig takes for the engine: it gives the eager results, or (the last) a reason. The first ones in the short form.
OPTIONS = [("experimental_config.topology_sorting_strategy", "StableRDFS"), ("fusion_config.fusion_switch_file", "-"),
           ("experimental_config.cc_parallel_enable", "True"), ("experimental_config.keep_inference_input_mutations", "False"),
           ("experimental_config.memory_efficiency", "True"), ("experimental_config.frozen_parameter", "True"),
           ("experimental_config.static_model_ops_lower_limit", "5"), ("experimental_config.topology_sorting_strategy", "BFS"),
           ("experimental_config.topology_sorting_strategy", "RDFS"), ("experimental_config.enable_ref_data", "True"),
           ("experimental_config.enable_view_optimize", "False"), ("experimental_config.remove_noop_ops", "False"),
           ("experimental_config.tiling_schedule_optimize", "True"), ("experimental_config.pattern_fusion_pass", "False"),
           ("ge_config.enable_single_stream", "True"), ("ge_config.oo_level", "O1"), ("ge_config.oo_constant_folding", "False"),
           ("ge_config.oo_dead_code_elimination", "False"), ("ge_config.export_compile_stat", "2"), ("ge_config.aicore_num", "24|48"),
           ("ge_config.optimization_switch", "FunctionFusionPass:off"), ("ge_config.multistream_parallel_mode", "cv"),
           ("debug.run_eagerly", "True"), ("debug.graph_dump.type", "pbtxt"), ("dump_config.enable_dump", "True"),
           ("mode", "reduce-overhead")]
REFUSED = [("ge_config.optimization_switch", "FunctionFusionPass:maybe", "FunctionFusionPass is maybe, want on or off"),
           ("ge_config.aicore_num", "x|y", "ge.aicoreNum is x|y, want"), ("aoe_config.aoe_mode", "2", "libaoe_tuning.so")]


def with_option(name, value, folder):
    done = subprocess.run([sys.executable, "-W", "ignore", "-m", "tests.graph.torchair_options", name, value], capture_output=True, text=True,
                          timeout=300, env={**os.environ, "PYTHONPATH": os.getcwd()}, cwd=folder)
    answers = [json.loads(line[2:]) for line in done.stdout.splitlines() if line.startswith("@@")]
    assert answers, done.stderr[-4000:]
    return answers[0]


@pytest.mark.parametrize("name, value", OPTIONS if os.environ.get("UPDRAFT_TEST_LONG") else OPTIONS[:2])
def test_settings_are_taken(name, value, tmp_path):
    answer = with_option(name, value, tmp_path)
    assert answer.get("difference", 1) <= 1e-5, answer


@pytest.mark.parametrize("name, value, words", REFUSED if os.environ.get("UPDRAFT_TEST_LONG") else REFUSED[:1])
def test_settings_are_refused_with_a_reason(name, value, words, tmp_path):
    assert words in with_option(name, value, tmp_path)["error"]


def test_all_programs_are_tested():
    text = open(__file__.replace("test_torchair", "torchair_programs")).read()
    assert [line[4:-3] for before, line in zip(text.splitlines(), text.splitlines()[1:]) if before == "@program"] == NAMES
