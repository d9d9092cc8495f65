"""Layers of Keras that train on the NPU as on TensorFlow's CPU kernels, and recurrent layers in all their forms: as one operator of the NPU, and
as the loops that they stay with masks or with cells that no operator has."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

from tests.tensorflow.compare import CPU, NPU

pytestmark = pytest.mark.usefixtures("npu")
L = tf.keras.layers
IMAGE, SEQUENCE, VOLUME = (9, 8, 4), (7, 5), (5, 6, 4, 2)
LAYERS = {
    "separable": (IMAGE, lambda: L.SeparableConv2D(6, 3, padding="same", depth_multiplier=2)),
    "separable-1d": (SEQUENCE, lambda: L.SeparableConv1D(6, 3)),
    "depthwise": (IMAGE, lambda: L.DepthwiseConv2D(3, strides=2, padding="same")),
    "dilated": (IMAGE, lambda: L.Conv2D(6, 3, dilation_rate=2)),
    "groups": (IMAGE, lambda: L.Conv2D(6, 3, groups=2)),
    "transposed": (IMAGE, lambda: L.Conv2DTranspose(5, 3, strides=2, padding="same")),
    "wide-3x3": ((14, 14, 32), lambda: L.Conv2D(32, 3, padding="same", activation="relu")),
    "pointwise": ((14, 14, 8), lambda: L.Conv2D(16, 1, activation="relu")),
    "conv-1d": (SEQUENCE, lambda: L.Conv1D(6, 3, activation="swish")),
    "transposed-1d": (SEQUENCE, lambda: L.Conv1DTranspose(6, 3)),
    "conv-3d": (VOLUME, lambda: L.Conv3D(4, 2, padding="same")),
    "transposed-3d": (VOLUME, lambda: L.Conv3DTranspose(3, 2)),
    "batch-norm": (IMAGE, lambda: L.BatchNormalization()),
    "batch-norm-fused": (IMAGE, lambda: tf.keras.Sequential([L.Conv2D(8, 3, padding="same"), L.BatchNormalization(), L.ReLU()])),
    "layer-norm": (SEQUENCE, lambda: L.LayerNormalization()),
    "group-norm": (IMAGE, lambda: L.GroupNormalization(2)),
    "unit-norm": (SEQUENCE, lambda: L.UnitNormalization()),
    "attention": (SEQUENCE, lambda: Both(L.MultiHeadAttention(2, 3))),
    "dot-attention": (SEQUENCE, lambda: Pair(L.Attention(use_scale=True))),
    "additive-attention": (SEQUENCE, lambda: Pair(L.AdditiveAttention())),
    "prelu": (IMAGE, lambda: L.PReLU()),
    "max-pool": (IMAGE, lambda: tf.keras.Sequential([L.Conv2D(4, 3), L.MaxPooling2D()])),
    "max-pool-overlapping": (IMAGE, lambda: tf.keras.Sequential([L.Conv2D(4, 3), L.MaxPooling2D(3, 2, padding="same")])),
    "average-pool": (IMAGE, lambda: tf.keras.Sequential([L.Conv2D(4, 3), L.AveragePooling2D(3, 2, padding="same")])),
    "bilinear": (IMAGE, lambda: tf.keras.Sequential([L.Conv2D(4, 3), L.UpSampling2D(interpolation="bilinear")])),
    "nearest": (IMAGE, lambda: tf.keras.Sequential([L.Conv2D(4, 3), L.UpSampling2D()])),
    "crop-and-pad": (IMAGE, lambda: tf.keras.Sequential([L.Conv2D(4, 3), L.Cropping2D(1), L.ZeroPadding2D((1, 2)), L.Permute((2, 1, 3))])),
    "time-distributed": (SEQUENCE, lambda: L.TimeDistributed(L.Dense(4, activation="gelu"))),
    "conv-lstm": ((3, 6, 6, 2), lambda: L.ConvLSTM2D(3, 3)),
    "simple-rnn": (SEQUENCE, lambda: L.SimpleRNN(4)),
    "lstm": (SEQUENCE, lambda: L.LSTM(6)),
    "lstm-sequences": (SEQUENCE, lambda: L.LSTM(6, return_sequences=True)),
    "lstm-backwards": (SEQUENCE, lambda: L.LSTM(6, return_sequences=True, go_backwards=True)),
    "lstm-states": (SEQUENCE, lambda: First(L.LSTM(6, return_state=True))),
    "lstm-no-bias": (SEQUENCE, lambda: L.LSTM(6, use_bias=False)),
    "lstm-time-major": (SEQUENCE, lambda: L.LSTM(6, time_major=True, return_sequences=True)),
    "lstm-one-step": ((1, 5), lambda: L.LSTM(6)),
    "lstm-unrolled": (SEQUENCE, lambda: L.LSTM(6, unroll=True)),
    "lstm-relu": (SEQUENCE, lambda: L.LSTM(6, activation="relu")),
    "lstm-stacked": (SEQUENCE, lambda: tf.keras.Sequential([L.LSTM(6, return_sequences=True), L.LSTM(4)])),
    "lstm-masked": (SEQUENCE, lambda: tf.keras.Sequential([L.Masking(mask_value=0.0), L.LSTM(6)])),
    "gru": (SEQUENCE, lambda: L.GRU(6)),
    "gru-sequences": (SEQUENCE, lambda: L.GRU(6, return_sequences=True)),
    "gru-backwards": (SEQUENCE, lambda: L.GRU(6, go_backwards=True)),
    "gru-reset-before": (SEQUENCE, lambda: L.GRU(6, reset_after=False)),
    "bidirectional-lstm": (SEQUENCE, lambda: L.Bidirectional(L.LSTM(4, return_sequences=True))),
    "bidirectional-gru": (SEQUENCE, lambda: L.Bidirectional(L.GRU(4), merge_mode="sum")),
}
# those that run in the long form alone
MORE = {"separable-1d", "dilated", "transposed-1d", "transposed-3d", "unit-norm", "dot-attention", "prelu", "max-pool-overlapping", "nearest", "time-distributed",
        "conv-lstm", "lstm-no-bias", "lstm-unrolled", "lstm-relu", "lstm-stacked", "gru-backwards", "gru-sequences", "bidirectional-gru", "conv-1d"}


class Both(L.Layer):
    """Attention of a tensor to itself."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def call(self, x):
        return self.layer(x, x)


class Pair(Both):
    def call(self, x):
        return self.layer([x, x])


class First(Both):
    """What a layer with states gives, all added up."""

    def call(self, x):
        return tf.add_n(self.layer(x))


def steps(shape, make, x, weights, count=3, function=True):
    """Losses, weights and gradients of the input of a few steps."""
    layer = make()
    layer(tf.constant(x))
    if weights is not None:
        layer.set_weights(weights)
    optimizer = tf.keras.optimizers.SGD(0.05)

    def step(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = layer(x, training=True)
            loss = tf.reduce_mean(tf.square(y - 0.5)) + tf.reduce_sum(y * y) * 0.01
        gradients = tape.gradient(loss, [x, *layer.trainable_variables])
        optimizer.apply_gradients(zip(gradients[1:], layer.trainable_variables))
        return loss, gradients[0]

    run = tf.function(step) if function else step
    losses, slopes = zip(*[run(tf.constant(x)) for _ in range(count)])
    return layer, np.array([float(v) for v in losses]), [s.numpy() for s in slopes]


def check(name, function=True, tolerance=2e-4):
    shape, make = LAYERS[name]
    tf.keras.utils.set_random_seed(3)
    x = np.random.default_rng(1).standard_normal((4, *shape)).astype("f")
    if "masked" in name:
        x[0, 4:], x[2, 2:] = 0, 0
    with tf.device(CPU):
        layer = make()
        layer(tf.constant(x))
        weights = layer.get_weights()
        there, want, slopes = steps(shape, make, x, weights, function=function)
        want_weights = there.get_weights()
    here, got, own = steps(shape, make, x, weights, function=function)
    np.testing.assert_allclose(got, want, rtol=tolerance)
    for a, b in zip(own + here.get_weights(), slopes + want_weights):
        np.testing.assert_allclose(a, b, rtol=10 * tolerance, atol=10 * tolerance * max(1e-3, np.abs(b).max(initial=0)))


@pytest.mark.parametrize("name", [n for n in LAYERS if os.environ.get("UPDRAFT_TEST_LONG") or n not in MORE])
def test_a_layer_learns_as_on_the_cpu(name):
    check(name)


@pytest.mark.parametrize("name", ["gru-sequences", "bidirectional-lstm"])
def test_a_tape_outside_of_functions(name):
    """The forward pass and its gradient are two functions then."""
    shape, make = LAYERS[name]
    tf.keras.utils.set_random_seed(4)
    x = np.random.default_rng(1).standard_normal((4, *shape)).astype("f")
    results = []
    weights = None
    for device in [CPU, NPU]:
        with tf.device(device):
            layer = make()
            layer(tf.constant(x))
            if weights is not None:
                layer.set_weights(weights)
            weights = layer.get_weights()
            forward = tf.function(lambda x: layer(x))
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(tf.square(forward(tf.constant(x))))
            results.append([g.numpy() for g in tape.gradient(loss, layer.trainable_variables)])
    for a, b in zip(*results):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("layer", ["LSTM", "GRU"])
def test_mixed_precision_of_recurrent_layers(layer):
    tf.keras.mixed_precision.set_global_policy("mixed_float16")
    try:
        losses = []
        weights = None
        for device in [CPU, NPU]:
            tf.keras.utils.set_random_seed(5)
            with tf.device(device):
                model = tf.keras.Sequential([L.Input((7, 5)), getattr(L, layer)(8), L.Dense(3, dtype="float32")])
                if weights is not None:
                    model.set_weights(weights)
                weights = model.get_weights()
                model.compile(tf.keras.optimizers.SGD(0.05), "mse")
                x = np.random.default_rng(0).standard_normal((16, 7, 5)).astype("f")
                losses.append(model.fit(x, x[:, 0, :3], epochs=4, batch_size=8, shuffle=False, verbose=0).history["loss"])
    finally:
        tf.keras.mixed_precision.set_global_policy("float32")
    np.testing.assert_allclose(losses[1], losses[0], rtol=1e-2)


PROGRAMS = {
    "recurrent": ("""
model = tf.keras.Sequential([L.Input((7, 5)), L.Bidirectional(L.LSTM(4)), L.Dense(2)])
""", ["DynamicRNNV2", "DynamicRNNV2Grad"]),
    "convolution": ("""
model = tf.keras.Sequential([L.Input((7, 5, 3)), L.Conv2D(8, 3, activation="relu"), L.MaxPooling2D(), L.Flatten(), L.Dense(2)])
""", ["FusedConv2D", "PoolReluGradPass"]),
    "inference": ("""
model = tf.keras.Sequential([L.Input((7, 5, 3)), L.Conv2D(8, 3, padding="same"), L.BatchNormalization(), L.ReLU(), L.Flatten(), L.Dense(2)])
model.predict(x, verbose=0)
""", ["BNFactors", "FusedConv2D"]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_becomes_one_operator(tmp_path, name):
    """The graphs that are compiled say what runs, and the network still learns as on the CPU."""
    make, operators = PROGRAMS[name]
    program = f"""
import npu_device
npu_device.open().as_default()
import numpy as np
import tensorflow as tf
L = tf.keras.layers
losses, weights = [], None
for device in [npu_device.open().name(), "CPU:0"]:
    with tf.device(device):
        x = np.random.default_rng(0).standard_normal((8, 7, 5, 3) if {name != "recurrent"} else (8, 7, 5)).astype("f")
{"".join("        " + line + chr(10) for line in make.strip().splitlines())}
        model.set_weights(weights) if weights else None
        weights = model.get_weights()
        model.compile(tf.keras.optimizers.Adam(0.01), "mse")
        losses.append(model.fit(x, np.ones((8, 2), "f"), epochs=5, verbose=0).history["loss"])
np.testing.assert_allclose(*losses, rtol=1e-3)
"""
    environment = {**os.environ, "DUMP_GE_GRAPH": "2", "DUMP_GRAPH_PATH": str(tmp_path)}
    subprocess.run([sys.executable, "-c", program], env=environment, cwd=tmp_path, check=True, timeout=300)
    text = "".join(p.read_text(errors="replace") for p in tmp_path.rglob("*.txt"))
    assert [o for o in operators if o not in text] == [], sorted(p.name for p in tmp_path.rglob("*"))[:10]


ADAM = """
import npu_device
npu_device.open().as_default()
import numpy as np
import tensorflow as tf
L = tf.keras.layers
x, y = np.random.default_rng(0).standard_normal((8, 7)).astype("f"), np.ones((8, 2), "f")
losses, weights = [], None
for device in [npu_device.open().name(), "CPU:0"]:
    with tf.device(device):
        model = tf.keras.Sequential([L.Input((7,)), L.Dense(8, activation="relu"), L.Dense(2)])
        model.set_weights(weights) if weights else None
        weights = model.get_weights()
        optimizer = tf.keras.optimizers.Adam(0.01)
        optimizer.build(model.trainable_variables)
        @tf.function
        def step(x, y):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(model(x) - y))
            optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
            return loss
        losses.append([float(step(tf.constant(x), tf.constant(y))) for _ in range(5)])
np.testing.assert_allclose(*losses, rtol=1e-4)
"""


# fit() asks for the sizes of batches, draws random numbers, and reads the averages behind that
FIT = ADAM[:ADAM.index("        optimizer = ")] + """
        model = tf.keras.Sequential([model.layers[0], L.Dropout(0.0), L.GaussianNoise(0.0), model.layers[1]])
        model.compile(tf.keras.optimizers.Adam(0.01), "mse", metrics=["mae"])
        losses.append(model.fit(x, y, epochs=5, verbose=0).history["loss"])
np.testing.assert_allclose(*losses, rtol=1e-4)
"""


def compiled(tmp_path, program):
    """What the graphs that a program compiled are made of."""
    environment = {**os.environ, "DUMP_GE_GRAPH": "2", "DUMP_GRAPH_PATH": str(tmp_path)}
    subprocess.run([sys.executable, "-c", program], env=environment, cwd=tmp_path, check=True, timeout=300)
    return "".join(p.read_text(errors="replace") for p in tmp_path.rglob("*Build.txt"))


@pytest.mark.parametrize("how", ["0.05", "0.05, momentum=0.8", "0.05, momentum=0.8, nesterov=True",
                                 "tf.keras.optimizers.schedules.ExponentialDecay(0.05, 2, 0.5), momentum=0.8"])
def test_descent_with_momentum_becomes_one_operator(tmp_path, how):
    text = compiled(tmp_path, ADAM.replace("Adam(0.01)", f"SGD({how})"))
    assert '"KerasMomentumStep"' in text and '"Neg"' not in text


@pytest.mark.parametrize("how", ["v.assign_add(-g * rate)", "v.assign_sub(rate * g)", "v.assign_sub(g * 0.05)"])
def test_descent_of_a_loop_of_ones_own_becomes_one_operator(tmp_path, how):
    line = next(line for line in ADAM.splitlines() if "apply_gradients" in line)
    own = f"""
            for g, v in zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables):
                {how}"""
    text = compiled(tmp_path, ADAM.replace(line, own).replace("optimizer = ", "rate = tf.Variable(0.05); optimizer = "))
    assert '"ApplyGradientDescent"' in text and '"AssignAdd"' not in text and '"AssignSub"' not in text


NORM = ADAM.replace('L.Input((7,)), L.Dense(8, activation="relu"), L.Dense(2)])', """L.Input((5, 5, 3)), L.Conv2D(16, 3), L.BatchNormalization(), L.ReLU()])
        for body in ([L.Conv2D(16, 1), L.BatchNormalization()], [L.BatchNormalization()]):
            inner = model.output
            for layer in body:
                inner = layer(inner)
            model = tf.keras.Model(model.input, L.ReLU()(L.Add()([model.output, inner])))
        model = tf.keras.Model(model.input, L.Dense(2)(L.Flatten()(model.output)))""").replace("standard_normal((8, 7))", "standard_normal((8, 5, 5, 3))").replace(
            "model(x)", "model(x, training=True)")


def test_norms_of_training_take_sums_and_relu_along(tmp_path):
    text = compiled(tmp_path, NORM)
    assert '"FusedBatchNormTraining"' in text and "BatchNormEltwiseFusionPass" in text and '"Relu"' not in text, set(re.findall('type: "(.*?)"', text))


@pytest.mark.parametrize("program", [ADAM, FIT], ids=["step", "fit"])
def test_adam_becomes_one_operator(tmp_path, program):
    assert '"ApplyAdam"' in compiled(tmp_path, program)
