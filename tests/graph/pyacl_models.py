"""ONNX models for test_pyacl.py, and what the onnx package's own evaluator says of them. Run by the Python of .venv-onnxruntime.

usage: python pyacl_models.py FOLDER [WEIGHTS.npz]
"""

import pathlib
import sys

import numpy as np
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator


def write(folder, name, nodes, inputs, outputs, weights=(), feeds=()):
    def info(name, shape, dtype=TensorProto.FLOAT):
        return helper.make_tensor_value_info(name, dtype, shape)

    graph = helper.make_graph(nodes, "net", [info(*i) for i in inputs], [info(*o) for o in outputs],
                              [numpy_helper.from_array(value, name) for name, value in weights])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 9
    (folder / (name + ".onnx")).write_bytes(model.SerializeToString())
    arrays = {}
    for n, feed in enumerate(feeds):
        arrays.update({"in_%d_%s" % (n, key): value for key, value in feed.items()})
        for (output, *_), value in zip(outputs, ReferenceEvaluator(model).run(None, feed)):
            arrays["out_%d_%s" % (n, output)] = value
    np.savez(folder / (name + ".npz"), **arrays)


def normal(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def main(folder, digits=None):
    weights = [("w", normal(4, 3, 3, 3, seed=1)), ("b", normal(4, seed=2)), ("m", normal(64, 5, seed=3)), ("shape", np.array([0, -1]))]
    write(folder, "net", [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], pads=[1, 1, 1, 1]), helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("MaxPool", ["r"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Reshape", ["p", "shape"], ["f"]), helper.make_node("MatMul", ["f", "m"], ["l"]),
        helper.make_node("Softmax", ["l"], ["y"], axis=1), helper.make_node("ArgMax", ["l"], ["best"], axis=1, keepdims=0)],
        [("x", [2, 3, 8, 8])], [("y", [2, 5]), ("best", [2], TensorProto.INT64)], weights,
        [{"x": normal(2, 3, 8, 8, seed=s)} for s in range(8)])
    write(folder, "rows", [helper.make_node("MatMul", ["x", "w"], ["s"]), helper.make_node("Add", ["s", "z"], ["y"])],
          [("x", ["n", 16]), ("z", ["n", 4])], [("y", ["n", 4])], [("w", normal(16, 4, seed=1))],
          [{"x": normal(n, 16, seed=n), "z": normal(n, 4, seed=n + 9)} for n in (1, 3, 7)])
    if digits:  # what torch has trained: one convolution, one product
        trained = np.load(digits)
        write(folder, "digits", [
            helper.make_node("Conv", ["image", "w", "b"], ["c"], pads=[1, 1, 1, 1]), helper.make_node("Relu", ["c"], ["r"]),
            helper.make_node("Flatten", ["r"], ["f"]), helper.make_node("Gemm", ["f", "m", "k"], ["l"], transB=1),
            helper.make_node("Softmax", ["l"], ["probabilities"], axis=1)],
            [("image", [1, 1, 8, 8])], [("probabilities", [1, 10])], [(key, trained[key]) for key in ("w", "b", "m", "k")])


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), *sys.argv[2:])
