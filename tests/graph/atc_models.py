"""Small ONNX models, inputs for them, and what ONNX's own reference evaluator says of these. Run by the Python of .venv-onnxruntime.

usage: python atc_models.py FOLDER      writes NAME.onnx, and NAME.npz with arrays "CASE/in/INPUT" and "CASE/out/OUTPUT"
"""

import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

MODELS = {}
random = np.random.default_rng(7)


def model(f):
    MODELS[f.__name__] = f
    return f


def normal(*shape):
    return random.standard_normal(shape).astype(np.float32)


def make(nodes, inputs, outputs, weights=()):
    def info(name, shape, dtype=TensorProto.FLOAT):
        return helper.make_tensor_value_info(name, dtype, shape)

    graph = helper.make_graph(nodes, "net", [info(*i) for i in inputs], [info(*o) for o in outputs],
                              [numpy_helper.from_array(value, name) for name, value in weights])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    made.ir_version = 9
    return made


@model
def convolutions():
    """A classifier for any batch; every case has another one."""
    nodes = [helper.make_node("Conv", ["image", "w1", "b1"], ["c1"], "conv1", pads=[1, 1, 1, 1]),
             helper.make_node("Relu", ["c1"], ["r1"], "relu1"),
             helper.make_node("MaxPool", ["r1"], ["p1"], "pool1", kernel_shape=[2, 2], strides=[2, 2]),
             helper.make_node("Conv", ["p1", "w2"], ["c2"], "conv2", pads=[1, 1, 1, 1]),
             helper.make_node("GlobalAveragePool", ["c2"], ["g"], "pool2"),
             helper.make_node("Flatten", ["g"], ["f"], "flatten"),
             helper.make_node("Gemm", ["f", "w3", "b3"], ["scores"], "classify")]
    weights = [("w1", normal(8, 3, 3, 3) / 5), ("b1", normal(8)), ("w2", normal(16, 8, 3, 3) / 8), ("w3", normal(16, 10) / 4),
               ("b3", normal(10))]
    made = make(nodes, [("image", ["N", 3, "H", "W"])], [("scores", ["N", 10])], weights)
    return made, {f"{n}x{h}x{w}": {"image": normal(n, 3, h, w)} for n, h, w in ((1, 16, 16), (2, 16, 16), (4, 16, 16), (1, 32, 24))}


@model
def dense():
    """One product, so that what its types do can be said exactly."""
    nodes = [helper.make_node("MatMul", ["x", "w"], ["m"], "product"), helper.make_node("Softmax", ["m"], ["y"], "softmax", axis=-1)]
    made = make(nodes, [("x", [4, 64])], [("y", [4, 32]), ("m", [4, 32])], [("w", normal(64, 32))])
    return made, {"one": {"x": normal(4, 64)}}


@model
def tokens():
    """Rows of numbers of any count and length."""
    nodes = [helper.make_node("Gather", ["table", "ids"], ["e"], "embed"),
             helper.make_node("Cast", ["mask"], ["real"], "mask_cast", to=TensorProto.FLOAT),
             helper.make_node("Unsqueeze", ["real", "last"], ["wide"], "mask_wide"),
             helper.make_node("Mul", ["e", "wide"], ["kept"], "keep"),
             helper.make_node("ReduceSum", ["kept", "second"], ["y"], "sum", keepdims=0)]
    weights = [("table", normal(50, 8)), ("last", np.array([2])), ("second", np.array([1]))]
    made = make(nodes, [("ids", ["B", "S"], TensorProto.INT64), ("mask", ["B", "S"], TensorProto.INT64)], [("y", ["B", 8])], weights)
    cases = {f"{b}x{s}": {"ids": random.integers(0, 50, (b, s)), "mask": random.integers(0, 2, (b, s))} for b, s in ((1, 4), (2, 8), (3, 5))}
    return made, cases


@model
def plain():
    """Images as they come out of AIPP."""
    return make([helper.make_node("Add", ["x", "zero"], ["y"], "add")], [("x", [2, 3, 6, 8])], [("y", [2, 3, 6, 8])],
                [("zero", np.zeros(1, np.float32))]), {}


@model
def unsupported():
    node = helper.make_node("TfIdfVectorizer", ["x"], ["y"], "words", max_gram_length=1, max_skip_count=0, min_gram_length=1, mode="TF",
                            ngram_counts=[0], ngram_indexes=[0, 1], pool_int64s=[1, 2])
    nodes = [helper.make_node("Relu", ["a"], ["b"], "relu"), node]
    return make(nodes, [("a", [2]), ("x", [3], TensorProto.INT64)], [("b", [2]), ("y", [2])]), {}


def main(folder):
    for name, f in MODELS.items():
        made, cases = f()
        onnx.save(made, folder / f"{name}.onnx")
        arrays = {}
        for case, feeds in cases.items():
            wanted = ReferenceEvaluator(made).run(None, feeds)
            arrays |= {f"{case}/in/{k}": v for k, v in feeds.items()}
            arrays |= {f"{case}/out/{o.name}": v for o, v in zip(made.graph.output, wanted, strict=True)}
        if name == "dense":
            arrays["w"] = numpy_helper.to_array(made.graph.initializer[0])
        np.savez(folder / f"{name}.npz", **arrays)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
