"""Models in eight bits, with QuantizeLinear and DequantizeLinear around their operators, and what ONNX says of them, computed here in
double precision from the definitions alone. Run by a Python with onnx.

usage: python quantized_models.py FOLDER     writes NAME.onnx, and NAME.npz: in/INPUT, out/OUTPUT (numbers of eight bits), real/OUTPUT
(the result before it was rounded, in steps of the output)
"""

import math
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

RANDOM = np.random.default_rng(0)
ONNX_TYPE = {np.dtype(np.uint8): TensorProto.UINT8, np.dtype(np.int8): TensorProto.INT8, np.dtype(np.float32): TensorProto.FLOAT,
             np.dtype(np.int64): TensorProto.INT64}


class Model:
    def __init__(self):
        self.nodes, self.weights, self.inputs, self.feeds, self.outputs, self.count = [], [], [], {}, [], 0

    def name(self):
        self.count += 1
        return f"t{self.count}"

    def constant(self, value):
        name = self.name()
        self.weights.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def node(self, kind, inputs, **attributes):
        name = self.name()
        self.nodes.append(helper.make_node(kind, inputs, [name], name=f"{kind}_{name}", **attributes))
        return name

    def input(self, array):
        name = self.name()
        self.inputs.append((name, array))
        self.feeds[name] = array
        return name

    def quantised(self, array, scale, zero):
        """A real input that the model quantises; its name, and the numbers that it stands for."""
        name = self.node("QuantizeLinear", [self.input(array), self.constant(np.float32(scale)), self.constant(zero)])
        return self.real(name, scale, zero), (rounded(array / np.float32(scale), zero).astype(np.float64) - int(zero)) * np.float64(np.float32(scale))

    def real(self, name, scale, zero, axis=None):
        more = {} if axis is None else {"axis": axis}
        return self.node("DequantizeLinear", [name, self.constant(np.asarray(scale, np.float32)), self.constant(zero)], **more)

    def filters(self, shape, axis):
        """Weights with a scale for each place of `axis`; their name and what they stand for."""
        numbers = RANDOM.integers(-127, 128, shape).astype(np.int8)
        scales = RANDOM.uniform(0.002, 0.01, shape[axis]).astype(np.float32)
        by = scales.reshape([-1 if d == axis else 1 for d in range(len(shape))]).astype(np.float64)
        return self.real(self.constant(numbers), scales, np.zeros(shape[axis], np.int8), axis), numbers * by

    def result(self, name, value, scale, zero):
        y = self.node("QuantizeLinear", [name, self.constant(np.float32(scale)), self.constant(zero)])
        steps = value / np.float64(np.float32(scale))
        self.outputs.append((y, rounded(steps, zero), steps))

    def write(self, path, opset=17):
        info = lambda name, a: helper.make_tensor_value_info(name, ONNX_TYPE[a.dtype], a.shape)
        graph = helper.make_graph(self.nodes, path.name, [info(n, a) for n, a in self.inputs], [info(n, a) for n, a, _ in self.outputs], self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)
        onnx.checker.check_model(model)
        onnx.save(model, f"{path}.onnx")
        np.savez(f"{path}.npz", **{f"in/{n}": a for n, a in self.feeds.items()}, **{f"out/{n}": a for n, a, _ in self.outputs},
                 **{f"real/{n}": r for n, _, r in self.outputs})


def rounded(steps, zero):
    limits = np.iinfo(zero.dtype)
    return np.clip(np.rint(steps) + int(zero), limits.min, limits.max).astype(zero.dtype)


def normal(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def convolve(x, w, bias, stride, pads, groups=1):
    """pads: in front and behind of both dimensions."""
    x = np.pad(x, ((0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])))
    n, c, high, wide = x.shape
    o, each, kh, kw = w.shape
    out = np.zeros((n, o, (high - kh) // stride + 1, (wide - kw) // stride + 1))
    for i in range(out.shape[2]):
        for j in range(out.shape[3]):
            part = x[:, :, i * stride:i * stride + kh, j * stride:j * stride + kw]
            for g in range(groups):
                own = slice(g * o // groups, (g + 1) * o // groups)
                out[:, own, i, j] = np.einsum("nchw,ochw->no", part[:, g * each:(g + 1) * each], w[own])
    return out + bias.astype(np.float64)[None, :, None, None]


def convolutions(model):
    """Windows, strides, uneven pads, groups; zero points at the edge and within; Relu before rounding."""
    for kernel, stride, pads, groups, relu, x_zero, y_zero in (
            (3, 1, (1, 1, 1, 1), 1, False, np.uint8(128), np.uint8(117)), (1, 2, (0, 0, 0, 0), 1, True, np.uint8(0), np.uint8(0)),
            (3, 2, (0, 0, 1, 1), 1, True, np.uint8(3), np.uint8(0)), (3, 1, (1, 1, 1, 1), 8, False, np.int8(-5), np.int8(7)),
            (5, 1, (2, 2, 2, 2), 2, True, np.int8(0), np.int8(-128)), (7, 2, (3, 3, 3, 3), 1, True, np.uint8(114), np.uint8(20))):
        channels = 3 if kernel == 7 else 8
        x, real = model.quantised(normal(2, channels, 12, 10), 0.03, x_zero)
        w, numbers = model.filters((16, channels // groups, kernel, kernel), 0)
        bias = normal(16)
        y = model.node("Conv", [x, w, model.constant(bias)], strides=[stride] * 2, pads=pads, group=groups)
        value = convolve(real, numbers, bias, stride, pads, groups)
        if relu:
            y, value = model.node("Relu", [y]), np.maximum(value, 0)
        model.result(y, value, np.abs(value).max() / (250 if relu else 120), y_zero)


def two_convolutions(model, relu):
    """In a row, the second with a Relu or not: (name, value) of the first in its numbers of eight bits, and of the second as it is."""
    x, real = model.quantised(normal(1, 16, 9, 9), 0.03, np.uint8(128))
    w, numbers = model.filters((16, 16, 3, 3), 0)
    value = np.maximum(convolve(real, numbers, np.zeros(16), 1, (1,) * 4), 0)
    scale = np.float32(value.max() / 255)
    first = model.node("QuantizeLinear", [model.node("Conv", [x, w], pads=[1] * 4), model.constant(scale), model.constant(np.uint8(0))])
    first, a = model.real(first, scale, np.uint8(0)), rounded(value / np.float64(scale), np.uint8(0)) * np.float64(scale)
    v, of_v = model.filters((16, 16, 1, 1), 0)
    bias = normal(16)
    value = convolve(a, of_v, bias, 1, (0,) * 4)
    second = model.node("Conv", [first, v, model.constant(bias)])
    return first, a, *((model.node("Relu", [second]), np.maximum(value, 0)) if relu else (second, value))


def rounding(model, name, value, zero):
    """What is rounded to eight bits, and what becomes of its value."""
    scale = np.float32(np.abs(value).max() / (127 if zero else 255))
    name = model.node("QuantizeLinear", [name, model.constant(scale), model.constant(zero)])
    return model.real(name, scale, zero), (rounded(value / np.float64(scale), zero).astype(np.float64) - int(zero)) * np.float64(scale)


def residual(model):
    """The second convolution is added to what the first gave: it is not rounded before."""
    first, a, second, value = two_convolutions(model, False)
    name, _ = rounding(model, second, value, np.uint8(128))
    model.result(model.node("Relu", [model.node("Add", [first, name])]), np.maximum(a + value, 0), (a + value).max() / 250, np.uint8(5))


def summed(model):
    """The same where rounding cuts off what is below zero, as the Relu does: it is part of the numbers."""
    first, a, second, value = two_convolutions(model, True)
    name, b = rounding(model, second, value, np.uint8(0))
    model.result(model.node("Add", [first, name]), a + b, (a + b).max() / 250, np.uint8(5))


def products(model):
    """Rows of several dimensions; a scale for each column; the transposed weights of Gemm; a result that stays real."""
    x, real = model.quantised(normal(2, 5, 24), 0.02, np.uint8(120))
    w, numbers = model.filters((24, 20), 1)
    value = real @ numbers
    model.result(model.node("MatMul", [x, w]), value, np.abs(value).max() / 120, np.uint8(128))
    x, real = model.quantised(normal(7, 24), 0.02, np.int8(-3))
    w, numbers = model.filters((20, 24), 0)
    bias = normal(20)
    value = real @ numbers.T + bias
    model.result(model.node("Gemm", [x, w, model.constant(bias)], transB=1), value, np.abs(value).max() / 120, np.int8(4))
    model.result(model.node("Tanh", [model.node("MatMul", [x, model.filters((24, 6), 1)[0]])]), *tanh_of(real, model), np.uint8(128))


def tanh_of(real, model):
    """Of the weights that were made last."""
    numbers = numpy_helper.to_array(next(w for w in reversed(model.weights) if w.data_type == TensorProto.INT8 and len(w.dims) == 2)).astype(np.float64)
    scales = numpy_helper.to_array(next(w for w in reversed(model.weights) if w.data_type == TensorProto.FLOAT and list(w.dims) == [6]))
    return np.tanh(real @ (numbers * scales.astype(np.float64))), 1 / 127


def table(model):
    """Rows of a table in eight bits."""
    numbers = RANDOM.integers(-127, 128, (50, 16)).astype(np.int8)
    places = RANDOM.integers(0, 50, (3, 4))
    rows = model.node("Gather", [model.real(model.constant(numbers), 0.05, np.int8(2)), model.input(places)])
    value = (numbers[places].astype(np.float64) - 2) * np.float64(np.float32(0.05))
    model.result(rows, value, 0.041, np.uint8(128))


def moved(model):
    """Heads of a row: shapes and orders change between numbers of the same scale; at last another scale, which rounds again."""
    x, real = model.quantised(normal(2, 6, 12), 0.02, np.uint8(120))
    by = [model.constant(np.float32(0.02)), model.constant(np.uint8(120))]
    y = model.node("Reshape", [x, model.constant(np.array([2, 6, 3, 4]))])
    y = model.real(model.node("QuantizeLinear", [y, *by]), 0.02, np.uint8(120))
    y = model.real(model.node("QuantizeLinear", [model.node("Transpose", [y], perm=[0, 2, 1, 3]), *by]), 0.02, np.uint8(120))
    value = real.reshape(2, 6, 3, 4).transpose(0, 2, 1, 3)
    model.result(model.node("Transpose", [y], perm=[0, 1, 3, 2]), value.transpose(0, 1, 3, 2), 0.031, np.uint8(100))


def functions(model):
    """What is computed of single numbers, rounded to eight bits after each step; and a step that two read."""
    def through(y, value, scale, zero):
        y = model.node("QuantizeLinear", [y, model.constant(np.float32(scale)), model.constant(zero)])
        steps = value / np.float64(np.float32(scale))
        return model.real(y, scale, zero), (rounded(steps, zero).astype(np.float64) - float(zero)) * np.float64(np.float32(scale))

    def combine(kind, y, value, number, f):
        return model.node(kind, [y, model.constant(np.float32(number))]), f(value, np.float64(np.float32(number)))

    x, real = model.quantised(normal(2, 5, 24), 0.031, np.uint8(121))
    y, value = through(*combine("Div", x, real, 1.41421356, np.divide), 0.0223, np.uint8(119))
    y, value = through(model.node("Erf", [y]), np.vectorize(math.erf)(value), 0.0079, np.uint8(127))
    y, value = through(*combine("Add", y, value, 1.0, np.add), 0.00787, np.uint8(0))
    y, value = through(model.node("Mul", [x, y]), real * value, 0.0317, np.uint8(3))
    model.result(*combine("Mul", y, value, 0.5, np.multiply), 0.0163, np.uint8(11))
    shared = model.node("Sigmoid", [x])
    value = 1 / (1 + np.exp(-real))
    model.result(shared, value, 0.0041, np.uint8(7))
    model.result(model.node("Mul", [shared, x]), value * real, 0.0181, np.uint8(40))
    x, real = model.quantised(normal(6, 7), 0.029, np.int8(-9))
    model.result(model.node("Tanh", [x]), np.tanh(real), 0.0081, np.int8(5))


def main():
    for build in (convolutions, residual, summed, products, table, moved, functions):
        model = Model()
        build(model)
        model.write(pathlib.Path(sys.argv[1]) / build.__name__)


if __name__ == "__main__":
    main()
