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


folder = pathlib.Path(__file__).parent / "corpus" / "tensorflow"
folder.mkdir(parents=True, exist_ok=True)
for name, (f, spec) in SEEDS.items():
    frozen = convert_variables_to_constants_v2(tf.function(lambda x: tf.identity(f(x))).get_concrete_function(spec), lower_control_flow=False)
    (folder / name).write_bytes(frozen.graph.as_graph_def().SerializeToString())
