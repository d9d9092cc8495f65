"""Operators one by one, eagerly and in a function, against TensorFlow's CPU kernels: diagonals, scattered updates, sorted places, counts,
complex numbers, pools in three dimensions, frozen batch normalisation. None of them may fall back to the CPU."""

import numpy as np
import pytest
import tensorflow as tf

from tests.tensorflow.compare import CPU, close
from tests.tensorflow.more_alone import add_cases

pytestmark = pytest.mark.usefixtures("npu")
raw = tf.raw_ops
CASES = {}
TOLERANCE = {tf.float16: 4e-3, tf.bfloat16: 3e-2, tf.float64: 1e-12}


def case(name, call):
    assert name not in CASES
    CASES[name] = call


def numbers(*shape, dtype="float32", seed=1):
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "c":
        return tf.constant((rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype))
    return tf.constant((rng.standard_normal(shape) * 5).astype(dtype))


for dtype in ("float32", "int32", "int64"):
    for shape in [(3,), (2, 3), (2, 1, 2), (0,)]:
        tag = f"{dtype}-{'x'.join(map(str, shape))}"
        case(f"Diag-{tag}", lambda d=dtype, s=shape: raw.Diag(diagonal=numbers(*s, dtype=d)))
        case(f"DiagPart-{tag}", lambda d=dtype, s=shape: raw.DiagPart(input=numbers(*s, *s, dtype=d)))
    for shape in [(3,), (2, 3), (2, 0)]:
        tag = f"{dtype}-{'x'.join(map(str, shape))}"
        case(f"MatrixDiag-{tag}", lambda d=dtype, s=shape: raw.MatrixDiag(diagonal=numbers(*s, dtype=d)))
    for shape in [(3, 3), (2, 3, 5), (2, 5, 3)]:
        tag = f"{dtype}-{'x'.join(map(str, shape))}"
        least = min(shape[-2:])
        case(f"MatrixDiagPart-{tag}", lambda d=dtype, s=shape: raw.MatrixDiagPart(input=numbers(*s, dtype=d)))
        case(f"MatrixSetDiag-{tag}", lambda d=dtype, s=shape, n=least: raw.MatrixSetDiag(input=numbers(*s, dtype=d), diagonal=numbers(*s[:-2], n, dtype=d, seed=2)))
for align in ("LEFT_RIGHT", "RIGHT_LEFT", "LEFT_LEFT", "RIGHT_RIGHT"):
    for k in ((0, 0), (1, 1), (-1, -1), (-1, 1), (0, 2)):
        tag = f"{align}-{k[0]}-{k[1]}"
        of = [k[0]] if k[0] == k[1] else list(k)
        case(f"MatrixDiagPartV3-{tag}", lambda a=align, k=of: raw.MatrixDiagPartV3(input=numbers(2, 4, 5), k=k, padding_value=7.0, align=a))

        def back(a=align, k=of):
            image = numbers(2, 4, 5)
            part = raw.MatrixDiagPartV3(input=image, k=k, padding_value=0.0, align=a)
            return raw.MatrixSetDiagV3(input=tf.zeros_like(image), diagonal=part, k=k, align=a)

        case(f"MatrixSetDiagV3-{tag}", back)

        def spread(a=align, k=of):
            with tf.device(CPU):
                part = raw.MatrixDiagPartV3(input=numbers(2, 4, 5), k=k, padding_value=0.0, align=a)
            return raw.MatrixDiagV3(diagonal=tf.identity(part), k=k, num_rows=4, num_cols=5, padding_value=9.0, align=a)

        case(f"MatrixDiagV3-{tag}", spread)
case("MatrixDiagPartV2", lambda: raw.MatrixDiagPartV2(input=numbers(3, 4), k=[-1, 1], padding_value=0.0))
case("MatrixDiagV2", lambda: raw.MatrixDiagV2(diagonal=numbers(2, 3), k=1, num_rows=-1, num_cols=-1, padding_value=0.0))

for name in ("Update", "Add", "Sub", "Max", "Min"):
    for dtype in ("float32", "int32"):
        case(f"TensorScatter{name}-{dtype}", lambda n=name, d=dtype: getattr(raw, "TensorScatter" + n)(
            tensor=numbers(5, 3, dtype=d), indices=[[4], [0]], updates=numbers(2, 3, dtype=d, seed=2)))
    case(f"TensorScatter{name}-points", lambda n=name: getattr(raw, "TensorScatter" + n)(
        tensor=numbers(5, 3), indices=tf.constant([[4, 1], [0, 2], [2, 2]], tf.int64), updates=numbers(3, seed=2)))
for name in ("Add", "Sub"):
    case(f"TensorScatter{name}-twice", lambda n=name: getattr(raw, "TensorScatter" + n)(tensor=numbers(4), indices=[[1], [1], [1]], updates=numbers(3, seed=2)))
case("TensorScatterUpdate-none", lambda: raw.TensorScatterUpdate(tensor=numbers(4), indices=tf.zeros([0, 1], tf.int32), updates=tf.zeros([0])))

for name in ("LowerBound", "UpperBound"):
    for out in (tf.int32, tf.int64):
        case(f"{name}-{out.name}", lambda n=name, o=out: getattr(raw, n)(sorted_inputs=[[1.0, 2.0, 2.0, 5.0], [-1.0, 0.0, 0.0, 0.0]],
                                                                          values=[[2.0, 0.0, 9.0], [0.0, -1.0, -5.0]], out_type=o))
case("Bucketize", lambda: raw.Bucketize(input=[[-1.0, 0.0, 3.5], [10.0, 100.0, 7.0]], boundaries=[0.0, 10.0, 50.0]))
case("Bucketize-int", lambda: raw.Bucketize(input=[-5, 0, 10, 49, 50], boundaries=[0.0, 10.0, 50.0]))
for binary in (False, True):
    case(f"DenseBincount-{binary}", lambda b=binary: raw.DenseBincount(input=[1, 0, 3, 1, 9], size=5, weights=tf.zeros([0], tf.int32), binary_output=b))
    case(f"DenseBincount-rows-{binary}", lambda b=binary: raw.DenseBincount(input=[[1, 0, 3], [1, 1, 4]], size=5, weights=tf.zeros([0]), binary_output=b))
case("DenseBincount-weights", lambda: raw.DenseBincount(input=[1, 0, 3, 1, 9], size=5, weights=numbers(5)))
for shift, axis in ((1, 0), (-2, 1), ([1, -2], [0, 1])):
    case(f"Roll-{shift}-{axis}", lambda s=shift, a=axis: raw.Roll(input=numbers(3, 4), shift=s, axis=a))
case("BroadcastArgs", lambda: raw.BroadcastArgs(s0=[2, 1, 3], s1=[4, 1]))
case("Lgamma", lambda: raw.Lgamma(x=[0.5, 1.0, 2.0, 7.25, -0.5, np.inf, np.nan]))

case("Complex", lambda: raw.Complex(real=numbers(3, 4), imag=numbers(3, 4, seed=2)))
case("ComplexAbs", lambda: raw.ComplexAbs(x=numbers(3, 4, dtype="complex64")))
for name in ("Real", "Imag", "Angle", "Conj"):
    case(name, lambda n=name: getattr(raw, n)(input=numbers(3, 4, dtype="complex64")))

for padding in ("SAME", "VALID"):
    windows = dict(ksize=[1, 2, 3, 2, 1], strides=[1, 2, 2, 1, 1], padding=padding)

    def mean(w=windows):
        return raw.AvgPool3DGrad(orig_input_shape=[2, 4, 6, 5, 3], grad=numbers(*raw_shape(raw.AvgPool3D, w)), **w)

    def largest(w=windows):
        x = numbers(2, 4, 6, 5, 3)
        with tf.device(CPU):
            y = raw.MaxPool3D(input=x, **w)
        y = tf.identity(y)
        return raw.MaxPool3DGrad(orig_input=x, orig_output=y, grad=numbers(*y.shape, seed=2), **w)

    case(f"AvgPool3DGrad-{padding}", mean)
    case(f"MaxPool3DGrad-{padding}", largest)


def frozen_batch_norm_gradient(layout, of=lambda image: image):
    return raw.FusedBatchNormGradV3(y_backprop=of(numbers(2, 3, 4, 5)), x=of(numbers(2, 3, 4, 5, seed=2)), scale=numbers(3, seed=3), reserve_space_1=numbers(3, seed=4),
                                    reserve_space_2=tf.abs(numbers(3, seed=5)) + 0.5, reserve_space_3=tf.zeros([0]), epsilon=1e-3, data_format=layout,
                                    is_training=False)[:3]


def last(image):
    return tf.transpose(image, [0, 2, 3, 1])


case("FusedBatchNormGradV3-NHWC", lambda: frozen_batch_norm_gradient("NHWC", last))
case("FusedBatchNormGradV3-NCHW", lambda: frozen_batch_norm_gradient("NCHW"))


add_cases(case)


def raw_shape(operator, windows):
    with tf.device(CPU):
        return operator(input=tf.zeros([2, 4, 6, 5, 3]), **windows).shape


def reference(name):
    with tf.device(CPU):
        if name == "FusedBatchNormGradV3-NCHW":  # the CPU has no kernel for it
            dx, *others = CASES["FusedBatchNormGradV3-NHWC"]()
            return [tf.transpose(dx, [0, 3, 1, 2]), *others]
        return CASES[name]()


@pytest.mark.parametrize("name", CASES)
def test_operator(npu, name):
    want = reference(name)
    on_host = set(npu.host_operators())
    results = [CASES[name](), tf.function(CASES[name])()]
    assert set(npu.host_operators()) == on_host, "it ran on the CPU"
    for got in results:
        for a, b in zip(got if isinstance(got, (tuple, list)) else [got], want if isinstance(want, (tuple, list)) else [want]):
            if b.dtype.is_complex:
                assert a.dtype == b.dtype and a.shape == b.shape
                np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-6)
            else:
                close(a, b, TOLERANCE.get(b.dtype, 2e-5), name)


def whole(values):
    return tf.constant(values, tf.int32)


SINGULAR = [[1.0, 2.0], [2.0, 4.0]]
WRONG = {  # what the message says, the call, its arguments
    "bincount-of-negative": ("input has -3, want 0 or more", lambda v: raw.DenseBincount(input=v, size=5, weights=tf.zeros([0])), [whole([1, -3])]),
    "bincount-size": (r"size (is|\(-2\))", lambda v, n: raw.DenseBincount(input=v, size=n, weights=tf.zeros([0])), [whole([1, 3]), whole(-2)]),
    "one-hot": ("depth is -2, want 0 or more", lambda v, n: tf.one_hot(v, n), [whole([1, 3]), whole(-2)]),
    "segments": ("num_segments is -2, want 0 or more", lambda v, n: tf.math.unsorted_segment_sum(tf.ones([2]), v, n), [whole([1, 3]), whole(-2)]),
    "largest": ("num_segments is -2, want 0 or more", lambda v, n: tf.math.unsorted_segment_max(tf.ones([2]), v, n), [whole([1, 3]), whole(-2)]),
    "fill": ("a dimension of -2, want 0 or more", lambda n: tf.fill([2, n], 1.0), [whole(-2)]),
    "gather": ("index 3 is out of range", lambda v: tf.gather(tf.ones([3]), v), [whole([0, 3])]),
    "embedding": ("index -1 is out of range", lambda v: tf.nn.embedding_lookup(tf.ones([3, 2]), v), [whole([0, -1])]),
    "solve": ("has no inverse", tf.linalg.solve, [SINGULAR, [[1.0], [2.0]]]),
    "inverse": ("matrix 1 has no inverse", tf.linalg.inv, [[[[1.0, 0.0], [0.0, 1.0]], SINGULAR]]),
    "places": ("index -1 is out of range", lambda v: tf.gather_nd(tf.ones([3, 2]), v), [whole([[1, -1]])]),
    "scattered": ("index -1 is out of range", lambda v: tf.scatter_nd(v, tf.ones([1]), [3, 2]), [whole([[1, -1]])]),
    "put": ("index -2 is out of range", lambda v: tf.tensor_scatter_nd_update(tf.ones([3, 2]), v, tf.ones([1, 2])), [whole([[-2]])]),
    "largest-at": ("index 2 is out of range", lambda v: tf.tensor_scatter_nd_max(tf.ones([3, 2]), v, tf.ones([1])), [whole([[0, 2]])]),
    "least-at": ("index -1 is out of range", lambda v: tf.tensor_scatter_nd_min(tf.ones([3, 2]), v, tf.ones([1])), [whole([[1, -1]])]),
    "segments-in-order": ("not in order", lambda v: tf.math.segment_sum(tf.ones([3]), v), [whole([1, 0, 1])]),
    "numbers": ("my layer: x has", lambda v: tf.debugging.check_numerics(v, "my layer"), [[1.0, np.inf]]),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_values_are_told(npu, name):
    """The error is the one that TensorFlow's CPU kernels give, and says what is wrong with which input."""
    message, call, arguments = WRONG[name]
    arguments = [tf.convert_to_tensor(a) for a in arguments]
    with tf.device(CPU), pytest.raises(tf.errors.InvalidArgumentError):
        call(*arguments)
    for run in (call, tf.function(call)):
        with pytest.raises(tf.errors.InvalidArgumentError, match=message) as raised:
            run(*arguments)
        assert "[-2" not in str(raised.value)
