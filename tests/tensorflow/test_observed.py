"""What npu.global_options() asks for beside results: dump, overflow, profiles; and precision_tool over a run of TensorFlow."""
import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MODEL = """
    import os, sys
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow as tf
    tf.keras.utils.set_random_seed(0)

    def trained(steps, flip=False):
        x, y = tf.random.stateless_normal((4, 6), (1, 2)), tf.random.stateless_normal((4, 2), (3, 4))
        first = tf.Variable(tf.random.stateless_normal((6, 8), (5, 6)) * 0.3, name="first")
        second = tf.Variable(tf.random.stateless_normal((8, 2), (7, 8)) * 0.3 * ([1.0, -1.0] if flip else [1.0, 1.0]), name="second")

        @tf.function
        def step(x, y):
            with tf.GradientTape() as tape:
                hidden = tf.nn.relu(tf.matmul(x, first, name="one"), name="relu")
                loss = tf.reduce_mean(tf.math.squared_difference(tf.matmul(hidden, second, name="two"), y, name="difference"))
            for v, g in zip((first, second), tape.gradient(loss, (first, second))):
                v.assign_sub(0.1 * g)
            return loss

        return [float(step(x, y)) for _ in range(steps)]
"""


def run(folder, code, status=0, **env):
    (folder / "train.py").write_text(textwrap.dedent(code))
    done = subprocess.run([sys.executable, "train.py"], cwd=folder, text=True, capture_output=True, timeout=200, env=dict(os.environ, **env))
    assert done.returncode == status, (done.stdout + done.stderr)[-4000:]
    return done.stdout + done.stderr


def npu(body):
    return """
    import npu_device as npu
    o = npu.global_options()
%s
    npu.open().as_default()
""" % textwrap.indent(textwrap.dedent(body).strip(), "    ") + MODEL


def files(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


def test_dump_of_a_step(tmp_path):
    (tmp_path / "dump").mkdir()
    run(tmp_path, npu("""
        o.dump_config.enable_dump = True
        o.dump_config.dump_path = "dump"
        o.dump_config.dump_step = "1"
        o.dump_config.dump_mode = "all"
    """) + "\n    print(trained(3))\n")
    made = [f for f in files(tmp_path / "dump") if "/0/" in f and f.count("/") >= 5]  # of models
    assert any(re.match(r"\d{14}/0/[^/]+/\d+/1/Relu\.[\w-]*relu[\w-]*\.\d+\.\d+\.\d+$", f) for f in made), made
    assert not any(f.split("/")[4] != "1" for f in made if f.count("/") == 5)


def test_layers_alone(tmp_path):
    (tmp_path / "dump").mkdir()
    run(tmp_path, npu("""
        o.dump_config.enable_dump = True
        o.dump_config.dump_path = "dump"
        o.dump_config.dump_layer = "Relu"
        o.dump_config.dump_data = "stats"
    """) + "\n    print(trained(2))\n")
    made = files(tmp_path / "dump")
    assert made and all(Path(f).name.startswith("Relu.") and f.endswith(".csv") for f in made), made


@pytest.mark.parametrize("mode", ["aicore_overflow", "atomic_overflow", "all"])
def test_overflow(tmp_path, mode):
    """A product and a sum of segments, which a card adds up in memory: each where the mode is its own, both in all."""
    (tmp_path / "dump").mkdir()
    run(tmp_path, npu("""
        o.dump_config.enable_dump_debug = True
        o.dump_config.dump_path = "dump"
        o.dump_config.dump_debug_mode = "%s"
    """ % mode) + """
    @tf.function
    def large(x):
        return tf.cast(x, tf.float16) * tf.constant(60000.0, tf.float16)
    @tf.function
    def gathered(x):
        return tf.math.unsorted_segment_sum(tf.cast(x, tf.float16), tf.constant([0, 0]), 1)
    print(large(tf.constant([1.0, 3.0])), gathered(tf.constant([60000.0, 60000.0])))
""")
    names = [Path(f).name for f in files(tmp_path / "dump")]
    assert any(n.startswith("Opdebug.Node_OpDebug.") for n in names), names
    assert any(n.startswith("Mul.") for n in names) == (mode != "atomic_overflow"), names
    assert any(n.startswith("UnsortedSegmentSum") for n in names) == (mode != "aicore_overflow"), names


def test_what_an_operator_that_failed_was_given(tmp_path):
    """enable_exception_dump: its tensors lie in the folder where the program runs; else there are none."""
    program = """
    @tf.function
    def f(x, i): return tf.gather(x * 2.0, i, name="pick") + 1.0
    try: f(tf.ones([4, 3]), tf.constant([9]))
    except tf.errors.InvalidArgumentError as error: print("index 9 is out of range" in str(error) and "(GatherV2)" in str(error))
"""
    for asked, folder in ((1, tmp_path / "on"), (0, tmp_path / "off")):
        folder.mkdir()
        assert run(folder, npu("o.enable_exception_dump = %d" % asked) + program).split()[-1] == "True"
        made = [f for f in files(folder) if f.startswith("extra-info/data-dump/0/GatherV2.pick.")]
        assert len(made) == asked, files(folder)


HALF = """
    @tf.function
    def product(x):
        return tf.matmul(x, tf.fill([16, 16], 300.0), name="hot")
    @tf.function
    def kept(x):
        with npu.keep_dtype_scope(): return tf.matmul(x, tf.fill([16, 16], 300.0), name="hot")
    print(float((kept if KEPT else product)(tf.fill([16, 16], 300.0))[0, 0]))
"""


@pytest.mark.parametrize("cure", ["", "keep_dtype_scope", "modify_mixlist"])
def test_overflow_and_its_cure(tmp_path, cure):
    """Mixed precision makes a product overflow; keeping the operator in float32 mends it, by either way."""
    (tmp_path / "dump").mkdir()
    (tmp_path / "lists.json").write_text('{"black-list": {"to-add": ["MatMulV2"]}}')
    said = run(tmp_path, npu("""
        o.precision_mode = "allow_mix_precision"
        o.dump_config.enable_dump_debug = True
        o.dump_config.dump_path = "dump"
    """ + ("    o.modify_mixlist = 'lists.json'\n" if cure == "modify_mixlist" else "")) + HALF.replace("KEPT", str(cure == "keep_dtype_scope")))
    found = [Path(f).name for f in files(tmp_path / "dump")]
    if cure:
        assert float(said.split()[-1]) == 16 * 300 * 300 and found == []
    else:
        assert not float(said.split()[-1]) < 65504 and any(n.startswith("MatMul") for n in found) and any("Opdebug" in n for n in found), found


def test_profile(tmp_path):
    (tmp_path / "profile").mkdir()
    run(tmp_path, npu("""
        o.profiling_config.enable_profiling = True
        o.profiling_config.profiling_options = '{"output": "profile", "task_trace": "on", "training_trace": "on", "fp_point": "", "bp_point": ""}'
    """) + "\n    print(trained(3))\n")
    assert [p.name for p in (tmp_path / "profile").iterdir() if p.name.startswith("PROF_")], files(tmp_path / "profile")


EVERY_OPTION = {
    "output": "profile", "storage_limit": "300MB", "training_trace": "on", "task_trace": "on", "hccl": "on", "aicpu": "on", "fp_point": "one", "bp_point": "",
    "aic_metrics": "Memory", "l2": "on", "msproftx": "on", "task_time": "on", "runtime_api": "on", "sys_hardware_mem_freq": "40", "llc_profiling": "write",
    "sys_io_sampling_freq": "60", "sys_interconnection_freq": "20", "dvpp_freq": "30", "host_sys": "cpu,mem", "host_sys_usage": "cpu,mem",
    "host_sys_usage_freq": "25"}


def profiled(folder, options):
    """(what the profile says of itself, or None; what the program said)"""
    (folder / "profile").mkdir(parents=True)
    said = run(folder, npu("""
        o.profiling_config.enable_profiling = True
        o.profiling_config.profiling_options = %r
    """ % json.dumps(options)) + "\n    print(trained(1))\n")
    made = list((folder / "profile").glob("PROF_*"))
    return json.loads((made[0] / "host" / "sample.json").read_text()) if made else None, said


def test_every_profiling_option(tmp_path):
    """All keys at once; then what is off, or no word that it knows; and values and company that are refused: the program goes on."""
    told, _ = profiled(tmp_path / "all", EVERY_OPTION)
    wanted = dict(aicMetrics="Memory", storageLimit=300, fpPoint="one", bpPoint="", collectives=True, iterations=True, memoryFrequency=40, ioFrequency=60,
                  interconnectionFrequency=20)
    assert {k: told[k] for k in wanted} == wanted
    assert [remark.split(":")[0] for remark in told["remarks"]] == ["l2", "dvpp_freq", "llc_profiling"]  # what a CPU has not
    fewer, _ = profiled(tmp_path / "few", {"output": "profile", "training_trace": "on", "task_trace": "on", "hccl": "off", "aicpu": "maybe"})
    assert not fewer["collectives"] and fewer["dataTypeConfig"] & ~told["dataTypeConfig"] == 0 and fewer["dataTypeConfig"] != told["dataTypeConfig"]
    assert any("aicpu" in remark and "counts as off" in remark for remark in fewer["remarks"])
    for name, wrong in (("instr_profiling_freq", {"instr_profiling_freq": "1000", "task_trace": "on"}), ("host_sys_usage_freq", {"host_sys_usage_freq": "51"})):
        nothing, said = profiled(tmp_path / name, {"output": "profile", **wrong})
        assert nothing is None and "nothing is profiled" in said and name in said, said[-2000:]


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    """A reference of TensorFlow on the CPU against a run of the NPU with a planted fault, by precision_tool."""
    folder = tmp_path_factory.mktemp("walk")
    # The tools lie in the environment of the other tests: this one has the libraries alone.
    home = subprocess.run([ROOT / ".venv/bin/python", "-c", "import updraft; print(updraft.home())"], text=True, capture_output=True, check=True).stdout.strip()
    shutil.copytree(Path(home) / "tools" / "precision_tool", folder / "precision_tool", ignore=shutil.ignore_patterns("__pycache__"))
    run(folder, MODEL + """
    import tfdbg_ascend as dbg
    dbg.set_dump_path("precision_data/tf/dump")
    print(trained(1))
""")
    run(folder, """
    import npu_device
    import precision_tool.tf_config as npu_tf_config
    npu_tf_config.npu_device_dump_config(npu_device, action="fusion_off|dump")
    npu_device.open().as_default()
""" + MODEL + "\n    print(trained(1, flip=True))\n")

    def tool(*words):
        done = subprocess.run([sys.executable, "precision_tool/cli.py", *words], cwd=folder, text=True, capture_output=True, timeout=100,
                              env=dict(os.environ, ASCEND_HOME_PATH=home))
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout
    return tool


def test_walk_against_the_reference(compared):
    step = next(line.split()[-1] for line in compared("vc").splitlines() if "against" in line)
    assert step
    said = compared("vcs", "-l", "20")
    assert int(re.search(r"Find (\d+) ops less then 0.98", said).group(1)) >= 1
    assert re.search(r"╭─ \[\d+\] \S*two", said) and not re.search(r"╭─ \[\d+\] \S*one ", said)
    assert "[MatMul" in compared("ls", "-n", "two")
