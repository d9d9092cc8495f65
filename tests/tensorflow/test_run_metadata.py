"""RunMetadata of sessions: what ran on the NPU and on the CPU, as timeline.Timeline reads it."""

from test_sessions import BEGIN, said, script

MODEL = BEGIN + """
from tensorflow.core.protobuf import config_pb2
from tensorflow.python.client import timeline
x = v1.placeholder(tf.float32, [None, 64], name="x")
h = tf.matmul(x, tf.ones([64, 64]), name="product")
y = tf.reduce_sum(tf.nn.relu(h), 1, name="total")
length = v1.strings.length(v1.as_string(y), name="length")  # on the CPU
full, none = v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE), v1.RunOptions()
feed = {x: [[1.0] * 64] * 3}
def nodes(metadata):
    return {d.device.rsplit("device:", 1)[1]: sorted({n.node_name for n in d.node_stats}) for d in metadata.step_stats.dev_stats}
"""


def test_a_run_with_a_trace():
    got = said(script("-c", MODEL + """
import time
with v1.Session(config=config()) as s:
    metadata = v1.RunMetadata()
    before = time.time() * 1e6
    values = s.run([y, length], feed, full, metadata)
    after = time.time() * 1e6
    said["values"] = [v.tolist() for v in values]
    said["nodes"] = nodes(metadata)
    npu = next(d for d in metadata.step_stats.dev_stats if d.device.endswith("device:NPU:0"))
    said["device"] = npu.device
    said["times"] = all(before <= n.all_start_micros and n.all_start_micros + n.all_end_rel_micros <= after and n.all_end_rel_nanos > 0
                        and n.all_end_rel_nanos // 1000 == n.all_end_rel_micros for n in npu.node_stats)
    said["labels"] = sorted(n.timeline_label for n in npu.node_stats if n.node_name == "product")
    trace = json.loads(timeline.Timeline(metadata.step_stats).generate_chrome_trace_format())
    said["events"] = sorted({e["args"]["name"] for e in trace["traceEvents"] if e.get("ph") == "X"} & {"product", "length"})
    again = v1.RunMetadata()
    s.run(y, feed, full, again)
    said["again"] = sorted(nodes(again))
    off = v1.RunMetadata()
    s.run(y, feed, none, off)
    s.run(y, feed, None, off)
    said["off"] = off.ByteSize()
    said_once = config_pb2.CallableOptions(feed=["x:0"], fetch=["total:0"], run_options=full)
    called = v1.RunMetadata()
    s._make_callable_from_options(said_once)(feed[x], run_metadata=called)
    said["called"] = nodes(called)["NPU:0"]
    try: s.run(tf.debugging.check_numerics(y / 0.0, "bad"), feed, full, off)
    except tf.errors.InvalidArgumentError: said["failed"] = off.ByteSize()
print(json.dumps(said))
"""))
    assert got["values"] == [[4096.0] * 3, [11] * 3]
    assert "product" in got["nodes"]["NPU:0"] and "length" in got["nodes"]["CPU:0"] and "length" not in got["nodes"]["NPU:0"]
    assert got["device"] == "/job:localhost/replica:0/task:0/device:NPU:0" and got["times"] is True
    assert len(got["labels"]) == 1 and got["labels"][0].startswith("product = ")
    assert got["events"] == ["length", "product"]
    assert "product" in got["called"]
    assert "NPU:0" in got["again"] and got["off"] == 0 and got["failed"] == 0


def test_a_hook_writes_its_timeline(tmp_path):
    got = said(script("-c", MODEL + """
import glob, os
step = v1.train.get_or_create_global_step()
more = v1.assign_add(step, 1)
with v1.train.SingularMonitoredSession(hooks=[v1.train.ProfilerHook(save_steps=1, output_dir=%r)], config=config()) as s:
    for _ in range(3): s.run([more, y], feed)
found = sorted(glob.glob(%r + "/timeline-*.json"))
events = json.load(open(found[-1]))["traceEvents"]
print(json.dumps([len(found), any(e.get("args", {}).get("name") == "product" for e in events)]))
""" % (str(tmp_path), str(tmp_path))))
    assert got[0] >= 2 and got[1] is True


def test_two_threads_trace_at_once():
    got = said(script("-c", MODEL + """
import threading
with v1.Session(config=config()) as s:
    s.run(y, feed)
    found = [None] * 4
    def work(i):
        kept = []
        for _ in range(10):
            metadata = v1.RunMetadata()
            s.run(y, feed, full, metadata)
            kept.append("product" in nodes(metadata).get("NPU:0", ()))
        found[i] = all(kept)
    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads: t.start()
    for t in threads: t.join()
print(json.dumps(found))
"""))
    assert got == [True] * 4
