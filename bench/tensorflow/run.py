"""Steps of networks of Keras on the virtual NPU against TensorFlow's CPU kernels: both in processes of their own, with the same threads,
in turn. Sizes are those of the guide's examples; the losses of both are compared.

    ./dev bench tensorflow [--models mnist,resnet50,bert,lstm,resnet50-inference] [--rounds 5] [--threads 2]

With --sinking the NPU against itself: 32 steps in one call, whose loop takes its batches from an iterator, and 32 calls of a step.

    ./dev bench tensorflow --sinking [--models mlp,mnist,bert,mlp-slow-data]

The data of mlp-slow-data take 5 ms a batch.
"""
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
MODELS = ["mnist", "resnet50", "bert", "lstm", "resnet50-inference"]
SUNK, STEPS = ["mlp", "mnist", "bert", "mlp-slow-data"], 32


def build(name):
    """(model, inputs, labels, optimizer)"""
    import numpy as np
    import tensorflow as tf

    layers, rng = tf.keras.layers, np.random.default_rng(0)
    if name.startswith("mlp"):
        model = tf.keras.Sequential([layers.Dense(64, activation="relu", input_shape=(32,)), layers.Dense(10)])
        return model, rng.random((32, 32), np.float32), rng.integers(0, 10, 32), tf.keras.optimizers.SGD(1e-2)
    if name == "mnist":
        model = tf.keras.Sequential([
            layers.Conv2D(32, 3, activation="relu", input_shape=(28, 28, 1)), layers.MaxPooling2D(), layers.Conv2D(64, 3, activation="relu"),
            layers.MaxPooling2D(), layers.Flatten(), layers.Dense(128, activation="relu"), layers.Dense(10)])
        return model, rng.random((128, 28, 28, 1), np.float32), rng.integers(0, 10, 128), tf.keras.optimizers.Adam(1e-3)
    if name.startswith("resnet50"):
        model = tf.keras.applications.ResNet50(weights=None, classes=10, classifier_activation=None)
        return model, rng.random((8, 224, 224, 3), np.float32), rng.integers(0, 10, 8), tf.keras.optimizers.SGD(1e-4, momentum=0.9)
    if name == "bert":
        tokens = layers.Input((128,), dtype="int32")
        h = layers.Embedding(1000, 128)(tokens)
        for _ in range(4):
            h = layers.LayerNormalization()(h + layers.MultiHeadAttention(4, 32)(h, h))
            h = layers.LayerNormalization()(h + layers.Dense(128)(layers.Dense(512, activation="gelu")(h)))
        return tf.keras.Model(tokens, layers.Dense(4)(h[:, 0])), rng.integers(0, 1000, (4, 128)), rng.integers(0, 4, 4), tf.keras.optimizers.Adam(1e-4)
    model = tf.keras.Sequential([layers.Embedding(50, 64), layers.LSTM(64), layers.Dense(4)])
    return model, rng.integers(0, 50, (64, 32)), rng.integers(0, 4, 64), tf.keras.optimizers.Adam(1e-3)


def functions(name, device, threads):
    """The step of a model as a function, and its arguments; device is npu, cpu, or xla for TensorFlow's own compiler."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    if device == "npu":
        import npu_device
        npu_device.open().as_default()
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(threads) if device != "npu" else None
    tf.keras.utils.set_random_seed(1)
    model, x, y, optimizer = build(name)
    x, y = tf.constant(x), tf.constant(y)
    loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    @tf.function(jit_compile=device == "xla")
    def train(x, y):
        with tf.GradientTape() as tape:
            loss = loss_of(y, model(x, training=True))
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        return loss

    @tf.function(jit_compile=device == "xla")
    def infer(x, y):
        return tf.reduce_sum(model(x, training=False))

    if model.built and not name.endswith("inference"):
        optimizer.build(model.trainable_variables)
    return infer if name.endswith("inference") else train, (x, y)


def session(name, device, threads):
    run, (x, y) = functions(name, device, threads)

    def step(values=False):
        value = run(x, y).numpy()
        return value if values else None

    return step


def slow(x, y, batch):
    import time

    import tensorflow as tf

    x = tf.numpy_function(lambda v: (time.sleep(0.005), v)[1], [x], batch[0].dtype)
    return tf.ensure_shape(x, batch[0].shape), y


def sinking(name, way, threads):
    """32 steps: sunk, or one by one."""
    train, batch = functions(name, "npu", threads)
    import npu_device
    import tensorflow as tf

    npu_device.set_npu_loop_size(STEPS)
    data = tf.data.Dataset.from_tensors(batch).repeat()
    if name.endswith("slow-data"):
        options = tf.data.Options()
        options.experimental_optimization.apply_default_optimizations = options.autotune.enabled = False  # they read ahead, too
        data = data.map(lambda x, y: slow(x, y, batch)).with_options(options)
    else:
        data = data.prefetch(2)
    iterator = iter(data)

    @tf.function
    def loop(iterator, steps):
        total = 0.0
        for _ in tf.range(steps):
            total += train(*next(iterator))
        return total

    def step(values=False):
        if way == "sunk":
            total = loop(iterator, tf.constant(STEPS))
        else:
            total = 0.0
            for _ in range(STEPS):
                total += train(*next(iterator))
        total = total.numpy()
        return total if values else None

    return step


if __name__ == "__main__":
    from bench.framework import main

    if "--sinking" in sys.argv:
        main(__file__, __doc__, SUNK, sinking, ("sunk", "steps"), "tensorflow", "step by step", flag="sinking")
    else:
        main(__file__, __doc__, MODELS, session, ("npu", "cpu"), "tensorflow", "TensorFlow CPU")
