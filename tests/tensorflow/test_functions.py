"""tf.function on the NPU: order of effects, branches, loops, what runs on the CPU in between, errors."""

import threading

import numpy as np
import pytest
import tensorflow as tf

from tests.tensorflow.compare import CPU

pytestmark = pytest.mark.usefixtures("npu")


def test_each_shape_and_type():
    traces = []

    @tf.function
    def f(x):
        traces.append(x.shape)
        return tf.reduce_sum(x * x, axis=-1)

    spec = tf.function(lambda x: tf.reduce_sum(x * x, axis=-1), input_signature=[tf.TensorSpec([None, None], tf.float32)])
    for shape in [(2, 3), (4, 5), (0, 3), (1, 1)]:
        x = np.random.default_rng(0).random(shape, np.float32)
        for g in (f, spec):
            np.testing.assert_allclose(g(tf.constant(x)).numpy(), (x * x).sum(-1), rtol=1e-6)
    assert f(tf.constant([1, 2], tf.int64)).numpy() == 5
    assert f(tf.constant([1, 2], tf.float64)).dtype == tf.float64


def test_reads_and_writes_of_a_variable_keep_their_order():
    v = tf.Variable([1.0, 2.0])

    @tf.function
    def f(x):
        before = v.read_value()
        v.assign_add(x)
        between = v.read_value()
        v.assign(between * 10.0)
        v.assign_sub([1.0, 1.0])
        return before, between, v.read_value(), before + between

    kept = v.read_value()
    got = [t.numpy().tolist() for t in f(tf.constant([1.0, 1.0]))]
    assert got == [[1, 2], [2, 3], [19, 29], [3, 5]]
    assert v.numpy().tolist() == [19, 29]
    assert kept.numpy().tolist() == [1, 2]


@pytest.mark.parametrize("kind", ["ResourceApplyGradientDescent", "ResourceApplyMomentum"])
def test_optimizers_do_not_change_what_was_read(kind):
    """They write the variable's memory: everybody who has read it keeps the old value."""
    v, slot = tf.Variable([1.0, 2.0]), tf.Variable([0.0, 0.0])
    outside = v.read_value()

    @tf.function
    def f(g):
        before = v.read_value()
        if kind == "ResourceApplyMomentum":
            tf.raw_ops.ResourceApplyMomentum(var=v.handle, accum=slot.handle, lr=1.0, grad=g, momentum=0.5)
        else:
            tf.raw_ops.ResourceApplyGradientDescent(var=v.handle, alpha=1.0, delta=g)
        after = v.read_value()
        return before, after, tf.reshape(before, [2, 1]) * 2.0, after - before

    g = tf.constant([0.25, 0.5])
    results = [t.numpy().tolist() for t in f(g)]
    assert results == [[1, 2], [0.75, 1.5], [[2], [4]], [-0.25, -0.5]]
    assert v.numpy().tolist() == [0.75, 1.5] and outside.numpy().tolist() == [1, 2]
    middle = v.read_value()
    f(g)
    assert middle.numpy().tolist() == [0.75, 1.5]
    assert v.numpy().tolist() == ([0.375, 0.75] if kind == "ResourceApplyMomentum" else [0.5, 1.0])


def test_one_variable_twice():
    v = tf.Variable(1.0)

    @tf.function
    def f(a, b):
        a.assign_add(1.0)
        b.assign_add(10.0)
        return a + b

    assert f(v, v).numpy() == 24 and f(v, tf.Variable(5.0)).numpy() == 28


def test_a_variable_that_changes_its_shape():
    v = tf.Variable([1.0], shape=tf.TensorShape([None]))

    @tf.function
    def grow():
        v.assign(tf.concat([v, v + 1.0], 0))
        return tf.shape(v)[0]

    assert [int(grow()) for _ in range(3)] == [2, 4, 8]
    assert v.numpy().tolist() == [1, 2, 2, 3, 2, 3, 3, 4]


def test_a_variable_without_value():
    with tf.Graph().as_default():
        pass
    handle = tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[2], shared_name="never")
    with pytest.raises(tf.errors.FailedPreconditionError, match="never.*read before a value was assigned"):
        tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32)
    assert not tf.raw_ops.VarIsInitializedOp(resource=handle).numpy()

    @tf.function
    def f():
        return tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32) + 1.0

    with pytest.raises(tf.errors.FailedPreconditionError, match="never"):
        f()


def test_branches_and_loops():
    @tf.function
    def f(x, n):
        if tf.reduce_sum(x) > 0:
            x = x * 2.0
        else:
            x = x - 1.0
        i = 0
        while i < n:
            x = x + tf.cast(i, tf.float32)
            i += 1
        return tf.switch_case(n, [lambda: x, lambda: -x, lambda: x * x])

    for x, n in [([1.0, 2.0], 0), ([-3.0, 1.0], 1), ([1.0, 1.0], 2), ([1.0, 1.0], 7)]:
        with tf.device(CPU):
            want = f(tf.constant(x), tf.constant(n)).numpy()
        np.testing.assert_array_equal(f(tf.constant(x), tf.constant(n)).numpy(), want)


def test_gradients_through_a_loop():
    @tf.function
    def f(x, w):
        with tf.GradientTape() as tape:
            tape.watch([x, w])
            y = x
            for _ in tf.range(4):
                y = tf.tanh(tf.matmul(y, w))
            loss = tf.reduce_sum(y)
        return tape.gradient(loss, [x, w])

    rng = np.random.default_rng(1)
    x, w = rng.standard_normal((3, 4)).astype("f"), rng.standard_normal((4, 4)).astype("f")
    with tf.device(CPU):
        want = [g.numpy() for g in f(tf.constant(x.astype("d")), tf.constant(w.astype("d")))]
    for got, reference in zip(f(tf.constant(x), tf.constant(w)), want):
        np.testing.assert_allclose(got.numpy(), reference, rtol=1e-4, atol=1e-5)


def test_cpu_kernels_between_operators_of_the_npu(capfd):
    table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a", "b"], [1.0, 2.0]), -1.0)

    @tf.function
    def f(x):
        y = x * 2.0
        z = tf.py_function(lambda t: t.numpy() + 1.0, [y], tf.float32)
        z.set_shape([2])
        tf.print("printed", z[0])
        return z * 3.0 + table.lookup(tf.constant(["b"])), tf.strings.as_string(tf.cast(z, tf.int32))

    numbers, texts = f(tf.constant([1.0, 2.0]))
    assert numbers.numpy().tolist() == [11, 17] and texts.numpy().tolist() == [b"3", b"5"]
    assert "printed 3" in capfd.readouterr().err


def test_shapes_that_values_decide():
    @tf.function
    def f(x):
        positive = tf.boolean_mask(x, x > 0.0)
        return tf.sort(positive), tf.size(positive), tf.where(x > 0.0)

    for x in ([1.0, -1.0, 3.0, 2.0], [-1.0, -2.0, -3.0, -4.0]):
        got = f(tf.constant(x))
        with tf.device(CPU):
            want = f(tf.constant(x))
        for a, b in zip(got, want):
            np.testing.assert_array_equal(a.numpy(), b.numpy())


def test_lists_of_tensors():
    @tf.function
    def f(n):
        a = tf.TensorArray(tf.float32, size=n)
        for i in tf.range(n):
            a = a.write(i, tf.fill([2], tf.cast(i, tf.float32)))
        return a.stack()

    assert f(tf.constant(3)).numpy().tolist() == [[0, 0], [1, 1], [2, 2]]


def test_steps_in_one_call():
    """A loop over a dataset inside a function: no Python between its steps."""
    v, data = tf.Variable(0.0), tf.data.Dataset.range(5).repeat()

    @tf.function
    def loop(iterator, steps):
        for _ in tf.range(steps):
            v.assign_add(tf.cast(next(iterator), tf.float32))

    iterator = iter(data)
    loop(iterator, tf.constant(4))
    assert v.numpy() == 6
    loop(iterator, tf.constant(3))
    assert v.numpy() == 11


def test_the_end_of_the_data():
    iterator = iter(tf.data.Dataset.range(2))

    @tf.function
    def take():
        return next(iterator) + 1

    assert [int(take()), int(take())] == [1, 2]
    with pytest.raises(tf.errors.OutOfRangeError):
        take()


def test_a_wrong_call_leaves_the_operator_on_the_npu(npu):
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.matmul(tf.ones([2, 5]), tf.ones([2, 5]))
    assert tf.matmul(tf.ones([2, 5]), tf.ones([5, 1])).numpy().tolist() == [[5], [5]]
    assert "MatMul" not in npu.host_operators()


def test_errors_name_the_node():
    with pytest.raises(tf.errors.InvalidArgumentError, match="(?i)matmul|matrix size"):
        tf.matmul(tf.ones([2, 3]), tf.ones([2, 3]))

    @tf.function(input_signature=[tf.TensorSpec(None), tf.TensorSpec(None)])
    def f(a, b):
        return tf.matmul(a, b, name="product")

    with pytest.raises(tf.errors.InvalidArgumentError, match="(?i)product|matrix size"):
        f(tf.ones([2, 3]), tf.ones([2, 3]))
    np.testing.assert_array_equal(f(tf.ones([2, 3]), tf.ones([3, 1])).numpy(), [[3], [3]])

    @tf.function
    def g(text, steps):
        total = 0.0
        for _ in tf.range(steps):
            total += tf.strings.to_number(text, name="my_number") * 2
        return total

    with pytest.raises(tf.errors.InvalidArgumentError, match=r"convert string: abc\n.*{{node .*my_number}}"):
        g(tf.constant("abc"), tf.constant(2))
    assert g(tf.constant("3"), tf.constant(2)).numpy() == 12


def test_functions_in_two_threads():
    v = [tf.Variable(np.full([64, 64], i, "f")) for i in range(2)]

    @tf.function
    def f(w, x):
        w.assign_add(x)
        return tf.reduce_sum(tf.matmul(w, w))

    ones, results = tf.ones([64, 64]), [[], []]

    def work(i):
        for _ in range(20):
            results[i].append(float(f(v[i], ones)))

    threads = [threading.Thread(target=work, args=[i]) for i in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for i in range(2):
        assert results[i] == [64.0**3 * (i + k) ** 2 for k in range(1, 21)]


def test_memory_stays_as_it_is():
    import resource

    v = tf.Variable(tf.zeros([256, 256]))

    @tf.function
    def f(x):
        v.assign_add(x)
        return tf.reduce_sum(v)

    x, before = tf.ones([256, 256]), 0
    for step in range(3000):
        f(x)
        if step == 500:
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < before + 20 * 1024
    assert v.numpy()[0, 0] == 3000


def test_lists_grow_and_shrink_and_reach_cpu_kernels():
    raw = tf.raw_ops

    def run():
        items = raw.TensorListReserve(element_shape=tf.constant(-1), num_elements=3, element_dtype=tf.float32)
        items = raw.TensorListSetItem(input_handle=items, index=1, item=tf.constant([1.0, 2.0]))
        kept = items
        items = raw.TensorListPushBack(input_handle=items, tensor=tf.constant([3.0, 4.0]))
        shorter, last = raw.TensorListPopBack(input_handle=items, element_shape=tf.constant(-1), element_dtype=tf.float32)
        parts = raw.TensorListFromTensor(tensor=tf.reshape(tf.range(6.0), [3, 2]), element_shape=tf.constant([2]))
        both = raw.TensorListConcatLists(input_a=parts, input_b=parts, element_dtype=tf.float32)  # a CPU kernel

        def stack(handle):
            return raw.TensorListStack(input_handle=handle, element_shape=tf.constant(-1), element_dtype=tf.float32)

        return [stack(items), stack(kept), stack(shorter), last, stack(parts), stack(both),
                raw.TensorListGetItem(input_handle=parts, index=2, element_shape=tf.constant([2]), element_dtype=tf.float32),
                raw.TensorListGetItem(input_handle=items, index=0, element_shape=tf.constant(-1), element_dtype=tf.float32),
                raw.TensorListLength(input_handle=both)]

    with tf.device(CPU):
        want = [t.numpy().tolist() for t in run()]
    assert [t.numpy().tolist() for t in run()] == want
    assert [t.numpy().tolist() for t in tf.function(run)()] == want


@pytest.mark.parametrize("wrong,text", [
    (lambda raw, items: raw.TensorListSetItem(input_handle=items, index=3, item=tf.constant([1.0])), "index 3 of a list with 2"),
    (lambda raw, items: raw.TensorListSetItem(input_handle=items, index=0, item=tf.constant([[1.0]])), r"shape \[1, 1\]"),
    (lambda raw, items: raw.TensorListStack(input_handle=items, element_shape=tf.constant(-1), element_dtype=tf.float32), "nothing was written"),
])
def test_lists_refuse(wrong, text):
    items = tf.raw_ops.TensorListReserve(element_shape=tf.constant([-1]), num_elements=2, element_dtype=tf.float32)
    with pytest.raises(tf.errors.InvalidArgumentError, match=text):
        wrong(tf.raw_ops, items)


def test_what_the_npu_refuses_in_the_middle_of_a_run(npu):
    """The run goes on with the CPU's kernel; what was done before is not done again."""
    v, calls = tf.Variable(0.0), []

    def note(t):
        calls.append(1)
        return t.numpy() + 1.0

    @tf.function
    def f(x):
        v.assign_add(1.0)
        y = tf.reshape(tf.py_function(note, [x], tf.float32), [1, 2, 2])
        z = tf.matmul(tf.complex(y, y), tf.complex(y, -y), adjoint_a=True)
        v.assign_add(10.0)
        return tf.math.real(z) + v

    x = np.arange(4.0, dtype="f").reshape(2, 2)
    y = (x + 1)[None]
    for turn in (1, 2):
        got = f(tf.constant(x)).numpy()
        np.testing.assert_allclose(got, ((y + 1j * y).conj().transpose(0, 2, 1) @ (y - 1j * y)).real + 11 * turn, rtol=1e-6)
        assert v.numpy() == 11 * turn and len(calls) == turn
    assert "adjoint complex" in npu.host_operators()["BatchMatMulV2"]
