"""Frozen graphs of TensorFlow, inputs for them, and what TensorFlow's CPU kernels say of these. Run by the Python of .venv-tensorflow.

usage: python tensorflow_models.py FOLDER      writes NAME.pb, and NAME.npz with "in/INPUT", "out/PLACE/NODE:INDEX" and "tolerance"
"""

import os
import pathlib
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")

import numpy as np
import tensorflow as tf
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

raw = tf.raw_ops
random = np.random.default_rng(11)
MODELS = {}


def normal(*shape, dtype=np.float32):
    return random.standard_normal(shape).astype(dtype)


def case(tolerance=1e-5, **inputs):
    """The function's result for these inputs is a case."""
    def register(f):
        MODELS[f.__name__] = (f, inputs, tolerance)
        return f
    return register


def const(value, dtype=tf.int32):
    return tf.constant(value, dtype)


# --- families of operators: all results of a family are outputs of one graph ----------------------------------------------------
@case(x=normal(3, 5), y=normal(3, 5), p=np.abs(normal(3, 5)) + 0.1)
def elementwise(x, y, p):
    one = [raw.Abs, raw.Atan, raw.Ceil, raw.Cos, raw.Cosh, raw.Erf, raw.Exp, raw.Expm1, raw.Floor, raw.Neg, raw.Reciprocal,
           raw.Rint, raw.Round, raw.Sign, raw.Sin, raw.Sinh, raw.Square, raw.Tanh, raw.IsFinite, raw.IsNan, raw.Tan, raw.Asinh, raw.Erfc]
    positive = [raw.Log, raw.Log1p, raw.Rsqrt, raw.Sqrt]
    two = [raw.AddV2, raw.Sub, raw.Mul, raw.RealDiv, raw.FloorDiv, raw.FloorMod, raw.Maximum, raw.Minimum, raw.SquaredDifference,
           raw.Equal, raw.NotEqual, raw.Greater, raw.GreaterEqual, raw.Less, raw.LessEqual, raw.Atan2, raw.DivNoNan, raw.MulNoNan]
    return ([f(x=x) for f in one] + [f(x=p) for f in positive] + [f(x=x, y=y) for f in two] +
            [raw.Pow(x=p, y=y), raw.Xlogy(x=x, y=p), raw.Xdivy(x=x, y=p), raw.AddN(inputs=[x, y, p]),
             raw.ClipByValue(t=x, clip_value_min=-0.5, clip_value_max=0.5)])


@case(x=random.integers(-9, 9, (4, 3)).astype(np.int32), y=random.integers(1, 5, (3,)).astype(np.int32))
def integers(x, y):
    two = [raw.AddV2, raw.Mul, raw.FloorDiv, raw.FloorMod, raw.TruncateDiv, raw.TruncateMod, raw.Div, raw.Mod, raw.BitwiseAnd,
           raw.BitwiseOr, raw.BitwiseXor, raw.LeftShift]
    return [f(x=x, y=y) for f in two] + [raw.Invert(x=x), raw.Cast(x=x, DstT=tf.float32), raw.Cast(x=x, DstT=tf.int64),
                                         raw.Cast(x=x, DstT=tf.bool), raw.Bitcast(input=x, type=tf.float32)]


@case(a=random.integers(0, 2, (4,)).astype(bool), b=random.integers(0, 2, (4, 1)).astype(bool), x=normal(4, 3), y=normal(4, 3))
def choices(a, b, x, y):
    return [raw.LogicalAnd(x=a, y=b), raw.LogicalOr(x=a, y=b), raw.LogicalNot(x=a), raw.Select(condition=a, x=x, y=y),
            raw.SelectV2(condition=b, t=x, e=y), raw.Where(condition=a)]


@case(x=normal(2, 7) * 3)
def activations(x):
    return [raw.Relu(features=x), raw.Relu6(features=x), raw.Elu(features=x), raw.Selu(features=x), raw.LeakyRelu(features=x, alpha=0.3),
            raw.Sigmoid(x=x), raw.Softplus(features=x), raw.Softsign(features=x), raw.Softmax(logits=x), raw.LogSoftmax(logits=x)]


@case(x=normal(2, 3, 4))
def reductions(x):
    axes = const([0, 2])
    both = [f(input=x, axis=axes, keep_dims=keep) for f in (raw.Sum, raw.Mean, raw.Max, raw.Min, raw.Prod, raw.EuclideanNorm)
            for keep in (False, True)]
    truth = x > 0
    return both + [raw.All(input=truth, axis=const(1)), raw.Any(input=truth, axis=const([1])), raw.ArgMax(input=x, dimension=const(1)),
                   raw.ArgMin(input=x, dimension=const(-1), output_type=tf.int32), raw.Cumsum(x=x, axis=const(1), reverse=True),
                   raw.Cumsum(x=x, axis=const(2), exclusive=True), raw.Cumprod(x=x, axis=const(0)), raw.L2Loss(t=x),
                   *raw.TopKV2(input=x, k=const(2))]


@case(x=normal(2, 3, 4))
def shapes(x):
    return [raw.Reshape(tensor=x, shape=const([4, -1])), raw.ExpandDims(input=x, axis=const(-2)), raw.Squeeze(input=x[:, :1], axis=[1]),
            raw.Transpose(x=x, perm=const([2, 0, 1])), raw.Shape(input=x), raw.Size(input=x), raw.Rank(input=x),
            raw.ConcatV2(values=[x, x], axis=const(-1)), raw.Concat(concat_dim=const(0), values=[x, x]), raw.Pack(values=[x, x], axis=1),
            *raw.Unpack(value=x, num=3, axis=1), *raw.Split(axis=const(2), value=x, num_split=2),
            *raw.SplitV(value=x, size_splits=const([1, -1]), axis=const(1), num_split=2), raw.Tile(input=x, multiples=const([1, 2, 1])),
            raw.Pad(input=x, paddings=const([[0, 1], [1, 0], [2, 2]])),
            raw.PadV2(input=x, paddings=const([[0, 1], [1, 0], [2, 2]]), constant_values=3.0),
            raw.MirrorPad(input=x, paddings=const([[0, 0], [1, 1], [2, 1]]), mode="REFLECT"),
            raw.MirrorPad(input=x, paddings=const([[0, 0], [1, 1], [2, 1]]), mode="SYMMETRIC"), raw.ReverseV2(tensor=x, axis=const([0, -1])),
            raw.Slice(input=x, begin=const([0, 1, 0]), size=const([2, -1, 3])), x[:, 1:, ::-2], x[0, ..., tf.newaxis, 1:3],
            raw.BroadcastTo(input=x[:1], shape=const([5, 3, 4])), raw.Fill(dims=const([2, 2]), value=7.0), raw.ZerosLike(x=x),
            raw.OnesLike(x=x), raw.Range(start=const(2), limit=const(11), delta=const(3))]


@case(x=normal(5, 3, 4), i=np.array([[0, 4], [2, 1]], np.int32))
def indices(x, i):
    return [raw.GatherV2(params=x, indices=i, axis=const(0)), raw.GatherV2(params=x, indices=i[0] % 3, axis=const(1)),
            raw.GatherNd(params=x, indices=i % 3), raw.OneHot(indices=i, depth=const(5), on_value=2.0, off_value=-1.0, axis=1),
            raw.ScatterNd(indices=i[:, :1], updates=x[:2], shape=const([6, 3, 4])),
            raw.UnsortedSegmentSum(data=x, segment_ids=const([0, 2, 0, 1, 2]), num_segments=const(3))]


@case(a=normal(2, 3, 4), b=normal(2, 5, 4), m=normal(4, 6), v=normal(6))
def products(a, b, m, v):
    return [raw.MatMul(a=a[0], b=m), raw.MatMul(a=m, b=a[0], transpose_a=True, transpose_b=True), raw.BatchMatMulV2(x=a, y=b, adj_y=True),
            raw.BiasAdd(value=a[0] @ m, bias=v), tf.einsum("bij,bkj->bik", a, b), tf.einsum("bij,jk->bk", a, m),
            raw.BiasAdd(value=tf.ones((1, 6, 2, 2)), bias=v, data_format="NCHW")]


# --- images, channels last and second ------------------------------------------------------------------------------------------
def filters(*shape):
    return tf.constant(normal(*shape) / np.sqrt(np.prod(shape[:-1])).astype(np.float32))


@case(x=normal(2, 9, 8, 6))
def convolutions(x):
    w, d, g = filters(3, 3, 6, 5), filters(3, 2, 6, 2), filters(3, 3, 3, 4)
    ones = [1, 1, 1, 1]
    return [raw.Conv2D(input=x, filter=w, strides=ones, padding="SAME"), raw.Conv2D(input=x, filter=w, strides=ones, padding="VALID"),
            raw.Conv2D(input=x, filter=w, strides=[1, 2, 2, 1], padding="SAME"),
            raw.Conv2D(input=x, filter=w, strides=[1, 2, 1, 1], padding="EXPLICIT", explicit_paddings=[0, 0, 1, 2, 0, 1, 0, 0]),
            raw.Conv2D(input=x, filter=w, strides=ones, padding="SAME", dilations=[1, 2, 2, 1]),
            raw.DepthwiseConv2dNative(input=x, filter=d, strides=ones, padding="SAME"),
            raw.DepthwiseConv2dNative(input=x, filter=d, strides=[1, 2, 2, 1], padding="SAME"),
            raw.Conv2D(input=x[..., :6], filter=filters(1, 1, 6, 3), strides=[1, 2, 2, 1], padding="VALID"),
            raw.Conv2DBackpropInput(input_sizes=const([2, 18, 15, 4]), filter=filters(3, 3, 4, 6), out_backprop=x, strides=[1, 2, 2, 1],
                                    padding="SAME"),
            raw.Conv3D(input=tf.reshape(x, (2, 9, 4, 2, 6)), filter=filters(3, 2, 2, 6, 4), strides=[1, 2, 1, 1, 1], padding="SAME")]


@case(x=normal(2, 9, 8, 6))
def images(x):
    window = dict(ksize=[1, 3, 3, 1], strides=[1, 2, 2, 1])
    batch = raw.FusedBatchNormV3(x=x, scale=normal(6), offset=normal(6), mean=normal(6), variance=np.abs(normal(6)) + 0.5,
                                 is_training=False, epsilon=1e-3)
    return [raw.MaxPool(input=x, padding="SAME", **window), raw.MaxPool(input=x, padding="VALID", **window),
            raw.AvgPool(value=x, padding="SAME", **window), raw.AvgPool(value=x, padding="VALID", **window), batch.y,
            raw.LRN(input=x, depth_radius=2, bias=1.0, alpha=0.3, beta=0.75),
            raw.SpaceToDepth(input=x[:, :8], block_size=2), raw.DepthToSpace(input=tf.concat([x, x], 3), block_size=2),
            raw.SpaceToBatchND(input=x, block_shape=const([2, 3]), paddings=const([[1, 0], [0, 1]])),
            raw.BatchToSpaceND(input=tf.concat([x, x], 0), block_shape=const([2, 2]), crops=const([[1, 0], [0, 2]])),
            raw.ResizeBilinear(images=x, size=const([5, 13]), half_pixel_centers=True),
            raw.ResizeBilinear(images=x, size=const([17, 15]), align_corners=True),
            raw.ResizeNearestNeighbor(images=x, size=const([18, 4]), half_pixel_centers=True)]


# --- control flow --------------------------------------------------------------------------------------------------------------
@case(x=normal(4, 4), n=np.array(3, np.int32))
def control(x, n):
    """A loop whose turns are known at run time, branches, and functions that call each other."""
    @tf.function
    def turn(x):
        return tf.tanh(x @ x) + 0.1

    _, powers = tf.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, turn(y)), (0, x))
    chosen = tf.cond(tf.reduce_sum(x) > 0, lambda: turn(x) * 2, lambda: x - 1)
    one_of = tf.switch_case(n - 2, [lambda: x * 2, lambda: turn(x), lambda: x - 3])
    last = tf.switch_case(n + 5, [lambda: x * 2, lambda: turn(x) * 3])
    return [powers, chosen, one_of, last]


# --- whole models --------------------------------------------------------------------------------------------------------------
@case(tolerance=1e-4, image=normal(2, 96, 96, 3))
def mobilenet(image):
    if not hasattr(mobilenet, "net"):
        tf.keras.utils.set_random_seed(3)
        mobilenet.net = tf.keras.applications.MobileNetV2((96, 96, 3), alpha=0.35, weights=None)
    return [mobilenet.net(image, training=False)]


@case(tolerance=1e-4, tokens=random.integers(0, 50, (2, 12)).astype(np.int32), mask=np.array([[1] * 12, [1] * 7 + [0] * 5], np.int32))
def encoder(tokens, mask):
    """Two layers of BERT's kind, of Keras' own layers."""
    layers = tf.keras.layers
    if not hasattr(encoder, "net"):
        tf.keras.utils.set_random_seed(5)
        ids, keep = tf.keras.Input((12,), dtype=tf.int32), tf.keras.Input((12,), dtype=tf.int32)
        x = layers.Embedding(50, 32)(ids) + layers.Embedding(12, 32)(tf.range(12))
        for _ in range(2):
            a = layers.MultiHeadAttention(4, 8)(x, x, attention_mask=tf.cast(keep[:, None, :], tf.bool))
            x = layers.LayerNormalization(epsilon=1e-6)(x + a)
            f = layers.Dense(32)(layers.Dense(64, activation=tf.keras.activations.gelu)(x))
            x = layers.LayerNormalization(epsilon=1e-6)(x + f)
        encoder.net = tf.keras.Model([ids, keep], layers.Dense(3)(x[:, 0]))
    return [encoder.net([tokens, mask], training=False)]


@case(tolerance=1e-4, series=normal(3, 6, 8))
def recurrent(series):
    """Steps written out: loops over lists of tensors are not frozen into graphs that a card takes either."""
    if not hasattr(recurrent, "net"):
        tf.keras.utils.set_random_seed(9)
        recurrent.net = tf.keras.Sequential([tf.keras.layers.LSTM(10, unroll=True, input_shape=(6, 8)), tf.keras.layers.Dense(4)])
    return [recurrent.net(series, training=False)]


def write(folder, name):
    f, inputs, tolerance = MODELS[name]
    if name in ("mobilenet", "encoder", "recurrent"):
        f(**{k: tf.constant(v) for k, v in inputs.items()})  # makes the variables
    specs = {k: tf.TensorSpec(v.shape, v.dtype, name=k) for k, v in inputs.items()}
    concrete = tf.function(lambda **given: [tf.identity(y) for y in f(**given)]).get_concrete_function(**specs)
    # freezing makes the nodes of older graphs of tf.switch_case
    frozen = concrete if name == "control" else convert_variables_to_constants_v2(concrete, lower_control_flow=False)
    (folder / f"{name}.pb").write_bytes(frozen.graph.as_graph_def().SerializeToString())
    ordered = [inputs[t.name.split(":")[0]] for t in frozen.inputs]
    results = frozen(*[tf.constant(v) for v in ordered])
    arrays = {"tolerance": np.array(tolerance)}
    arrays |= {f"in/{t.name.split(':')[0]}": v for t, v in zip(frozen.inputs, ordered)}
    arrays |= {f"out/{i:03}/{t.name}": r.numpy() for i, (t, r) in enumerate(zip(frozen.outputs, results))}
    np.savez(folder / f"{name}.npz", **arrays)


# --- graphs that are refused, and one with an unknown size ---------------------------------------------------------------------
def graph_of(f, *specs):
    return convert_variables_to_constants_v2(tf.function(f).get_concrete_function(*specs), lower_control_flow=False).graph.as_graph_def()


def write_others(folder):
    x = tf.TensorSpec((2, 3), tf.float32, name="x")

    def older_loop():
        with tf.Graph().as_default() as graph:
            x = tf.compat.v1.placeholder(tf.float32, (2,), name="x")
            tf.compat.v1.disable_control_flow_v2()
            _, y = tf.compat.v1.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * 2), (0, x))
            tf.identity(y, name="y")
            tf.compat.v1.enable_control_flow_v2()
        return graph.as_graph_def()

    others = {"no_converter": graph_of(lambda x: tf.raw_ops.Ndtri(x=x), x), "texts": graph_of(lambda x: tf.strings.as_string(x), x),
              "older_loop": older_loop()}
    dense = tf.constant(normal(3, 4))
    others["any_batch"] = graph_of(lambda x: tf.identity(tf.nn.relu(x @ dense), name="y"), tf.TensorSpec((None, 3), tf.float32, name="x"))
    broken = graph_of(lambda x: tf.identity(x + 1.0, name="y"), x)
    for node in broken.node:
        if node.op == "AddV2":
            node.input[1] = "nobody"
    others["nobody"] = broken
    def changed(graph, op, attribute, value):
        for node in graph.node:
            if node.op == op:
                node.attr[attribute].CopyFrom(tf.compat.v1.AttrValue(**value))
        return graph

    image = tf.TensorSpec((1, 4, 4, 4), tf.float32, name="x")
    zero = tf.compat.v1.AttrValue.ListValue(i=[1, 0, 1, 1])
    others["zero_stride"] = changed(graph_of(lambda x: raw.Conv2D(input=x, filter=tf.ones((3, 3, 4, 2)), strides=[1, 1, 1, 1], padding="SAME"),
                                             image), "Conv2D", "strides", {"list": zero})
    far = tf.compat.v1.AttrValue.ListValue(i=[1, 1 << 40, 1, 1])
    others["wide_stride"] = changed(graph_of(lambda x: raw.Conv2D(input=x, filter=tf.ones((3, 3, 4, 2)), strides=[1, 1, 1, 1], padding="SAME"),
                                             image), "Conv2D", "strides", {"list": far})
    others["wide_block"] = changed(graph_of(lambda x: raw.DepthToSpace(input=x, block_size=2), image), "DepthToSpace", "block_size", {"i": 1 << 32})

    def constants(*shapes):
        """Of one value each, which stands for all elements."""
        graph = graph_of(lambda x: tf.identity(x + 1.0, name="y"), x)
        for k, shape in enumerate(shapes):
            node = graph.node.add(name=f"wide{k}", op="Const")
            node.attr["dtype"].type = tf.float32.as_datatype_enum
            value = node.attr["value"].tensor
            value.dtype = tf.float32.as_datatype_enum
            value.float_val.append(1.5)
            for size in shape:
                value.tensor_shape.dim.add().size = size
        return graph

    others["wide_constant"], others["wide_constants"] = constants((1 << 15, 1 << 15)), constants((1 << 10,), ((1 << 29) - 1,))
    for name, graph in others.items():
        (folder / f"{name}.pb").write_bytes(graph.SerializeToString())
    np.savez(folder / "any_batch.npz", dense=dense.numpy())


if __name__ == "__main__":
    for model in MODELS:
        write(pathlib.Path(sys.argv[1]), model)
    write_others(pathlib.Path(sys.argv[1]))
