"""TensorBoard itself shows what was written on the NPU: scalars of Keras and of a function, histograms, images, the graph."""

import contextlib
import json
import logging
import re
import urllib.parse
import urllib.request

import numpy as np
import pytest
import tensorflow as tf

pytestmark = pytest.mark.usefixtures("npu")


def written(folder):
    """A small training with Keras' callback, and a loop of its own that writes from within a function. Returns Keras' history, the losses, and
    the names of the function's nodes."""
    tf.keras.utils.set_random_seed(1)
    x = np.random.default_rng(0).standard_normal((64, 8)).astype("f")
    y = x[:, :3].argmax(1)
    layers = tf.keras.layers
    model = tf.keras.Sequential([layers.Input((8,)), layers.Dense(16, activation="relu", name="hidden"), layers.Dense(3, name="logits")])
    model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    board = tf.keras.callbacks.TensorBoard(folder / "fit", histogram_freq=1, write_images=True, update_freq="epoch")
    history = model.fit(x, y, batch_size=16, epochs=4, validation_split=0.25, verbose=0, callbacks=[board]).history

    writer, weights = tf.summary.create_file_writer(str(folder / "loop")), tf.Variable(tf.zeros([8]))

    @tf.function
    def step(number):
        with writer.as_default(), tf.GradientTape() as tape:
            loss = tf.reduce_mean((tf.linalg.matvec(x, weights) - x[:, 0]) ** 2)
            tf.summary.scalar("loss", loss, step=number)
            tf.summary.histogram("weights", weights, step=number)
            tf.summary.image("inputs", x[None, :16, :, None], step=number)
            tf.summary.text("state", tf.strings.format("step {}", number), step=number)
        weights.assign_sub(0.3 * tape.gradient(loss, weights))
        return loss

    losses = [float(step(tf.constant(number, tf.int64))) for number in range(6)]
    graph = step.get_concrete_function(tf.constant(0, tf.int64)).graph
    with writer.as_default():
        tf.summary.graph(graph)
    writer.close()
    return history, losses, {node.name for node in graph.as_graph_def().node}


@contextlib.contextmanager
def board_of(folder):
    """TensorBoard's server. Gives a function that asks it."""
    from tensorboard import default, program

    logging.getLogger("tensorboard").setLevel(logging.ERROR)
    server = program.TensorBoard(default.get_plugins())
    server.configure(argv=[None, "--logdir", str(folder), "--port", "0", "--bind_all", "--load_fast", "false", "--reload_interval", "0"])
    address = "http://localhost:%d" % urllib.parse.urlparse(server.launch()).port

    def ask(path, query="", **words):
        with urllib.request.urlopen("%s/data/%s?%s" % (address, path, query or urllib.parse.urlencode(words)), timeout=60) as answer:
            return answer.read()

    yield ask


@pytest.mark.timeout(180)
def test_what_tensorboard_shows(tmp_path):
    history, losses, nodes = written(tmp_path)
    with board_of(tmp_path) as ask:

        def read(*words, **more):
            return json.loads(ask(*words, **more))

        runs = read("runs")
        assert sorted(runs) == ["fit/train", "fit/validation", "loop"]
        tags = read("plugin/scalars/tags")
        assert set(tags["fit/train"]) >= {"epoch_loss", "epoch_accuracy"} and "epoch_loss" in tags["fit/validation"] and "loss" in tags["loop"]
        for run, tag, values in (("fit/train", "epoch_loss", history["loss"]), ("fit/validation", "epoch_loss", history["val_loss"]),
                                 ("fit/train", "epoch_accuracy", history["accuracy"]), ("loop", "loss", losses)):
            shown = read("plugin/scalars/scalars", run=run, tag=tag)
            assert [step for _, step, _ in shown] == list(range(len(values)))
            np.testing.assert_allclose([value for _, _, value in shown], values, rtol=1e-6)
        assert losses[-1] < losses[0]

        assert "hidden/kernel_0/histogram" in read("plugin/histograms/tags")["fit/train"]
        weights = read("plugin/histograms/histograms", run="loop", tag="weights")
        assert len(weights) == 6 and sum(count for _, _, count in weights[-1][2]) == 8
        pictures = read("plugin/images/images", run="loop", tag="inputs", sample=0)
        assert len(pictures) == 6 and tf.io.decode_png(ask("plugin/images/individualImage", pictures[0]["query"])).shape == (16, 8, 1)
        assert "step 5" in read("plugin/text/text", run="loop", tag="state")[-1]["text"]

        assert {"fit/train", "loop"} <= set(read("plugin/graphs/info"))
        graph = ask("plugin/graphs/graph", run="loop", conceptual="false").decode()
        assert nodes <= set(re.findall(r'^  name: "(.*)"$', graph, re.M)) and len(nodes) > 10
        assert "hidden" in ask("plugin/graphs/graph", run="fit/train", tag="keras", conceptual="true").decode()
