"""Updates of some rows of a variable, as embeddings are trained, against TensorFlow's CPU kernels: values put into rows, and steps of every
optimizer that has one for rows. None of them may run on the CPU, and rows that come twice are changed twice."""

import numpy as np
import pytest
import tensorflow as tf

from tests.tensorflow.compare import CPU, close

pytestmark = pytest.mark.usefixtures("npu")
raw = tf.raw_ops
TOLERANCE = {"float64": 1e-12, "float32": 2e-6, "float16": 4e-3, "bfloat16": 3e-2, "int32": 0, "int64": 0}
SOME = [3, 0, 3, 6]
RATES = {"lr": 0.1, "alpha": 0.1, "rho": 0.9, "momentum": 0.8, "epsilon": 0.01, "l1": 0.05, "l2": 0.2, "l2_shrinkage": 0.3, "lr_power": -0.5, "beta": 0.9,
         "sign_decay": 0.7, "logbase": 1.5, "beta1": 0.9, "beta2": 0.99, "beta1_power": 0.81, "beta2_power": 0.98}
WHAT = {  # variables and rates of the operators, in their order
    "Adadelta": ("accum accum_update", "lr rho epsilon"),
    "Adagrad": ("accum", "lr"),
    "AdagradV2": ("accum", "lr epsilon"),
    "CenteredRMSProp": ("mg ms mom", "lr rho momentum epsilon"),
    "Ftrl": ("accum linear", "lr l1 l2 lr_power"),
    "FtrlV2": ("accum linear", "lr l1 l2 l2_shrinkage lr_power"),
    "KerasMomentum": ("accum", "lr momentum"),
    "Momentum": ("accum", "lr momentum"),
    "ProximalAdagrad": ("accum", "lr l1 l2"),
    "ProximalGradientDescent": ("", "alpha l1 l2"),
    "RMSProp": ("ms mom", "lr rho momentum epsilon"),
}
DENSE = {**WHAT, "AddSign": ("m", "lr alpha sign_decay beta"), "PowerSign": ("m", "lr logbase sign_decay beta"),
         "AdamWithAmsgrad": ("m v vhat", "beta1_power beta2_power lr beta1 beta2 epsilon")}
FLAGS = {"KerasMomentum": "use_nesterov", "Momentum": "use_nesterov", "Adagrad": "update_slots", "AdagradV2": "update_slots"}
FLOATS = ("float32", "float16", "bfloat16", "float64")
CASES = {}


def drawn(dtype, *shape, seed=1, positive=False):
    values = np.random.default_rng(seed).standard_normal(shape) * (5 if dtype.startswith("int") else 1)
    with tf.device(CPU):
        return tf.cast(np.abs(values) + 0.5 if positive else values, dtype)


def optimizer(name, dtype, slots, rates, rows, flags):
    """(what the variables hold at first, the call)"""
    width = 700 if dtype == "float32" and rows is not None else 5
    first = [drawn(dtype, 7, width, seed=k + 1, positive=k > 0) for k in range(1 + len(slots))]
    if "CenteredRMSProp" in name:
        first[1] = first[1] * 0.01  # the square of a mean is no larger than the mean of squares
    grad = drawn(dtype, 7 if rows is None else len(SOME), width, seed=9)
    arguments = {rate: tf.constant(RATES[rate], dtype) for rate in rates}
    if rows is not None:
        arguments["indices"] = rows
    arguments["delta" if name == "ResourceApplyProximalGradientDescent" else "grad"] = grad

    def call(variables):
        handles = dict(zip(["var", *slots], [v.handle for v in variables]))
        getattr(raw, name)(**handles, **arguments, **flags)

    return first, call


for name, (slots, rates) in DENSE.items():
    for flag in (False, True) if name in FLAGS else (None,):
        flags = {} if flag is None else {FLAGS[name]: flag}
        for dtype in FLOATS:
            tag = f"{name}-{dtype}" + ("" if flag is None else f"-{flag}")
            if name in WHAT:
                for index in ("int32", "int64") if dtype == "float32" else ("int32",):
                    CASES[f"ResourceSparseApply{tag}-{index}"] = (dtype, lambda n=name, d=dtype, s=slots, r=rates, i=index, f=flags: optimizer(
                        f"ResourceSparseApply{n}", d, s.split(), r.split(), tf.constant(SOME, i), f))
            CASES[f"ResourceApply{tag}"] = (dtype, lambda n=name, d=dtype, s=slots, r=rates, f=flags: optimizer(
                f"ResourceApply{n}", d, s.split(), r.split(), None, f))


def scatter(name, dtype, indices, shape, one, variable=(7, 5)):
    nd = "Nd" in name
    positive = name.endswith(("Div", "Mul"))
    updates = drawn(dtype, *(() if one else shape), seed=3, positive=positive)

    def call(variables):
        getattr(raw, name)(**{"ref" if nd else "resource": variables[0].handle}, indices=indices, updates=updates)

    return [drawn(dtype, *variable)], call


for kind in ("Add", "Sub", "Mul", "Div", "Max", "Min", "Update"):
    for dtype in (*FLOATS, "int32", "int64"):
        for index in ("int32", "int64") if dtype == "float32" else ("int32",):
            CASES[f"ResourceScatter{kind}-{dtype}-{index}"] = (dtype, lambda k=kind, d=dtype, i=index: scatter(
                f"ResourceScatter{k}", d, tf.constant(SOME, i), (4, 5), False))
    CASES[f"ResourceScatter{kind}-places"] = ("float32", lambda k=kind: scatter(f"ResourceScatter{k}", "float32", tf.constant([[1, 2], [2, 0]]), (2, 2, 5), False))
    CASES[f"ResourceScatter{kind}-one"] = ("float32", lambda k=kind: scatter(f"ResourceScatter{k}", "float32", tf.constant(SOME), (), True))
    CASES[f"ResourceScatter{kind}-none"] = ("float32", lambda k=kind: scatter(f"ResourceScatter{k}", "float32", tf.zeros([0], tf.int32), (0, 5), False))
    CASES[f"ResourceScatter{kind}-vector"] = ("float32", lambda k=kind: scatter(f"ResourceScatter{k}", "float32", tf.constant(SOME), (4,), False, (7,)))
    if kind not in ("Mul", "Div"):
        for dtype in (*FLOATS, "int32"):
            CASES[f"ResourceScatterNd{kind}-{dtype}"] = (dtype, lambda k=kind, d=dtype: scatter(
                f"ResourceScatterNd{k}", d, tf.constant([[3, 1], [0, 4], [3, 1]]), (3,), False))
        CASES[f"ResourceScatterNd{kind}-rows"] = ("float32", lambda k=kind: scatter(f"ResourceScatterNd{k}", "float32", tf.constant([[3], [0]], tf.int64), (2, 5), False))


def ran(case, in_function):
    first, call = case()
    variables = [tf.Variable(value) for value in first]

    def step():
        call(variables)
        call(variables)
        return variables[0] + 0  # what others read in the same function is what the update left

    read = (tf.function(step) if in_function else step)()
    return [*[v.read_value() for v in variables], read]


@pytest.mark.parametrize("name", CASES)
def test_update(npu, name):
    dtype, case = CASES[name]
    with tf.device(CPU):
        try:
            want = ran(case, False)
        except (tf.errors.NotFoundError, tf.errors.InvalidArgumentError) as refused:  # no kernel of that type
            assert dtype in ("float16", "bfloat16", "int32", "int64"), refused
            pytest.skip("the CPU has no such kernel")
    on_host = set(npu.host_operators())
    results = [ran(case, False), ran(case, True)]
    assert set(npu.host_operators()) == on_host, "it ran on the CPU"
    for got in results:
        for k, (g, w) in enumerate(zip(got, want)):
            close(g, w, TOLERANCE[dtype], f"{name} {k}")


@pytest.mark.parametrize("name", ["ResourceScatterAdd", "ResourceScatterMax", "ResourceScatterNdUpdate", "ResourceScatterNdMin", "ResourceSparseApplyAdagrad"])
@pytest.mark.parametrize("row", [7, -1])
def test_a_row_that_is_not_there_is_an_error(name, row):
    """The variable is as it was, and the device goes on."""
    variables = [tf.Variable(tf.ones([7, 5])) for _ in range(2)]
    rows, updates = tf.constant([0, row]), tf.ones([2, 5])
    with pytest.raises(tf.errors.OpError, match=f"{row}"):
        if "Nd" in name:
            getattr(raw, name)(ref=variables[0].handle, indices=rows[:, None], updates=updates)
        elif "Scatter" in name:
            getattr(raw, name)(resource=variables[0].handle, indices=rows, updates=updates)
        else:
            getattr(raw, name)(var=variables[0].handle, accum=variables[1].handle, lr=0.1, grad=updates, indices=rows)
        variables[0].read_value().numpy()
    assert (variables[0].read_value().numpy() == 1).all()
    assert float(tf.reduce_sum(tf.ones([3]))) == 3


@pytest.mark.parametrize("batch", [0, 1])
def test_rows_of_a_variable_are_taken(npu, batch):
    values = np.arange(60, dtype=np.float32).reshape(2, 5, 6)
    rows = [[1, 0, 1], [0, 1, 1]] if batch == 0 else [[4, 0, 2], [3, 3, 1]]
    with tf.device(CPU):
        want = tf.gather(tf.Variable(values), rows, axis=batch, batch_dims=batch), tf.gather_nd(tf.Variable(values), [[1, 2], [0, 4]])
    on_host = set(npu.host_operators())
    variable = tf.Variable(values)
    for run in (lambda f: f(), lambda f: tf.function(f)()):
        got = run(lambda: (raw.ResourceGather(resource=variable.handle, indices=rows, dtype=tf.float32, batch_dims=batch),
                           raw.ResourceGatherNd(resource=variable.handle, indices=[[1, 2], [0, 4]], dtype=tf.float32)))
        for g, w in zip(got, want):
            close(g, w, 0)
    assert set(npu.host_operators()) == on_host


K = tf.keras.optimizers
OPTIMIZERS = [K.SGD, K.Adam, K.Adagrad, K.RMSprop, K.legacy.Adam, K.legacy.Adagrad, K.legacy.Adamax, K.legacy.Ftrl]


@pytest.mark.parametrize("make", OPTIMIZERS, ids=lambda m: m.__module__.split(".")[-1] + "-" + m.__name__)
def test_an_embedding_trains_on_the_npu(npu, make):
    """With other words in each batch, so that gradients have other sizes; nothing of a step runs on the CPU."""
    rng = np.random.default_rng(3)
    first = rng.standard_normal((30, 8)).astype("f")
    batches = [(tf.constant(rng.integers(0, 30, (4, n + 3)), tf.int32), tf.constant(rng.standard_normal((4, 8)), tf.float32)) for n in range(5)]

    def train():
        table, optimizer = tf.Variable(first), make(0.05)
        optimizer.build([table]) if hasattr(optimizer, "build") else optimizer._create_all_weights([table])

        @tf.function(reduce_retracing=True)
        def step(words, want):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((tf.reduce_mean(tf.nn.embedding_lookup(table, words), 1) - want) ** 2)
            optimizer.apply_gradients([(tape.gradient(loss, table), table)])
            return loss

        return [float(step(*batch)) for batch in batches], table.numpy()

    with tf.device(CPU):
        want, table = train()
    on_host = set(npu.host_operators())
    losses, got = train()
    assert set(npu.host_operators()) == on_host
    np.testing.assert_allclose(losses, want, rtol=1e-5)
    np.testing.assert_allclose(got, table, rtol=1e-4, atol=1e-5)
