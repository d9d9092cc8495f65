"""A variational autoencoder of digits with Keras on the virtual NPU, by one process or several.

    python examples/tensorflow/vae.py --data_path FOLDER          FOLDER has mnist.npz, as Keras keeps it in ~/.keras/datasets

Several processes: RANK_TABLE_FILE, RANK_ID, RANK_SIZE and ASCEND_DEVICE_ID of each (docs/use/tensorflow.md), and the arguments --rank_size and
--device_id. Each learns from its part of the data; weights are the same everywhere. Lines with npu are all that the NPU asks for.
"""
import npu_device as npu  # isort: skip

npu.open().as_default()

import argparse
import json
import os

import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers


class VAE(keras.Model):
    def __init__(self, latent):
        super().__init__()
        self.encoder = keras.Sequential([
            layers.Input((28, 28, 1)), layers.Conv2D(16, 3, strides=2, padding="same", activation="relu"),
            layers.Conv2D(32, 3, strides=2, padding="same", activation="relu"), layers.Flatten(), layers.Dense(16, activation="relu"), layers.Dense(2 * latent)])
        self.decoder = keras.Sequential([
            layers.Input((latent,)), layers.Dense(7 * 7 * 32, activation="relu"), layers.Reshape((7, 7, 32)),
            layers.Conv2DTranspose(32, 3, strides=2, padding="same", activation="relu"),
            layers.Conv2DTranspose(16, 3, strides=2, padding="same", activation="relu"), layers.Conv2DTranspose(1, 3, padding="same", activation="sigmoid")])
        self.losses_seen = [keras.metrics.Mean(n) for n in ("loss", "reconstruction_loss", "kl_loss")]

    metrics = property(lambda self: self.losses_seen)

    def train_step(self, images):
        with tf.GradientTape() as tape:
            mean, log_variance = tf.split(self.encoder(images, training=True), 2, axis=1)
            z = mean + tf.exp(0.5 * log_variance) * tf.random.normal(tf.shape(mean), seed=7)
            drawn = self.decoder(z, training=True)
            reconstruction = tf.reduce_mean(tf.reduce_sum(keras.losses.binary_crossentropy(images, drawn), axis=(1, 2)))
            kl = tf.reduce_mean(tf.reduce_sum(-0.5 * (1 + log_variance - tf.square(mean) - tf.exp(log_variance)), axis=1))
            loss = reconstruction + kl
        self.optimizer.apply_gradients(zip(tape.gradient(loss, self.trainable_weights), self.trainable_weights))
        for seen, value in zip(self.losses_seen, (loss, reconstruction, kl)):
            seen.update_state(value)
        return {seen.name: seen.result() for seen in self.losses_seen}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data_path", default=".")
    parser.add_argument("--batch_size", type=int, default=128, help="of all processes together")
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--rank_size", type=int, default=1)
    parser.add_argument("--device_id", type=int, default=0)
    args = parser.parse_args()
    keras.utils.set_random_seed(1)

    with np.load(os.path.join(args.data_path, "mnist.npz")) as mnist:
        x_train, x_test = mnist["x_train"], mnist["x_test"]
    x_train = np.split(x_train, args.rank_size)[args.device_id]
    x_test = np.split(x_test, args.rank_size)[args.device_id]
    batch_size = args.batch_size // args.rank_size
    digits = np.expand_dims(np.concatenate([x_train, x_test], axis=0), -1).astype("float32") / 255

    vae = VAE(latent=2)
    optimizer = keras.optimizers.Adam(1e-3)
    npu.distribute.broadcast(vae.trainable_weights)
    optimizer = npu.distribute.npu_distributed_keras_optimizer_wrapper(optimizer)
    vae.compile(optimizer=optimizer)
    history = vae.fit(digits, epochs=args.epochs, batch_size=batch_size, shuffle=False, verbose=2 if args.device_id == 0 else 0)
    print(json.dumps({"loss": history.history["loss"], "weights": [float(np.abs(w.numpy()).sum()) for w in vae.trainable_weights]}))


if __name__ == "__main__":
    main()
