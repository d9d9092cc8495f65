"""Networks that train on the NPU as on TensorFlow's CPU kernels: the same losses step by step, from the same weights."""

import numpy as np
import pytest
import tensorflow as tf

from tests.tensorflow.compare import CPU

pytestmark = pytest.mark.usefixtures("npu")
L = tf.keras.layers
SAMPLES, CLASSES = 16, 4


def cnn():
    image = L.Input((16, 16, 3))
    h = L.ReLU()(L.BatchNormalization()(L.Conv2D(8, 3, strides=2, padding="same", use_bias=False)(image)))
    skip = h
    h = L.ReLU(6.0)(L.BatchNormalization()(L.DepthwiseConv2D(3, padding="same", use_bias=False)(h)))
    h = L.Add()([L.Conv2D(8, 1)(h), skip])
    h = L.AveragePooling2D()(L.MaxPooling2D(3, 1, padding="same")(h))
    return tf.keras.Model(image, L.Dense(CLASSES)(L.GlobalAveragePooling2D()(h)))


def dense():
    tokens = L.Input((4,), dtype="int32")
    h = L.Flatten()(L.Embedding(50, 8)(tokens))
    return tf.keras.Model(tokens, L.Dense(CLASSES)(L.Dense(16, activation="tanh")(h)))


def transformer():
    tokens = L.Input((12,), dtype="int32")
    h = L.Embedding(50, 16)(tokens)
    for _ in range(2):
        h = L.LayerNormalization()(h + L.MultiHeadAttention(2, 8)(h, h, use_causal_mask=True))
        h = L.LayerNormalization()(h + L.Dense(16)(L.Dense(32, activation="gelu")(h)))
    return tf.keras.Model(tokens, L.Dense(CLASSES)(h[:, 0]))


def lstm():
    return tf.keras.Sequential([L.Input((10,), dtype="int32"), L.Embedding(50, 8), L.LSTM(8), L.Dense(CLASSES)])


def gru():
    return tf.keras.Sequential([L.Input((10,), dtype="int32"), L.Embedding(50, 8), L.Bidirectional(L.GRU(6)), L.Dense(CLASSES)])


def upsampling():
    image = L.Input((6, 6, 3))
    h = L.LeakyReLU()(L.Conv2DTranspose(4, 3, strides=2, padding="same")(image))
    h = L.ELU()(L.Conv2D(4, 3)(L.UpSampling2D(interpolation="bilinear")(h)))
    return tf.keras.Model(image, L.Dense(CLASSES)(L.Flatten()(h)))


MODELS = {f.__name__: f for f in (cnn, dense, transformer, lstm, gru, upsampling)}
K = tf.keras.optimizers
OPTIMIZERS = {
    "sgd": lambda: K.SGD(0.05), "momentum": lambda: K.SGD(0.05, momentum=0.9, nesterov=True), "adam": lambda: K.Adam(0.002),
    "adamw": lambda: K.AdamW(0.002), "rmsprop": lambda: K.RMSprop(0.002), "adagrad": lambda: K.Adagrad(0.02),
    "adadelta": lambda: K.Adadelta(0.5), "adamax": lambda: K.Adamax(0.002), "ftrl": lambda: K.Ftrl(0.02), "nadam": lambda: K.Nadam(0.002),
    "legacy-sgd": lambda: K.legacy.SGD(0.05), "legacy-momentum": lambda: K.legacy.SGD(0.05, momentum=0.9),
    "legacy-adam": lambda: K.legacy.Adam(0.002), "legacy-rmsprop": lambda: K.legacy.RMSprop(0.002, centered=True),
    "legacy-adagrad": lambda: K.legacy.Adagrad(0.02), "legacy-adadelta": lambda: K.legacy.Adadelta(0.5),
    "legacy-adamax": lambda: K.legacy.Adamax(0.002), "legacy-ftrl": lambda: K.legacy.Ftrl(0.02),
}


def data(model):
    rng = np.random.default_rng(0)
    shape, dtype = model.input_shape[1:], model.input.dtype
    x = rng.integers(0, 50, (SAMPLES, *shape)) if dtype.is_integer else rng.standard_normal((SAMPLES, *shape))
    return x.astype(dtype.as_numpy_dtype), rng.integers(0, CLASSES, SAMPLES).astype("int32")


def train(build, optimizer, weights, steps=6):
    model = build()
    model.set_weights(weights)
    optimizer = optimizer()
    loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    @tf.function
    def step(x, y):
        with tf.GradientTape() as tape:
            loss = loss_of(y, model(x, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss

    x, y = (tf.constant(a) for a in data(model))
    return [float(step(x, y)) for _ in range(steps)], model.get_weights()


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_every_optimizer(optimizer):
    check(dense, OPTIMIZERS[optimizer])


@pytest.mark.parametrize("model", [m for m in MODELS if m != "dense"])
def test_every_model(model):
    check(MODELS[model], OPTIMIZERS["sgd"])


def check(build, optimizer):
    tf.keras.utils.set_random_seed(7)
    with tf.device(CPU):
        weights = build().get_weights()
        want, want_weights = train(build, optimizer, weights)
    got, got_weights = train(build, optimizer, weights)
    assert want[-1] < want[0]
    np.testing.assert_allclose(got, want, rtol=2e-4)
    for a, b in zip(got_weights, want_weights):
        np.testing.assert_allclose(a, b, rtol=1e-2, atol=2e-3)


def test_keras(tmp_path):
    """compile, fit with dropout and metrics, evaluate, predict, callbacks, a dataset with a last short batch."""
    tf.keras.utils.set_random_seed(1)
    model = tf.keras.Sequential([L.Input((8,)), L.Dense(32, activation="relu"), L.Dropout(0.2), L.Dense(CLASSES)])
    model.compile(K.Adam(0.01), tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    x = np.random.default_rng(0).standard_normal((150, 8)).astype("f")
    y = x[:, :CLASSES].argmax(1)
    dataset = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(150, seed=1).batch(32).prefetch(2)
    history = model.fit(dataset, epochs=15, verbose=0, callbacks=[tf.keras.callbacks.TensorBoard(tmp_path / "logs")]).history
    assert history["loss"][-1] < 0.5 * history["loss"][0] and history["accuracy"][-1] > 0.75
    loss, accuracy = model.evaluate(x, y, verbose=0)
    predicted = model.predict(x, verbose=0)
    assert predicted.shape == (150, CLASSES) and np.isclose((predicted.argmax(1) == y).mean(), accuracy, atol=1e-6)
    assert list((tmp_path / "logs" / "train").iterdir())
    with tf.device(CPU):
        assert np.isclose(float(tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)(y, predicted)), loss, rtol=1e-4)


@pytest.mark.parametrize("form", ["checkpoint", "saved_model", "keras", "h5"])
def test_what_is_saved_is_read_on_either_device(tmp_path, form):
    tf.keras.utils.set_random_seed(2)
    x = np.random.default_rng(0).standard_normal((4, 16, 16, 3)).astype("f")
    here, there = cnn(), None

    def save(model):
        path = str(tmp_path / ("model" + {"keras": ".keras", "h5": ".h5"}.get(form, "")))
        if form == "checkpoint":
            return tf.train.Checkpoint(model=model).save(path)
        model.save(path)
        return path

    def load(path):
        if form == "checkpoint":
            model = cnn()
            tf.train.Checkpoint(model=model).restore(path).assert_consumed()
            return model
        return tf.keras.models.load_model(path)

    path = save(here)
    with tf.device(CPU):
        there = load(path)
        want = there(tf.constant(x)).numpy()
    np.testing.assert_allclose(here(tf.constant(x)).numpy(), want, rtol=1e-4, atol=1e-5)
    with tf.device(CPU):
        path = save(there)
    np.testing.assert_allclose(load(path)(tf.constant(x)).numpy(), want, rtol=1e-4, atol=1e-5)


def test_mixed_precision():
    tf.keras.utils.set_random_seed(3)
    tf.keras.mixed_precision.set_global_policy("mixed_float16")
    try:
        model = tf.keras.Sequential([L.Input((8,)), L.Dense(32, activation="relu"), L.Dense(CLASSES), L.Activation("linear", dtype="float32")])
        model.compile(K.Adam(0.01), tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
        x = np.random.default_rng(0).standard_normal((128, 8)).astype("f")
        history = model.fit(x, x[:, :CLASSES].argmax(1), epochs=15, verbose=0).history
    finally:
        tf.keras.mixed_precision.set_global_policy("float32")
    assert isinstance(model.optimizer, tf.keras.mixed_precision.LossScaleOptimizer)
    assert history["loss"][-1] < 0.5 * history["loss"][0]
