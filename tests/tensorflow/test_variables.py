"""The environment variables of the adapter (the guide's 11.3): what each may be, and what it does."""

import json
import os
import subprocess
import sys

import pytest
import tensorflow as tf
from npu_device import _variables

RIGHT = {"JOB_ID": "train-job_10086", "NPU_DEBUG": "true", "NPU_DUMP_GRAPH": "0", "NPU_ENABLE_PERF": "false", "NPU_LOOP_SIZE": "32",
         "ENABLE_FORCE_V2_CONTROL": "1", "GE_USE_STATIC_MEMORY": "2", "SKT_ENABLE": "1", "MAX_COMPILE_CORE_NUMBER": "5",
         "HELPER_CLUSTER": '{"chief": "192.168.1.1:6000", "worker": ["192.168.1.2:6000", "192.168.1.3"]}', "MAX_RUNTIME_CORE_NUMBER": "3",
         "TE_PARALLEL_COMPILER": "8", "AOE_MODE": "2", "PROFILING_MODE": "true"}
WRONG = {"JOB_ID": "a job", "NPU_DEBUG": "yes", "NPU_DUMP_GRAPH": "2", "NPU_ENABLE_PERF": "on", "NPU_LOOP_SIZE": "0", "ENABLE_FORCE_V2_CONTROL": "v2",
         "GE_USE_STATIC_MEMORY": "3", "SKT_ENABLE": "2", "MAX_COMPILE_CORE_NUMBER": "0", "HELPER_CLUSTER": '{"chief": 1}',
         "MAX_RUNTIME_CORE_NUMBER": "-1", "TE_PARALLEL_COMPILER": "33", "AOE_MODE": "3", "PROFILING_MODE": "1"}


def test_every_variable_is_here():
    assert sorted(RIGHT) == sorted(WRONG) == sorted(_variables.VARIABLES)


@pytest.mark.parametrize("name", sorted(RIGHT))
def test_values(name, monkeypatch):
    for other in RIGHT:
        monkeypatch.delenv(other, raising=False)
    assert _variables.check(()) == []
    monkeypatch.setenv(name, RIGHT[name])
    told = _variables.check(())
    here = _variables.VARIABLES[name][1]
    assert told == (["%s=%s changes nothing: %s" % (name, RIGHT[name], here)] if here else [])
    monkeypatch.setenv(name, WRONG[name])
    with pytest.raises(ValueError, match="^%s is .*, want " % name):
        _variables.check(())


def test_static_memory_is_said_once(monkeypatch):
    monkeypatch.setenv("GE_USE_STATIC_MEMORY", "2")
    with pytest.raises(ValueError, match="GE_USE_STATIC_MEMORY is '2' and static_memory_policy is set: set one of them"):
        _variables.check({"memory_config.static_memory_policy"})


PROGRAM = """
import npu_device as npu
npu.open().as_default()
import tensorflow as tf
@tf.function
def f(x): return tf.matmul(x, x) + 1.0
print(float(tf.reduce_sum(f(tf.ones([4, 4])))))
"""


def run(folder, **variables):
    (folder / "script.py").write_text(PROGRAM)
    done = subprocess.run([sys.executable, "script.py"], cwd=folder, capture_output=True, text=True, timeout=120, env={**os.environ, **variables})
    assert done.returncode == 0 and "80.0" in done.stdout.split(), done.stderr
    return done


def test_a_profile_of_the_process(tmp_path):
    """PROFILING_MODE and the guide's PROFILING_OPTIONS: what a function ran is in the files."""
    options = {"output": str(tmp_path), "training_trace": "on", "task_trace": "on", "fp_point": "", "bp_point": "", "aic_metrics": "PipeUtilization"}
    run(tmp_path, PROFILING_MODE="true", PROFILING_OPTIONS=json.dumps(options))
    folder, = tmp_path.glob("PROF_*")
    assert "MatMul" in "".join(p.read_bytes().decode(errors="replace") for p in folder.rglob("*slice_0"))


def test_what_changes_nothing_is_told(tmp_path):
    """Tuning, static memory and numbers of threads, beside a function that runs as without them."""
    given = {"AOE_MODE": "2", "GE_USE_STATIC_MEMORY": "2", "MAX_COMPILE_CORE_NUMBER": "5", "MAX_RUNTIME_CORE_NUMBER": "3", "TE_PARALLEL_COMPILER": "8",
             "SKT_ENABLE": "1", "HELPER_CLUSTER": RIGHT["HELPER_CLUSTER"]}
    text = run(tmp_path, TF_CPP_MIN_LOG_LEVEL="0", **given).stderr
    for name, value in given.items():
        assert "%s=%s changes nothing: %s" % (name, value, _variables.VARIABLES[name][1]) in text


def test_what_the_adapter_shows(tmp_path):
    """NPU_DEBUG, NPU_DUMP_GRAPH, NPU_ENABLE_PERF, and a variable without effect."""
    (tmp_path / "script.py").write_text("""
import npu_device as npu
npu.open().as_default()
import tensorflow as tf
@tf.function
def f(x): return tf.raw_ops.ListDiff(x=x, y=[5])[0] * 2
print(f(tf.constant([3, 5, 4])).numpy().tolist())
""")
    done = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, timeout=120,
                          env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "0", "NPU_DEBUG": "1", "NPU_DUMP_GRAPH": "true", "NPU_ENABLE_PERF": "1", "SKT_ENABLE": "1"})
    assert done.returncode == 0 and done.stdout.split("\n")[0] == "[6, 8]", done.stderr
    assert "ListDiff runs on TensorFlow's CPU kernel: the NPU has no operator for it" in done.stderr
    assert "Npu device options: graph_run_mode=1, deterministic=0, " in done.stderr
    assert "SKT_ENABLE=1 changes nothing: a model is one task anyway" in done.stderr
    line = [x for x in done.stderr.splitlines() if "Graph __inference_f_" in x and " took " in x]
    assert len(line) == 1 and line[0].endswith(" us")
    file, = tmp_path.glob("npu_graph___inference_f_*.pb")
    function = type(tf.function(lambda: 1).get_concrete_function().function_def).FromString(file.read_bytes())
    assert [n.op for n in function.node_def if n.op in ("ListDiff", "Mul")] == ["ListDiff", "Mul"]
