"""Programs for the official onnxruntime-cann, which know nothing of Updraft. Run by the Python of .venv-onnxruntime.

usage: python onnxruntime_programs.py [NAME…]     prints a line of JSON for each
"""

import glob
import json
import os
import sys
import threading
import traceback

import numpy as np
import onnxruntime
import rapidocr
from onnx import TensorProto, helper, numpy_helper

CANN = "CANNExecutionProvider"
PROGRAMS = {}


def program(f):
    PROGRAMS[f.__name__] = f
    return f


def model(nodes, inputs, outputs, weights=(), opset=17):
    def info(name, shape, dtype=TensorProto.FLOAT):
        return helper.make_tensor_value_info(name, dtype, shape)

    graph = helper.make_graph(nodes, "net", [info(*i) for i in inputs], [info(*o) for o in outputs],
                              [numpy_helper.from_array(value, name) for name, value in weights])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    made.ir_version = 9
    return made.SerializeToString()


def session(data, device, **options):
    settings = onnxruntime.SessionOptions()
    settings.log_severity_level = 3
    providers = [(CANN, {"dump_om_model": "0", **options})] if device else ["CPUExecutionProvider"]
    made = onnxruntime.InferenceSession(data, settings, providers=providers)
    assert not device or made.get_providers()[0] == CANN, made.get_providers()
    return made


def both(data, feeds, **options):
    """The largest difference to onnxruntime's CPU provider."""
    ours, theirs = session(data, True, **options), session(data, False)
    worst = 0.0
    for feed in feeds:
        for got, want in zip(ours.run(None, feed), theirs.run(None, feed), strict=True):
            assert got.shape == want.shape and got.dtype == want.dtype, (got.shape, want.shape, got.dtype, want.dtype)
            if want.size:
                worst = max(worst, float(np.abs(got.astype(np.float64) - want).max()))
    return worst


def normal(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@program
def elementwise():
    data = model([helper.make_node("Add", ["x", "y"], ["z"]), helper.make_node("Relu", ["z"], ["r"])],
                 [("x", [2, 3]), ("y", [3])], [("r", [2, 3])])
    return both(data, [{"x": normal(2, 3), "y": normal(3, seed=1)}])


@program
def small_network_of_any_batch():
    weights = [("w", normal(4, 3, 3, 3, seed=1)), ("b", normal(4, seed=2)), ("m", normal(64, 5, seed=3)), ("shape", np.array([0, -1]))]
    data = model([helper.make_node("Conv", ["x", "w", "b"], ["c"], pads=[1, 1, 1, 1]), helper.make_node("Relu", ["c"], ["r"]),
                  helper.make_node("MaxPool", ["r"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
                  helper.make_node("Reshape", ["p", "shape"], ["f"]), helper.make_node("MatMul", ["f", "m"], ["l"]),
                  helper.make_node("Softmax", ["l"], ["y"], axis=1)], [("x", ["n", 3, 8, 8])], [("y", ["n", 5])], weights)
    return both(data, [{"x": normal(n, 3, 8, 8, seed=n)} for n in (1, 4, 1, 2)])


@program
def unknown_sizes_that_only_one_fits():
    """Exported with an unknown batch, and a batch of 4 in its constants."""
    weights = [("w", normal(4, 6, seed=1)), ("shape", np.array([8, 3]))]
    data = model([helper.make_node("Add", ["x", "w"], ["s"]), helper.make_node("Reshape", ["s", "shape"], ["y"])],
                 [("x", ["n", 6])], [("y", [8, 3])], weights)
    return both(data, [{"x": normal(4, 6)}])


@program
def shapes_that_values_decide():
    data = model([helper.make_node("NonZero", ["x"], ["i"])], [("x", [3, 4])], [("i", [2, "n"], TensorProto.INT64)])
    return both(data, [{"x": (normal(3, 4, seed=s) > 0.5).astype(np.float32)} for s in range(3)])


@program
def pieces_of_a_graph():
    data = model([helper.make_node("Conv", ["x", "w"], ["c"]), helper.make_node("Relu", ["c"], ["y"])],
                 [("x", [1, 2, 5, 5])], [("y", [1, 3, 3, 3])], [("w", normal(3, 2, 3, 3, seed=1))])
    return both(data, [{"x": normal(1, 2, 5, 5)}], enable_cann_subgraph="1")


@program
def four_threads():
    data = model([helper.make_node("MatMul", ["x", "w"], ["y"])], [("x", ["n", 16])], [("y", ["n", 16])], [("w", normal(16, 16, seed=1))])
    ours, theirs = session(data, True), session(data, False)
    worst = []

    def work(seed):
        for n in (1, 3, 5):
            feed = {"x": normal(n, 16, seed=seed)}
            worst.append(float(np.abs(ours.run(None, feed)[0] - theirs.run(None, feed)[0]).max()))

    threads = [threading.Thread(target=work, args=(s,)) for s in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(worst) == 12
    return max(worst)


@program
def optical_character_recognition():
    """The three models of the rapidocr wheel."""
    shapes = {"det": [(1, 3, 96, 160)], "rec": [(1, 3, 48, 160), (2, 3, 48, 96)], "cls": [(1, 3, 48, 192)]}
    worst = 0.0
    for path in glob.glob(os.path.join(os.path.dirname(rapidocr.__file__), "models", "*.onnx")):
        kind = next(k for k in shapes if "_%s_" % k in path)
        name = session(path, False).get_inputs()[0].name
        worst = max(worst, both(path, [{name: normal(*shape)} for shape in shapes.pop(kind)]))
    assert not shapes, shapes
    return worst


@program
def an_operator_that_there_is_not():
    """The reason reaches the user, although the provider throws it away."""
    node = helper.make_node("TfIdfVectorizer", ["x"], ["y"], name="words", mode="TF", min_gram_length=1, max_gram_length=1,
                            max_skip_count=0, ngram_counts=[0], ngram_indexes=[0, 1], pool_int64s=[3, 4])
    data = model([node], [("x", [4], TensorProto.INT32)], [("y", [2])])
    try:
        session(data, True).run(None, {"x": np.array([3, 4, 4, 5], np.int32)})
    except Exception:
        return 0.0
    raise AssertionError("no error")


def main(names):
    os.chdir(os.environ.get("TMPDIR", "/tmp"))
    for name in names or PROGRAMS:
        answer = {"name": name}
        try:
            answer["difference"] = PROGRAMS[name]()
        except Exception as error:
            answer["error"] = "%s: %s" % (type(error).__name__, str(error)[:2000])
            answer["trace"] = traceback.format_exc()[-2000:]
        print("@@" + json.dumps(answer), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
