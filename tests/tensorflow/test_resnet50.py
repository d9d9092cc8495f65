"""The guide's walk-throughs of TensorFlow's official ResNet-50, by the tool (10.1) and by hand (10.2), on 1, 2 and 8 devices, against the original on the CPU.

In the long form: the code (PyPI, tf-models-official 2.6.0) lies in .venv-tensorflow-models. The network is as large as it is, the images are small.
With batches of two the gradient follows each rounding: TensorFlow's own two sets of kernels (TF_ENABLE_ONEDNN_OPTS) differ by 8 % in it after three steps.
"""

import json
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf
from resnet50 import edits

HERE = pathlib.Path(__file__).resolve()
MODELS = HERE.parents[2] / ".venv-tensorflow-models"
STEPS, LOOP, SAMPLES = 4, 2, 64
GRADIENT = 0.3  # of its length
pytestmark = [pytest.mark.long, pytest.mark.timeout(3000)]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("imagenet") / "tf"
    subprocess.run([sys.executable, str(HERE.parent / "resnet50" / "records.py"), str(folder), str(SAMPLES)], check=True, timeout=120,
                   env={**os.environ, "UPDRAFT_DISABLE": "1", "TF_CPP_MIN_LOG_LEVEL": "2"})
    return folder


def code(folder, change=None):
    assert (MODELS / "official").is_dir(), "./dev test all installs it"
    copy = edits.original(MODELS, folder)
    if change:
        change(copy)
    return copy


def table(folder, ranks):
    """Template 1 of the guide, as rank_table_1p.json and rank_table_2p.json are."""
    path = folder / ("rank_table_%dp.json" % ranks)
    devices = [{"device_id": str(i), "device_ip": "192.168.100.%d" % (i + 1), "rank_id": str(i)} for i in range(ranks)]
    path.write_text(json.dumps({"status": "completed", "version": "1.0", "server_count": "1", "server_list": [{"server_id": "127.0.0.1", "device": devices}]}))
    return str(path)


def start(folder, data, name, batch=2, steps=STEPS, loop=LOOP, **variables):
    path = folder / edits.RESNET / edits.MAIN
    words = ["--data_dir=%s" % data, "--train_steps=%d" % steps, "--distribution_strategy=one_device", "--use_tf_while_loop=true", "--steps_per_loop=%d" % loop,
             "--batch_size=%d" % batch, "--epochs_between_evals=1", "--skip_eval", "--model_dir=%s" % (folder / name), "--enable_checkpoint_and_export"]
    environment = {**os.environ, "PYTHONPATH": "%s:%s" % (folder, MODELS), "NPU_LOOP_SIZE": str(loop), "TF_CPP_MIN_LOG_LEVEL": "0", **variables}
    log = open(folder / (name + ".log"), "w")  # noqa: SIM115: the process has it
    return subprocess.Popen([sys.executable, str(HERE.parent / "resnet50" / "start.py"), str(path), *words], stdout=log, stderr=subprocess.STDOUT, env=environment)


def said(process, folder, name):
    """The log, and the losses of each loop."""
    code = process.wait(timeout=2500)
    text = (folder / (name + ".log")).read_text()
    assert code == 0, text[-4000:]
    return text, [float(loss) for loss in re.findall(r"^train \| .*'train_loss': ([0-9.]+)", text, re.M)]


def learned(folder, name):
    """The trainable variables at the end, and what SGD has summed up of their gradients."""
    reader = tf.train.load_checkpoint(str(folder / name))
    names = [n for n in reader.get_variable_to_shape_map() if re.search(r"^model.*/(kernel|bias|gamma|beta)/\.", n)]
    summed = {n: n.partition("/.ATTRIBUTES")[0] + "/.OPTIMIZER_SLOT/optimizer/momentum/.ATTRIBUTES/VARIABLE_VALUE" for n in names if "OPTIMIZER_SLOT" not in n}
    assert len(summed) == 161, names[:5]  # what ResNet-50 has to learn
    return {n: reader.get_tensor(n) for n in sorted(summed)}, np.concatenate([reader.get_tensor(summed[n]).ravel().astype("d") for n in sorted(summed)])


def alike(gradient, wanted):
    assert np.linalg.norm(gradient - wanted) < GRADIENT * np.linalg.norm(wanted)


@pytest.fixture(scope="module")
def reference(tmp_path_factory, data):
    folder = code(tmp_path_factory.mktemp("original"))
    return said(start(folder, data, "cpu", UPDRAFT_DISABLE="1"), folder, "cpu")[1], learned(folder, "cpu")[1]


@pytest.fixture(scope="module")
def joined(tmp_path_factory, data):
    """The gradient of `count` replicas in one process of TensorFlow's own."""
    known = {}

    def of(count):
        if count not in known:
            folder = code(tmp_path_factory.mktemp("joined"), edits.regularized_by_replica)
            said(start(folder, data, "cpu", batch=2 * count, steps=2, UPDRAFT_DISABLE="1", REPLICAS=str(count)), folder, "cpu")
            known[count] = learned(folder, "cpu")[1]
        return known[count]

    return of


def check_ranks(folder, data, count, wanted):
    """Ranks end with equal variables; their gradient is that of one process."""
    names = ["rank%d_of_%d" % (i, count) for i in range(count)]  # another number of ranks in the same folder would find their checkpoints
    job = [start(folder, data, names[i], batch=2 * count, steps=2, RANK_TABLE_FILE=table(folder, count), RANK_SIZE=str(count), RANK_ID=str(i), ASCEND_DEVICE_ID=str(i),
                 JOB_ID="10086", OMP_NUM_THREADS="1", TF_NUM_INTRAOP_THREADS="1", TF_NUM_INTEROP_THREADS="1", UPDRAFT_THREADS="1") for i in range(count)]
    try:
        ranks = []
        for i, process in enumerate(job):
            text, losses = said(process, folder, names[i])
            assert losses and np.all(np.isfinite(losses)), text[-2000:]
            ranks.append((losses, *learned(folder, names[i])))
    finally:
        for process in job:
            process.kill()
    assert len({tuple(losses) for losses, _, _ in ranks}) == count  # each with images of its own
    for _, variables, _ in ranks[1:]:
        for name, value in ranks[0][1].items():
            np.testing.assert_array_equal(variables[name], value, err_msg=name)
    alike(ranks[0][2], wanted)


def test_by_hand(tmp_path, data, reference):
    folder = code(tmp_path / "models", edits.by_hand)
    text, losses = said(start(folder, data, "npu"), folder, "npu")
    np.testing.assert_allclose(losses, reference[0], rtol=5e-4)
    alike(learned(folder, "npu")[1], reference[1])
    assert len(losses) == STEPS // LOOP
    lines = ["Npu device instance /job:localhost/replica:0/task:0/device:NPU:0 created",
             "Iterator resource provider for AnonymousMultiDeviceIterator0 created", "Iterator resource provider for AnonymousIterator0 created",
             "Hdc channel for iterator resource AnonymousIterator0 to device [0] created", "can loop: true", "Set npu loop size to %d" % LOOP,
             "Start consume iterator resource AnonymousIterator0 %d times" % LOOP, "pin to cpu, loop size %d" % LOOP,
             "Iterator resource AnonymousIterator0 consume %d times done with status OK" % LOOP, "Stopping iterator resource provider for AnonymousIterator0",
             "Stopping iterator resource provider for AnonymousMultiDeviceIterator0", "Hdc channel AnonymousIterator0 closed", "Stop tensorflow model parser succeed", "Stop graph engine succeed"]
    places = [text.find(line) for line in lines]
    assert -1 not in places and places == sorted(places), list(zip(lines, places))
    assert text.count("consume %d times done with status OK" % LOOP) == STEPS // LOOP


@pytest.mark.parametrize("count", [2, 8])
def test_by_hand_on_several_devices(tmp_path, data, count, joined):
    check_ranks(code(tmp_path / "models", edits.by_hand), data, count, joined(count))


@pytest.fixture(scope="module")
def migrated(tmp_path_factory):
    folder = code(tmp_path_factory.mktemp("tool") / "models", edits.before_the_tool)
    trees = [p / "tfplugin/latest/python/site-packages/npu_device/convert_tf2npu/main.py" for p in HERE.parents[2].glob(".venv/lib/python*/site-packages/updraft/cann")]
    resnet, to = folder / edits.RESNET, folder.parent / "resnet50"
    done = subprocess.run([sys.executable, str(trees[0]), "-i", str(resnet), "-o", str(to), "-r", str(to.parent / "report"), "-m", str(resnet / edits.MAIN), "-d", "tf_strategy"],
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "Finish conver, output file" in done.stdout, done.stdout + done.stderr
    assert (next((to.parent / "report").glob("report_npu_*")) / "api_analysis_report.xlsx").exists()
    resnet.rename(resnet.parent / "resnet_org")
    next(to.rglob("resnet_npu_*")).rename(resnet)
    return folder


def test_by_the_tool(migrated, data, reference):
    """One device, with the guide's rank table of one."""
    _, losses = said(start(migrated, data, "one", RANK_TABLE_FILE=table(migrated, 1), RANK_ID="0", RANK_SIZE="1", JOB_ID="10086"), migrated, "one")
    np.testing.assert_allclose(losses, reference[0], rtol=5e-4)
    alike(learned(migrated, "one")[1], reference[1])


@pytest.mark.parametrize("count", [2, 8])
def test_by_the_tool_on_several_devices(migrated, data, count, joined):
    """The tool's optimizer takes the mean over the ranks, where the code by hand takes the sum."""
    check_ranks(migrated, data, count, joined(count) / count)
