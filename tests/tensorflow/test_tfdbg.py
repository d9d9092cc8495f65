"""tfdbg_ascend: the reference's tensors as files, from a script of TensorFlow on the CPU that computes what it computes without."""
import json
import os
import subprocess
import sys
import textwrap

import numpy as np

SCRIPT = """
    import os, sys
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow as tf
    if sys.argv[1] != "none":
        import tfdbg_ascend as dbg
        dbg.set_dump_path(sys.argv[1])
    tf.keras.utils.set_random_seed(0)
    model = tf.keras.Sequential([tf.keras.layers.Conv2D(4, 3, activation="relu", name="one"), tf.keras.layers.BatchNormalization(),
                                 tf.keras.layers.Flatten(), tf.keras.layers.Dense(2, name="two")])
    model.compile("adam", "mse")
    x, y = tf.random.normal((4, 6, 6, 1)), tf.random.normal((4, 2))
    losses = model.fit(x, y, epochs=2, batch_size=4, verbose=0, shuffle=False).history["loss"]
    if sys.argv[1] != "none":
        count = len(os.listdir(sys.argv[1]))
        dbg.disable()
    losses += model.fit(x, y, epochs=2, batch_size=4, verbose=0, shuffle=False).history["loss"]

    @tf.function
    def loop(a):
        total = tf.constant(0.0)
        for i in tf.range(3):
            total += tf.reduce_sum(a, name="part") * tf.cast(i, tf.float32)
            total = tf.abs(total, name="n" * 260)
        return total

    if sys.argv[1] != "none":
        assert len(os.listdir(sys.argv[1])) == count and not dbg.get_dump_switch() and dbg.get_dump_path() == sys.argv[1]
        dbg.enable()
    losses.append(float(loop(tf.ones((2, 2)))))
    with tf.GradientTape() as tape:
        v = tf.Variable([1.0, 2.0])
        square = v * v
    losses.append(float(tf.reduce_sum(tape.gradient(square, v))))
    print(losses)
"""


def run(folder, to):
    (folder / "script.py").write_text(textwrap.dedent(SCRIPT))
    done = subprocess.run([sys.executable, "script.py", str(to)], cwd=folder, text=True, capture_output=True, timeout=200,
                          env=dict(os.environ, UPDRAFT_DISABLE="0"))
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1]), done.stderr


def test_files_and_unchanged_numbers(tmp_path):
    losses, said = run(tmp_path, tmp_path / "dump")
    assert np.allclose(losses, run(tmp_path, "none")[0], rtol=1e-5)
    # a name over 255 signs has no file and is told, once
    assert said.count("n" * 260 + " is left out") == 1 and "255 are possible" in said, said
    assert not any("nnn" in p.name for p in (tmp_path / "dump").iterdir())
    names = [p.name.split(".") for p in (tmp_path / "dump").iterdir()]
    assert all(len(n) == 4 and n[1].isdigit() and len(n[2]) == 16 and n[3] == "npy" for n in names)
    by_op = {}
    for n in names:
        by_op.setdefault(n[0], []).append(".".join(n))
    assert len(by_op["sequential_one_Conv2D"]) == 2 and len(by_op["gradient_tape_sequential_two_MatMul_MatMul"]) == 2  # two steps
    assert len(by_op["while_part"]) == 3  # each turn of the loop
    relu, conv = (np.load(tmp_path / "dump" / sorted(by_op[n])[0]) for n in ("sequential_one_Relu", "sequential_one_BiasAdd"))
    assert np.array_equal(relu, np.maximum(conv, 0)) and relu.shape == (4, 4, 4, 4)
