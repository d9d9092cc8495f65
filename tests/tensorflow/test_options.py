"""global_options(), scopes and the small functions of npu_device. Options belong to a process, so most of it runs in processes."""

import os
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf


def run(code, **environment):
    return subprocess.run([sys.executable, "-c", "import npu_device as npu\n" + code], capture_output=True, text=True, timeout=240,
                          env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2", **environment})


def out(code, **environment):
    done = run(code, **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def error(code, **environment):
    done = run(code, **environment)
    assert done.returncode != 0, done.stdout
    return done.stderr.strip().splitlines()[-1]


def test_all_of_them():
    from npu_device import _options

    assert len(_options.OPTIONS) == 43
    assert set(dir(_options.global_options())) >= {"precision_mode", "dump_config", "aoe_config", "jit_compile"}
    assert _options.global_options().hcom_parallel is True and _options.global_options().dump_config.dump_mode == "output"
    _options.OPTIONS["memory_config.static_memory_policy"].check("static_memory_policy", 2)  # taken: it would change no result
    _options.OPTIONS["op_precision_mode"].check("op_precision_mode", __file__)
    with pytest.raises(ValueError, match="want the path of a file"):
        _options.OPTIONS["op_precision_mode"].check("op_precision_mode", "/nowhere")


@pytest.mark.parametrize("statement,text", [
    ("o.precison_mode = 'origin'", "no option precison_mode: there are .*precision_mode_v2"),
    ("o.dump_config.path = '/tmp'", "no option dump_config.path: there are .*dump_path"),
    ("o.precision_mode = 'fp16'", "precision_mode is 'fp16', want one of 'allow_fp32_to_fp16'"),
    ("o.graph_run_mode = True", "graph_run_mode is True, want one of 0, 1"),
    ("o.op_debug_level = 5", "op_debug_level is 5, want an int from 0 to 4"),
    ("o.hcom_parallel = 1", "hcom_parallel is 1, want True or False"),
    ("o.fusion_switch_file = '/nowhere'", "'/nowhere', want the path of a file"),
    ("o.enable_scope_fusion_passes = 'ScopeLayerNormPas'", "'ScopeLayerNormPas', want ScopeLayerNormPass, ScopeClipBoxesPass or both"),
    ("o.aoe_config.aoe_mode = '3'", "aoe_mode is '3', want one of '1', '2', '4'"),
    ("o.aoe_config.work_path = '/nowhere'", "'/nowhere', want the path of a folder"),
    ("o.external_weight = 1", "external_weight is 1, want True or False"),
    ("o.profiling_config.enable_profiling = True; npu.open()", "profiling_options is None: profiling wants at least"),
    ("o.profiling_config.enable_profiling = True; o.profiling_config.profiling_options = '['; npu.open()", "which is no JSON"),
    ("o.graph_run_mode = 0; o.profiling_config.enable_profiling = True; "
     "o.profiling_config.profiling_options = '{\"output\": \"/tmp\", \"training_trace\": \"on\"}'; npu.open()",
     "graph_run_mode is 0, inference, and the profiling options have training_trace"),
    ("o.dump_config.enable_dump = True; npu.open()", "dump_path is None: a dump wants a folder"),
    ("o.dump_config.enable_dump = o.dump_config.enable_dump_debug = True; npu.open()", "both enable_dump and enable_dump_debug"),
    ("o.dump_config.enable_dump = True; o.dump_config.dump_path = '/tmp'; o.dump_config.dump_step = '3-'; npu.open()", "dump_step.*3-"),
    ("o.precision_mode = 'force_fp16'; o.precision_mode_v2 = 'fp16'; npu.open()", "both precision_mode .* set one of them"),
    ("npu.open(); o.precision_mode = 'force_fp16'", "options are frozen, set them before npu.open"),
])
def test_refusals(statement, text):
    import re

    assert re.search(text, error("o = npu.global_options()\n" + statement)), text


@pytest.mark.parametrize("text, mode, wanted", [
    ('{"tune_ops_name": ["conv1"], "tune_ops_type": ["Conv2D"], "tune_optimization_level": "O1", "feature": ["deeper_opat"]}', "2", None),
    ('{"feature": ["nonhomo_split"]}', "1", None),
    ('{"feature": ["nonhomo_split"]}', "2", 'feature nonhomo_split is of aoe_mode "1", aoe_mode is \'2\''),
    ('{"feature": ["deeper"]}', "2", "no feature deeper, there are deeper_opat, nonhomo_split"),
    ('{"tune_ops_name": ["a"]\n "feature": []}', "2", "line 2, column 2"),
    ('{"tune_ops_names": []}', "2", "no key tune_ops_names, there are feature"),
    ('{"tune_ops_name": "a"}', "2", "tune_ops_name is 'a', want a list of texts"),
    ('{"tune_optimization_level": "O3"}', "2", "tune_optimization_level is 'O3'"),
    ('[]', "2", "has no object"),
])
def test_tuning(tmp_path, text, mode, wanted):
    """aoe_config: taken, the log says that there is nothing to tune; a file that AOE would not read is refused."""
    (tmp_path / "ops.json").write_text(text)
    code = ("c = npu.global_options().aoe_config\nc.aoe_mode, c.work_path, c.aoe_config_file = %r, %r, %r\nnpu.open().as_default()\n"
            "import tensorflow as tf\nprint(float(tf.constant(2.0) * 3.0))" % (mode, str(tmp_path), str(tmp_path / "ops.json")))
    if wanted:
        assert wanted in error(code)
        return
    done = run(code, TF_CPP_MIN_LOG_LEVEL="0")
    assert done.stdout.split() == ["6.0"] and "aoe_config.aoe_mode=%s: operators have one form here, there is nothing to tune" % mode in done.stderr, done.stderr


WEIGHTS = """
import glob, os, tensorflow as tf, numpy as np
npu.open().as_default()
w = np.arange(4096, dtype="f").reshape(64, 64) / 4096
@tf.function
def f(x): return tf.matmul(x, w) + tf.constant([0.5])
x = np.ones((2, 64), "f")
same = np.allclose(f(x), x @ w + 0.5, rtol=1e-6)
there = glob.glob("tmp_weight/*")
text = open(sorted(glob.glob("ge_proto_*Build.txt"))[-1]).read()
nodes = text.count('type: "FileConstant"')
print(same, len(there), [os.path.getsize(p) for p in there], nodes)
"""


def test_weights_in_files(tmp_path, monkeypatch):
    """external_weight: a large constant lies in a file of tmp_weight until the program ends, and is a FileConstant in the dump; small ones stay."""
    monkeypatch.chdir(tmp_path)
    assert out("npu.global_options().external_weight = True\n" + WEIGHTS, DUMP_GE_GRAPH="2") == ["True", "1", "[16384]", "1"]
    assert not os.path.exists("tmp_weight")
    assert out(WEIGHTS, DUMP_GE_GRAPH="2") == ["True", "0", "[]", "0"]


def test_a_layer_norm_that_is_written_out(tmp_path, monkeypatch):
    """enable_scope_fusion_passes is taken; the nodes become one with it and without."""
    monkeypatch.chdir(tmp_path)
    code = """
npu.open().as_default()
import glob, numpy as np, tensorflow as tf
@tf.function
def f(x):
    with tf.name_scope("layer_norm"):
        mean = tf.reduce_mean(x, -1, keepdims=True)
        variance = tf.reduce_mean(tf.math.squared_difference(x, mean), -1, keepdims=True)
        return (x - mean) * tf.math.rsqrt(variance + 1e-6) * np.linspace(0, 2, 32, dtype="f") + np.linspace(-1, 1, 32, dtype="f")
x = np.random.default_rng(0).standard_normal((4, 32)).astype("f")
got = f(x).numpy()
d = x.astype("d")
want = (d - d.mean(-1, keepdims=True)) / np.sqrt(d.var(-1, keepdims=True) + 1e-6) * np.linspace(0, 2, 32) + np.linspace(-1, 1, 32)
print(np.abs(got - want).max() < 1e-5, 'type: "LayerNorm' in open(sorted(glob.glob("ge_proto_*Build.txt"))[-1]).read())
"""
    assert out("npu.global_options().enable_scope_fusion_passes = 'ScopeLayerNormPass,ScopeClipBoxesPass'\n" + code, DUMP_GE_GRAPH="2") == ["True", "True"]
    assert out(code, DUMP_GE_GRAPH="2") == ["True", "True"]


PRODUCT = """
npu.open().as_default()
import tensorflow as tf
x = tf.constant([[1.0 + 2**-13]])
@tf.function
def f(x): return tf.matmul(x, tf.constant([[1.0]]))
@tf.function
def g(x):
    with npu.keep_dtype_scope(): return tf.matmul(x, tf.constant([[1.0]]))
v = tf.Variable([[1.0 + 2**-13]])
@tf.function
def h():
    tf.raw_ops.ResourceApplyGradientDescent(var=v.handle, alpha=1.0, delta=[[0.0]])
    return v.read_value()
print(float(f(x)) == float(x), float(g(x)) == float(x), float(h()) == float(x))
"""


def test_precision():
    assert out(PRODUCT) == ["True", "True", "True"]
    assert out("npu.global_options().precision_mode_v2 = 'fp16'\n" + PRODUCT) == ["False", "True", "True"]
    assert out("npu.global_options().precision_mode = 'allow_mix_precision'\n" + PRODUCT) == ["False", "True", "True"]
    assert out(PRODUCT, UPDRAFT_SOC="Ascend910A")[0] == "False"


def test_the_time_limit():
    text = error("""
npu.global_options().stream_sync_timeout = 1
npu.open().as_default()
import tensorflow as tf
@tf.function
def f(x):
    for _ in range(40): x = tf.matmul(x, x)
    return x
f(tf.ones([1500, 1500]))
""", UPDRAFT_INLINE="0")
    assert "107020" in text or "timeout" in text.lower() or "within 1 ms" in text, text


def test_the_cache(tmp_path):
    code = """
npu.global_options().op_compiler_cache_mode = 'enable'
npu.global_options().op_compiler_cache_dir = %r
npu.open().as_default()
import tensorflow as tf
print(tf.function(lambda x: tf.reduce_sum(x * 2.0))(tf.ones([3])).numpy())
""" % str(tmp_path)
    assert out(code) == ["6.0"]
    first = {p: p.read_bytes() for p in tmp_path.rglob("*.om")}
    assert first and out(code) == ["6.0"]
    assert {p: p.read_bytes() for p in tmp_path.rglob("*.om")} == first


def test_gelu(npu):
    import npu_device

    x = np.linspace(-4, 4, 101)
    want = 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
    got = tf.function(npu_device.ops.gelu)(tf.constant(x, tf.float32))
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-5, atol=1e-6)


def test_loop_size():
    assert "want a positive int" in error("npu.set_npu_loop_size(0)")
    assert "Set npu loop size to 32" in run("npu.set_npu_loop_size(32)", TF_CPP_MIN_LOG_LEVEL="0").stderr


def test_a_job_of_one(npu):
    import npu_device

    x, data = tf.constant([1.0]), tf.data.Dataset.range(8)
    d = npu_device.distribute
    assert d.all_reduce([x])[0] is x and d.broadcast([tf.Variable(1.0)]) is None
    assert d.shard_and_rebatch_dataset(data, 4) == (data, 4)
    with pytest.raises(ValueError, match="reduction is 'avg', want one of 'mean'"):
        d.all_reduce(x, reduction="avg")
    with pytest.raises(ValueError, match="dataset is list, want a tf.data.Dataset"):
        d.shard_and_rebatch_dataset([1, 2], 4)
    with pytest.raises(ValueError, match="optimizer is 'adam', want an optimizer of Keras"):
        d.npu_distributed_keras_optimizer_wrapper("adam")


SATURATION = """
npu.open().as_default()
import numpy as np, tensorflow as tf
mode = npu.npu_device.set_device_sat_mode
def refused(value):
    try: mode(value)
    except ValueError as e: return str(e)
x = tf.constant([[60000.0, -60000.0, 1.0]], tf.float16)
@tf.function
def f(x): return x * tf.constant(3.0, tf.float16), tf.matmul(x, tf.transpose(x)), tf.cast(tf.cast(x, tf.float32) * 2.0, tf.float16)
"""


def test_saturation_mode():
    assert out(SATURATION + """
most = 65504.0
print(npu.npu_device.is_inf_nan_enabled(), [t.numpy().ravel().tolist() for t in f(x)] == [[most, -most, 3.0], [most], [most, -most, 2.0]])
mode(1)
print(npu.npu_device.is_inf_nan_enabled(), [t.numpy().ravel().tolist() for t in f(x)] == [[np.inf, -np.inf, 3.0], [np.inf], [np.inf, -np.inf, 2.0]])
mode(0)
print([t.numpy().ravel().tolist() for t in f(x)][1] == [most], refused(2) == "set_device_sat_mode(2): want 0 (saturation) or 1 (INF_NAN)")
""") == ["False", "True", "True", "True", "True", "True"]
    assert error("npu.npu_device.set_device_sat_mode(1)") == "RuntimeError: no NPU is open: npu.open().as_default() comes before its modes"
    assert out(SATURATION + "print('saturates' in refused(1), refused(0), npu.npu_device.is_inf_nan_enabled())", UPDRAFT_SOC="Ascend910A") == ["True", "None", "False"]


def test_loss_scale_in_saturation_mode():
    """No gradient is Inf or NaN then: the flag of the device tells."""
    assert out(SATURATION + """
mode(0)
v = tf.Variable(tf.ones([4]))
o = npu.train.optimizer.NpuLossScaleOptimizer(tf.keras.optimizers.SGD(0.5), initial_scale=2.0**15)
@tf.function
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.cast(v, tf.float16) * x)
        scaled = o.get_scaled_loss(loss)
    g = o.get_unscaled_gradients(tape.gradient(scaled, [v]))
    o.apply_gradients(zip(g, [v]))
    return g[0]
g = step(tf.constant([4.0] * 4, tf.float16))
print(bool(np.isfinite(g.numpy()).all()), v.numpy()[0], o.loss_scale.numpy())
step(tf.constant([1.0] * 4, tf.float16))
print(v.numpy()[0], o.loss_scale.numpy(), isinstance(o, tf.keras.mixed_precision.LossScaleOptimizer), type(o).__name__)
""") == ["True", "1.0", "16384.0", "0.5", "16384.0", "True", "LossScaleOptimizerV3"]


def test_loss_scale():
    assert out("""
npu.open().as_default()
import tensorflow as tf
v = tf.Variable(1.0)
o = npu.train.optimizer.NpuLossScaleOptimizer(tf.keras.optimizers.SGD(0.5), initial_scale=8.0)
assert isinstance(o, tf.keras.mixed_precision.LossScaleOptimizer)
@tf.function
def step(g): o.apply_gradients(zip(o.get_unscaled_gradients([g]), [v]))
step(tf.constant(float('inf'))); print(v.numpy(), o.loss_scale.numpy())
step(tf.constant(8.0)); print(v.numpy(), o.loss_scale.numpy())
""") == ["1.0", "4.0", "0.0", "4.0"]
