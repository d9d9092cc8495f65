"""start.py SCRIPT ARGUMENT…: the script as `python SCRIPT ARGUMENT…` runs it, with weights that are the same each time.

REPLICAS=n: on n devices of TensorFlow's own (parts of the CPU, MirroredStrategy), of which each gets the images of a rank.
"""

import os
import runpy
import sys

import tensorflow as tf

replicas = int(os.environ.get("REPLICAS", 0))
if replicas:
    from official.common import distribute_utils
    from official.vision.image_classification.resnet import imagenet_preprocessing

    tf.config.set_logical_device_configuration(tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * replicas)
    distribute_utils.get_distribution_strategy = lambda **words: tf.distribute.MirroredStrategy(["CPU:%d" % i for i in range(replicas)])
    names = imagenet_preprocessing.get_filenames

    def as_ranks_get_them(*arguments):
        """The strategy deals out batches of two images, and `shard` single ones."""
        files = names(*arguments)
        order = [replicas * (2 * step + image) + rank for step in range(64 // (2 * replicas)) for rank in range(replicas) for image in range(2)]
        return [files[i] for i in order] + files[64:]

    imagenet_preprocessing.get_filenames = as_ranks_get_them

tf.keras.utils.set_random_seed(1)
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
