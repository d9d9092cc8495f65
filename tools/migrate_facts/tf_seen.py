"""Makes migrate/support/data/tf_seen.tsv: TensorFlow's functions, layers, losses and the like that were run on the virtual NPU.

Each is called in a tf.function on the NPU with the first arguments that it takes. A row says which of the operators that it
made ran on TensorFlow's CPU kernels ("-": none). What cannot be called so has no row, and no class is taken from a guess.

usage: until tf_seen.py NAMES [OUT]; do :; done    with the Python of an environment that has npu_device; NAMES is what tf_wheel_names.py printed
"""

import inspect
import os
import pathlib
import re
import signal
import sys
import tempfile

os.environ.update(NPU_DEBUG="1", TF_CPP_MIN_LOG_LEVEL="0")
log = tempfile.TemporaryFile("w+b")
os.dup2(log.fileno(), 2)
import npu_device as npu  # noqa: E402

npu.open().as_default()
import tensorflow as tf  # noqa: E402

DATA = pathlib.Path(__file__).parents[2] / "migrate/support/data"
HEAD = """\
# TensorFlow APIs that were run on the virtual NPU with tensorflow %s; made by tools/migrate_facts/tf_seen.py.
# host: operators that ran on TensorFlow's CPU kernels, as the guide's mixed mode has it; -: none
name\thost
"""
FAMILIES = re.compile(
    r"tf\.(compat\.v1\.)?(math|nn|linalg|image|signal|sparse|strings|random|bitwise|ragged|quantization|sets|dtypes|debugging|audio|"
    r"keras\.(activations|backend|constraints|initializers|layers|losses|metrics|regularizers|applications)|"
    r"keras\.optimizers\.schedules|initializers|losses|metrics|layers|train)\.\w+$|tf\.(compat\.v1\.)?[a-z]\w*$|"
    r"tf\.nn\.experimental\.\w+$|tf\.(keras\.layers|linalg)\.experimental\.\w+$|tf\.compat\.v1\.nn\.rnn_cell\.\w+$|"
    r"tf\.random\.experimental\.\w+$")
# what would stop, wait or change the process, or opens no operator
NOT = re.compile(
    r"\.(set_\w+|enable_\w+|disable_\w+|clear_session|is_\w+|get|deserialize|serialize|get_\w+|reset_\w+|py_function|numpy_function|"
    r"py_func|print|Print|load_\w+|function|init_scope|custom_gradient|recompute_grad|device|Session|InteractiveSession|"
    r"manual_variable_initialization|no_gradient|no_regularizer|wrap_function|create_file_writer|executing_eagerly|Assert|RegisterGradient|"
    r"experimental_\w+|test|app|flags|while_loop|map_fn|control_dependencies|make_template|parallel_stack|rnn|tracing_enabled|"
    r"NASNet\w+|EfficientNetB[1-7]|DenseNet201|DenseNet169|ResNet\d+V2|ResNet152|ResNet101|VGG1\d|Inception\w+|Xception)$")

FLOAT = [[2.0, 0.5, 0.25, 0.5], [0.5, 2.0, 0.5, 0.25], [0.25, 0.5, 2.0, 0.5], [0.5, 0.25, 0.5, 2.0]]


def pool():
    """One value of each kind that parameters take; the likelier first."""
    return [
        lambda: tf.constant(FLOAT),
        lambda: tf.reshape(tf.range(48, dtype=tf.float32) / 48, [1, 4, 4, 3]),
        lambda: tf.constant([1, 0, 2, 1]),
        lambda: tf.constant([0.5, 1.5, 2.5, 3.5]),
        lambda: 2,
        lambda: [2, 2],
        lambda: tf.float32,
        lambda: 0.5,
        lambda: [tf.constant(FLOAT), tf.constant(FLOAT)],
        lambda: tf.constant([True, False, True, True]),
        lambda: tf.constant(["a b", "c"]),
        lambda: tf.constant([[0, 1], [1, 2]], tf.int64),
        lambda: tf.constant([1, 2, 3, 4], tf.uint8),
        lambda: tf.complex(tf.constant(FLOAT), tf.constant(FLOAT)),
        lambda: tf.sparse.from_dense(tf.constant(FLOAT)),
        lambda: tf.ragged.constant([[1.0, 2.0], [3.0]]),
        lambda: 2.5,
        lambda: tf.constant([[1, 0, 2, 1]], tf.int64),
        lambda: tf.random.normal([1, 4, 4, 4, 3]),
    ]


LAYERS = {  # constructor's arguments where none will not do
    "Dense": (4,), "Conv1D": (4, 3), "Conv2D": (4, 3), "Conv3D": (4, 3), "Conv1DTranspose": (4, 3), "Conv2DTranspose": (4, 3),
    "Conv3DTranspose": (4, 3), "SeparableConv1D": (4, 3), "SeparableConv2D": (4, 3), "DepthwiseConv2D": (3,), "Dropout": (0.5,),
    "SpatialDropout1D": (0.5,), "SpatialDropout2D": (0.5,), "SpatialDropout3D": (0.5,), "AlphaDropout": (0.5,),
    "GaussianDropout": (0.5,), "GaussianNoise": (0.5,), "Embedding": (10, 4), "LSTM": (4,), "GRU": (4,), "SimpleRNN": (4,),
    "LSTMCell": (4,), "GRUCell": (4,), "SimpleRNNCell": (4,), "Reshape": ((-1,),), "Permute": ((2, 1),), "RepeatVector": (3,),
    "Lambda": (lambda x: x * 2,), "Dot": (1,), "LocallyConnected1D": (4, 3), "LocallyConnected2D": (4, 3), "EinsumDense": ("ab,bc->ac", 4),
    "MultiHeadAttention": (2, 4), "ActivityRegularization": (), "Activation": ("relu",), "ConvLSTM2D": (4, 3), "ConvLSTM1D": (4, 3),
    "Convolution1D": (4, 3), "Convolution2D": (4, 3), "Convolution3D": (4, 3), "ZeroPadding2D": (1,), "Cropping2D": (1,),
    "RandomCrop": (2, 2), "Resizing": (2, 2), "CenterCrop": (2, 2), "Rescaling": (0.5,), "RandomFlip": (), "RandomRotation": (0.2,),
    "RandomZoom": (0.2,), "RandomContrast": (0.2,), "RandomTranslation": (0.2, 0.2), "RandomHeight": (0.2,), "RandomWidth": (0.2,),
    "Discretization": ([0.5, 1.0],), "CategoryEncoding": (4,), "Hashing": (4,), "Normalization": (), "BasicLSTMCell": (4,),
    "BasicRNNCell": (4,),
}


def specials():
    """Names that need more than arguments from the pool."""
    x = tf.constant(FLOAT)
    inner = lambda: tf.keras.layers.LSTMCell(4)  # noqa: E731
    sequence = tf.reshape(tf.range(24, dtype=tf.float32), [2, 3, 4])
    norms = [tf.keras.layers.BatchNormalization(synchronized=True), tf.keras.layers.BatchNormalization()]
    picture = tf.reshape(tf.range(48, dtype=tf.float32) / 48, [1, 4, 4, 3])
    jpeg = tf.io.encode_jpeg(tf.zeros([4, 4, 3], tf.uint8))
    cells = {
        "tf.keras.layers.RNN": lambda: tf.keras.layers.RNN(inner())(sequence),
        "tf.keras.layers.StackedRNNCells": lambda: tf.keras.layers.RNN(tf.keras.layers.StackedRNNCells([inner(), inner()]))(sequence),
        "tf.keras.layers.Bidirectional": lambda: tf.keras.layers.Bidirectional(tf.keras.layers.LSTM(4))(sequence),
        "tf.keras.layers.TimeDistributed": lambda: tf.keras.layers.TimeDistributed(tf.keras.layers.Dense(4))(sequence),
        "tf.keras.layers.MultiHeadAttention": lambda: tf.keras.layers.MultiHeadAttention(2, 4)(sequence, sequence),
        "tf.keras.layers.Layer": lambda: tf.keras.layers.Layer()(x),
        "tf.keras.layers.Wrapper": lambda: tf.keras.layers.Dense(2)(x),
        "tf.keras.layers.LSTMCell": lambda: inner()(x, [x, x]),
        "tf.keras.layers.GRUCell": lambda: tf.keras.layers.GRUCell(4)(x, [x]),
        "tf.keras.layers.SimpleRNNCell": lambda: tf.keras.layers.SimpleRNNCell(4)(x, [x]),
        "tf.keras.layers.EinsumDense": lambda: tf.keras.layers.EinsumDense("ab,bc->ac", 4)(x),
        "tf.keras.layers.experimental.EinsumDense": lambda: tf.keras.layers.EinsumDense("ab,bc->ac", 4)(x),
        "tf.keras.layers.experimental.SyncBatchNormalization": lambda: norms[0](x, training=True),
        "tf.keras.layers.BatchNormalization": lambda: norms[1](x, training=True),
        "tf.keras.Sequential": lambda: tf.keras.Sequential([tf.keras.layers.Dense(4)])(x),
        "tf.keras.Model": lambda: whole_model(x),
        "tf.keras.Input": lambda: whole_model(x),
        "tf.keras.layers.InputLayer": lambda: whole_model(x),
        "tf.einsum": lambda: tf.einsum("ab,bc->ac", x, x),
        "tf.linalg.einsum": lambda: tf.einsum("ab,bc->ac", x, x),
        "tf.nn.conv2d": lambda: tf.nn.conv2d(tf.ones([1, 4, 4, 3]), tf.ones([3, 3, 3, 2]), 1, "SAME"),
        "tf.nn.conv1d": lambda: tf.nn.conv1d(tf.ones([1, 4, 3]), tf.ones([3, 3, 2]), 1, "SAME"),
        "tf.nn.conv3d": lambda: tf.nn.conv3d(tf.ones([1, 4, 4, 4, 3]), tf.ones([3, 3, 3, 3, 2]), [1] * 5, "SAME"),
        "tf.nn.convolution": lambda: tf.nn.convolution(tf.ones([1, 4, 4, 3]), tf.ones([3, 3, 3, 2])),
        "tf.nn.conv2d_transpose": lambda: tf.nn.conv2d_transpose(tf.ones([1, 4, 4, 3]), tf.ones([3, 3, 2, 3]), [1, 8, 8, 2], 2),
        "tf.nn.conv_transpose": lambda: tf.nn.conv_transpose(tf.ones([1, 4, 4, 3]), tf.ones([3, 3, 2, 3]), [1, 8, 8, 2], 2),
        "tf.nn.atrous_conv2d": lambda: tf.nn.atrous_conv2d(tf.ones([1, 8, 8, 3]), tf.ones([3, 3, 3, 2]), 2, "SAME"),
        "tf.nn.depthwise_conv2d": lambda: tf.nn.depthwise_conv2d(tf.ones([1, 4, 4, 3]), tf.ones([3, 3, 3, 1]), [1] * 4, "SAME"),
        "tf.nn.separable_conv2d": lambda: tf.nn.separable_conv2d(tf.ones([1, 4, 4, 3]), tf.ones([3, 3, 3, 1]), tf.ones([1, 1, 3, 2]), [1] * 4, "SAME"),
        "tf.nn.max_pool": lambda: tf.nn.max_pool(tf.ones([1, 4, 4, 3]), 2, 2, "SAME"),
        "tf.nn.max_pool2d": lambda: tf.nn.max_pool2d(tf.ones([1, 4, 4, 3]), 2, 2, "SAME"),
        "tf.nn.max_pool1d": lambda: tf.nn.max_pool1d(tf.ones([1, 4, 3]), 2, 2, "SAME"),
        "tf.nn.max_pool3d": lambda: tf.nn.max_pool3d(tf.ones([1, 4, 4, 4, 3]), 2, 2, "SAME"),
        "tf.nn.avg_pool": lambda: tf.nn.avg_pool(tf.ones([1, 4, 4, 3]), 2, 2, "SAME"),
        "tf.nn.avg_pool2d": lambda: tf.nn.avg_pool2d(tf.ones([1, 4, 4, 3]), 2, 2, "SAME"),
        "tf.nn.avg_pool1d": lambda: tf.nn.avg_pool1d(tf.ones([1, 4, 3]), 2, 2, "SAME"),
        "tf.nn.avg_pool3d": lambda: tf.nn.avg_pool3d(tf.ones([1, 4, 4, 4, 3]), 2, 2, "SAME"),
        "tf.nn.pool": lambda: tf.nn.pool(tf.ones([1, 4, 4, 3]), [2, 2], "MAX"),
        "tf.nn.batch_normalization": lambda: tf.nn.batch_normalization(x, x, x, x, x, 1e-3),
        "tf.nn.moments": lambda: tf.nn.moments(x, [0]),
        "tf.nn.softmax_cross_entropy_with_logits": lambda: tf.nn.softmax_cross_entropy_with_logits(x, x),
        "tf.compat.v1.nn.softmax_cross_entropy_with_logits": lambda: tf.compat.v1.nn.softmax_cross_entropy_with_logits(labels=x, logits=x),
        "tf.nn.sigmoid_cross_entropy_with_logits": lambda: tf.nn.sigmoid_cross_entropy_with_logits(x, x),
        "tf.nn.sparse_softmax_cross_entropy_with_logits": lambda: tf.nn.sparse_softmax_cross_entropy_with_logits(tf.constant([0, 1, 2, 3]), x),
        "tf.nn.embedding_lookup": lambda: tf.nn.embedding_lookup(x, [0, 1]),
        "tf.strided_slice": lambda: tf.strided_slice(x, [0, 0], [2, 2]),
        "tf.slice": lambda: tf.slice(x, [0, 0], [2, 2]),
        "tf.where": lambda: tf.where(x > 1, x, -x),
        "tf.tensor_scatter_nd_update": lambda: tf.tensor_scatter_nd_update(x, [[0]], x[:1]),
        "tf.tensor_scatter_nd_add": lambda: tf.tensor_scatter_nd_add(x, [[0]], x[:1]),
        "tf.scatter_nd": lambda: tf.scatter_nd([[0]], x[:1], [4, 4]),
        "tf.gather": lambda: tf.gather(x, [0, 1]),
        "tf.gather_nd": lambda: tf.gather_nd(x, [[0, 1]]),
        "tf.split": lambda: tf.split(x, 2),
        "tf.stack": lambda: tf.stack([x, x]),
        "tf.unstack": lambda: tf.unstack(x),
        "tf.pad": lambda: tf.pad(x, [[1, 1], [0, 0]]),
        "tf.tile": lambda: tf.tile(x, [2, 1]),
        "tf.one_hot": lambda: tf.one_hot([0, 1], 3),
        "tf.linspace": lambda: tf.linspace(0.0, 1.0, 5),
        "tf.sequence_mask": lambda: tf.sequence_mask([1, 2], 4),
        "tf.map_fn": lambda: tf.map_fn(lambda r: r * 2, x),
        "tf.scan": lambda: tf.scan(lambda a, r: a + r, x),
        "tf.foldl": lambda: tf.foldl(lambda a, r: a + r, x),
        "tf.foldr": lambda: tf.foldr(lambda a, r: a + r, x),
        "tf.vectorized_map": lambda: tf.vectorized_map(lambda r: r * 2, x),
        "tf.switch_case": lambda: tf.switch_case(tf.constant(1), [lambda: x, lambda: -x]),
        "tf.stop_gradient": lambda: tf.stop_gradient(x),
        "tf.gradients": lambda: tf.gradients(tf.reduce_sum(x * x), x),
        "tf.group": lambda: tf.group(tf.identity(x)) or x,
        "tf.tuple": lambda: tf.tuple([x, x]),
        "tf.custom_gradient": lambda: tf.custom_gradient(lambda a: (a * 2, lambda g: g * 2))(x),
        "tf.recompute_grad": lambda: tf.recompute_grad(lambda a: a * 2)(x),
        "tf.TensorArray": lambda: tf.TensorArray(tf.float32, 2).write(0, x).write(1, x).stack(),
        "tf.RaggedTensor": lambda: tf.RaggedTensor.from_row_lengths(x[0], [1, 3]).to_tensor(),
        "tf.SparseTensor": lambda: tf.sparse.to_dense(tf.SparseTensor([[0, 1]], [1.0], [2, 2])),
        "tf.IndexedSlices": lambda: tf.convert_to_tensor(tf.IndexedSlices(x[:1], tf.constant([0]), tf.constant([4, 4]))),
        "tf.Tensor": lambda: x[1:] + 1,
        "tf.shape": lambda: tf.shape(x),
        "tf.Assert": lambda: (tf.debugging.Assert(tf.reduce_all(x > 0), [x]), x + 1)[1],
        "tf.debugging.assert_equal": lambda: (tf.debugging.assert_equal(x, x), x + 1)[1],
        "tf.no_op": lambda: (tf.no_op(), x + 1)[1],
        "tf.fill": lambda: tf.fill([2, 2], 0.5),
        "tf.image.grayscale_to_rgb": lambda: tf.image.grayscale_to_rgb(picture[..., :1]),
        "tf.image.draw_bounding_boxes": lambda: tf.image.draw_bounding_boxes(picture, [[[0.0, 0.0, 1.0, 1.0]]], [[1.0, 0.0, 0.0]]),
        "tf.image.extract_jpeg_shape": lambda: tf.image.extract_jpeg_shape(jpeg),
        "tf.image.encode_jpeg": lambda: tf.image.encode_jpeg(tf.zeros([4, 4, 3], tf.uint8)),
        "tf.image.decode_and_crop_jpeg": lambda: tf.image.decode_and_crop_jpeg(jpeg, [0, 0, 2, 2]),
        "tf.image.non_max_suppression_padded": lambda: tf.image.non_max_suppression_padded(x, x[0], 2, pad_to_max_output_size=True)[0],
        "tf.linalg.set_diag": lambda: tf.linalg.set_diag(x, x[0]),
        "tf.strings.substr": lambda: tf.strings.substr(["hello"], 1, 2),
        "tf.strings.to_number": lambda: tf.strings.to_number(["1.5"]),
        "tf.histogram_fixed_width": lambda: tf.histogram_fixed_width(x, [0.0, 2.0]),
        "tf.ragged.map_flat_values": lambda: tf.ragged.map_flat_values(tf.abs, tf.ragged.constant([[1.0], [2.0, 3.0]])),
        "tf.keras.optimizers.schedules.PiecewiseConstantDecay": lambda: tf.keras.optimizers.schedules.PiecewiseConstantDecay([1], [0.1, 0.2])(tf.constant(2)),
        "tf.control_dependencies": lambda: controlled(x),
        "tf.clip_by_global_norm": lambda: tf.clip_by_global_norm([x, x], 1.0)[0],
        "tf.linalg.global_norm": lambda: tf.linalg.global_norm([x, x]),
        "tf.math.confusion_matrix": lambda: tf.math.confusion_matrix([0, 1], [1, 1]),
        "tf.math.top_k": lambda: tf.math.top_k(x, 2),
        "tf.math.in_top_k": lambda: tf.math.in_top_k([0, 1, 2, 3], x, 2),
        "tf.image.crop_and_resize": lambda: tf.image.crop_and_resize(tf.ones([1, 4, 4, 3]), [[0.0, 0.0, 1.0, 1.0]], [0], [2, 2]),
        "tf.image.non_max_suppression": lambda: tf.image.non_max_suppression(x, x[0], 2),
        "tf.image.combined_non_max_suppression": lambda: tf.image.combined_non_max_suppression(
            tf.ones([1, 4, 1, 4]), tf.ones([1, 4, 2]), 2, 2),
        "tf.image.crop_to_bounding_box": lambda: tf.image.crop_to_bounding_box(tf.ones([1, 4, 4, 3]), 0, 0, 2, 2),
        "tf.image.pad_to_bounding_box": lambda: tf.image.pad_to_bounding_box(tf.ones([1, 4, 4, 3]), 0, 0, 8, 8),
        "tf.image.resize_with_pad": lambda: tf.image.resize_with_pad(tf.ones([1, 4, 4, 3]), 8, 6),
        "tf.image.resize_with_crop_or_pad": lambda: tf.image.resize_with_crop_or_pad(tf.ones([1, 4, 4, 3]), 8, 2),
        "tf.image.sample_distorted_bounding_box": lambda: tf.image.sample_distorted_bounding_box([4, 4, 3], [[[0.0, 0.0, 1.0, 1.0]]])[0],
        "tf.image.stateless_sample_distorted_bounding_box": lambda: tf.image.stateless_sample_distorted_bounding_box(
            [4, 4, 3], [[[0.0, 0.0, 1.0, 1.0]]], [1, 2])[0],
        "tf.image.adjust_brightness": lambda: tf.image.adjust_brightness(tf.ones([4, 4, 3]), 0.1),
        "tf.image.decode_image": lambda: tf.image.decode_image(tf.io.encode_png(tf.zeros([2, 2, 3], tf.uint8))),
        "tf.random.uniform": lambda: tf.random.uniform([2, 2]),
        "tf.random.truncated_normal": lambda: tf.random.truncated_normal([2, 2]),
        "tf.random.shuffle": lambda: tf.random.shuffle(x),
        "tf.random.categorical": lambda: tf.random.categorical(x, 2),
        "tf.random.Generator": lambda: tf.random.stateless_normal([2], [1, 2]),
        "tf.nn.ctc_loss": lambda: tf.nn.ctc_loss(tf.constant([[1, 2]]), tf.random.normal([4, 1, 4]), [2], [4], blank_index=0),
        "tf.nn.dropout": lambda: tf.nn.dropout(x, 0.5),
        "tf.nn.bias_add": lambda: tf.nn.bias_add(x, x[0]),
        "tf.nn.space_to_depth": lambda: tf.nn.space_to_depth(tf.ones([1, 4, 4, 3]), 2),
        "tf.nn.depth_to_space": lambda: tf.nn.depth_to_space(tf.ones([1, 4, 4, 4]), 2),
        "tf.nn.local_response_normalization": lambda: tf.nn.local_response_normalization(tf.ones([1, 4, 4, 3])),
        "tf.nn.sampled_softmax_loss": lambda: tf.nn.sampled_softmax_loss(x, x[0], tf.constant([[0], [1], [2], [3]], tf.int64), x, 2, 4),
        "tf.nn.nce_loss": lambda: tf.nn.nce_loss(x, x[0], tf.constant([[0], [1], [2], [3]], tf.int64), x, 2, 4),
        "tf.nn.weighted_cross_entropy_with_logits": lambda: tf.nn.weighted_cross_entropy_with_logits(x, x, 0.5),
    }
    return cells


def controlled(x):
    with tf.control_dependencies([tf.identity(x)]):
        return x * 2


def whole_model(x):
    inputs = tf.keras.Input((4,))
    return tf.keras.Model(inputs, tf.keras.layers.Dense(2)(inputs))(x)


def resolve(name):
    thing = tf
    for part in name.split(".")[1:]:
        thing = getattr(thing, part)
    return thing


def required(thing):
    """Names of the parameters that a call has to give; None where they cannot be told."""
    names = []
    for p in inspect.signature(thing).parameters.values():
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty:
            names.append(p.name)
        if p.kind == p.KEYWORD_ONLY and p.default is p.empty:
            return None
    return names


BY_NAME = [(pattern, value) for pattern, value in [
    (r"axis|axes|dim|rank|depth|k|n|num\w*|repeats|ndims|nbins|bins|ksize|block_size|shift|max_output_size|frame_\w+|fft_length", lambda: 2),
    (r"shape|output_shape|size|multiples|dims|target_shape|static_shape|sizes|new_size", lambda: [2, 2]),
    (r"dtype|out_type|type", lambda: tf.float32),
    (r"indices|labels|segment_ids|ids|targets|lengths|sp_ids|sparse_labels|sequence_lengths?|row_\w+|perm|positions", lambda: tf.constant([0, 1, 2, 3])),
    (r"seed", lambda: [1, 2]),
    (r"condition|mask|pred|x_bool|bool\w*", lambda: tf.constant([True, False, True, True])),
    (r"images?\d*|img\d?|value_images", lambda: tf.reshape(tf.range(48, dtype=tf.float32) / 48, [1, 4, 4, 3])),
    (r"rate|alpha|delta|factor|gamma|brightness|contrast_factor|saturation_factor|lower|minval|mean|clip_value_min|max_delta|p|prob|gain", lambda: 0.5),
    (r"upper|maxval|stddev|clip_value_max|clip_norm|limit", lambda: 0.75),
    (r"paddings", lambda: [[1, 1], [1, 1]]),
    (r"strings?|source|pattern|rewrite|contents|bytes", lambda: tf.constant("a b")),
    (r"(sp|sparse)_\w+|sp_input|sparse_tensor", lambda: tf.sparse.from_dense(tf.constant(FLOAT))),
    (r"rt_?\w*|ragged\w*", lambda: tf.ragged.constant([[1.0, 2.0], [3.0]])),
    (r"start|begin", lambda: 0), (r"stop|limit|delta", lambda: 4),
    (r"inputs|values|tensors|list_of_tensors|arrays", lambda: [tf.constant(FLOAT), tf.constant(FLOAT)]),
]]


def makers(name, thing):
    """Functions without parameters that use the API, the likelier first."""
    values = pool()
    if ".applications." in name and inspect.isfunction(thing):
        yield lambda: thing(weights=None, input_shape=(75, 75, 3), classes=3)(tf.ones([1, 75, 75, 3]))
        return
    if inspect.isclass(thing):
        arguments = LAYERS.get(name.rpartition(".")[2])
        options = [arguments] if arguments is not None else [(), (2,), (0.5,), (4,), ([0.5],), ([2], [0.1, 0.01]), (0.1, 10, 0.9)]
        shapes = [lambda: tf.ones([2, 3, 4]), *values[:4], lambda: tf.ones([1, 4, 4, 4, 3]), lambda: tf.constant([[1, 2]]), lambda: [2, 3],
                  lambda: [tf.ones([2, 4]), tf.ones([2, 4])], lambda: tf.ones([1, 3, 4, 4, 3])]
        for given in options:
            if "metrics." in name or "losses." in name:
                for pair in ((0, 0), (2, 0), (3, 3), (9, 3)):
                    yield lambda given=given, pair=pair: thing(*given)(values[pair[0]](), values[pair[1]]())
                continue
            for shape in shapes:
                yield lambda given=given, shape=shape: thing(*given)(shape())
        return
    names = required(thing)
    if names is None or len(names) > 6:
        return
    likely = [next((value for pattern, value in BY_NAME if re.fullmatch(pattern, name)), values[0]) for name in names]
    yield lambda: thing(*(value() for value in likely))
    for value in values:  # all alike, then the first alone
        yield lambda value=value: thing(*(value() for _ in names))
    for value in values:
        yield lambda value=value: thing(value(), *(other() for other in likely[1:]))


def tensors(result):
    flat = [t for t in tf.nest.flatten(result, expand_composites=True) if isinstance(t, tf.Tensor)]
    return flat


class TooLong(Exception):
    pass


def alarm(*_):
    raise TooLong


def operators(graph_def):
    found = {node.op for node in graph_def.node}
    for function in graph_def.library.function:
        found |= {node.op for node in function.node_def}
    return found


def run(make):
    """The operators of a call that ran on the NPU; None where it was no call."""
    made = []

    def body():
        result = tensors(make())
        if not result:
            raise TypeError("no tensor")
        return result

    kept = []  # a layer makes its variables at the first trace alone

    def once():
        if not kept:
            kept.append(make)
        return body()
    function = tf.function(once, autograph=False)
    concrete = function.get_concrete_function()
    made = operators(concrete.graph.as_graph_def())
    concrete()
    return made


BOOKKEEPING = {"Placeholder", "Const", "Identity", "NoOp", "VarHandleOp", "ReadVariableOp", "AssignVariableOp", "ResourceApplyGradientDescent",
               "PartitionedCall", "StatefulPartitionedCall", "VarIsInitializedOp", "_Arg", "_Retval"}


def main():
    lines = pathlib.Path(sys.argv[1]).read_text().splitlines()[1:]
    out = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else DATA / "tf_seen.tsv"
    signal.signal(signal.SIGPROF, alarm)
    signal.signal(signal.SIGALRM, alarm)
    special = specials()
    names = {}
    for line in lines:
        name, kind, _, canonical = line.split("\t")
        if kind in ("function", "class") and (FAMILIES.match(name) or name in special):
            names.setdefault(canonical or name, name)
    # what was tried already: an operator with wrong arguments may end the process, and the run goes on behind it
    tried_file, seen_file = out.with_suffix(".tried"), out.with_suffix(".seen")
    done = set(tried_file.read_text().split()) if tried_file.exists() else set()
    tried_file.touch()
    with tried_file.open("a") as tried_names, seen_file.open("a") as seen_rows:
        for canonical, name in sorted(names.items()):
            shown = canonical if canonical in special or FAMILIES.match(canonical) else name
            if shown in done or shown.startswith("tf.compat.v1.") or (NOT.search(shown) and shown not in special):
                continue  # tf_api.py gives those of compat.v1 the class of their namesake
            tried_names.write(shown + "\n")
            tried_names.flush()
            made = one(shown, special)
            if made is not None:
                seen_rows.write("%s\t%s\t%s\n" % (shown, " ".join(made), " ".join(on_host())))
                seen_rows.flush()
    rows = [line.split("\t") for line in seen_file.read_text().splitlines()]
    host = {word for row in rows for word in row[2].split()} - BOOKKEEPING
    text = HEAD % tf.__version__
    for name, made, _ in sorted(rows):
        text += "%s\t%s\n" % (name, " ".join(sorted(set(made.split()) & host)) or "-")
    out.write_text(text)
    tried_file.unlink()
    seen_file.unlink()
    print("%s: %d of %d names; %d kinds of operators on the host" % (out, len(rows), len(names), len(host)))
    sys.stdout.flush()
    os._exit(0)


def one(shown, special):
    """The operators that an API makes; None where it could not be run."""
    try:
        thing = resolve(shown)
    except Exception:
        return None
    tf.keras.backend.clear_session()
    signal.setitimer(signal.ITIMER_PROF, 60 if "applications" in shown else 4)
    signal.setitimer(signal.ITIMER_REAL, 240)
    try:
        for make in [special[shown]] if shown in special else makers(shown, thing):
            try:
                if inspect.isclass(thing) or "keras" in shown:
                    make_eager(make)
                    return run_model(make)
                return run(make)
            except TooLong:
                raise
            except Exception:
                continue
    except Exception:
        return None
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
    return None


def on_host():
    log.flush()
    log.seek(0)
    return sorted({m.group(1).decode() for m in re.finditer(rb"\] (\w+) runs on TensorFlow's CPU kernel", log.read())})


def make_eager(make):
    if not tensors(make()):
        raise TypeError("no tensor")


def run_model(make):
    """Layers make variables: they are lifted out of the function."""
    def body():
        with tf.init_scope():
            pass
        return tensors(make())
    try:
        return run(make)
    except ValueError as error:
        if "singleton tf.Variable" not in str(error) and "tf.function only supports" not in str(error):
            raise
    concrete = tf.compat.v1.wrap_function(body, [])
    made = operators(concrete.graph.as_graph_def())
    return made


if __name__ == "__main__":
    main()
