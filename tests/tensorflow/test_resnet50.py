"""The guide's walk-throughs of TensorFlow's official ResNet-50, by the tool (10.1) and by hand (10.2), on 1, 2 and 8 devices, against the original on the CPU.

In the long form: the code (PyPI, tf-models-official 2.6.0) lies in .venv-tensorflow-models, and the network is as large as it is.
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
STEPS, LOOP, SAMPLES = 8, 4, 64
pytestmark = [pytest.mark.skipif(not os.environ.get("UPDRAFT_TEST_LONG"), reason="the long form: a ResNet-50 of the real size"), pytest.mark.timeout(1200)]


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


def start(folder, data, name, batch=2, steps=STEPS, loop=LOOP, checkpoint=False, **variables):
    path = folder / edits.RESNET / edits.MAIN
    words = ["--data_dir=%s" % data, "--train_steps=%d" % steps, "--distribution_strategy=one_device", "--use_tf_while_loop=true", "--steps_per_loop=%d" % loop,
             "--batch_size=%d" % batch, "--epochs_between_evals=1", "--skip_eval", "--model_dir=%s" % (folder / name)]
    environment = {**os.environ, "PYTHONPATH": "%s:%s" % (folder, MODELS), "NPU_LOOP_SIZE": str(loop), "TF_CPP_MIN_LOG_LEVEL": "0", **variables}
    log = open(folder / (name + ".log"), "w")  # noqa: SIM115: the process has it
    return subprocess.Popen([sys.executable, str(HERE.parent / "resnet50" / "start.py"), str(path), *words, *(["--enable_checkpoint_and_export"] if checkpoint else [])],
                            stdout=log, stderr=subprocess.STDOUT, env=environment)


def said(process, folder, name):
    """The log, and the losses of each loop."""
    code = process.wait(timeout=1000)
    text = (folder / (name + ".log")).read_text()
    assert code == 0, text[-4000:]
    return text, [float(loss) for loss in re.findall(r"^train \| .*'train_loss': ([0-9.]+)", text, re.M)]


@pytest.fixture(scope="module")
def reference(tmp_path_factory, data):
    folder = code(tmp_path_factory.mktemp("original"))
    return said(start(folder, data, "cpu", UPDRAFT_DISABLE="1"), folder, "cpu")[1]


def ranks(folder, data, count, **words):
    """The trainable variables at the end, of each rank."""
    job = [start(folder, data, "rank%d" % i, checkpoint=True, RANK_TABLE_FILE=table(folder, count), RANK_SIZE=str(count), RANK_ID=str(i), ASCEND_DEVICE_ID=str(i),
                 JOB_ID="10086", OMP_NUM_THREADS="1", TF_NUM_INTRAOP_THREADS="1", TF_NUM_INTEROP_THREADS="1", UPDRAFT_THREADS="1", **words) for i in range(count)]
    variables = []
    try:
        for i, process in enumerate(job):
            text, losses = said(process, folder, "rank%d" % i)
            assert losses and np.all(np.isfinite(losses)), text[-2000:]
            reader = tf.train.load_checkpoint(str(folder / ("rank%d" % i)))
            names = [n for n in reader.get_variable_to_shape_map() if re.search(r"/(kernel|bias|gamma|beta)/\.ATTRIBUTES", n) and n.startswith("model")]
            variables.append({n: reader.get_tensor(n) for n in sorted(names)})
    finally:
        for process in job:
            process.kill()
    return variables


def check_equal(variables):
    assert len(variables[0]) == 161, sorted(variables[0])[:5]  # what ResNet-50 has to learn
    for other in variables[1:]:
        assert other.keys() == variables[0].keys()
        for name, value in variables[0].items():
            np.testing.assert_array_equal(other[name], value, err_msg=name)


def test_by_hand(tmp_path, data, reference):
    folder = code(tmp_path / "models", edits.by_hand)
    text, losses = said(start(folder, data, "npu"), folder, "npu")
    np.testing.assert_allclose(losses, reference, rtol=2e-3)
    assert len(losses) == STEPS // LOOP
    lines = ["Npu device instance /job:localhost/replica:0/task:0/device:NPU:0 created", "Iterator resource provider for AnonymousIterator0 created",
             "Hdc channel for iterator resource AnonymousIterator0 to device [0] created", "can loop: true", "Set npu loop size to 4",
             "Start consume iterator resource AnonymousIterator0 4 times", "pin to cpu, loop size 4",
             "Iterator resource AnonymousIterator0 consume 4 times done with status OK", "Stopping iterator resource provider for AnonymousIterator0",
             "Hdc channel AnonymousIterator0 closed", "Stop tensorflow model parser succeed", "Stop graph engine succeed"]
    places = [text.find(line) for line in lines]
    assert -1 not in places and places == sorted(places), list(zip(lines, places))
    assert text.count("consume 4 times done with status OK") == STEPS // LOOP


@pytest.mark.parametrize("count", [2, 8])
def test_by_hand_on_several_devices(tmp_path, data, count):
    folder = code(tmp_path / "models", edits.by_hand)
    check_equal(ranks(folder, data, count, batch=2 * count, steps=4, loop=2))


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
    np.testing.assert_allclose(losses, reference, rtol=2e-3)


def test_by_the_tool_on_two_devices(migrated, data):
    check_equal(ranks(migrated, data, 2, batch=4, steps=4, loop=2))
