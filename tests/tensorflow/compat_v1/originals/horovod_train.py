"""Data-parallel training with Horovod, as TensorFlow 1 does it."""
import json
import os

import horovod.tensorflow as hvd
import numpy as np
import tensorflow as tf


def main():
    hvd.init()
    config = tf.compat.v1.ConfigProto()
    config.gpu_options.visible_device_list = str(hvd.local_rank())
    rng = np.random.default_rng(hvd.rank())
    data = rng.standard_normal((64, 4)).astype("float32")
    labels = data[:, :3].argmax(1)
    dataset = tf.compat.v1.data.Dataset.from_tensor_slices((data, labels)).repeat().batch(8)
    x, y = tf.compat.v1.data.make_one_shot_iterator(dataset).get_next()
    weights = tf.compat.v1.get_variable("w", [4, 3], initializer=tf.compat.v1.glorot_uniform_initializer(seed=hvd.rank()))
    loss = tf.compat.v1.losses.sparse_softmax_cross_entropy(y, tf.matmul(x, weights))
    opt = tf.compat.v1.train.AdagradOptimizer(0.1 * hvd.size())
    opt = hvd.DistributedOptimizer(opt)
    hooks = [hvd.BroadcastGlobalVariablesHook(0), tf.estimator.StopAtStepHook(last_step=12)]
    train_op = opt.minimize(loss, global_step=tf.compat.v1.train.get_or_create_global_step())
    checkpoint_dir = os.environ["MODEL_DIR"] if hvd.rank() == 0 else None
    losses = []
    with tf.compat.v1.train.MonitoredTrainingSession(checkpoint_dir=checkpoint_dir, config=config, hooks=hooks) as mon_sess:
        while not mon_sess.should_stop():
            _, value, kept = mon_sess.run([train_op, loss, weights])
            losses.append(float(value))
    print(json.dumps([hvd.rank(), hvd.size(), losses, kept.tolist()]))


if __name__ == "__main__":
    main()
