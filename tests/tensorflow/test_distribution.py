"""npu.distribute between processes: what the guide's samples give, and training that equals one process with the joined batch."""

import csv
import json
import os
import subprocess
import sys
import time

import numpy as np
import pytest
import tensorflow as tf

BEGIN = "import npu_device as npu\nnpu.open().as_default()\nimport os, json, numpy as np, tensorflow as tf\nrank = int(os.environ['RANK_ID'])\n"


def start(folder, code, ranks, begin=BEGIN):
    devices = [{"device_id": str(i), "device_ip": "192.168.100.%d" % (i + 1), "rank_id": str(i)} for i in range(ranks)]
    table = folder / "rank_table.json"
    table.write_text(json.dumps({"status": "completed", "version": "1.0", "server_count": "1",
                                 "server_list": [{"server_id": "127.0.0.1", "device": devices}]}))
    return [subprocess.Popen([sys.executable, "-c", begin + code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             env={**os.environ, "RANK_TABLE_FILE": str(table), "RANK_ID": str(i), "RANK_SIZE": str(ranks),
                                  "ASCEND_DEVICE_ID": str(i), "TF_CPP_MIN_LOG_LEVEL": "2", "OMP_NUM_THREADS": "1"})
            for i in range(ranks)]


def job(folder, code, ranks=2, begin=BEGIN):
    """What each rank printed as JSON."""
    results = []
    for process in start(folder, code, ranks, begin):
        out, error = process.communicate(timeout=240)
        assert process.returncode == 0, error
        results.append(json.loads(out.strip().splitlines()[-1]))
    return results


def test_reductions_and_broadcast(tmp_path):
    got = job(tmp_path, """
d = npu.distribute
x = tf.constant([1.0 + rank, -2.0])
eager = {r: d.all_reduce(x, reduction=r).numpy().tolist() for r in ("sum", "mean", "max", "min", "prod")}
@tf.function
def f(a, b): return d.all_reduce([a * 2.0, b], reduction="sum")
graph = [t.numpy().tolist() for t in f(x, tf.constant([[rank]], tf.int32))]
v = [tf.Variable([float(rank)] * 3), tf.Variable(rank + 5)]
d.broadcast(v, root_rank=1)
worker = npu.open()
print(json.dumps([eager, graph, [t.numpy().tolist() for t in v], worker.worker_id, worker.workers_num]))
""")
    eager = {"sum": [3, -4], "mean": [1.5, -2], "max": [2, -2], "min": [1, -2], "prod": [2, 4]}
    for rank in range(2):
        assert got[rank] == [eager, [[6, -8], [[1]]], [[1, 1, 1], 6], rank, 2]


TRAIN = """
tf.keras.utils.set_random_seed(3 + rank)
model = tf.keras.Sequential([tf.keras.layers.Input((8,)), tf.keras.layers.Dense(16, activation="tanh"), tf.keras.layers.Dense(4)])
npu.distribute.broadcast(model.trainable_variables)
rng = np.random.default_rng(0)
x = rng.standard_normal((64, 8)).astype("f")
data, batch = npu.distribute.shard_and_rebatch_dataset(tf.data.Dataset.from_tensor_slices((x, x[:, :4].argmax(1))), 16)
data = data.batch(batch, drop_remainder=True)
loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
begin = [w.tolist() for w in model.get_weights()]
"""


def reference(weights):
    """One process, the batches of both joined, on the CPU."""
    with tf.device("CPU:0"):
        model = tf.keras.Sequential([tf.keras.layers.Input((8,)), tf.keras.layers.Dense(16, activation="tanh"), tf.keras.layers.Dense(4)])
        model.set_weights([np.array(w, "f") for w in weights])
        optimizer = tf.keras.optimizers.SGD(0.2, momentum=0.5)
        x = np.random.default_rng(0).standard_normal((64, 8)).astype("f")
        y = x[:, :4].argmax(1)
        for i in range(0, 64, 16):
            with tf.GradientTape() as tape:
                loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)(y[i:i + 16], model(x[i:i + 16]))
            optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return model.get_weights()


@pytest.mark.parametrize("how", ["loop", "fit"])
def test_training_equals_one_process(tmp_path, how):
    got = job(tmp_path, TRAIN + """
optimizer = tf.keras.optimizers.SGD(0.2, momentum=0.5)
""" + {"loop": """
@tf.function
def step(x, y):
    with tf.GradientTape() as tape: loss = loss_of(y, model(x))
    gradients = npu.distribute.all_reduce(tape.gradient(loss, model.trainable_variables))
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
for x, y in data: step(x, y)
""", "fit": """
model.compile(npu.distribute.npu_distributed_keras_optimizer_wrapper(optimizer), loss_of)
model.fit(data, verbose=0)
"""}[how] + """
print(json.dumps([begin, [w.tolist() for w in model.get_weights()]]))
""")
    assert got[0][0] == got[1][0] and got[0][1] == got[1][1]
    for a, b in zip(got[0][1], reference(got[0][0])):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)


BERT = """
def bert(width=32, length=16, words=40):
    layers = tf.keras.layers
    tokens, segments = layers.Input((length,), dtype="int32"), layers.Input((length,), dtype="int32")
    mask = layers.Lambda(lambda t: tf.cast(t != 0, tf.int32)[:, None, :])(tokens)
    h = layers.Embedding(words, width)(tokens) + layers.Embedding(2, width)(segments) + layers.Embedding(length, width)(tf.cumsum(tf.ones_like(tokens), axis=1, exclusive=True))
    h = layers.LayerNormalization(epsilon=1e-12)(h)
    for _ in range(2):
        h = layers.LayerNormalization(epsilon=1e-12)(h + layers.MultiHeadAttention(4, width // 4)(h, h, attention_mask=mask))
        h = layers.LayerNormalization(epsilon=1e-12)(h + layers.Dense(width)(layers.Dense(4 * width, activation="gelu")(h)))
    return tf.keras.Model([tokens, segments], [layers.Dense(words)(h), layers.Dense(2)(layers.Dense(width, activation="tanh")(h[:, 0]))])
def sentences():
    rng = np.random.default_rng(0)
    tokens = rng.integers(0, 40, (32, 16)).astype("int32")
    return tokens, (np.arange(16)[None] >= rng.integers(4, 12, (32, 1))).astype("int32"), rng.integers(0, 40, (32, 16)), rng.integers(0, 2, 32)
loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
optimizer = tf.keras.optimizers.SGD(0.1, momentum=0.9)
def gradients_of(model, tokens, segments, masked, follows):
    with tf.GradientTape() as tape:
        word, sentence = model([tokens, segments], training=True)
        loss = loss_of(masked, word) + loss_of(follows, sentence)
    return loss, tape.gradient(loss, model.trainable_variables)
"""


def test_bert_learns_as_in_one_process(tmp_path):
    got = job(tmp_path, BERT + """
tf.keras.utils.set_random_seed(3 + rank)
model = bert()
npu.distribute.broadcast(model.trainable_variables)
begin = [w.tolist() for w in model.get_weights()]
data, batch = npu.distribute.shard_and_rebatch_dataset(tf.data.Dataset.from_tensor_slices(sentences()), 8)
@tf.function
def step(*batch):
    loss, gradients = gradients_of(model, *batch)
    optimizer.apply_gradients(zip(npu.distribute.all_reduce(gradients), model.trainable_variables))
    return npu.distribute.all_reduce(loss)
losses = [float(step(*part)) for part in data.batch(batch, drop_remainder=True)]
print(json.dumps([begin, [w.tolist() for w in model.get_weights()], losses]))
""")
    assert got[0] == got[1]
    own = {"tf": tf, "np": np}
    with tf.device("CPU:0"):
        exec(BERT, own)
        model, losses = own["bert"](), []
        model.set_weights([np.array(w, "f") for w in got[0][0]])
        for i in range(0, 32, 8):
            loss, gradients = own["gradients_of"](model, *(part[i:i + 8] for part in own["sentences"]()))
            own["optimizer"].apply_gradients(zip(gradients, model.trainable_variables))
            losses.append(float(loss))
    np.testing.assert_allclose(got[0][2], losses, rtol=1e-5)
    for a, b in zip(got[0][1], model.get_weights()):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)


FUSED = """
from hccl.split.api import set_split_strategy_by_idx, set_split_strategy_by_size
tf.keras.utils.set_random_seed(1)
values = [tf.random.normal([10 - n, 3]) + rank for n in range(10)]
def run(**words):
    f = tf.function(lambda *v: npu.distribute.all_reduce([x * 2.0 for x in v], reduction="sum", **words))
    return [t.numpy().tolist() for t in f(*values)]
got = [run(fusion=0), run(), run(fusion=2, fusion_id=3)]
for strategy, how in ((set_split_strategy_by_idx, [2, 6, 9]), (set_split_strategy_by_idx, [2, 6, 20]), (set_split_strategy_by_size, [50, 30, 10, 10])):
    strategy(how)
    got.append(run())
print(json.dumps(got))
"""


def test_sums_are_fused_by_the_strategy(tmp_path):
    """One sum for each segment of the strategy (two without one, one by fusion_id), with the values of ten; the log has the segments."""
    for folder in ("rank0", "rank1"):
        (tmp_path / folder).mkdir()
    begin = ("import os\nos.environ.update(DUMP_GE_GRAPH='2', DUMP_GRAPH_PATH='%s/rank' + os.environ['RANK_ID'], ASCEND_PROCESS_LOG_PATH='%s/log', "
             "ASCEND_GLOBAL_LOG_LEVEL='1')\n" % (tmp_path, tmp_path))
    got = job(tmp_path, FUSED, begin=begin + BEGIN)
    assert got[1] == got[0] and len(got[0]) == 6
    for together in got[0][1:]:
        for a, b in zip(got[0][0], together):
            np.testing.assert_allclose(b, a, rtol=1e-6, atol=1e-6)
    for rank in range(2):
        graphs = [p.read_text(errors="replace") for p in sorted((tmp_path / ("rank%d" % rank)).glob("*Build.txt"))]
        sums = [text.count('type: "HcomAllReduce"') for text in graphs]
        # without fusion, the default's two, a number; three, ten where the indices are those of another graph, four
        assert [count for count in sums if count] == [10, 2, 1, 3, 10, 4]
    log = "".join(p.read_text(errors="replace") for p in (tmp_path / "log").rglob("*.log"))
    assert "segment index list: [0,2] [3,6] [7,9]" in log and "10 sums of group hccl_world_group stay apart" in log


def test_the_iteration_trace_has_the_sums(tmp_path):
    """Two segments of gradients are two sums of each iteration: they begin behind the end of backward's first part and end before the iteration."""
    begin = BEGIN.replace("npu.open()", "import os\no = npu.global_options().profiling_config\no.enable_profiling = True\n"
                          "o.profiling_options = json.dumps({'output': os.path.join(%r, os.environ['RANK_ID']), 'training_trace': 'on', 'task_trace': 'on', "
                          "'hccl': 'on', 'fp_point': '', 'bp_point': ''})\nnpu.open()" % str(tmp_path)).replace("import npu", "import json, npu", 1)
    for rank in range(2):
        (tmp_path / str(rank)).mkdir()
    job(tmp_path, TRAIN + """
optimizer = tf.keras.optimizers.SGD(0.2)
@tf.function
def step(x, y):
    with tf.GradientTape() as tape: loss = loss_of(y, model(x))
    gradients = npu.distribute.all_reduce(tape.gradient(loss, model.trainable_variables))
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
for x, y in data: step(x, y)
print(json.dumps(npu.open().worker_id))
""", begin=begin)
    home = subprocess.run([sys.executable, "-c", "import updraft; print(updraft.home())"], text=True, capture_output=True, check=True).stdout.strip()
    for rank in range(2):
        subprocess.run([os.path.join(home, "bin", "msprof"), "--export=on", "--output=%s" % (tmp_path / str(rank))], check=True, capture_output=True)
        table, = (tmp_path / str(rank)).rglob("step_trace_*.csv")
        header, *rows = list(csv.reader(table.read_text().splitlines()))
        first = header.index("Reduce Start(us)")
        assert header[first:] == ["Reduce Start(us)", "Reduce Duration(us)"] * 2
        steps = [[float(v) for v in row[first:]] + [float(row[header.index(n)]) for n in ("FP Start(us)", "BP End(us)", "Iteration End(us)")]
                 for row in rows if "N/A" not in row[first:]]
        assert len(steps) == 4, rows
        for one, one_takes, two, two_takes, forward, _, end in steps:
            assert forward < one and one + one_takes <= two and two + two_takes <= end and one_takes > 0 and two_takes > 0


def test_sums_that_wait_for_each_other_stay_apart(tmp_path):
    got = job(tmp_path, """
@tf.function
def f(x):
    a = npu.distribute.all_reduce([x, x * 2.0], reduction="sum")
    return npu.distribute.all_reduce([a[0] + 1.0, a[1] * x], reduction="sum")
print(json.dumps([t.numpy().tolist() for t in f(tf.constant([1.0 + rank]))]))
""")
    assert got[0] == got[1] == [[8.0], [18.0]]


@pytest.mark.long
def test_eight_ranks_learn_as_one_process(tmp_path):
    got = job(tmp_path, TRAIN + """
optimizer = tf.keras.optimizers.SGD(0.2, momentum=0.5)
model.compile(npu.distribute.npu_distributed_keras_optimizer_wrapper(optimizer), loss_of)
model.fit(data, verbose=0)
print(json.dumps([begin, [w.tolist() for w in model.get_weights()], npu.open().workers_num]))
""", ranks=8)
    for other in got[1:]:
        assert other == got[0]
    assert got[0][2] == 8
    for a, b in zip(got[0][1], reference(got[0][0])):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)


def test_a_batch_that_cannot_be_shared(tmp_path):
    got = job(tmp_path, """
try: npu.distribute.shard_and_rebatch_dataset(tf.data.Dataset.range(4), 3)
except ValueError as e: print(json.dumps(str(e)))
""")
    assert got[0] == "npu.distribute.shard_and_rebatch_dataset: global_bs is 3, want a multiple of the 2 processes"


def test_a_rank_that_dies_ends_the_job(tmp_path):
    code = """
import time
x = tf.ones([1000])
for i in range(10**6):
    x = npu.distribute.all_reduce(x)
    if i == 20:
        print("going", flush=True)
        if rank == 1: os.kill(os.getpid(), 9)
"""
    first, second = start(tmp_path, code, 2)
    second.communicate(timeout=120)
    begin = time.monotonic()
    out, error = first.communicate(timeout=120)
    assert first.returncode != 0 and "HcomAllReduce" in error and time.monotonic() - begin < 60, error
