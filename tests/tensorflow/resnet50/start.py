"""start.py SCRIPT ARGUMENT…: the script as `python SCRIPT ARGUMENT…` runs it, with weights and data that are the same each time."""

import runpy
import sys

import tensorflow as tf

tf.keras.utils.set_random_seed(1)
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
