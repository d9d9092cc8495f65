"""A two-layer network by sess.run, with NumPy feeds."""
import json

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()


def gelu(x):
    return x * (0.5 * (1.0 + tf.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * tf.pow(x, 3)))))


def main():
    rng = np.random.default_rng(0)
    data = rng.standard_normal((64, 4)).astype("float32")
    labels = data[:, :3].argmax(1)
    x = tf.placeholder(tf.float32, [None, 4])
    y_ = tf.placeholder(tf.int64, [None])
    is_training = tf.placeholder(tf.bool, [])
    hidden = gelu(tf.layers.dense(x, 16, kernel_initializer=tf.glorot_uniform_initializer(seed=1)))
    hidden = tf.layers.batch_normalization(hidden, training=is_training)
    logits = tf.layers.dense(hidden, 3, kernel_initializer=tf.glorot_uniform_initializer(seed=2))
    loss = tf.losses.sparse_softmax_cross_entropy(y_, logits)
    with tf.device("/gpu:0"):
        train_op = tf.train.AdamOptimizer(0.05).minimize(loss)
    losses = []
    config = tf.ConfigProto(allow_soft_placement=True)
    with tf.Session(config=config) as sess:
        sess.run(tf.global_variables_initializer())
        for i in range(0, 64, 8):
            _, value = sess.run([train_op, loss], feed_dict={x: data[i:i + 8], y_: labels[i:i + 8], is_training: True})
            losses.append(float(value))
    print(json.dumps(losses))


if __name__ == "__main__":
    main()
