"""A small BERT that learns to fill in masked words and to say whether two sentences follow each other, with a loop of its own, on the virtual NPU.

    NPU_LOOP_SIZE=10 python examples/tensorflow/bert.py --steps 40 --steps_per_loop 10

Words are made: a sentence goes on as the last two words say, so that there is something to learn. Lines with npu are all that the NPU asks for;
several processes as in vae.py, with data from a tf.data.Dataset.
"""
import npu_device as npu  # isort: skip

npu.open().as_default()

import argparse
import json

import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

WORDS, LENGTH, MASK = 64, 32, 1


def encoder(width, depth, heads):
    words, segments = layers.Input((LENGTH,), dtype="int32"), layers.Input((LENGTH,), dtype="int32")
    places = layers.Embedding(LENGTH, width)(tf.cumsum(tf.ones_like(words), axis=1, exclusive=True))
    h = layers.LayerNormalization(epsilon=1e-12)(layers.Embedding(WORDS, width)(words) + layers.Embedding(2, width)(segments) + places)
    for i in range(depth):
        h = layers.LayerNormalization(epsilon=1e-12)(h + layers.Dropout(0.1, seed=2 * i)(layers.MultiHeadAttention(heads, width // heads)(h, h)))
        inner = layers.Dense(width)(layers.Lambda(npu.ops.gelu)(layers.Dense(4 * width)(h)))
        h = layers.LayerNormalization(epsilon=1e-12)(h + layers.Dropout(0.1, seed=2 * i + 1)(inner))
    pooled = layers.Dense(width, activation="tanh")(h[:, 0])
    return keras.Model([words, segments], [layers.Dense(WORDS)(h), layers.Dense(2)(pooled)])


def sentences(count, seed=0):
    """(words with some masked, segments, words, which are asked for, whether the second half follows the first)"""
    random = np.random.default_rng(seed)
    words = np.zeros((count, LENGTH), np.int32)
    words[:, :2] = random.integers(2, WORDS, (count, 2))
    for i in range(2, LENGTH):
        words[:, i] = (words[:, i - 1] + words[:, i - 2]) % (WORDS - 2) + 2
    follows = random.integers(0, 2, count).astype(np.int32)
    other = np.roll(words[:, LENGTH // 2:], 1, axis=0)
    words[:, LENGTH // 2:] = np.where(follows[:, None] == 1, words[:, LENGTH // 2:], other)
    asked = random.random((count, LENGTH)) < 0.15
    segments = np.broadcast_to((np.arange(LENGTH) >= LENGTH // 2).astype(np.int32), words.shape)
    return np.where(asked, MASK, words).astype(np.int32), segments, words, asked.astype(np.float32), follows


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--steps_per_loop", type=int, default=10)
    parser.add_argument("--batch_size", type=int, default=16, help="of all processes together")
    parser.add_argument("--width", type=int, default=64)
    args = parser.parse_args()
    keras.utils.set_random_seed(1)

    batch_size = args.batch_size
    dataset = tf.data.Dataset.from_tensor_slices(sentences(args.steps * batch_size))
    dataset, batch_size = npu.distribute.shard_and_rebatch_dataset(dataset, batch_size)
    dataset = dataset.batch(batch_size, drop_remainder=True)

    model = encoder(args.width, depth=2, heads=4)
    npu.distribute.broadcast(model.trainable_variables)
    optimizer = keras.optimizers.AdamW(1e-3, weight_decay=0.01)
    of_words = keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="none")
    of_sentences = keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    def train_step(batch):
        masked, segments, words, asked, follows = batch
        with tf.GradientTape() as tape:
            word, sentence = model([masked, segments], training=True)
            loss = tf.reduce_sum(of_words(words, word) * asked) / (tf.reduce_sum(asked) + 1e-5) + of_sentences(follows, sentence)
        grads = tape.gradient(loss, model.trainable_variables)
        grads = npu.distribute.all_reduce(grads)
        grads, _ = tf.clip_by_global_norm(grads, 1.0)
        optimizer.apply_gradients(zip(grads, model.trainable_variables))
        return loss

    @tf.function
    def loop_fn(iterator, steps):
        total = 0.0
        for _ in tf.range(steps):
            total += train_step(next(iterator))
        return total / tf.cast(steps, tf.float32)

    iterator, losses = iter(dataset), []
    for _ in range(args.steps // args.steps_per_loop):
        losses.append(float(loop_fn(iterator, tf.constant(args.steps_per_loop))))
        print("loss %.4f" % losses[-1], flush=True)
    print(json.dumps({"loss": losses, "weights": [float(np.abs(w).sum()) for w in model.get_weights()]}))


if __name__ == "__main__":
    main()
