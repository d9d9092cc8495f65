"""Raw operators on the NPU against TensorFlow's CPU kernels in float64 where those have it, else in the same type: every operator that occurs
in the models of tests and benchmark (raw_cases.py). UPDRAFT_TEST_LONG=1 runs all cases, and prints the share of each operator that ran and was
right; otherwise a sample of each operator runs."""

import collections
import os

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.framework import types_pb2
from tensorflow.python.framework import kernels

from tests.tensorflow.compare import CPU, numbers
from tests.tensorflow.model_graphs import MODELS, operators
from tests.tensorflow.raw_cases import BF16, BOOL, CASES, FLOAT, HALF, INT32, INT64, WITHOUT

pytestmark = pytest.mark.usefixtures("npu")
LONG = bool(os.environ.get("UPDRAFT_TEST_LONG"))
SAMPLE = 4  # cases of an operator in CI
TOLERANCE = {tf.float32: 2e-5, tf.float16: 4e-3, tf.bfloat16: 3e-2, tf.float64: 1e-12}
OF_THE_TYPE = ("Bitcast", "Cast", "FloorDiv", "FloorMod", "UnsortedSegmentMax")  # what they give depends on what the type can hold
SHARES = collections.defaultdict(lambda: [0, 0])


class Draw:
    """Tensors of a case: the same numbers for each type."""

    tf, pb = tf, types_pb2.DataType.DESCRIPTOR.values_by_name

    def __init__(self, dtype, seed):
        self.dtype, self.seed, self.rng = tf.dtypes.as_dtype(dtype), seed, np.random.default_rng(seed)
        self.pb = {name: value.number for name, value in types_pb2.DataType.DESCRIPTOR.values_by_name.items()}

    def of(self, values):
        return tf.cast(tf.constant(np.asarray(values, np.float64)), self.dtype)

    def __call__(self, shape, positive=False, low=None, high=None, nonzero=False, whole=False):
        if self.dtype == tf.bool:
            return self.truth(shape)
        whole = whole or not self.dtype.is_floating
        values = self.rng.standard_normal(shape) * (5 if whole else 1)
        if low is not None:
            values = self.rng.uniform(low, high, shape)
        if positive:
            values = np.abs(values) + 0.1
        if whole:
            values = np.trunc(values)
        if nonzero:
            values = np.where(np.abs(values) < 0.5, 2, values)
        return self.of(values)

    def float(self, shape):
        return tf.constant(self.rng.standard_normal(shape), tf.float32)

    def float_of(self, values):
        return tf.constant(values, tf.float32)

    def truth(self, shape):
        return tf.constant(self.rng.random(shape) < 0.5)

    def index(self, shape, below, dtype):
        return tf.constant(self.rng.integers(0, max(1, below), shape), dtype)

    def distinct(self, shape):
        n = int(np.prod(shape))
        return self.of(self.rng.permutation(n).reshape(shape) - n // 2)

    def pooled(self, operator, x, y, windows):
        image = self.distinct(x) if np.prod(x) < 250 else self(x)
        return {"orig_input": image, "orig_output": call(operator, {"input": image, **windows})[0], "grad": self(y), **windows}

    def pooled_at(self, operator, x, windows):
        image = self.distinct(x)
        y, argmax = call("MaxPoolWithArgmax", {"input": image, **windows})
        like = y if operator == "MaxPoolGradWithArgmax" else image
        return {"input": image, "grad": self(like.shape), "argmax": argmax, **{k: v for k, v in windows.items() if k != "Targmax"}}

    def dilated(self, x, filter, how):
        image, by = self.distinct(x), self(filter)
        return {"input": image, "filter": by, "out_backprop": self(call("Dilation2D", {"input": image, "filter": by, **how})[0].shape), **how}

    def fractions(self, x, where):
        image, ends = self.distinct(x), where["overlapping"]
        rows, columns = where["row_pooling_sequence"], where["col_pooling_sequence"]
        largest = [[tf.reduce_max(image[:, a:b + ends, c:e + ends], [1, 2]) for c, e in zip(columns, columns[1:])] for a, b in zip(rows, rows[1:])]
        y = tf.stack([tf.stack(row, 1) for row in largest], 1)
        return {"orig_input": image, "orig_output": y, "out_backprop": self(y.shape), **where}

    def batch_norm(self, shape, training):
        vector = tf.constant(self.rng.random((4, shape[3])) + 0.5, tf.float32)
        return {"x": self(shape), "scale": vector[0], "offset": vector[1], "mean": vector[2], "variance": vector[3], "is_training": training, "epsilon": 1e-3,
                "exponential_avg_factor": 0.9 if training else 1.0}

    def batch_norm_gradient(self, shape, training):
        vector = tf.constant(self.rng.random((3, shape[3])) + 0.5, tf.float32)
        return {"y_backprop": self(shape), "x": self(shape), "scale": vector[0], "reserve_space_1": vector[1], "reserve_space_2": vector[2],
                "reserve_space_3": tf.constant([], tf.float32), "is_training": training, "epsilon": 1e-3}

    def lrn_gradient(self, shape, how):
        image = self(shape)
        return {"input_grads": self(shape), "input_image": image, "output_image": call("LRN", {"input": image, **how})[0], **how}

    def slice_gradient(self, shape, begin, end, strides, masks):
        dy = call("StridedSlice", {"input": self(shape), "begin": begin, "end": end, "strides": strides, **masks})[0]
        return {"shape": shape, "begin": begin, "end": end, "strides": strides, "dy": self(dy.shape), **masks}


def call(operator, arguments):
    """The operator's outputs. A case may call the first input "first"."""
    function = getattr(tf.raw_ops, operator)
    if "first" in arguments:
        names = function.__signature__.parameters if hasattr(function, "__signature__") else None
        first = next(iter(names)) if names else function.__wrapped__.__code__.co_varnames[0]
        arguments = {first if name == "first" else name: value for name, value in arguments.items()}
    made = function(**arguments)
    return list(made) if isinstance(made, (list, tuple)) else [made]


def wide(value):
    """The same numbers in float64."""
    if isinstance(value, (list, tuple)):
        return type(value)(wide(v) for v in value)
    return tf.cast(value, tf.float64) if tf.is_tensor(value) and value.dtype.is_floating else value


def reference(operator, arguments, dtype):
    """What the CPU gives, in float64 where it has a kernel."""
    own = call(operator, arguments)
    if dtype.is_floating and operator not in OF_THE_TYPE:
        try:
            exact = call(operator, {name: wide(value) for name, value in arguments.items()})
        except (tf.errors.OpError, TypeError, ValueError):
            return own
        for k, (e, o) in enumerate(zip(exact, own)):
            if e.dtype != o.dtype and o.dtype.is_floating:
                exact[k] = tf.cast(e, o.dtype)  # overflow and rounding as the type has them
        return exact
    return own


def compare(operator, got, want, tolerance):
    assert len(got) == len(want)
    if operator.startswith("FusedBatchNorm"):  # what is kept for the gradient is the kernel's own business
        got, want = got[:3], want[:3]
    for k, (g, w) in enumerate(zip(got, want)):
        assert g.dtype == w.dtype and g.shape == w.shape, (k, g.dtype, g.shape, w.dtype, w.shape)
        with tf.device(CPU):
            a, b = numbers(g), numbers(w)
        if not np.issubdtype(b.dtype, np.floating):
            np.testing.assert_array_equal(a, b, err_msg=f"output {k}")
            continue
        finite = b[np.isfinite(b)]
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * max(1.0, np.abs(finite).max(initial=0)), err_msg=f"output {k}")


def check(operator, index, dtype, make):
    with tf.device(CPU):
        arguments = make(Draw(dtype, 1000 + index))
        try:
            want = reference(operator, arguments, tf.dtypes.as_dtype(dtype))
        except (tf.errors.InvalidArgumentError, tf.errors.UnimplementedError, tf.errors.NotFoundError) as refused:
            return type(refused).__name__  # nothing to compare with: the NPU may have a kernel where the CPU has none
    compare(operator, call(operator, arguments), want, TOLERANCE.get(tf.dtypes.as_dtype(dtype), 2e-5))
    return "equal"


def runs(operator):
    every = [(i, dtype, make) for i, (types, make) in enumerate(CASES[operator]) for dtype in types]
    if LONG or len(every) <= SAMPLE:
        return every
    step = (len(every) - 1) / (SAMPLE - 1)
    return [every[round(k * step)] for k in range(SAMPLE)]


@pytest.mark.parametrize("operator", sorted(CASES))
def test_operator_is_tensorflows(operator):
    failures = []
    for i, dtype, make in runs(operator):
        SHARES[operator][1] += 1
        try:
            check(operator, i, dtype, make)
            SHARES[operator][0] += 1
        except AssertionError as e:
            failures.append(f"case {i} {dtype}: {str(e).strip()[:600]}")
        except (tf.errors.OpError, TypeError, ValueError) as e:
            failures.append(f"case {i} {dtype}: {type(e).__name__} {str(e)[:300]}")
    if LONG:
        print(f"\n{operator}: {SHARES[operator][0]} of {SHARES[operator][1]}", end="")
    assert not failures, f"{len(failures)} of {SHARES[operator][1]}\n" + "\n".join(failures[:6])


@pytest.mark.parametrize("name", sorted(MODELS) if LONG else ["bert", "detection", "vae"])  # tracing takes seconds
def test_every_operator_of_the_models_has_cases(name):
    found = operators(name)
    assert len(found) > 30 and found <= {*CASES, *WITHOUT}, sorted(found - {*CASES, *WITHOUT})


def kernel_types(operator):
    """Of the types of the table, those of which the CPU has kernels; none where the kernels take all."""
    found = set()
    for kernel in kernels.get_registered_kernels_for_op(operator).kernel:
        if kernel.device_type == "CPU":
            of = {c.name: [tf.dtypes.as_dtype(t).name for t in c.allowed_values.list.type] for c in kernel.constraint}
            found.update(next((of[name] for name in ("T", "Tparams") if name in of), []))
    return {"half" if t == "float16" else t for t in found} & {FLOAT, HALF, BF16, INT32, INT64, BOOL}


@pytest.mark.parametrize("operator", sorted(CASES))
def test_every_type_of_an_operator_has_cases(operator):
    has = {t for types, _ in CASES[operator] for t in types}
    assert kernel_types(operator) <= has
