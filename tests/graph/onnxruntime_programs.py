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
def recurrent_layers_of_any_length():
    """Steps and batches that the model leaves open, sequences of several lengths, peepholes, other activations."""
    weights = [("w", normal(2, 16, 3)), ("r", normal(2, 16, 4, seed=1)), ("b", normal(2, 32, seed=2)), ("p", normal(2, 12, seed=3)),
               ("gw", normal(1, 12, 3)), ("gr", normal(1, 12, 4, seed=4)), ("rw", normal(1, 4, 3, seed=5)), ("rr", normal(1, 4, 4, seed=6))]
    nodes = [helper.make_node("LSTM", ["x", "w", "r", "b", "n", "", "", "p"], ["y", "h", "c"], hidden_size=4, direction="bidirectional"),
             helper.make_node("GRU", ["x", "gw", "gr", "", "n"], ["gy", "gh"], hidden_size=4, activations=["Sigmoid", "Relu"], clip=0.9, direction="reverse"),
             helper.make_node("RNN", ["x", "rw", "rr"], ["ry", "rh"], hidden_size=4, activations=["Affine"], activation_alpha=[0.3], activation_beta=[0.1])]
    outputs = [("y", ["t", 2, "n", 4]), ("h", [2, "n", 4]), ("c", [2, "n", 4]), ("gy", ["t", 1, "n", 4]), ("gh", [1, "n", 4]), ("ry", ["t", 1, "n", 4]), ("rh", [1, "n", 4])]
    data = model(nodes, [("x", ["t", "n", 3]), ("n", ["n"], TensorProto.INT32)], outputs, weights)
    lengths = [(5, [5, 2, 3]), (2, [1, 2]), (7, [7])]
    return both(data, [{"x": normal(t, len(n), 3, seed=t), "n": np.array(n, dtype=np.int32)} for t, n in lengths])


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
def places_that_count_from_the_end():
    """Those of a constant, and those that the session is given."""
    worst = 0.0
    for reduction in ("none", "add", "max"):
        nodes = [helper.make_node("ScatterND", ["x", "at", "u"], ["s"], reduction=reduction), helper.make_node("ScatterND", ["s", "i", "u"], ["y"], reduction=reduction)]
        data = model(nodes, [("x", ["n", 5, 2]), ("i", [3, 2], TensorProto.INT64)], [("y", ["n", 5, 2])],
                     [("at", np.array([[-1, 4], [0, -5], [1, -2]])), ("u", normal(3, 2, seed=1))], opset=18)
        worst = max(worst, both(data, [{"x": normal(n, 5, 2), "i": np.array([[-2, -1], [1, 0], [0, -3]])} for n in (2, 4)]))
    return worst


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


def microsoft_cases():
    """Operators of com.microsoft: nodes, inputs and what they are fed with, weights, outputs (name, type)."""
    rng = np.random.default_rng(0)
    f = lambda *shape: rng.standard_normal(shape).astype(np.float32) * 0.5
    u8 = lambda *shape: rng.integers(0, 256, shape).astype(np.uint8)
    # Of seven bits: with eight, onnxruntime's own products saturate on CPUs with AVX2 and no VNNI (0.6 off in float64's terms).
    s7 = lambda *shape: rng.integers(-64, 64, shape).astype(np.int8)
    one = lambda v, t=np.float32: np.array(v, t)
    U8, F, I32 = TensorProto.UINT8, TensorProto.FLOAT, TensorProto.INT32
    mask = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]], np.int32)

    yield "Gelu", {}, dict(x=f(3, 8)), [("y", F)]
    yield "BiasGelu", {}, dict(x=f(3, 8), b=f(8)), [("y", F)]
    yield "QuickGelu", {"alpha": 1.5}, dict(x=f(3, 8)), [("y", F)]
    yield "FusedMatMul", {"alpha": 0.5, "transA": 1, "transB": 1}, dict(x=f(2, 5, 3), w=f(2, 4, 5)), [("y", F)]
    yield "FusedGemm", {"alpha": 0.5, "beta": 2.0, "activation": "Relu", "transB": 1}, dict(x=f(3, 5), w=f(4, 5), b=f(4)), [("y", F)]
    yield "SkipLayerNormalization", {"epsilon": 1e-5}, dict(x=f(2, 5, 8), s=f(2, 5, 8), g=f(8), b=f(8), a=f(8)), [("y", F)]
    yield "Attention", {"num_heads": 2}, dict(x=f(2, 5, 8), w=f(8, 24), b=f(24)), [("y", F)]
    yield "Attention", {"num_heads": 2, "unidirectional": 1}, dict(x=f(2, 5, 8), w=f(8, 24), b=f(24)), [("y", F)]
    yield "Attention", {"num_heads": 2}, dict(x=f(2, 5, 8), w=f(8, 24), b=f(24), m=mask), [("y", F)]
    yield "Attention", {"num_heads": 2}, dict(x=f(2, 5, 8), w=f(8, 24), b=f(24), m=np.array([5, 3], np.int32)), [("y", F)]
    yield "Attention", {"num_heads": 2}, dict(x=f(2, 3, 8), w=f(8, 24), b=f(24), m=None, p=f(2, 2, 2, 4, 4)), [("y", F), ("z", F)]
    yield "MultiHeadAttention", {"num_heads": 2}, dict(q=f(2, 3, 8), k=f(2, 5, 8), v=f(2, 5, 8), b=f(24), m=mask), [("y", F)]
    yield "MultiHeadAttention", {"num_heads": 2, "scale": 0.3}, dict(q=f(2, 3, 8), k=f(2, 5, 8), v=f(2, 5, 8), b=None, m=None,
                                                                   r=f(1, 2, 3, 5)), [("y", F)]
    ids = lambda high: rng.integers(0, high, (2, 5)).astype(np.int32)
    yield "EmbedLayerNormalization", {"epsilon": 1e-5}, dict(i=ids(20), t=ids(2), w=f(20, 8), p=f(7, 8), e=f(2, 8), g=f(8), b=f(8), m=mask), [
        ("y", F), ("z", I32)]
    yield "QLinearAdd", {}, dict(x=u8(3, 4), xs=one(0.1), xz=one(7, np.uint8), w=u8(4), ws=one(0.07), wz=one(100, np.uint8), ys=one(0.15),
                                 yz=one(3, np.uint8)), [("y", U8)]
    yield "QLinearMul", {}, dict(x=u8(3, 4), xs=one(0.1), xz=one(7, np.uint8), w=u8(4), ws=one(0.07), wz=one(100, np.uint8), ys=one(1.5),
                                 yz=one(30, np.uint8)), [("y", U8)]
    yield "QLinearSigmoid", {}, dict(x=u8(3, 4), xs=one(0.05), xz=one(120, np.uint8), ys=one(1 / 256), yz=one(0, np.uint8)), [("y", U8)]
    yield "QLinearLeakyRelu", {"alpha": 0.1}, dict(x=u8(3, 4), xs=one(0.05), xz=one(120, np.uint8), ys=one(0.03), yz=one(20, np.uint8)), [("y", U8)]
    yield "QLinearGlobalAveragePool", {}, dict(x=u8(1, 2, 4, 4), xs=one(0.05), xz=one(120, np.uint8), ys=one(0.01), yz=one(128, np.uint8)), [("y", U8)]
    yield "QLinearConcat", {"axis": 1}, dict(ys=one(0.1), yz=one(10, np.uint8), x=u8(2, 3), xs=one(0.1), xz=one(5, np.uint8), w=u8(2, 2),
                                             ws=one(0.05), wz=one(0, np.uint8)), [("y", U8)]
    yield "DynamicQuantizeMatMul", {}, dict(x=f(3, 8), w=s7(8, 4), ws=one(0.02), wz=one(3, np.int8), b=f(4)), [("y", F)]
    yield "MatMulIntegerToFloat", {}, dict(x=u8(3, 8), w=s7(8, 4), xs=one(0.02), ws=one(0.03), xz=one(128, np.uint8), wz=one(0, np.int8)), [("y", F)]
    yield "DequantizeLinear", {"axis": 1}, dict(x=u8(3, 4), s=np.abs(f(4)) + 0.1, z=u8(4)), [("y", F)]


@program
def microsoft_operators():
    worst = 0.0
    for kind, attributes, inputs, outputs in microsoft_cases():
        given = {name: value for name, value in inputs.items() if value is not None}
        node = helper.make_node(kind, [name if value is not None else "" for name, value in inputs.items()], [name for name, _ in outputs],
                                domain="com.microsoft", **attributes)
        infos = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape) for name, value in given.items()]
        # onnxruntime computes what only constants decide by itself: everything is an input
        graph = helper.make_graph([node], "net", infos, [helper.make_tensor_value_info(name, of, None) for name, of in outputs])
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)])
        made.ir_version = 9
        try:
            worst = max(worst, both(made.SerializeToString(), [given]))
        except Exception as error:
            raise AssertionError("%s: %s" % (kind, error)) from error
        assert worst <= 2e-5, "%s differs by %g" % (kind, worst)
    return worst


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
