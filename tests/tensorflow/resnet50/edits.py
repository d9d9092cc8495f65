"""What the guide's two walk-throughs (10.1 and 10.2) write into TensorFlow's official ResNet-50 (tf-models-official 2.6.0), as somebody does by hand."""

import pathlib
import shutil

RESNET = pathlib.Path("official/vision/image_classification/resnet")
SIZE = 64
MAIN = "resnet_ctl_imagenet_main.py"
SHARD = """  import npu_device as npu
  dataset, batch_size = npu.distribute.shard_and_rebatch_dataset(dataset, batch_size)
"""
FROM_NAMES = "  dataset = tf.data.Dataset.from_tensor_slices(filenames)\n"
SHARD_OF_STRATEGIES = """
  if input_context:
    logging.info(
        'Sharding the dataset: input_pipeline_id=%d num_input_pipelines=%d',
        input_context.input_pipeline_id, input_context.num_input_pipelines)
    dataset = dataset.shard(input_context.num_input_pipelines,
                            input_context.input_pipeline_id)
"""


def edit(path, before, after):
    text = path.read_text()
    assert text.count(before) == 1, (path, before)
    path.write_text(text.replace(before, after))


def original(models, folder):
    """A copy that TensorFlow 2.15 can run (its new optimizers are not those that a code of 2.6 was written for), for small images and a data
    set of 64 of them, neither shuffled nor cut by chance, with a rate by which a few steps move the weights."""
    for name in ("official", "orbit"):
        shutil.copytree(models / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "nlp", "recommendation"))
    edit(folder / RESNET / "common.py", "tf.keras.optimizers.SGD(", "tf.keras.optimizers.legacy.SGD(")
    edit(folder / RESNET / "common.py", "BASE_LEARNING_RATE = 0.1 ", "BASE_LEARNING_RATE = 0.005 ")
    edit(folder / RESNET / "resnet_model.py", "(224, 224, 3)", "(%d, %d, 3)" % (SIZE, SIZE))
    data = folder / RESNET / "imagenet_preprocessing.py"
    edit(data, "DEFAULT_IMAGE_SIZE = 224", "DEFAULT_IMAGE_SIZE = %d" % SIZE)
    edit(data, "'train': 1281167", "'train': 64")
    edit(data, "    dataset = dataset.shuffle(buffer_size=shuffle_buffer)\n", "")
    edit(data, "    dataset = dataset.shuffle(buffer_size=_NUM_TRAIN_FILES)\n", "    pass\n")
    edit(data, "parse_record_fn(value, is_training, dtype)", "parse_record_fn(value, False, dtype)")
    return folder


def regularized_by_replica(folder):
    """For the reference of several devices: a rank is one replica, and adds the whole of the regularization."""
    edit(folder / RESNET / "resnet_runnable.py", "loss += (tf.reduce_sum(self.model.losses) / num_replicas)", "loss += tf.reduce_sum(self.model.losses)")
    return folder


def before_the_tool(folder):
    """10.1: the data are divided by hand."""
    edit(folder / RESNET / "imagenet_preprocessing.py", FROM_NAMES + SHARD_OF_STRATEGIES, FROM_NAMES + SHARD)


def by_hand(folder):
    """10.2, with the changes for several devices, which change nothing for one."""
    main, data = folder / RESNET / MAIN, folder / RESNET / "imagenet_preprocessing.py"
    edit(main, '"""Runs a ResNet', 'import npu_device as npu\nnpu.open().as_default()\n"""Runs a ResNet')
    edit(data, "    A dataset that can be used for iteration.\n  \"\"\"\n", "    A dataset that can be used for iteration.\n  \"\"\"\n  drop_remainder = True\n")
    edit(main, "                                              per_epoch_steps)\n",
         "                                              per_epoch_steps)\n    npu.distribute.broadcast(runnable.model.trainable_variables)\n")
    edit(folder / "official/staging/training/grad_utils.py", "  return allreduced_grads, variables",
         "  import npu_device as npu\n  allreduced_grads = npu.distribute.all_reduce(allreduced_grads, reduction=\"sum\")\n  return allreduced_grads, variables")
    edit(data, FROM_NAMES, FROM_NAMES + SHARD)
