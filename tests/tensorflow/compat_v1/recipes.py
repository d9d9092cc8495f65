"""Scripts of TensorFlow 1, each a function that returns what JSON can say. They run on the NPU and on the CPU, and have to say the same.

python recipes.py npu|cpu [NAME …] prints {name: result or {"error": text}}.
"""

import json
import os
import sys
import tempfile
import threading
import traceback

import numpy as np
import tensorflow as tf

v1 = tf.compat.v1
RECIPES = {}


def recipe(function):
    RECIPES[function.__name__] = function
    return function


def numbers(seed=0):
    return np.random.default_rng(seed)


def blobs(count, seed=0):
    """Points whose class is the largest of their first three numbers."""
    x = numbers(seed).standard_normal((count, 4)).astype("f")
    return x, x[:, :3].argmax(1).astype("i")


def dense(x, units, name, activation=None, **words):
    with v1.variable_scope(name, **words):
        w = v1.get_variable("w", [x.shape[-1], units], initializer=v1.glorot_uniform_initializer(seed=units))
        b = v1.get_variable("b", [units], initializer=v1.zeros_initializer())
        y = tf.matmul(x, w) + b
        return activation(y) if activation else y


def cross_entropy(labels, logits):
    return tf.reduce_mean(v1.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))


@recipe
def feeds():
    v1.set_random_seed(3)
    x, y = v1.placeholder(tf.float32, [None, 4]), v1.placeholder(tf.int32, [None])
    rate = v1.placeholder_with_default(0.5, [])
    hidden = v1.nn.dropout(dense(x, 16, "a", tf.nn.relu), rate=rate, seed=5)
    loss = cross_entropy(y, dense(hidden, 3, "b"))
    train = v1.train.AdamOptimizer(0.05).minimize(loss)
    losses, (data, labels) = [], blobs(64)
    with v1.Session() as sess:
        sess.run(v1.global_variables_initializer())
        for i in range(0, 64, 8):
            losses.append(sess.run([train, loss], {x: data[i:i + 8], y: labels[i:i + 8]})[1])
        losses.append(sess.run(loss, {x: data, y: labels, rate: 0.0}))
        fed = sess.run([hidden, x], {hidden: np.ones((2, 16), "f"), x: data[:1]})
        made = sess.make_callable(loss, [x, y, rate])(data, labels, 0.0)
    return [losses, fed[0].sum(), fed[1], made]


@recipe
def iterators():
    """The guide's sess.run script: one iterator, initialised for training and for validation."""
    v1.set_random_seed(1)
    data, labels = blobs(48)
    training = tf.data.Dataset.from_tensor_slices((data, labels)).shuffle(48, seed=2).batch(8, drop_remainder=True)
    validation = tf.data.Dataset.from_tensor_slices((data, labels)).batch(16, drop_remainder=True)
    iterator = v1.data.Iterator.from_structure(v1.data.get_output_types(training), ([None, 4], [None]))
    next_batch = iterator.get_next()
    begin, check = iterator.make_initializer(training), iterator.make_initializer(validation)
    x, y, is_training = v1.placeholder(tf.float32, [None, 4]), v1.placeholder(tf.int32, [None]), v1.placeholder(tf.bool, [])
    hidden = tf.nn.relu(v1.layers.batch_normalization(dense(x, 16, "a"), training=is_training, momentum=0.9))
    loss = cross_entropy(y, dense(hidden, 3, "b"))
    with tf.control_dependencies(v1.get_collection(v1.GraphKeys.UPDATE_OPS)):
        train_op = v1.train.MomentumOptimizer(0.1, 0.9).minimize(loss)
    said = []
    sess = v1.Session()
    sess.run(v1.global_variables_initializer())
    for _ in range(2):
        sess.run(begin)
        for _ in range(6):
            images, classes = sess.run(next_batch)
            said.append(sess.run([train_op, loss], feed_dict={x: images, y: classes, is_training: True})[1])
        try:
            sess.run(next_batch)
        except tf.errors.OutOfRangeError:
            said.append("end")
        sess.run(check)
        images, classes = sess.run(next_batch)
        said.append(sess.run(loss, feed_dict={x: images, y: classes, is_training: False}))
    sess.close()
    return said


def mnist(features, labels, mode, params):  # noqa: ARG001
    image = tf.reshape(features["x"], [-1, 14, 14, 1])
    layer = v1.layers.conv2d(image, 8, 5, padding="same", activation=tf.nn.relu, kernel_initializer=v1.glorot_uniform_initializer(seed=1))
    layer = v1.layers.max_pooling2d(layer, 2, 2)
    layer = v1.layers.flatten(layer)
    layer = v1.layers.dense(layer, 32, tf.nn.relu, kernel_initializer=v1.glorot_uniform_initializer(seed=2))
    layer = v1.layers.dropout(layer, 0.4, training=mode == tf.estimator.ModeKeys.TRAIN, seed=4)
    logits = v1.layers.dense(layer, 10, kernel_initializer=v1.glorot_uniform_initializer(seed=3))
    predictions = {"classes": tf.argmax(logits, 1), "probabilities": tf.nn.softmax(logits, name="softmax_tensor")}
    if mode == tf.estimator.ModeKeys.PREDICT:
        return v1.estimator.EstimatorSpec(mode, predictions=predictions)
    loss = v1.losses.sparse_softmax_cross_entropy(labels=labels, logits=logits)
    if mode == tf.estimator.ModeKeys.EVAL:
        return v1.estimator.EstimatorSpec(mode, loss=loss, eval_metric_ops={"accuracy": v1.metrics.accuracy(labels, predictions["classes"])})
    train_op = v1.train.GradientDescentOptimizer(0.05).minimize(loss, global_step=v1.train.get_global_step())
    return v1.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


def images(count):
    labels = np.arange(count) % 10
    x = numbers(4).standard_normal((count, 196)).astype("f") * 0.3
    x[np.arange(count), labels * 15] += 4
    return {"x": x}, labels.astype("i")


class Losses(tf.estimator.SessionRunHook):
    """What the loss was, run by run."""

    def __init__(self, name="sparse_softmax_cross_entropy_loss/value:0"):
        self.name, self.losses = name, []

    def before_run(self, run_context):
        return tf.estimator.SessionRunArgs(run_context.session.graph.get_tensor_by_name(self.name))

    def after_run(self, run_context, run_values):  # noqa: ARG002
        self.losses.append(run_values.results)


def estimator_for(model_fn, npu, **words):
    if not npu:
        return v1.estimator.Estimator(model_fn=model_fn, config=tf.estimator.RunConfig(tf_random_seed=7, **words))
    from npu_bridge.npu_init import NPUEstimator, NPURunConfig, RewriterConfig

    session_config = v1.ConfigProto(allow_soft_placement=True, log_device_placement=False)
    custom_op = session_config.graph_options.rewrite_options.custom_optimizers.add()
    custom_op.name = "NpuOptimizer"
    session_config.graph_options.rewrite_options.remapping = RewriterConfig.OFF
    return NPUEstimator(model_fn=model_fn, config=NPURunConfig(session_config=session_config, tf_random_seed=7, **words))


@recipe
def estimator(npu):
    x, y = images(64)
    losses = Losses()
    with tempfile.TemporaryDirectory() as folder:
        classifier = estimator_for(mnist, npu, model_dir=folder, save_checkpoints_steps=5)

        def train_input_fn():
            return tf.data.Dataset.from_tensor_slices((x, y)).shuffle(64, seed=1).repeat().batch(16, drop_remainder=True)

        logging_hook = tf.estimator.LoggingTensorHook({"p": "softmax_tensor"}, every_n_iter=5)
        classifier.train(input_fn=train_input_fn, steps=8, hooks=[logging_hook, losses])
        classifier.train(input_fn=train_input_fn, steps=4, hooks=[losses])  # goes on from the checkpoint
        result = classifier.evaluate(v1.estimator.inputs.numpy_input_fn(x, y, num_epochs=1, shuffle=False))
        classes = [int(p["classes"]) for p in classifier.predict(v1.estimator.inputs.numpy_input_fn(x, num_epochs=1, shuffle=False))]
        files = sorted(f for f in os.listdir(folder) if f.endswith(".index"))
    return [losses.losses, {k: float(v) for k, v in result.items()}, classes, files]


@recipe
def monitored_session():
    data, labels = blobs(64)
    batch = v1.data.make_one_shot_iterator(tf.data.Dataset.from_tensor_slices((data, labels)).repeat(2).batch(8)).get_next()
    loss = cross_entropy(batch[1], dense(batch[0], 3, "a"))
    step = v1.train.get_or_create_global_step()
    train = v1.train.AdagradOptimizer(0.3).minimize(loss, global_step=step)
    v1.summary.scalar("loss", loss)
    losses = []
    with tempfile.TemporaryDirectory() as folder:
        hooks = [tf.estimator.StopAtStepHook(last_step=12), tf.estimator.NanTensorHook(loss), tf.estimator.StepCounterHook(every_n_steps=4)]
        with v1.train.MonitoredTrainingSession(checkpoint_dir=folder, hooks=hooks, save_checkpoint_steps=6, save_summaries_steps=2) as sess:
            while not sess.should_stop():
                losses.append(sess.run([train, loss])[1])
        with v1.train.MonitoredTrainingSession(checkpoint_dir=folder) as sess:
            losses.append(int(sess.run(step)))
            try:
                while True:
                    losses.append(sess.run([train, loss])[1])
            except tf.errors.OutOfRangeError:
                losses.append("end")
        events = [e for f in os.listdir(folder) if "tfevents" in f for e in v1.train.summary_iterator(os.path.join(folder, f))]
        told = sorted({e.step for e in events for v in e.summary.value if v.tag == "loss"})
    return [losses, [int(t) for t in told]]


@recipe
def keras():
    """Keras in a session that it is given."""
    sess = v1.Session()
    v1.keras.backend.set_session(sess)
    tf.keras.utils.set_random_seed(5)
    v1.set_random_seed(5)
    model = tf.keras.Sequential([tf.keras.layers.Input((4,)), tf.keras.layers.Dense(16, "relu"), tf.keras.layers.BatchNormalization(),
                                 tf.keras.layers.Dense(3, "softmax")])
    model.compile(tf.keras.optimizers.legacy.Adam(0.05), "sparse_categorical_crossentropy", metrics=["accuracy"])
    data, labels = blobs(96)
    model.set_weights([numbers(i).standard_normal(w.shape) * 0.3 if w.ndim == 2 else w for i, w in enumerate(model.get_weights())])

    def slower(epoch):
        return 0.05 / (1 + epoch)

    fitted = model.fit(data, labels, 16, epochs=3, shuffle=False, verbose=0, validation_data=(data[:32], labels[:32]),
                       callbacks=[tf.keras.callbacks.LearningRateScheduler(slower)]).history
    result = [fitted["loss"], fitted["val_loss"], fitted["lr"], model.evaluate(data, labels, verbose=0), model.predict(data[:4])]
    sess.close()
    return [np.array(r).tolist() for r in result]


@recipe
def reference_variables():
    def variable(name, value, **words):
        return v1.Variable(value, name=name, use_resource=False, **words)

    a, n = variable("a", np.ones((4, 2), "f")), variable("n", 5)
    table = variable("table", np.zeros((6, 2), "f"))
    plus = v1.assign_add(a, tf.ones((4, 2)))
    count = v1.assign_sub(n, 2)
    scattered = v1.scatter_update(table, [1, 3], [[1.0, 2.0], [3.0, 4.0]])
    added = v1.scatter_add(table, [3], [[10.0, 10.0]])
    loss = tf.reduce_sum(tf.square(a * 2.0 - 3.0)) + tf.reduce_sum(tf.gather(table, [1, 3]))
    train = v1.train.AdamOptimizer(0.1).minimize(loss, var_list=[a])
    sparse = v1.train.GradientDescentOptimizer(0.5).minimize(loss, var_list=[table])
    with tf.control_dependencies([v1.assign(n, 40)]):
        behind = tf.identity(n) + 1
    said = []
    with tempfile.TemporaryDirectory() as folder, v1.Session() as sess:
        said.append(len(sess.run(v1.report_uninitialized_variables())))
        sess.run(v1.global_variables_initializer())
        said.append(len(sess.run(v1.report_uninitialized_variables())))
        said += [sess.run(plus), sess.run(count), sess.run(scattered), sess.run(added), sess.run(behind)]
        for _ in range(3):
            said.append(sess.run([train, loss])[1])
        sess.run(sparse)
        said += [sess.run(a), sess.run(table)]
        saver = v1.train.Saver()
        path = saver.save(sess, os.path.join(folder, "m"))
        sess.run(v1.assign(a, tf.zeros((4, 2))))
        saver.restore(sess, path)
        said.append(sess.run(a))
        with tf.Graph().as_default(), v1.Session() as other:
            again = v1.train.import_meta_graph(path + ".meta")
            again.restore(other, path)
            said.append(other.run("a:0"))
    return said


def loops(x):
    w = v1.get_variable("w", [4, 4], initializer=v1.glorot_uniform_initializer(seed=1))
    total = tf.while_loop(lambda i, a: i < 5, lambda i, a: (i + 1, tf.tanh(tf.matmul(a, w)) + a), [0, x])[1]
    y = tf.cond(tf.reduce_sum(x) > 0, lambda: total * 2.0, lambda: total - 1.0)
    z = tf.case([(x[0, 0] > 100.0, lambda: y * 0.0), (x[0, 0] > -100.0, lambda: y + 1.0)], default=lambda: y)
    loss = tf.reduce_mean(tf.square(z))
    train = v1.train.GradientDescentOptimizer(0.1).minimize(loss)
    said, data = [], numbers(2).standard_normal((3, 2, 4)).astype("f")
    with v1.Session() as sess:
        sess.run(v1.global_variables_initializer())
        for batch in data:
            said.append(sess.run([loss, train], {x: batch})[0])
        said.append(sess.run(w))
    return said


@recipe
def control_flow():
    return loops(v1.placeholder(tf.float32, [None, 4]))


@recipe
def control_flow_of_version_1():
    """Switch, Merge and Enter."""
    from tensorflow.python.ops import control_flow_util

    before, control_flow_util.ENABLE_CONTROL_FLOW_V2 = control_flow_util.ENABLE_CONTROL_FLOW_V2, False
    try:
        said = loops(v1.placeholder(tf.float32, [None, 4]))
        kinds = {o.type for o in v1.get_default_graph().get_operations()}
        ref = v1.Variable(np.float32(2), name="ref", use_resource=False)
        changed = tf.cond(ref > 1.0, lambda: v1.assign_add(ref, 5.0), lambda: tf.identity(ref))
        with v1.Session() as sess:
            sess.run(ref.initializer)
            said += [sess.run(changed), sess.run(ref)]
    finally:
        control_flow_util.ENABLE_CONTROL_FLOW_V2 = before
    return [*said, sorted(kinds & {"Enter", "Exit", "Merge", "Switch", "While", "If"})]


@recipe
def queues():
    data, labels = blobs(40)
    one = v1.train.slice_input_producer([tf.constant(data), tf.constant(labels)], num_epochs=1, shuffle=False)
    batch = v1.train.batch(one, 8)
    total, said = 0.0, []
    with v1.Session() as sess:
        sess.run([v1.global_variables_initializer(), v1.local_variables_initializer()])
        coordinator = tf.train.Coordinator()
        threads = v1.train.start_queue_runners(sess, coordinator)
        try:
            while not coordinator.should_stop():
                total += float(sess.run(tf.reduce_sum(batch[0])))
                said.append(1)
        except tf.errors.OutOfRangeError:
            said.append("end")
        coordinator.request_stop()
        coordinator.join(threads)
    return [round(total, 3), said]


@recipe
def host_things():
    """Texts, tables, Python functions and summaries beside operators of the NPU."""
    keys = tf.constant(["a", "b", "c"])
    table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(keys, tf.constant([10, 20, 30], tf.int64)), -1)
    words = v1.placeholder(tf.string, [None])
    found = table.lookup(words)
    doubled = v1.py_func(lambda v: v * 2, [tf.cast(found, tf.float32)], tf.float32)
    text = tf.strings.join([words, tf.strings.as_string(found)], ":")
    summary = v1.summary.merge([v1.summary.scalar("s", tf.reduce_sum(doubled)), v1.summary.histogram("h", doubled)])
    with v1.Session() as sess:
        sess.run(v1.tables_initializer())
        numbers_, texts, told = sess.run([doubled, text, summary], {words: ["a", "c", "z"]})
    values = v1.Summary.FromString(told).value
    return [numbers_, [t.decode() for t in texts], values[0].simple_value, values[1].histo.sum]


@recipe
def random_numbers():
    """Each session begins its rows of random numbers again, each operation has its own."""
    v1.set_random_seed(11)
    a, b = v1.random_normal([3]), v1.random_uniform([3])
    said = []
    for _ in range(2):
        with v1.Session() as sess:
            said += [sess.run(a), sess.run([b, a])]
    return [np.concatenate([np.ravel(s) for s in said])]


@recipe
def errors():
    x, size = v1.placeholder(tf.float32, [2], name="x"), v1.placeholder(tf.int32, [1])
    w = v1.get_variable("w", [2])
    y = tf.reshape(x * w, size, name="wrong")
    said = []

    def run(what, feeds=None):
        try:
            sess.run(what, feeds)
        except (tf.errors.OpError, ValueError, RuntimeError) as e:
            said.append([type(e).__name__])

    sess = v1.Session()
    run(w)
    sess.run(w.initializer)
    run(x * w)
    run(y, {x: [1, 2], size: [3]})
    run(x * w, {x: [1, 2, 3]})
    sess.close()
    run(w)
    return said


@recipe
def a_caller_that_changes_his_array():
    x = v1.placeholder(tf.float32, [300])
    w = v1.get_variable("w", [300], initializer=v1.zeros_initializer())
    put = v1.assign(w, x)
    data = np.ones(300, "f")
    with v1.Session() as sess:
        sess.run(w.initializer)
        sess.run(put, {x: data})
        data[:] = 7
        read = sess.run(w)
        read[:] = 9
        return [sess.run(w).sum()]


@recipe
def sessions_apart():
    w = v1.get_variable("w", initializer=1.0)
    plus = v1.assign_add(w, 1.0)
    first, second = v1.Session(), v1.Session()
    for sess in (first, second):
        sess.run(w.initializer)
    for _ in range(3):
        first.run(plus)
    said = [first.run(w), second.run(w)]
    first.close()
    said.append(second.run(plus))
    second.close()
    return said


@recipe
def functions_in_graphs():
    @tf.function
    def f(x, v):
        total = tf.constant(0.0)
        for i in tf.range(3):
            total += tf.reduce_sum(x) * tf.cast(i, tf.float32)
        return total + v

    v = v1.get_variable("v", initializer=2.0)
    x = v1.placeholder(tf.float32, [None])
    y = f(x, v)
    gradient = tf.gradients(y, [x])[0]
    with v1.Session() as sess:
        sess.run(v.initializer)
        return [sess.run(y, {x: [1.0, 2.0]}), sess.run(gradient, {x: [1.0, 2.0]})]


@recipe
def rnn():
    cell = v1.nn.rnn_cell.LSTMCell(6, initializer=v1.glorot_uniform_initializer(seed=1))
    x = v1.placeholder(tf.float32, [2, 5, 3])
    out, _ = v1.nn.dynamic_rnn(cell, x, dtype=tf.float32)
    loss = tf.reduce_mean(tf.square(out - 0.5))
    train = v1.train.GradientDescentOptimizer(0.5).minimize(loss)
    data = numbers(3).standard_normal((2, 5, 3)).astype("f")
    with v1.Session() as sess:
        sess.run(v1.global_variables_initializer())
        return [sess.run([loss, train], {x: data})[0] for _ in range(4)]


@recipe
def steps_in_one_run(npu):
    """set_iteration_per_loop: each run makes several steps, each with the next data; what is left behind the end of data is an error."""
    data, labels = blobs(64)
    batch = v1.data.make_initializable_iterator(tf.data.Dataset.from_tensor_slices((data, labels)).repeat(2).batch(8))
    images_, classes = batch.get_next()
    loss = cross_entropy(classes, dense(images_, 3, "a"))
    step = v1.train.get_or_create_global_step()
    train = v1.train.MomentumOptimizer(0.2, 0.9).minimize(loss, global_step=step)
    said, counts = [], (3, 3, 1, 5, 5)

    def told(sess):
        with tf.device(None):
            return [int(sess.run(step)), float(sess.run(tf.reduce_sum(v1.trainable_variables()[0] ** 2)))]

    if not npu:
        with v1.Session() as sess:
            sess.run([v1.global_variables_initializer(), batch.initializer])
            for count in counts:
                try:
                    for _ in range(count):
                        sess.run(train)
                except tf.errors.OutOfRangeError:
                    said.append("end")
                said.append(told(sess))
        return said
    from npu_bridge.npu_init import util

    loop = util.IterationPerLoop()
    op = loop.create_iteration_per_loop_var(train)
    with v1.Session() as sess:
        sess.run([v1.global_variables_initializer(), batch.initializer])
        for count in counts:
            loop.load_iteration_per_loop_var(sess, count)
            try:
                sess.run(op)
            except tf.errors.OutOfRangeError:
                said.append("end")
            said.append(told(sess))
    return said


@recipe
def loops_are_fed_ahead(npu):
    """Each step of a run waits for the batch of the next one, be the iterator initialised, of one shot, or named by a handle. When the run is
    over no batch more has been read than its steps took."""
    read, changed, said = [], threading.Condition(), []
    count = 5

    def give(x):
        with changed:
            read.append(int(x))
            changed.notify_all()
        return x

    def waits(x):
        with changed:
            return np.float32(changed.wait_for(lambda: len(read) > min(int(x) + 1, int(x) // count * count + count - 1), 20))

    def numbers_of():
        data = tf.data.Dataset.range(20, output_type=tf.float32).map(lambda x: tf.ensure_shape(v1.py_func(give, [x], tf.float32), []))
        options = tf.data.Options()
        options.experimental_optimization.apply_default_optimizations = False
        options.autotune.enabled = False
        return data.with_options(options)

    for kind in ("initializable", "one_shot", "handle"):
        read.clear()
        if not npu:
            said.append([[5.0, list(range(5))], [10.0, list(range(10))], 10.0])
            continue
        from npu_bridge.npu_init import set_iteration_per_loop

        with tf.Graph().as_default():
            make = v1.data.make_one_shot_iterator if kind == "one_shot" else v1.data.make_initializable_iterator
            iterator, handle, feeds_ = make(numbers_of()), None, {}
            x = iterator.get_next()
            if kind == "handle":
                handle = v1.placeholder(tf.string, [])
                x = v1.data.Iterator.from_string_handle(handle, tf.float32, []).get_next()
            total = v1.get_variable("total", initializer=0.0)
            add = v1.assign_add(total, tf.ensure_shape(v1.py_func(waits, [x], tf.float32), []))
            with v1.Session() as sess:
                sess.run(v1.global_variables_initializer())
                if kind != "one_shot":
                    sess.run(iterator.initializer)
                if kind == "handle":
                    feeds_ = {handle: sess.run(iterator.string_handle())}
                op, told = set_iteration_per_loop(sess, add.op, count), []
                for _ in range(2):
                    sess.run(op, feeds_)
                    told.append([float(sess.run(total)), list(read)])
                said.append([*told, float(sess.run(x, feeds_))])
    return said


@recipe
def estimator_with_loops(npu):
    """iterations_per_loop of NPURunConfig; the last run makes only the steps that are left."""
    x, y = images(64)
    words = {"iterations_per_loop": 4} if npu else {}
    with tempfile.TemporaryDirectory() as folder:
        classifier = estimator_for(mnist, npu, model_dir=folder, **words)
        losses = Losses()
        classifier.train(lambda: tf.data.Dataset.from_tensor_slices((x, y)).repeat().batch(16), steps=10, hooks=[losses])
        runs = len(losses.losses) if npu else 3  # of 4, 4 and 2 steps
        step = int(classifier.get_variable_value("global_step"))
        return [runs, step, classifier.get_variable_value("dense/kernel").sum(), losses.losses[-1]]


@recipe
def loss_scale_in_saturation_mode(npu):
    """A step in which a float16 overflowed is left out, though its gradients are finite."""
    x = v1.placeholder(tf.float16, [])
    w = v1.get_variable("w", initializer=2.0)
    loss = tf.cast(tf.cast(w, tf.float16) * x * x, tf.float32)
    feeds_ = [1.0, 300.0, 2.0]
    if not npu:
        return [1.9, 1.9, 1.5]
    from npu_bridge.npu_init import FixedLossScaleManager, NPULossScaleOptimizer

    train = NPULossScaleOptimizer(v1.train.GradientDescentOptimizer(0.1), FixedLossScaleManager(1.0)).minimize(loss)
    said = []
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        for f in feeds_:
            session.run(train, {x: f})
            said.append(session.run(w))
    return said


@recipe
def loss_scale(npu):
    """A step whose gradients are not finite is left out, and the factor follows."""
    x = v1.placeholder(tf.float32, [])
    w = v1.get_variable("w", initializer=2.0)
    loss = w * x
    if npu:
        from npu_bridge.npu_init import ExponentialUpdateLossScaleManager, FixedLossScaleManager, NPULossScaleOptimizer

        manager = ExponentialUpdateLossScaleManager(init_loss_scale=16.0, incr_every_n_steps=2, decr_every_n_nan_or_inf=1, decr_ratio=0.5)
        scale = manager.get_loss_scale()
        train = NPULossScaleOptimizer(v1.train.MomentumOptimizer(0.1, 0.5), manager).minimize(loss)
        other = v1.get_variable("other", initializer=1.0)
        fixed = NPULossScaleOptimizer(v1.train.GradientDescentOptimizer(0.1), FixedLossScaleManager(1024.0)).minimize(other * x, var_list=[other])
    feeds_ = [1.0, 2.0, np.inf, 1.0, np.nan, 3.0]
    if not npu:
        value, speed, factor, good, other_, said = 2.0, 0.0, 16.0, 0, 1.0, []
        for f in feeds_:
            finite = np.isfinite(f)
            if finite:
                speed = speed * 0.5 + f
                value, other_, good = value - 0.1 * speed, other_ - 0.1 * f, good + 1
                if good == 2:
                    factor, good = factor * 2, 0
            else:
                factor, good = factor / 2, 0
            said.append([value, factor, other_])
        return said
    said = []
    with v1.Session() as sess:
        sess.run(v1.global_variables_initializer())
        for f in feeds_:
            sess.run([train, fixed], {x: f})
            said.append(sess.run([w, scale, other]))
    return said


def transformer(features, labels, mode, params):
    """A small BERT: embeddings, layers of attention with GELU, a classifier on the first word."""
    size, heads = params["size"], params["heads"]
    ids = features["ids"]
    start = v1.glorot_uniform_initializer

    def normed(t, name):
        with v1.variable_scope(name):
            mean, variance = tf.nn.moments(t, -1, keepdims=True)
            gamma = v1.get_variable("gamma", [size], initializer=v1.ones_initializer())
            beta = v1.get_variable("beta", [size], initializer=v1.zeros_initializer())
            return tf.nn.batch_normalization(t, mean, variance, beta, gamma, 1e-6)

    def project(t, name, units=size, activation=None):
        return v1.layers.dense(t, units, activation, name=name, kernel_initializer=start(seed=len(name)))

    table = v1.get_variable("word_embeddings", [32, size], initializer=start(seed=9))
    place = v1.get_variable("position_embeddings", [8, size], initializer=start(seed=8))
    x = normed(tf.nn.embedding_lookup(table, ids) + place, "norm")
    for layer in range(2):
        with v1.variable_scope("layer_%d" % layer):
            q, k, v = (tf.transpose(tf.reshape(project(x, n), [-1, 8, heads, size // heads]), [0, 2, 1, 3]) for n in ("query", "key", "value"))
            weights = tf.nn.softmax(tf.matmul(q, k, transpose_b=True) / np.sqrt(size // heads).astype("f"))
            mixed = tf.reshape(tf.transpose(tf.matmul(weights, v), [0, 2, 1, 3]), [-1, 8, size])
            x = normed(x + project(mixed, "output"), "attention_norm")
            x = normed(x + project(project(x, "intermediate", 2 * size, params["gelu"]), "output_2"), "output_norm")
    logits = project(x[:, 0], "classifier", 3)
    loss = tf.reduce_mean(v1.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    loss = tf.identity(loss, "loss")
    step = v1.train.get_global_step()
    rate = v1.train.polynomial_decay(0.01, step, 20, 0.0)
    optimizer = v1.train.AdamOptimizer(rate)
    variables = v1.trainable_variables()
    gradients, _ = tf.clip_by_global_norm(tf.gradients(loss, variables), 1.0)
    train_op = optimizer.apply_gradients(zip(gradients, variables), global_step=step)
    return v1.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


@recipe
def bert(npu):
    ids = numbers(1).integers(0, 32, (64, 8))

    def gelu(t):
        if npu:
            from npu_bridge.npu_init import npu_unary_ops

            return npu_unary_ops.gelu(t)
        return t * (0.5 * (1.0 + tf.tanh(np.sqrt(2 / np.pi).astype("f") * (t + 0.044715 * tf.pow(t, 3)))))

    def input_fn(params):  # noqa: ARG001
        return tf.data.Dataset.from_tensor_slices(({"ids": ids}, (ids[:, 0] % 3).astype("i"))).repeat().batch(16, drop_remainder=True)

    losses = Losses("loss:0")
    with tempfile.TemporaryDirectory() as folder:
        config = {"model_dir": folder, "params": {"size": 16, "heads": 2, "gelu": gelu}}
        if npu:
            from npu_bridge.npu_init import NPUEstimator, NPURunConfig

            made = NPUEstimator(transformer, config=NPURunConfig(tf_random_seed=7), **config)
        else:
            made = v1.estimator.Estimator(transformer, config=tf.estimator.RunConfig(tf_random_seed=7), **config)
        made.train(input_fn, steps=8, hooks=[losses])
    return losses.losses


@recipe
def runs_in_parts():
    """partial_run: each part runs what its feeds allow, and no operation twice."""
    a, b, c = (v1.placeholder(tf.float32, [2], n) for n in "abc")
    count = v1.get_variable("count", [], initializer=v1.zeros_initializer())
    first = tf.tanh(a + b) + v1.random_uniform([2], seed=4)
    with tf.control_dependencies([v1.assign_add(count, 1.0)]):
        counted = tf.identity(first * 2.0)
    second = counted * c
    said = []
    with v1.Session() as sess:
        sess.run(v1.global_variables_initializer())
        for value in (1.0, 2.0):
            handle = sess.partial_run_setup([counted, second], [a, b, c])
            one = sess.partial_run(handle, counted, {a: [value, 0.5], b: [0.25, 2.0]})
            said += [one, sess.run(count)]
            said += [sess.partial_run(handle, second, {c: one}), sess.run(count)]
        handle = sess.partial_run_setup([first, second], [a, b, c])
        said.append(sess.partial_run(handle, first, {a: [0.0, 1.0], b: [1.0, 0.0]}))
        for bad in (lambda: sess.partial_run(handle, first, {}), lambda: sess.partial_run(handle, second, {a: [1.0, 1.0]}),
                    lambda: sess.partial_run(handle, counted, {}), lambda: sess.partial_run("none", first, {})):
            try:
                bad()
            except tf.errors.InvalidArgumentError:
                said.append("refused")
    return said


@recipe
def constants_that_begin_alike():
    """Datasets of which only late elements differ, in one process."""
    said = []
    for last in (5, 6):
        with tf.Graph().as_default(), v1.Session() as sess:
            data = np.r_[np.zeros(50), last].astype("f")
            words = ["w"] * 50 + [str(last)]
            batch = v1.data.make_one_shot_iterator(tf.data.Dataset.from_tensor_slices((data, data.astype("i"))).batch(51)).get_next()
            joined = tf.strings.reduce_join(tf.constant(words))
            sums = sess.run([tf.reduce_sum(batch[0]), tf.reduce_sum(batch[1]), joined])
            said.append([sums[0], sums[1], sums[2].decode()])
    return said


def plain(value):
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value


def main(device, names):
    npu = device == "npu"
    if npu:
        import npu_device
        from npu_device.compat.v1.npu_init import npu_config_proto  # noqa: F401

        npu_device.compat.enable_v1()
    else:
        v1.disable_v2_behavior()
    results = {}
    for name in names or RECIPES:
        function = RECIPES[name]
        try:
            with tf.Graph().as_default():
                results[name] = plain(function(npu) if function.__code__.co_argcount else function())
        except Exception:
            results[name] = {"error": traceback.format_exc()}
    print(json.dumps(results))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
