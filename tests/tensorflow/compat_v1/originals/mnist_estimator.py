"""A convolutional network as an estimator, on made digits."""
import argparse
import json

import numpy as np
import tensorflow as tf


def cnn_model_fn(features, labels, mode):
    image = tf.reshape(features["x"], [-1, 14, 14, 1])
    conv = tf.compat.v1.layers.conv2d(image, 8, 5, padding="same", activation=tf.nn.relu,
                                      kernel_initializer=tf.compat.v1.glorot_uniform_initializer(seed=1))
    pool = tf.compat.v1.layers.max_pooling2d(conv, 2, 2)
    logits = tf.compat.v1.layers.dense(tf.compat.v1.layers.flatten(pool), 10,
                                       kernel_initializer=tf.compat.v1.glorot_uniform_initializer(seed=2))
    loss = tf.compat.v1.losses.sparse_softmax_cross_entropy(labels=labels, logits=logits)
    if mode == tf.estimator.ModeKeys.EVAL:
        accuracy = tf.compat.v1.metrics.accuracy(labels, tf.argmax(logits, 1))
        return tf.estimator.EstimatorSpec(mode, loss=loss, eval_metric_ops={"accuracy": accuracy})
    optimizer = tf.compat.v1.train.GradientDescentOptimizer(0.05)
    train_op = optimizer.minimize(loss, global_step=tf.compat.v1.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model_dir")
    flags = parser.parse_args()
    rng = np.random.default_rng(0)
    labels = (np.arange(64) % 10).astype("int32")
    images = rng.standard_normal((64, 196)).astype("float32") * 0.3
    images[np.arange(64), labels * 15] += 4
    session_config = tf.compat.v1.ConfigProto(allow_soft_placement=True, log_device_placement=False)
    config = tf.estimator.RunConfig(session_config=session_config, model_dir=flags.model_dir, save_checkpoints_steps=10)
    mnist_classifier = tf.compat.v1.estimator.Estimator(model_fn=cnn_model_fn, config=config)

    def train_input_fn():
        return tf.compat.v1.data.Dataset.from_tensor_slices(({"x": images}, labels)).repeat().batch(16)

    mnist_classifier.train(input_fn=train_input_fn, steps=20)
    result = mnist_classifier.evaluate(lambda: tf.compat.v1.data.Dataset.from_tensor_slices(({"x": images}, labels)).batch(16))
    print(json.dumps({k: float(v) for k, v in result.items()}))


if __name__ == "__main__":
    tf.compat.v1.disable_v2_behavior()
    main()
