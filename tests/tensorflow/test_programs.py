"""Programs as users write them, whole: the same numbers on the NPU and on TensorFlow's CPU kernels, from the same seeds."""

import numpy as np
import pytest
import tensorflow as tf

from tests.tensorflow.compare import CPU, is_on

pytestmark = pytest.mark.usefixtures("npu")
keras, L = tf.keras, tf.keras.layers


def uniform(*shape, seed=0):
    return np.random.default_rng(seed).random(shape).astype("f")


def gradient_penalty():
    """A GAN with two optimizers; the critic's loss has a gradient in it, of which the gradient is taken."""
    critic = keras.Sequential([L.Input((8, 8, 1)), L.Conv2D(4, 5, strides=2, padding="same"), L.LeakyReLU(0.2), L.LayerNormalization(),
                               L.Dropout(0.3), L.Flatten(), L.Dense(1)])
    maker = keras.Sequential([L.Input((4,)), L.Dense(16, use_bias=False), L.BatchNormalization(), L.Reshape((2, 2, 4)), L.UpSampling2D(4),
                              L.Conv2D(1, 3, padding="same", activation="tanh")])
    of_critic, of_maker = keras.optimizers.Adam(2e-3, beta_1=0.5), keras.optimizers.Adam(2e-3, beta_1=0.5)

    @tf.function
    def step(real):
        with tf.GradientTape() as tape:
            made = maker(tf.random.normal((8, 4)), training=True)
            between = real + tf.random.normal([8, 1, 1, 1]) * (made - real)
            with tf.GradientTape() as inner:
                inner.watch(between)
                judged = critic(between, training=True)
            length = tf.sqrt(tf.reduce_sum(inner.gradient(judged, between) ** 2, axis=[1, 2, 3]))
            loss = tf.reduce_mean(critic(made)) - tf.reduce_mean(critic(real)) + 10.0 * tf.reduce_mean((length - 1.0) ** 2)
        of_critic.apply_gradients(zip(tape.gradient(loss, critic.trainable_variables), critic.trainable_variables))
        with tf.GradientTape() as tape:
            loss_of_maker = -tf.reduce_mean(critic(maker(tf.random.normal((8, 4)), training=True)))
        of_maker.apply_gradients(zip(tape.gradient(loss_of_maker, maker.trainable_variables), maker.trainable_variables))
        return tf.stack([loss, loss_of_maker])

    return critic.weights[0], [step(tf.constant(uniform(8, 8, 8, 1))) for _ in range(2)]


def texts():
    """TextVectorization within tf.data, an embedding, a convolution over words."""
    documents = ["the quick brown fox", "jumps over the lazy dog", "hello big world", "the fox and the dog", "quick hello"] * 4
    words = L.TextVectorization(max_tokens=30, output_sequence_length=6)
    words.adapt(documents)
    data = tf.data.Dataset.from_tensor_slices((documents, np.arange(20) % 2)).shuffle(20, seed=1).batch(8)
    model = keras.Sequential([L.Input((6,), dtype="int64"), L.Embedding(30, 8), L.Conv1D(8, 3, activation="relu"), L.GlobalMaxPooling1D(),
                              L.Dense(1, activation="sigmoid")])
    model.compile("adam", "binary_crossentropy")
    history = model.fit(data.map(lambda text, label: (words(text), label)).prefetch(2), epochs=3, verbose=0).history
    return model.weights[0], [history["loss"], model.predict(words(documents[:3]), verbose=0)]


def ragged():
    """Rows of different lengths through a lookup and sums; products with a sparse matrix and their gradient."""
    rows = tf.ragged.constant([[3, 1, 4], [2], [1, 5, 9, 2], [6]])
    table, weight = tf.Variable(uniform(10, 4)), tf.Variable(uniform(3, 2))
    sparse = tf.sparse.from_dense([[0.0, 2.0, 0.0], [1.0, 0.0, 3.0]])
    with tf.GradientTape(persistent=True) as tape:
        of_rows = tf.reduce_sum(tf.reduce_mean(tf.gather(table, rows), 1) ** 2)
        of_sparse = tf.reduce_sum(tf.sparse.sparse_dense_matmul(sparse, weight) ** 2)
    return table, [of_rows, tf.convert_to_tensor(tape.gradient(of_rows, table)), tape.gradient(of_sparse, weight),
                   tf.reduce_sum(tf.cast(rows, tf.float32), 1), tf.nn.embedding_lookup_sparse(table, rows.to_sparse(), None, combiner="mean")]


def tapes():
    """Gradients of gradients, Jacobians, forward accumulation, a gradient of one's own."""
    x = tf.Variable([1.0, 2.0, 3.0])
    with tf.GradientTape(persistent=True) as outer:
        with tf.GradientTape() as inner:
            y = tf.reduce_sum(tf.exp(x) * x**3)
        slope = inner.gradient(y, x)
        square = x * x

    @tf.custom_gradient
    def clipped(v):
        return tf.identity(v), lambda d: tf.clip_by_norm(d, 0.5)

    with tf.GradientTape() as tape:
        z = tf.reduce_sum(clipped(x) * 10.0)
    with tf.autodiff.ForwardAccumulator(x, tf.ones(3)) as forward:
        w = tf.tanh(x) * x
    return x, [slope, outer.jacobian(slope, x), outer.jacobian(square, x), tape.gradient(z, x), forward.jvp(w)]


@pytest.mark.parametrize("program", [gradient_penalty, texts, ragged, tapes], ids=lambda f: f.__name__)
def test_a_program_gives_the_same_on_both(program):
    keras.utils.set_random_seed(5)
    with tf.device(CPU):
        variable, want = program()
        assert is_on(variable, "CPU:0")
    keras.utils.set_random_seed(5)
    variable, got = program()
    assert is_on(variable, "NPU:0") and len(got) == len(want)
    for a, b in zip(got, want):
        a, b = np.asarray(a), np.asarray(b)
        assert a.dtype == b.dtype and a.shape == b.shape and np.isfinite(b).all()
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
