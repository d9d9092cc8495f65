"""npu_bridge between processes: hccl_ops in graphs, and training of TensorFlow 1 that equals one process with the joined batch."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest
from test_distribution import job
from test_sessions import said

BEGIN = """
import json, os, tempfile
import numpy as np, tensorflow as tf
v1 = tf.compat.v1
rank, size = int(os.environ.get("RANK_ID", "0")), int(os.environ.get("RANK_SIZE", "1"))
"""
# before npu_device is imported
DUMPED = """os.makedirs(os.path.join(os.environ["GRAPHS"], str(rank)))
os.environ.update(DUMP_GE_GRAPH="3", DUMP_GRAPH_LEVEL="1", DUMP_GRAPH_PATH=os.path.join(os.environ["GRAPHS"], str(rank)))
"""
V1 = BEGIN + """
import npu_device
from npu_device.compat.v1.npu_init import *
npu_device.compat.enable_v1()
"""


@pytest.mark.timeout(200)
def test_collectives(tmp_path):
    got = job(tmp_path, """
x = tf.constant([1.0 + rank, -2.0, 3.0, 4.0])
said = {r: hccl_ops.allreduce(x, r) for r in ("sum", "max", "min", "prod")}
said["fused"] = hccl_ops.allreduce(x, "sum", fusion=2, fusion_id=3)
said["half"] = tf.cast(hccl_ops.allreduce(tf.cast(x, tf.float16), "sum"), tf.float32)
said["gather"] = hccl_ops.allgather(tf.constant([[rank, 7]], tf.int64), 2)
said["broadcast"] = tf.stack(hccl_ops.broadcast([tf.constant([rank, 1]), tf.constant([rank + 10, 2])], 1))
said["scatter"] = hccl_ops.reduce_scatter(x, "sum", 2)
said["reduce"] = hccl_ops.reduce(x, "sum", 1)
data = tf.constant([10 * rank + i for i in range(3)], tf.int32)
sent = [[1, 2], [3, 0]][rank]
taken = [[1, 3], [2, 0]][rank]
said["all to all"] = hccl_ops.all_to_all_v(data, sent, [0, sent[0]], taken, [0, taken[0]])
said["by matrix"] = hccl_ops.all_to_all_v_c(data, [[1, 2], [3, 0]], rank)
shapes = [said["sum"].shape.as_list(), said["gather"].shape.as_list(), said["scatter"].shape.as_list()]
create_group("both", 2, [0, 1])
said["group"] = hccl_ops.allreduce(x, "max", group="both")
with v1.Session(config=npu_config_proto()) as s:
    values = {n: s.run(t).tolist() for n, t in said.items()}
    if rank == 0:
        s.run(hccl_ops.send(tf.constant([5.0, 6.0]), sr_tag=4, dest_rank=1))
        values["receive"] = s.run(hccl_ops.receive([2, 1], tf.int32, sr_tag=5, src_rank=1)).tolist()
    else:
        values["receive"] = s.run(hccl_ops.receive([2], tf.float32, sr_tag=4, src_rank=0)).tolist()
        s.run(hccl_ops.send(tf.constant([[7], [8]]), sr_tag=5, dest_rank=0))
values["ranks"] = [get_npu_rank_id(), get_npu_rank_size(), get_npu_local_rank_id(), get_rank_id("both"), shapes]
print(json.dumps(values))
""", begin=V1)
    for rank in range(2):
        want = {"sum": [3, -4, 6, 8], "max": [2, -2, 3, 4], "min": [1, -2, 3, 4], "prod": [2, 4, 9, 16], "fused": [3, -4, 6, 8], "half": [3, -4, 6, 8],
                "gather": [[0, 7], [1, 7]], "broadcast": [[1, 1], [11, 2]], "scatter": [[3, -4], [6, 8]][rank], "group": [2, -2, 3, 4],
                "all to all": [[0, 10, 11, 12], [1, 2]][rank], "by matrix": [[0, 10, 11, 12], [1, 2]][rank],
                "receive": [[[7], [8]], [5.0, 6.0]][rank], "ranks": [rank, 2, rank, rank, [[4], [2, 2], [2]]]}
        if rank == 1:
            want["reduce"] = [3, -4, 6, 8]
        assert {n: got[rank][n] for n in want} == want


MODEL = """
def data():
    x = np.random.default_rng(0).standard_normal((64, 6)).astype("f")
    return x, x[:, :3].argmax(1).astype("i")
def part(batch):
    # each batch of 16 is cut into one piece for each process
    x, y = data()
    cut = lambda a: np.concatenate([a[i:i + 16][rank * 16 // size:(rank + 1) * 16 // size] for i in range(0, 64, 16)])
    return tf.data.Dataset.from_tensor_slices((cut(x), cut(y))).repeat().batch(16 // size, drop_remainder=True)
def model(x, y):
    seed = 3 + rank if distributed else 3
    layer = v1.layers.dense(x, 8, tf.tanh, kernel_initializer=v1.glorot_uniform_initializer(seed=seed))
    logits = v1.layers.dense(layer, 3, kernel_initializer=v1.glorot_uniform_initializer(seed=seed))
    return v1.losses.sparse_softmax_cross_entropy(y, logits)
"""
# The guide's Horovod script after its migration (6.9.5), an estimator with NPUDistributedOptimizer, and Keras.
HOROVOD = MODEL + """
distributed = True
said = {}
(npu_sess, npu_shutdown) = init_resource()
config = v1.ConfigProto()
config.gpu_options.visible_device_list = str(get_npu_local_rank_id())
with tf.Graph().as_default():
    batch = v1.data.make_one_shot_iterator(part(16)).get_next()
    loss = model(*batch)
    opt = npu_distributed_optimizer_wrapper(v1.train.MomentumOptimizer(0.2 * get_npu_rank_size() / size, 0.9))
    hooks = [NPUBroadcastGlobalVariablesHook(0, int(os.getenv('RANK_ID', '0'))), tf.estimator.StopAtStepHook(last_step=6)]
    train_op = opt.minimize(loss, global_step=v1.train.get_or_create_global_step())
    checkpoint_dir = os.environ["FOLDER"] if get_npu_rank_id() == 0 else None
    losses, weights = [], v1.trainable_variables()
    with v1.train.MonitoredTrainingSession(checkpoint_dir=checkpoint_dir, config=config, hooks=hooks) as mon_sess:
        while not mon_sess.should_stop():
            _, value, kept = mon_sess.run([train_op, loss, weights])
            losses.append(float(value))
    said["horovod"] = [losses, [w.tolist() for w in kept]]
shutdown_resource(npu_sess, npu_shutdown)
close_session(npu_sess)
"""
ESTIMATOR = MODEL + """
distributed = True
said = {}
def model_fn(features, labels, mode):
    loss = tf.identity(model(features, labels), "loss")
    opt = NPUDistributedOptimizer(v1.train.GradientDescentOptimizer(0.5))
    return NPUEstimatorSpec(mode, loss=loss, train_op=opt.minimize(loss, global_step=v1.train.get_global_step()),
                            host_call=(lambda loss: said.setdefault("losses", []).append(float(loss)), {"loss": loss}))
with tempfile.TemporaryDirectory() as folder:
    made = NPUEstimator(model_fn, config=NPURunConfig(model_dir=folder))
    made.train(lambda: part(16), steps=6)
    said["weights"] = [made.get_variable_value(n).tolist() for n in sorted(made.get_variable_names()) if n.startswith("dense")]
"""


def reference(code):
    """One process on the CPU with the joined batch."""
    return said(subprocess.Popen([sys.executable, "-c", BEGIN + "v1.disable_v2_behavior()\ndistributed = False\n" + MODEL + code], text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "UPDRAFT_DISABLE": "1", "TF_CPP_MIN_LOG_LEVEL": "2"}))


@pytest.mark.timeout(300)
def test_two_ranks_learn_as_one_process(tmp_path, monkeypatch):
    monkeypatch.setenv("FOLDER", str(tmp_path / "checkpoints"))
    monkeypatch.setenv("ASCEND_PROCESS_LOG_PATH", str(tmp_path / "log"))
    monkeypatch.setenv("ASCEND_GLOBAL_LOG_LEVEL", "1")
    monkeypatch.setenv("GRAPHS", str(tmp_path / "graphs"))
    monitored = job(tmp_path, HOROVOD + "print(json.dumps(said))", begin=V1.replace("import npu_device", DUMPED + "import npu_device"))
    for rank in range(2):  # the variables' first values come by one graph, the gradients by another
        graphs = [path.read_text() for path in (tmp_path / "graphs" / str(rank)).rglob("ge_proto_*.txt")]
        held = [set(re.findall(r'type: "(Hcom\w+)"', text)) for text in graphs]
        assert {"HcomBroadcast"} in held and {"HcomAllReduce"} in held, held
    estimated = job(tmp_path, ESTIMATOR + "print(json.dumps(said))", begin=V1)
    want = reference("""
said = {}
for name, optimizer in ("horovod", v1.train.MomentumOptimizer(0.2, 0.9)), ("losses", v1.train.GradientDescentOptimizer(0.5)):
    with tf.Graph().as_default():
        loss = model(*v1.data.make_one_shot_iterator(part(16)).get_next())
        train, weights = optimizer.minimize(loss), v1.trainable_variables()
        with v1.Session() as s:
            s.run(v1.global_variables_initializer())
            losses = []
            for _ in range(6):
                before = s.run(weights)
                losses.append(float(s.run([train, loss])[1]))
            said[name] = [losses, [w.tolist() for w in before], [w.tolist() for w in s.run(weights)]]
print(json.dumps(said))
""")

    def mean(a, b):
        return [(x + y) / 2 for x, y in zip(a, b)]

    np.testing.assert_allclose(mean(monitored[0]["horovod"][0], monitored[1]["horovod"][0]), want["horovod"][0], rtol=1e-5)
    np.testing.assert_allclose(mean(estimated[0]["losses"], estimated[1]["losses"]), want["losses"][0], rtol=1e-5)
    assert monitored[0]["horovod"][1] == monitored[1]["horovod"][1] and estimated[0]["weights"] == estimated[1]["weights"]
    for got, wanted in zip(monitored[0]["horovod"][1], want["horovod"][1]):
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5)
    files = os.listdir(tmp_path / "checkpoints")
    assert "checkpoint" in files  # by rank 0 alone
    log = "".join(p.read_text() for p in (tmp_path / "log").rglob("*.log"))
    assert "segment result" in log and "segment index list: [0," in log
