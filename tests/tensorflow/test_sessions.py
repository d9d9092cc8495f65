"""TensorFlow 1 on the NPU: each recipe of compat_v1/recipes.py says on the NPU what it says on the CPU."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

RECIPES = os.path.join(os.path.dirname(__file__), "compat_v1", "recipes.py")


def script(*arguments, **variables):
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2", **variables}
    return subprocess.Popen([sys.executable, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def said(process):
    out, error = process.communicate(timeout=240)
    assert process.returncode == 0 and "Exception ignored" not in error, error
    return json.loads(out.splitlines()[-1])


@pytest.fixture(scope="module")
def results():
    npu, cpu = script(RECIPES, "npu"), script(RECIPES, "cpu", UPDRAFT_DISABLE="1")
    return said(npu), said(cpu)


def same(got, want, where=""):
    assert type(got) is type(want), (where, got, want)
    if isinstance(want, dict):
        assert got.keys() == want.keys(), where
        for key, value in want.items():
            same(got[key], value, "%s/%s" % (where, key))
    elif isinstance(want, list):
        assert len(got) == len(want), (where, got, want)
        for index, value in enumerate(want):
            same(got[index], value, "%s/%d" % (where, index))
    elif isinstance(want, float):
        np.testing.assert_allclose(got, want, rtol=2e-4, atol=2e-5, err_msg=where)
    else:
        assert got == want, (where, got, want)


NAMES = ("feeds", "iterators", "estimator", "monitored_session", "keras", "reference_variables", "control_flow", "control_flow_of_version_1",
         "queues", "host_things", "random_numbers", "errors", "a_caller_that_changes_his_array", "sessions_apart", "functions_in_graphs", "rnn",
         "steps_in_one_run", "loops_are_fed_ahead", "estimator_with_loops", "loss_scale", "loss_scale_in_saturation_mode", "bert", "runs_in_parts",
         "constants_that_begin_alike")


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", NAMES)
def test_recipe(results, name):
    got, want = (r[name] for r in results)
    for result in (got, want):
        assert not isinstance(result, dict) or "error" not in result, result["error"]
    same(got, want)


def test_all_recipes_are_compared(results):
    assert sorted(results[0]) == sorted(results[1]) == sorted(NAMES)


BEGIN = """
import json
import tensorflow as tf
v1 = tf.compat.v1
from npu_bridge.npu_init import *
v1.disable_v2_behavior()
said = {}
def refused(name, function):
    try: function()
    except Exception as e: said[name] = "%s: %s" % (type(e).__name__, e)
    else: said[name] = "taken"
def config(off=("remapping", "memory_optimization"), on=(), **parameters):
    made = v1.ConfigProto()
    custom_op = made.graph_options.rewrite_options.custom_optimizers.add()
    custom_op.name = "NpuOptimizer"
    for name in off: setattr(made.graph_options.rewrite_options, name, RewriterConfig.OFF)
    for name in on: setattr(made.graph_options.rewrite_options, name, True)
    for name, value in parameters.items():
        at = custom_op.parameter_map[name]
        if isinstance(value, bool): at.b = value
        elif isinstance(value, int): at.i = value
        else: at.s = value.encode()
    return made
"""


def test_configurations():
    got = said(script("-c", BEGIN + """
def session(name, *a, **k): refused(name, lambda: v1.Session(config=config(*a, **k)).close())
session("right")
session("remapping", ("memory_optimization",))
session("both", ())
session("folding", ("remapping", "memory_optimization", "constant_folding"))
session("pruning", on=("disable_model_pruning",))
session("unknown", precison_mode="force_fp16")
session("value", precision_mode="fp8")
session("text number", graph_run_mode="1")
session("dump", enable_dump=True)
session("loop", iterations_per_loop=0)
session("parameters", precision_mode="allow_mix_precision", use_off_line=True, mix_compile_mode=False, hcom_parallel=True, enable_data_pre_proc=True)
session("compress", enable_compress_weight=True)
session("precisions", precision_mode="force_fp16", precision_mode_v2="fp16")
w = v1.get_variable("w", initializer=2.0)
with v1.Session(config=config(session_device_id=1)) as s:
    s.run(w.initializer)
    from npu_device._session import session as sessions
    handle, = sessions.running(s).variables._handles.values()
    said["device"] = handle.device
with v1.Session(config=config()) as s:
    said["same device"] = s.run([w.initializer, tf.constant(4.0)])[1].tolist()
refused("other device", lambda: v1.Session(config=config(session_device_id=2)).run(w.initializer))
with v1.Session() as s, v1.Session(config=config(use_off_line=False)) as off:
    said["cpu"] = sessions.running(s) is None and sessions.running(off) is None
refused("later", lambda: v1.Session(config=config(precision_mode="force_fp16")).run(w.initializer))
print(json.dumps(said))
"""))
    assert got["right"] == got["parameters"] == got["text number"] == "taken"
    assert got["remapping"] == ("ValueError: NpuOptimizer: remapping must be off, write: config.graph_options.rewrite_options.remapping = "
                                "RewriterConfig.OFF")
    assert "remapping and memory_optimization must be off" in got["both"]
    assert "constant_folding is off and must not be" in got["folding"] and "disable_model_pruning is on" in got["pruning"]
    assert "NpuOptimizer has no parameter precison_mode: there are aicore" not in got["unknown"] and "precision_mode" in got["unknown"]
    assert "parameter precision_mode is 'fp8', want one of 'allow_fp32_to_fp16'" in got["value"]
    assert "iterations_per_loop is 0, want a positive int" in got["loop"] and "enable_compress_weight is True: Updraft has not got" in got["compress"]
    assert "dump_config.dump_path is None: a dump wants a folder" in got["dump"]
    assert got["precisions"] == "ValueError: NpuOptimizer: there are both precision_mode ('force_fp16') and precision_mode_v2 ('fp16'): set one of them"
    assert got["device"].endswith("device:NPU:1") and got["same device"] == 4.0 and got["cpu"] is True
    assert "NPU 1 is open: a process drives one NPU" in got["other device"]
    assert "the NPU is open with None: all sessions of a process have the same options" in got["later"]


def test_names_and_their_checks():
    got = said(script("-c", BEGIN + """
x = tf.constant([1.0, 2.0])
refused("mean", lambda: hccl_ops.allreduce(x, "mean"))
refused("fusion", lambda: hccl_ops.broadcast([x], 0, fusion=1))
refused("fusion id", lambda: hccl_ops.allreduce(x, "sum", fusion=2))
refused("type", lambda: hccl_ops.allreduce(tf.constant([1.0], tf.float64), "sum"))
refused("not a list", lambda: hccl_ops.broadcast(x, 0))
refused("group", lambda: hccl_ops.allgather(x, 2, group="g" * 128))
refused("ranks", lambda: hccl_ops.allgather(x, 4097))
refused("parts", lambda: hccl_ops.reduce_scatter(tf.zeros([3]), "sum", 2))
refused("large", lambda: hccl_ops.allreduce(v1.placeholder(tf.float32, [2**31 + 1]), "sum"))
refused("keep_prob", lambda: npu_ops.dropout(x, 0.0))
refused("scale", lambda: FixedLossScaleManager(0.5))
refused("estimator", lambda: NPUEstimator(lambda features, labels, mode: None, config=tf.estimator.RunConfig()))
refused("run config", lambda: NPURunConfig(precision_mode="fp8"))
refused("mix", lambda: NPURunConfig(mix_compile_mode=True, iterations_per_loop=2))
refused("hook", lambda: NPUBroadcastGlobalVariablesHook(-1))
refused("feed", lambda: v1.Session(config=npu_config_proto()).run(v1.placeholder(tf.float32, [2], name="wanted") * 2.0))
refused("hook list", lambda: npu_hooks_append("hook"))
refused("manager", lambda: NPULossScaleOptimizer(v1.train.GradientDescentOptimizer(0.1), None))
refused("loops", lambda: set_iteration_per_loop(v1.Session(), tf.no_op(), 0))
said["ranks of one"] = [get_npu_rank_id(), get_npu_rank_size(), get_npu_local_rank_id(), get_npu_local_rank_size()]
made = npu_config_proto(v1.ConfigProto(log_device_placement=False))
said["proto"] = [o.name for o in made.graph_options.rewrite_options.custom_optimizers]
said["hooks"] = [type(h).__name__ for h in npu_hooks_append()]
said["callbacks"] = [type(c).__name__ for c in npu_callbacks_append([tf.keras.callbacks.History()])]
said["run config init"] = npu_run_config_init().session_config.graph_options.rewrite_options.remapping == RewriterConfig.OFF
(npu_sess, npu_shutdown) = init_resource()
shutdown_resource(npu_sess, npu_shutdown)
close_session(npu_sess)
sess = set_keras_session_npu_config()
said["scopes"] = []
with npu_scope.keep_dtype_scope(): said["scopes"].append(bool(tf.add(1, 1).op.node_def.attr["_keep_dtype"].b))
with npu_scope.without_npu_compile_scope(): y = x * 3.0
said["host"] = sess.run(y).tolist()
said["gelu"] = float(sess.run(tf.reduce_max(tf.abs(npu_unary_ops.gelu(x) - tf.nn.gelu(x, approximate=True)))))
sess.close()
import npu_device.compat.v1.npu_init as star
said["missing"] = [n for n in __import__("npu_bridge.npu_init", fromlist=["x"]).__all__ if not hasattr(star, n)]
print(json.dumps(said))
"""))
    for name, text in {
            "mean": "reduction is 'mean', want one of 'max', 'min', 'prod', 'sum'", "fusion": "fusion is 1, want one of 0, 2",
            "fusion id": "fusion is 2 and fusion_id is -1", "type": "the tensor is float64, want one of int8", "not a list": "want a list of tensors",
            "group": "want a str of 1 to 127 bytes", "ranks": "rank_size is 4097, want an int from 1 to 4096",
            "parts": "the first dimension is 3, want a multiple of rank_size 2", "large": "bytes, want at most 8589934592",
            "keep_prob": "keep_prob is 0.0", "scale": "loss_scale is 0.5, want a number from 1 on", "estimator": "config is RunConfig, want an NPURunConfig",
            "run config": "precision_mode is 'fp8'", "mix": "mix_compile_mode is True, want 1", "hook": "root_rank is -1",
            "feed": "Detected at node 'wanted' defined at",
            "hook list": "hooks_list is 'hook', want a list of hooks", "manager": "loss_scale_manager is None, want a FixedLossScaleManager",
            "loops": "iterations_per_loop is 0, want a positive int"}.items():
        assert text in got[name], (name, got[name])
    assert got["ranks of one"] == [0, 1, 0, 1] and got["proto"] == ["NpuOptimizer"] and got["run config init"] is True
    assert got["hooks"] == ["NPUBroadcastGlobalVariablesHook"] and got["callbacks"] == ["History", "NPUBroadcastGlobalVariablesCallback"]
    assert got["scopes"] == [True] and got["host"] == [3.0, 6.0] and got["gelu"] < 1e-6 and got["missing"] == []


@pytest.mark.parametrize("value, kinds", [("0", ["Merge", "Switch"]), ("1", ["If"])])
def test_control_flow_is_that_of_version_2(value, kinds):
    got = said(script("-c", """
import json
import npu_device, tensorflow as tf
npu_device.compat.enable_v1()
v1 = tf.compat.v1
x = v1.placeholder(tf.float32, [])
y = tf.cond(x > 1.0, lambda: x * 2.0, lambda: x)
kinds = {o.type for o in v1.get_default_graph().get_operations()}
with v1.Session() as s:
    print(json.dumps([sorted(kinds & {"If", "Merge", "StatelessIf", "Switch"}), s.run(y, {x: 3.0}).tolist(), s.run(y, {x: 0.5}).tolist()]))
""", ENABLE_FORCE_V2_CONTROL=value))
    assert [k.replace("Stateless", "") for k in got[0]] == kinds and got[1:] == [6.0, 0.5]


def test_version_1_or_2():
    got = said(script("-c", """
import json
import npu_device, tensorflow as tf
said = []
def refused(function):
    try: function()
    except RuntimeError as e: said.append(str(e))
npu_device.compat.enable_v1()
refused(lambda: npu_device.open().as_default())
print(json.dumps(said))
"""))
    assert len(got) == 1 and "enable_v1() has been called" in got[0]
    got = said(script("-c", """
import json
import npu_device
npu_device.open().as_default()
try: npu_device.compat.enable_v1()
except RuntimeError as e: print(json.dumps(str(e)))
"""))
    assert "not both" in got


def test_sessions_give_back_what_they_had():
    """Many sessions, each with its graph, variables, iterator and constants: memory stays where it is."""
    got = said(script("-c", """
import json, resource
import npu_device, tensorflow as tf, numpy as np
npu_device.compat.enable_v1()
v1 = tf.compat.v1
def one(i):
    with tf.Graph().as_default():
        data = np.full((64, 4096), i, "f")  # 1 MiB
        batch = v1.data.make_initializable_iterator(tf.data.Dataset.from_tensor_slices(data).batch(64))
        w = v1.get_variable("w", [64, 4096], initializer=v1.zeros_initializer())
        put = v1.assign_add(w, batch.get_next())
        with v1.Session() as sess:
            sess.run([w.initializer, batch.initializer])
            sess.run(put)
            assert sess.run(w)[3, 3] == i
def used():
    return int(open("/proc/self/statm").read().split()[1]) * 4096 >> 20
for i in range(8): one(i)
before = used()
for i in range(24): one(i)
print(json.dumps(used() - before))
"""))
    assert got < 20, got  # of 24 MiB in variables, and as much in data sets
