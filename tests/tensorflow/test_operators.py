"""Operators one by one on the NPU against TensorFlow's CPU kernels in the widest type that those take."""

import numpy as np
import pytest
import tensorflow as tf

from tests.tensorflow.compare import CPU, numbers

pytestmark = pytest.mark.usefixtures("npu")
raw = tf.raw_ops
TOLERANCE = {tf.float32: 2e-5, tf.float16: 4e-3, tf.bfloat16: 3e-2, tf.float64: 1e-10}
CASES = {}


def case(name, operator, *shapes, types=(tf.float32, tf.float16, tf.bfloat16), positive=False, integers=None, **attributes):
    """Inputs are random tensors of these shapes by the names of `operator`; `integers` are given as they are."""
    for dtype in types:
        CASES[f"{name}-{dtype.name}"] = (operator, shapes, dtype, positive, integers or {}, attributes)


def unary_gradient(name, names, positive=False):
    case(name, lambda **k: getattr(raw, name)(**k), (names[0], (3, 5, 7)), (names[1], (3, 5, 7)), positive=positive)
    case(name + "-empty", lambda **k: getattr(raw, name)(**k), (names[0], (0, 3)), (names[1], (0, 3)), types=[tf.float32])
    case(name + "-scalar", lambda **k: getattr(raw, name)(**k), (names[0], ()), (names[1], ()), types=[tf.float32])


for n in ["ReluGrad", "Relu6Grad", "LeakyReluGrad", "SoftplusGrad", "SoftsignGrad"]:
    unary_gradient(n, ("gradients", "features"))
for n in ["EluGrad", "SeluGrad"]:
    unary_gradient(n, ("gradients", "outputs"))
for n in ["SigmoidGrad", "TanhGrad", "InvGrad", "ReciprocalGrad"]:
    unary_gradient(n, ("y", "dy"))
for n in ["SqrtGrad", "RsqrtGrad"]:
    unary_gradient(n, ("y", "dy"), positive=True)
for fmt, shape in [("NHWC", (2, 4, 5, 3)), ("NCHW", (2, 3, 4, 5))]:
    case("BiasAddGrad-" + fmt, raw.BiasAddGrad, ("out_backprop", shape), data_format=fmt)
case("BiasAddGrad-2d", raw.BiasAddGrad, ("out_backprop", (6, 3)))

for padding in ["SAME", "VALID"]:
    for stride in [1, 2]:
        size = {("SAME", 1): (7, 8), ("SAME", 2): (4, 4), ("VALID", 1): (5, 6), ("VALID", 2): (3, 3)}[padding, stride]
        windows = dict(strides=[1, stride, stride, 1], padding=padding)
        tag = f"{padding}-{stride}"
        case("Conv2DBackpropFilter-" + tag, raw.Conv2DBackpropFilter, ("input", (2, 7, 8, 4)), ("out_backprop", (2, *size, 5)),
             integers={"filter_sizes": [3, 3, 4, 5]}, **windows)
        case("Conv2DBackpropInput-" + tag, raw.Conv2DBackpropInput, ("filter", (3, 3, 4, 5)), ("out_backprop", (2, *size, 5)),
             integers={"input_sizes": [2, 7, 8, 4]}, **windows)
        case("DepthwiseFilter-" + tag, raw.DepthwiseConv2dNativeBackpropFilter, ("input", (2, 7, 8, 4)), ("out_backprop", (2, *size, 8)),
             types=[tf.float32], integers={"filter_sizes": [3, 3, 4, 2]}, **windows)
        case("DepthwiseInput-" + tag, raw.DepthwiseConv2dNativeBackpropInput, ("filter", (3, 3, 4, 2)), ("out_backprop", (2, *size, 8)),
             types=[tf.float32], integers={"input_sizes": [2, 7, 8, 4]}, **windows)
        case("AvgPoolGrad-" + tag, raw.AvgPoolGrad, ("grad", (2, *size, 9)), types=[tf.float32],
             integers={"orig_input_shape": [2, 7, 8, 9]}, ksize=[1, 3, 3, 1], **windows)
case("Conv3DBackpropFilter", raw.Conv3DBackpropFilterV2, ("input", (2, 4, 5, 6, 2)), ("out_backprop", (2, 4, 5, 6, 3)), types=[tf.float32],
     integers={"filter_sizes": [3, 3, 3, 2, 3]}, strides=[1, 1, 1, 1, 1], padding="SAME")
case("SoftmaxCrossEntropy", raw.SoftmaxCrossEntropyWithLogits, ("features", (6, 5)), ("labels", (6, 5)), positive=True)
case("SparseSoftmaxCrossEntropy", raw.SparseSoftmaxCrossEntropyWithLogits, ("features", (6, 5)), types=[tf.float32, tf.float16],
     integers={"labels": [0, 1, 2, 3, 4, 0]})
case("StridedSliceGrad", raw.StridedSliceGrad, ("dy", (2, 3)),
     integers={"shape": [5, 4, 7], "begin": [1, 2, 0], "end": [5, 3, 7], "strides": [2, 1, 3]}, shrink_axis_mask=2)
case("ResizeBilinearGrad", raw.ResizeBilinearGrad, ("grads", (2, 8, 10, 3)), ("original_image", (2, 4, 5, 3)), types=[tf.float32],
     half_pixel_centers=True)
case("ResizeNearestGrad", raw.ResizeNearestNeighborGrad, ("grads", (2, 8, 10, 3)), types=[tf.float32], integers={"size": [4, 5]},
     half_pixel_centers=True)


def made(dtype, shapes, positive):
    rng = np.random.default_rng(3)
    return {name: tf.cast(rng.random(shape) + 0.5 if positive else rng.standard_normal(shape), dtype) for name, shape in shapes}


@pytest.mark.parametrize("name", CASES)
def test_operator(npu, name):
    operator, shapes, dtype, positive, integers, attributes = CASES[name]
    with tf.device(CPU):
        inputs = made(dtype, shapes, positive)
        wide = {k: tf.cast(v, tf.float64) for k, v in inputs.items()}
        try:
            want = operator(**wide, **integers, **attributes)
        except (tf.errors.InvalidArgumentError, tf.errors.NotFoundError, tf.errors.UnimplementedError):  # no kernel for float64
            want = operator(**{k: tf.cast(v, tf.float32) for k, v in inputs.items()}, **integers, **attributes)
    on_host = set(npu.host_operators())
    got = operator(**{k: tf.identity(v) for k, v in inputs.items()}, **integers, **attributes)
    assert set(npu.host_operators()) == on_host, "it ran on the CPU"
    got, want = (got, want) if isinstance(got, tuple) else ([got], [want])
    for a, b in zip(got, want):
        assert a.dtype == dtype and a.shape == b.shape
        with tf.device(CPU):
            a, b = numbers(a), numbers(b)
        np.testing.assert_allclose(a, b, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype] * max(1.0, np.abs(b).max(initial=0)))


def test_filter_gradient_with_gaps(npu):
    """Against NumPy: TensorFlow's CPU has it only where its oneDNN kernels are on, which an old CPU is not given."""
    rng = np.random.default_rng(3)
    x, g = rng.standard_normal((2, 9, 9, 4)), rng.standard_normal((2, 5, 5, 6))
    want = np.array([[np.einsum("nijc,nijo->co", x[:, 2 * i:2 * i + 5, 2 * j:2 * j + 5], g) for j in range(3)] for i in range(3)])
    on_host = set(npu.host_operators())
    got = raw.Conv2DBackpropFilter(input=tf.constant(x, tf.float32), filter_sizes=[3, 3, 4, 6], out_backprop=tf.constant(g, tf.float32),
                                   strides=[1, 1, 1, 1], padding="VALID", dilations=[1, 2, 2, 1])
    assert set(npu.host_operators()) == on_host, "it ran on the CPU"
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("channels", [3, 8, 70])
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_gradient_of_the_largest(npu, padding, channels, stride):
    """Among equals the first one gets the gradient."""
    rng = np.random.default_rng(4)
    x = rng.integers(0, 4, (2, 9, 8, channels)).astype("f")
    windows = dict(ksize=[1, 3, 2, 1], strides=[1, stride, stride, 1], padding=padding)

    def run():
        image = tf.constant(x)
        largest = raw.MaxPool(input=image, **windows)
        grad = tf.constant(np.random.default_rng(5).standard_normal(largest.shape).astype("f"))
        return raw.MaxPoolGrad(orig_input=image, orig_output=largest, grad=grad, **windows)

    with tf.device(CPU):
        want = run().numpy()
    np.testing.assert_allclose(run().numpy(), want, rtol=1e-6, atol=1e-6)
    assert "MaxPoolGrad" not in npu.host_operators()


@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
@pytest.mark.parametrize("factor", [1.0, 0.1])
@pytest.mark.parametrize("dtype", [tf.float32, tf.float16])
def test_batch_normalisation_in_training(npu, layout, factor, dtype):
    rng = np.random.default_rng(6)
    x, dy = (rng.standard_normal((4, 5, 6, 7)) * 2 + 1 for _ in range(2))
    scale, offset, mean, variance = (rng.random(7) + 0.5 for _ in range(4))
    epsilon = 1e-3
    # the reference, in float64
    m, v, n = x.mean((0, 1, 2)), x.var((0, 1, 2)), 4 * 5 * 6
    want_y = (x - m) / np.sqrt(v + epsilon) * scale + offset
    hat = (x - m) / np.sqrt(v + epsilon)
    want_scale, want_offset = (dy * hat).sum((0, 1, 2)), dy.sum((0, 1, 2))
    want_dx = scale / np.sqrt(v + epsilon) * (dy - want_offset / n - hat * want_scale / n)
    running = (1 - factor) * mean + factor * m, (1 - factor) * variance + factor * v * n / (n - 1)

    def put(a):
        return tf.constant(a if layout == "NHWC" else a.transpose(0, 3, 1, 2), dtype)

    def back(t):
        with tf.device(CPU):
            a = numbers(t)
        return a if layout == "NHWC" or a.ndim != 4 else a.transpose(0, 2, 3, 1)

    one = [tf.constant(a, tf.float32) for a in (scale, offset, mean, variance)]
    y, new_mean, new_variance, saved, saved_variance, reserve = raw.FusedBatchNormV3(
        x=put(x), scale=one[0], offset=one[1], mean=one[2] if factor != 1 else tf.zeros([0]),
        variance=one[3] if factor != 1 else tf.zeros([0]), epsilon=epsilon, exponential_avg_factor=factor, data_format=layout)
    tolerance = TOLERANCE[dtype]
    np.testing.assert_allclose(back(y), want_y, rtol=tolerance, atol=tolerance * 4)
    np.testing.assert_allclose(new_mean.numpy(), running[0], rtol=1e-3 if dtype == tf.float16 else 1e-5)
    np.testing.assert_allclose(new_variance.numpy(), running[1], rtol=1e-3 if dtype == tf.float16 else 1e-5)
    dx, dscale, doffset, _, _ = raw.FusedBatchNormGradV3(y_backprop=put(dy), x=put(x), scale=one[0], reserve_space_1=saved,
                                                         reserve_space_2=saved_variance, reserve_space_3=reserve, epsilon=epsilon,
                                                         data_format=layout)
    np.testing.assert_allclose(back(dx), want_dx, rtol=tolerance * 5, atol=tolerance * 5)
    np.testing.assert_allclose(dscale.numpy(), want_scale, rtol=tolerance * 5, atol=tolerance * 50)
    np.testing.assert_allclose(doffset.numpy(), want_offset, rtol=tolerance * 5, atol=tolerance * 50)
    assert not {"FusedBatchNormV3", "FusedBatchNormGradV3"} & set(npu.host_operators())


@pytest.mark.parametrize("traced", [False, True], ids=["eager", "function"])
@pytest.mark.parametrize("dtype", [tf.float32, tf.bfloat16, tf.int32, tf.int64, tf.uint8], ids=lambda t: t.name)
@pytest.mark.parametrize("name", ["reduce_max", "reduce_min", "reduce_mean"])
def test_reduction_of_no_values(name, dtype, traced):
    for axis in (0, 1, None, [0, 1]):
        call = lambda v: getattr(tf, name)(v, axis)  # noqa: E731
        with tf.device(CPU):
            want = call(tf.zeros([0, 3], dtype)).numpy()
        got = (tf.function(call) if traced else call)(tf.zeros([0, 3], dtype)).numpy()
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got.astype(np.float64), want.astype(np.float64), err_msg=str(axis))
