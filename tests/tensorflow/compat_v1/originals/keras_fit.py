"""Keras in a graph of TensorFlow 1."""
import json

import numpy as np
import tensorflow as tf

tf.compat.v1.disable_v2_behavior()


def main():
    rng = np.random.default_rng(0)
    data = rng.standard_normal((96, 4)).astype("float32")
    labels = data[:, :3].argmax(1)
    model = tf.keras.Sequential([
        tf.keras.layers.Dense(16, activation="relu", input_shape=(4,), kernel_initializer=tf.keras.initializers.GlorotUniform(seed=1)),
        tf.keras.layers.Dense(3, activation="softmax", kernel_initializer=tf.keras.initializers.GlorotUniform(seed=2))])
    model.compile(optimizer=tf.keras.optimizers.legacy.SGD(0.5), loss="sparse_categorical_crossentropy")
    fitted = model.fit(data, labels, batch_size=16, epochs=3, shuffle=False, verbose=0)
    print(json.dumps(fitted.history["loss"]))


if __name__ == "__main__":
    main()
