import contextlib
import io

import horovod_alone  # noqa: F401
import numpy
import tensorflow as tf
import tensorflow2_mnist as example

tf.keras.utils.set_random_seed(0)
made = []
draws = numpy.random.default_rng(0)
pictures, digits = draws.integers(0, 255, (512, 28, 28)).astype("uint8"), draws.integers(0, 10, 512)
tf.keras.datasets.mnist.load_data = lambda path: ((pictures, digits), None)  # nothing is downloaded
tf.keras.layers.Dropout = lambda rate: tf.keras.layers.Activation("linear")  # what is dropped differs by device
take = tf.data.Dataset.take
tf.data.Dataset.take = lambda self, count: take(self, 21)  # of the 10000 steps


class Optimizer(tf.keras.optimizers.Adam):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        made.append(self)


tf.optimizers.Adam = Optimizer
printed = io.StringIO()
with contextlib.redirect_stdout(printed):
    example.main()
last = printed.getvalue().strip().splitlines()[-1]
places = {variable.device for variable in made[0].variables[1:]}
print("RESULT", "npu" if places and all("NPU" in place.upper() for place in places) else "cpu", last.split()[-1])
