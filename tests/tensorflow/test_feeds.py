"""Iterators are read by threads of their own, ahead of the steps of a loop that takes their batches: what that changes, and what it must not."""

import pathlib
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
import tensorflow as tf

pytestmark = pytest.mark.usefixtures("npu")


class Watched:
    """Numbers from 0, which say when they are read. A step can wait for a number that is read later than its own."""

    def __init__(self, count=100, bad=None, shape=()):
        self.read, self._changed, self._bad = [], threading.Condition(), bad
        data = tf.data.Dataset.range(count, output_type=tf.float32)
        data = data.map(lambda x: tf.fill(shape, tf.ensure_shape(tf.numpy_function(self._give, [x], tf.float32), [])))
        options = tf.data.Options()
        options.experimental_optimization.apply_default_optimizations = False  # which would read ahead themselves
        options.autotune.enabled = False
        self.data = data.with_options(options)

    def _give(self, x):
        with self._changed:
            self.read.append(int(x))
            self._changed.notify_all()
        if x == self._bad:
            raise ValueError("number %d is bad" % x)
        return x

    def waits_for(self, number, seconds=20):
        with self._changed:
            return np.float32(self._changed.wait_for(lambda: len(self.read) > number, seconds))

    def step_waits(self, x, later, last):
        """1.0 when the number that lies so much later has been read while the step of x runs."""
        return tf.ensure_shape(tf.numpy_function(lambda x, last: self.waits_for(min(int(x) + later, int(last))), [x, last], tf.float32), [])


@tf.function
def add_up(iterator, steps, bad):
    total = 0.0
    for _ in tf.range(steps):
        x = next(iterator)
        tf.debugging.assert_none_equal(x, bad)
        total += x
    return total


def test_a_loop_is_fed_ahead_of_its_steps():
    """Each step waits for the batch of the next but one; when the loop is over no batch more has been read than it took."""
    watched = Watched()

    @tf.function
    def loop(iterator, steps, last):
        seen = 0.0
        for _ in tf.range(steps):
            seen += watched.step_waits(next(iterator), 2, last)
        return seen

    iterator = iter(watched.data)
    assert loop(iterator, tf.constant(8), tf.constant(7)).numpy() == 8
    assert watched.read == list(range(8))
    assert next(iterator).numpy() == 8
    assert loop(iterator, tf.constant(5), tf.constant(13)).numpy() == 5
    assert watched.read == list(range(14))


def test_keras_steps_per_execution_are_fed():
    watched = Watched(shape=(2, 1))

    class Model(tf.keras.Model):
        def train_step(self, x):
            x = x[0, 0]
            return {"loss": watched.step_waits(x, 1, x - x % 4 + 3)}

    model = Model()
    model.compile("sgd", steps_per_execution=4)
    model.fit(watched.data.take(8), epochs=1, verbose=0)
    assert model.history.history["loss"][-1] == 1 and watched.read == list(range(8))


@pytest.mark.parametrize("shape, most", [((), 16), ((16, 1024, 1024), 1)])
def test_what_waits_is_bounded(shape, most):
    """A step that takes long finds 16 batches ready, or 64 MiB of them."""
    watched, seen = Watched(24, shape=shape), []

    def look(x):
        if x == 0:
            watched.waits_for(most + 1, 5)
            watched.waits_for(20, 0.3)
            seen.append(len(watched.read))
        return np.float32(0)

    @tf.function
    def loop(iterator, steps):
        for _ in tf.range(steps):
            tf.numpy_function(look, [tf.reshape(next(iterator), [-1])[0]], tf.float32)

    loop(iter(watched.data), tf.constant(24))
    assert len(watched.read) == 24
    assert seen == [most + 2]  # that of the step, those that wait, and one for which there is no room


def test_several_iterators_and_one_that_is_given_twice():
    @tf.function
    def loop(a, b, c, steps):
        total = tf.zeros([2])
        for i in tf.range(steps):
            x, y = next(a), next(b)
            z = next(a) + next(c)
            if i % 2 == 0:
                x += 1000.0
            total += tf.stack([x, y + z])  # TensorFlow says nothing of the order of b and c
        return total

    def told():
        data = tf.data.Dataset.range(100, output_type=tf.float32)
        a, b = iter(data), iter(data.skip(10))
        return [loop(a, b, b, tf.constant(7)).numpy().tolist(), next(a).numpy(), next(b).numpy()]

    got = told()
    with tf.device("CPU:0"):
        assert got == told()


def test_an_iterator_that_a_branch_reads_is_read_by_its_steps():
    """Nobody knows how many batches such a loop takes."""
    watched = Watched()

    @tf.function
    def loop(iterator, steps):
        total = 0.0
        for i in tf.range(steps):
            if i % 2 == 0:
                total += next(iterator)
        return total

    @tf.function
    def left_early(iterator, steps):
        total = 0.0
        for _ in tf.range(steps):
            x = next(iterator)
            if x > 5.0:
                break
            total += x
        return total

    iterator = iter(watched.data)
    assert loop(iterator, tf.constant(6)).numpy() == 0 + 1 + 2 and watched.read == [0, 1, 2]
    assert left_early(iterator, tf.constant(20)).numpy() == 3 + 4 + 5 and watched.read == [0, 1, 2, 3, 4, 5, 6]
    assert next(iterator).numpy() == 7


@pytest.mark.parametrize("start, limit, delta", [(0, 7, 1), (3, 20, 4), (3, 19, 4), (9, 2, -3), (9, 3, -2), (5, 5, 1), (5, 2, 1)])
def test_loops_that_count_in_other_ways(start, limit, delta):
    @tf.function
    def of_range(iterator, start, limit):
        total = 0.0
        for _ in tf.range(start, limit, delta):
            total += next(iterator)
        return total

    @tf.function
    def of_while(iterator, i, limit):
        total = 0.0
        while (i < limit) if delta > 0 else (i > limit):
            total += next(iterator)
            i += delta
        return total

    count = len(range(start, limit, delta))
    for function, kind in ((of_range, tf.int32), (of_while, tf.int64), (of_while, tf.int32)):
        watched = Watched()
        iterator = iter(watched.data)
        assert function(iterator, tf.constant(start, kind), tf.constant(limit, kind)).numpy() == sum(range(count))
        assert len(watched.read) == count and next(iterator).numpy() == count


def test_failures_of_the_data_set_come_behind_the_right_batch():
    watched, total = Watched(12, bad=7), tf.Variable(0.0)

    @tf.function
    def loop(iterator, steps):
        for _ in tf.range(steps):
            total.assign_add(next(iterator))

    iterator = iter(watched.data)
    with pytest.raises(tf.errors.InvalidArgumentError, match="number 7 is bad") as failure:
        loop(iterator, tf.constant(30))
    assert "IteratorGetNext" in str(failure.value)
    assert total.numpy() == sum(range(7))
    loop(iterator, tf.constant(2))
    assert total.numpy() == sum(range(7)) + 8 + 9
    with pytest.raises(tf.errors.OutOfRangeError, match="End of sequence"):
        loop(iterator, tf.constant(30))
    assert total.numpy() == sum(range(7)) + 8 + 9 + 10 + 11
    with pytest.raises(StopIteration):
        next(iterator)


def test_batches_left_by_a_step_that_failed_are_the_next_readers(tmp_path):
    def failed():
        iterator = iter(tf.data.Dataset.range(40, output_type=tf.float32))
        with pytest.raises(tf.errors.InvalidArgumentError):
            add_up(iterator, tf.constant(30), 4.0)
        return iterator

    @tf.function
    def rest(iterator):
        total = 0.0
        for x in iterator:
            total += x
        return total

    iterator = failed()
    assert next(iterator).numpy() == 5 and iterator.get_next_as_optional().get_value().numpy() == 6
    assert add_up(iterator, tf.constant(8), -1.0).numpy() == sum(range(7, 15))
    assert rest(iterator).numpy() == sum(range(15, 40))
    assert not iterator.get_next_as_optional().has_value()

    path, said = str(tmp_path / "c"), "cannot be saved: a loop of which a step failed"
    for _ in range(100):  # until the thread that reads was ahead of the step: a busy machine may not give it the time
        iterator = failed()
        checkpoint = tf.train.Checkpoint(iterator=iterator)
        try:
            checkpoint.write(path)
        except tf.errors.FailedPreconditionError as error:
            assert said in str(error)
            break
        assert next(iterator).numpy() == 5  # nothing was left
    else:
        pytest.fail("no loop read ahead")
    tf.train.Checkpoint(iterator=iter(tf.data.Dataset.range(40, output_type=tf.float32))).write(path)
    with pytest.raises(tf.errors.FailedPreconditionError, match=said):
        checkpoint.read(path)  # TensorFlow saves before it restores
    assert add_up(iterator, tf.constant(30), -1.0).numpy() == sum(range(5, 35))
    checkpoint.write(path)
    assert next(iterator).numpy() == 35
    checkpoint.read(path)
    assert next(iterator).numpy() == 35


def test_a_checkpoint_between_loops_has_the_place_of_the_iterator(tmp_path):
    iterator = iter(tf.data.Dataset.range(40, output_type=tf.float32))
    add_up(iterator, tf.constant(10), -1.0)
    checkpoint = tf.train.Checkpoint(iterator=iterator)
    path = checkpoint.write(str(tmp_path / "c"))
    assert add_up(iterator, tf.constant(5), -1.0).numpy() == sum(range(10, 15))
    checkpoint.read(path)
    assert add_up(iterator, tf.constant(5), -1.0).numpy() == sum(range(10, 15)) and next(iterator).numpy() == 15


def test_loops_in_several_threads_share_an_iterator():
    iterator, totals = iter(tf.data.Dataset.range(400, output_type=tf.float32)), []

    def work():
        totals.extend(add_up(iterator, tf.constant(20), -1.0).numpy() for _ in range(5))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sum(totals) == sum(range(400))


def test_a_data_set_that_forks_workers_feeds_a_loop():
    import multiprocessing

    def numbers():
        with multiprocessing.get_context("fork").Pool(2) as pool:
            yield from pool.imap(float, range(32))

    data = tf.data.Dataset.from_generator(numbers, output_signature=tf.TensorSpec((), tf.float32))
    assert add_up(iter(data), tf.constant(32), -1.0).numpy() == sum(range(32))


def out_of_reach():
    """Threads of this process that neither Ctrl-C nor another signal of a program reaches."""
    wanted = sum(1 << (n - 1) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1))
    status = {task: (task / "status").read_text() for task in pathlib.Path("/proc/self/task").iterdir()}
    return {task.name for task, text in status.items() if int(text.split("SigBlk:")[1].split()[0], 16) & wanted == wanted}


def test_signals_are_for_the_threads_of_the_program():
    seen = []

    def look(x):
        seen.append(out_of_reach())
        return x

    data = tf.data.Dataset.range(8, output_type=tf.float32).map(lambda x: tf.ensure_shape(tf.numpy_function(look, [x], tf.float32), []))
    for _ in range(3):  # all other threads are there then
        add_up(iter(data), tf.constant(8), -1.0)
    seen.clear()
    before = out_of_reach()
    add_up(iter(data), tf.constant(8), -1.0)
    assert any(threads - before for threads in seen)


PROGRAM = """
import os, signal, sys, threading, time
import npu_device
npu_device.open().as_default()
import tensorflow as tf

def slow(x):
    time.sleep(0.02 if x < 60 or KIND == "interrupted" else 3600)
    return x

KIND = sys.argv[1]
data = tf.data.Dataset.range(200, output_type=tf.float32).map(lambda x: tf.ensure_shape(tf.numpy_function(slow, [x], tf.float32), []))

@tf.function
def loop(iterator, steps, bad):
    total = 0.0
    for _ in tf.range(steps):
        x = next(iterator)
        tf.debugging.assert_none_equal(x, bad)
        total += x
    return total

iterator = iter(data)
if KIND == "interrupted":
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        print(loop(iterator, tf.constant(100), -1.0).numpy())
    except KeyboardInterrupt:
        print("interrupted")
    print(float(next(iterator)))
else:
    threading.Thread(target=loop, args=(iterator, tf.constant(100), -1.0), daemon=True).start() if KIND == "running" else None
    if KIND == "failed":
        try:
            loop(iterator, tf.constant(100), 50.0)
        except tf.errors.InvalidArgumentError:
            print("failed")
    time.sleep(1.5)
print("end")
"""


@pytest.mark.parametrize("kind, said", [("interrupted", ["interrupted", "100.0", "end"]), ("failed", ["failed", "end"]), ("running", ["end"])])
def test_the_process_ends(tmp_path, kind, said):
    """Ctrl-C in a loop; the end of a process while a thread waits for a data set that never gives its batch."""
    script = tmp_path / "script.py"
    script.write_text(PROGRAM)
    done = subprocess.run([sys.executable, str(script), kind], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0 and done.stdout.split() == said, (done.returncode, done.stdout, done.stderr[-1500:])
