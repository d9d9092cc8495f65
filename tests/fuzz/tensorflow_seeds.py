"""Writes the seeds of the fuzz target tensorflow: small graphs of most kinds of fields, into corpus/tensorflow beside this file.
Run by the Python of .venv-tensorflow."""

import os
import pathlib

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

raw = tf.raw_ops
SEEDS = {}


def seed(*shape, dtype=tf.float32):
    def register(f):
        SEEDS[f.__name__] = (f, tf.TensorSpec(shape, dtype, name="x"))
        return f
    return register


@seed(1, 4, 4, 2)
def images(x):
    y = raw.Conv2D(input=x, filter=tf.ones((3, 3, 2, 3)), strides=[1, 2, 2, 1], padding="SAME", dilations=[1, 1, 1, 1])
    return raw.MaxPool(input=tf.nn.relu(y + 1.0), ksize=[1, 2, 2, 1], strides=[1, 1, 1, 1], padding="VALID")


@seed(None, 3)
def products(x):
    return tf.nn.softmax(tf.einsum("ij,jk->ik", x, tf.constant([[1.0, 2.0]] * 3)))


@seed(2, 3)
def shapes(x):
    return tf.concat([tf.transpose(x)[1:, ::-1], tf.tile(x[:, :2], [1, 1])], 0) + tf.cast(tf.shape(x)[0], tf.float32)


@seed(2)
def control(x):
    _, y = tf.while_loop(lambda i, y: i < tf.size(x), lambda i, y: (i + 1, y * 2), (0, x))
    return tf.cond(y[0] > 0, lambda: y + 1, lambda: y)


@seed(2, dtype=tf.int32)
def values(x):
    half = raw.Cast(x=x, DstT=tf.float16) + tf.constant(0.5, tf.float16)
    return raw.Cast(x=half, DstT=tf.float64) + tf.constant([1.5, 2.5], tf.float64)


@seed(1, 3, 3, 2)
def wide_pictures(x):
    """Sizes for which nobody has the memory."""
    near = raw.ResizeNearestNeighbor(images=x, size=[2**31 - 1, 1])
    return tf.reduce_max(near) + tf.reduce_max(raw.ResizeBilinear(images=x, size=[3, 2**31 - 1]))


@seed(4, 3)
def rows(x):
    """Sizes that data decide, and rows that belong together."""
    some, place = raw.Unique(x=raw.Cast(x=x[:, 0], DstT=tf.int32))
    part = raw.DynamicPartition(data=x, partitions=[0, 1, 1, 0], num_partitions=2)
    sums = raw.UnsortedSegmentMax(data=x, segment_ids=place, num_segments=tf.size(some))
    mean = raw.SparseSegmentMeanGrad(grad=x, indices=[3, 1], segment_ids=[0, 1], output_dim0=4)
    return tf.reduce_sum(sums) + tf.reduce_sum(part[0]) + tf.reduce_sum(mean) + raw.SegmentSum(data=x, segment_ids=[0, 0, 1, 1])[0]


@seed(1, 4, 5, 3)
def pictures(x):
    y = raw.CropAndResize(image=raw.AdjustHue(images=x, delta=0.25), boxes=[[0.0, 0.1, 0.9, 1.0]], box_ind=[0], crop_size=[3, 2], method="nearest")
    best = raw.NonMaxSuppressionV3(boxes=x[0, :, :4, 0], scores=[0.5] * 4, max_output_size=2, iou_threshold=0.5, score_threshold=0.1)
    return raw.RGBToHSV(images=raw.AdjustContrastv2(images=y, contrast_factor=2.0)) + raw.Cast(x=tf.size(best), DstT=tf.float32)


@seed(3, 3)
def systems(x):
    band = raw.MatrixBandPart(input=x, num_lower=1, num_upper=-1)
    y = raw.MatrixTriangularSolve(matrix=raw.MatrixSolve(matrix=band, rhs=x), rhs=x, lower=False, adjoint=True)
    turned = raw.ReverseSequence(input=raw.CheckNumerics(tensor=y, message="here"), seq_lengths=[1, 3, 2], seq_dim=1, batch_dim=0)
    return raw.FakeQuantWithMinMaxArgs(inputs=turned, min=-1, max=2, num_bits=4)


folder = pathlib.Path(__file__).parent / "corpus" / "tensorflow"
folder.mkdir(parents=True, exist_ok=True)
for name, (f, spec) in SEEDS.items():
    frozen = convert_variables_to_constants_v2(tf.function(lambda x, f=f: tf.identity(f(x))).get_concrete_function(spec), lower_control_flow=False)
    (folder / name).write_bytes(frozen.graph.as_graph_def().SerializeToString())
