"""Random operators with seeds: each node of a function has a row of its own, as on TensorFlow's CPU, and the numbers are TensorFlow's."""

import threading

import numpy as np
import pytest
import tensorflow as tf

from tests.tensorflow.compare import CPU

pytestmark = pytest.mark.usefixtures("npu")


def draw():
    return tf.random.uniform([3], seed=5)


def alike():
    @tf.function
    def f():
        return draw(), draw(), tf.random.normal([2], seed=5)

    return f


def called_twice():
    inner = tf.function(draw)

    @tf.function
    def f():
        return inner(), inner(), draw()

    return f


def in_a_loop():
    @tf.function
    def f():
        rows = tf.TensorArray(tf.float32, 4)
        for i in tf.range(4):
            tf.autograph.experimental.set_loop_options(parallel_iterations=1)  # else TensorFlow's steps draw in any order
            rows = rows.write(i, draw() + (draw() if i % 2 == 0 else 0.0))
        return rows.stack(), draw()

    return f


def in_branches():
    state = tf.Variable(0, dtype=tf.int64)

    @tf.function
    def f():
        state.assign_add(1)
        return draw() if state % 3 == 0 else 10.0 + draw(), draw()

    return f


def many_kinds():
    @tf.function
    def f():
        made = []
        for _ in range(2):
            made += [tf.random.shuffle(tf.range(9), seed=2), tf.random.categorical(tf.ones([1, 9]), 5, seed=3), tf.random.gamma([2], 1.0, seed=3),
                     tf.random.poisson([3], 4.0, seed=3), tf.random.truncated_normal([3], seed=4), tf.random.uniform([4], 0, 99, tf.int32, seed=4),
                     tf.nn.dropout(tf.ones([16]), 0.5, seed=6)]
            made += tf.raw_ops.SampleDistortedBoundingBoxV2(image_size=[40, 50, 3], bounding_boxes=tf.constant([[[0.1, 0.1, 0.9, 0.9]]]), min_object_covered=0.1,
                                                            seed=7, seed2=8)
        return made

    return f


@pytest.mark.parametrize("make", [alike, called_twice, in_a_loop, in_branches, many_kinds])
def test_rows_are_those_of_the_cpu(make):
    tf.random.set_seed(1)
    got = [[value.numpy() for value in f()] for f in [make()] for _ in range(4)]
    tf.random.set_seed(1)
    with tf.device(CPU):
        want = [[value.numpy() for value in f()] for f in [make()] for _ in range(4)]
    for a, b in zip(got, want):
        for x, y in zip(a, b):
            np.testing.assert_allclose(x, y, rtol=1e-6)
    if make is alike:
        np.testing.assert_array_equal(got[0][0], got[0][1])
        assert (got[0][0] != got[1][0]).all()


def test_a_new_function_begins_anew():
    tf.random.set_seed(1)
    first, second = alike(), alike()
    begin = first()[0].numpy()
    first()
    np.testing.assert_array_equal(second()[0].numpy(), begin)


def test_operators_by_themselves_go_on():
    """As TensorFlow's eager operators do: one row for all with the same attributes, which functions do not touch."""
    tf.random.set_seed(1)
    f = alike()
    got = [draw().numpy(), f() and draw().numpy(), draw().numpy()]
    tf.random.set_seed(1)
    with tf.device(CPU):
        want = [draw().numpy() for _ in range(3)]
    np.testing.assert_array_equal(got, want)


def test_threads_share_the_row_of_a_function():
    f, rows, lock = alike(), [], threading.Lock()
    f()

    def take():
        for _ in range(20):
            row = f()[0].numpy().tolist()
            with lock:
                rows.append(tuple(row))

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(rows) == len(set(rows)) == 80
