"""The operators of models in training and in inference, as TensorFlow traces them: graphs(NAME) gives GraphDefs. Nothing of them runs."""

import numpy as np
import tensorflow as tf

L, K = tf.keras.layers, tf.keras.optimizers
RANDOM = np.random.default_rng(0)
CROSS_ENTROPY = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def traced(function, *arguments):
    return tf.function(function).get_concrete_function(*arguments).graph.as_graph_def()


def of_model(model, x, y, optimizer, loss=CROSS_ENTROPY):
    def train(x, y):
        with tf.GradientTape() as tape:
            value = loss(y, model(x, training=True))
        gradients, _ = tf.clip_by_global_norm(tape.gradient(value, model.trainable_variables), 1.0)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return value

    return [traced(train, x, y), traced(lambda x: model(x, training=False), x)]


def image(size=64, channels=3):
    return tf.constant(RANDOM.random((2, size, size, channels), np.float32))


def resnet():
    model = tf.keras.applications.ResNet50(weights=None, classes=10, classifier_activation=None, input_shape=(64, 64, 3))
    return of_model(model, image(), tf.constant([1, 2]), K.SGD(1e-3, momentum=0.9))


def mobilenet():
    model = tf.keras.applications.MobileNetV2(weights=None, classes=10, classifier_activation=None, input_shape=(64, 64, 3))
    return of_model(model, image(), tf.constant([1, 2]), K.RMSprop(1e-3))


def bert(length=16, width=32):
    tokens = L.Input((length,), dtype="int32")
    mask = L.Lambda(lambda t: tf.cast(t != 0, tf.int32)[:, None, :])(tokens)
    h = L.Embedding(40, width)(tokens) + L.Embedding(length, width)(tf.cumsum(tf.ones_like(tokens), axis=1, exclusive=True))
    h = L.LayerNormalization(epsilon=1e-12)(h + L.Dropout(0.1)(L.MultiHeadAttention(4, 8)(h, h, attention_mask=mask)))
    h = L.LayerNormalization(epsilon=1e-12)(h + L.Dense(width)(L.Dense(64, activation="gelu")(h)))
    h = h + L.Dense(width)(L.Lambda(lambda t: tf.nn.gelu(t, approximate=True))(h))
    model = tf.keras.Model(tokens, L.Dense(2)(L.Dense(width, activation="tanh")(h[:, 0])))
    return of_model(model, tf.ones([2, length], tf.int32), tf.constant([0, 1]), K.AdamW(1e-3))


def recurrent():
    graphs = []
    for masked, layer in ((True, L.LSTM(8)), (False, L.GRU(8)), (True, L.Bidirectional(L.GRU(8))), (False, L.RNN([L.LSTMCell(8), L.GRUCell(5)]))):
        model = tf.keras.Sequential([L.Embedding(20, 6, mask_zero=masked), layer, L.Dense(3)])
        graphs += of_model(model, tf.ones([4, 7], tf.int32), tf.constant([0, 1, 2, 0]), K.Adagrad(1e-3))
    return graphs


def vae():
    encoder = tf.keras.Sequential([L.Conv2D(8, 3, 2, "same", activation="relu"), L.Flatten(), L.Dense(4)])
    decoder = tf.keras.Sequential([L.Dense(7 * 7 * 8, activation="relu"), L.Reshape((7, 7, 8)), L.Conv2DTranspose(8, 3, 2, "same", activation="relu"),
                                   L.Conv2DTranspose(1, 3, 2, "same", activation="sigmoid")])

    class Vae(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.encoder, self.decoder = encoder, decoder

        def call(self, x, training=False):  # noqa: ARG002
            mean, variance = tf.split(self.encoder(x), 2, 1)
            self.add_loss(-0.5 * tf.reduce_mean(1 + variance - tf.square(mean) - tf.exp(variance)))
            return self.decoder(mean + tf.exp(0.5 * variance) * tf.random.normal(tf.shape(mean)))

    model = Vae()

    def loss(x, y):
        return tf.reduce_mean(tf.reduce_sum(tf.keras.losses.binary_crossentropy(x, y), axis=(1, 2))) + tf.add_n(model.losses)

    return of_model(model, image(28, 1), image(28, 1), K.Adam(1e-3), loss)


def overlap(a, b):
    """Intersection over union of each box of a with each of b."""
    size = tf.maximum(tf.minimum(a[:, None, 2:], b[None, :, 2:]) - tf.maximum(a[:, None, :2], b[None, :, :2]), 0.0)
    shared = size[..., 0] * size[..., 1]

    def area(box):
        return (box[:, 2] - box[:, 0]) * (box[:, 3] - box[:, 1])

    return tf.math.divide_no_nan(shared, area(a)[:, None] + area(b)[None] - shared)


def detection():
    """A pyramid with heads: anchors are matched, boxes by a smooth L1 loss, classes by a focal one and the hardest; NMS; RoI align with gradient."""
    x = L.Input((64, 64, 3))
    fine = L.Conv2D(8, 3, 8, "same", activation="relu")(x)
    coarse = L.Conv2D(8, 3, 2, "same", activation=tf.nn.relu6)(fine)
    side = L.Conv2D(8, 1)(coarse)
    merged = L.Conv2D(8, 1)(fine) + L.UpSampling2D()(side) + L.Lambda(lambda t: tf.image.resize(t, (8, 8)))(side)
    heads = [(L.Reshape((-1, 4))(L.Conv2D(12, 3, padding="same")(p)), L.Reshape((-1, 5))(L.Conv2D(15, 3, padding="same")(p))) for p in (merged, side)]
    model = tf.keras.Model(x, [L.Concatenate(1)([box for box, _ in heads]), L.Concatenate(1)([score for _, score in heads])])
    anchors = tf.constant(RANDOM.random((model.output_shape[0][1], 4), np.float32))

    def loss(truth, predicted):
        boxes, scores = predicted
        table = overlap(anchors, truth[0])
        best, positive = tf.argmax(table, 1), tf.reduce_max(table, 1) > 0.3
        target = tf.gather(truth[0], best)
        target = tf.concat([target[:, :2] - anchors[:, :2], tf.math.log(tf.maximum(target[:, 2:], 1e-3))], 1)
        distance = tf.abs(boxes - target)
        smooth = tf.where(distance < 1.0, 0.5 * distance * distance, distance - 0.5)
        mask = tf.cast(positive, tf.float32)[None, :, None]
        label = tf.where(positive, tf.cast(best % 5, tf.int32), 0)
        each = tf.nn.sparse_softmax_cross_entropy_with_logits(tf.broadcast_to(label, tf.shape(scores)[:2]), scores)
        hardest, _ = tf.nn.top_k(each, 8)
        classes = tf.broadcast_to(tf.one_hot(label, 5), tf.shape(scores))
        focal = tf.pow(1 - tf.sigmoid(scores), 2.0) * tf.nn.sigmoid_cross_entropy_with_logits(classes, scores)
        chosen = tf.gather_nd(boxes[0], tf.where(positive))
        return (tf.reduce_sum(smooth * mask) / tf.maximum(tf.reduce_sum(mask), 1.0) + tf.reduce_mean(hardest) + tf.reduce_mean(focal) + tf.reduce_mean(chosen) +
                tf.reduce_sum(tf.boolean_mask(each[0], positive)))

    def chosen_boxes(x):
        boxes, scores = model(x, training=False)
        best = tf.reduce_max(tf.nn.softmax(scores)[0], -1)
        score, index = tf.nn.top_k(best, 20)
        box = tf.clip_by_value(tf.gather(boxes[0], index), 0.0, 1.0)
        kept = tf.gather(box, tf.image.non_max_suppression(box, score, 10, 0.5))
        kinds = tf.argmax(scores[0], -1)
        return (kept, tf.image.combined_non_max_suppression(boxes[:, :, None, :], scores, 5, 10), tf.unique(kinds), tf.argsort(best), tf.cumsum(best),
                tf.math.unsorted_segment_max(best, tf.cast(kinds, tf.int32), 5))

    def aligned(x, boxes):
        with tf.GradientTape() as tape:
            tape.watch([x, boxes])
            cut = tf.image.crop_and_resize(x, boxes, [0, 0, 1], (14, 14))
            value = tf.reduce_sum(tf.nn.avg_pool2d(cut, 2, 2, "SAME") ** 2)
        return tape.gradient(value, [x, boxes])

    truth = tf.constant(np.sort(RANDOM.random((1, 3, 4), np.float32), -1))
    return of_model(model, image(), truth, K.SGD(1e-3, momentum=0.9, nesterov=True), loss) + [traced(chosen_boxes, image()), traced(aligned, image(), truth[0])]


MODELS = {f.__name__: f for f in (resnet, mobilenet, bert, recurrent, vae, detection)}


def operators(name):
    """The types of all nodes of a model's graphs and of the functions in them."""
    found = set()
    for graph in MODELS[name]():
        found.update(node.op for node in graph.node)
        for function in graph.library.function:
            found.update(node.op for node in function.node_def)
    return found
