"""The ImageNet example as a user runs it: a CUDA script, on one NPU and on several, by each launcher.

UPDRAFT_DIST_DEVICE=cpu lets gloo on the CPU stand in for hccl on npu: that tests the tests."""
import os
import re
import shutil
import socket
import sys
from pathlib import Path

import pytest

from tests.distributed import jobs

CPU = os.environ.get("UPDRAFT_DIST_DEVICE", "npu") == "cpu"
LAUNCH = jobs.ROOT / "examples" / "launch"
MAIN = jobs.ROOT / "examples" / "imagenet" / "main.py"
BIN = Path(sys.executable).parent
SMALL = ["--dummy", "--pictures", 96, "--classes", 4, "--image-size", 32, "--arch", "resnet10", "--batch-size", 24, "--epochs", 2,
         "--workers", 0, "--seed", 1, "--lr", 0.05, "--print-freq", 1]
BACKEND = ["--dist-backend", "gloo" if CPU else "nccl"]
ACCURACY = re.compile(r" \*  Acc@1 ([\d.]+)  Loss ([\d.]+)")
LOSS = re.compile(r"Epoch: \[(\d+)\].*? Loss (\S+) .*?\(rank (\d+)\)")  # launchers may join the lines of two ranks


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@pytest.fixture(scope="module", autouse=True)
def without_transformers(tmp_path_factory):
    """torch_npu's transfer_to_npu imports transformers where it is installed, and with it scipy and sklearn: in each of a dozen
    processes, none of which uses it. tests/clients has what does."""
    folder = tmp_path_factory.mktemp("modules") / "transformers"
    folder.mkdir()
    (folder / "__init__.py").write_text('raise ImportError("left out by tests/distributed/test_examples.py")\n')
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(folder.parent), prepend=os.pathsep)
        yield


def train(tmp_path, *command, timeout=200, **variables):
    prefix = [] if CPU else [BIN / "updraft", "run", "--cuda-as-npu", "--memory", "512M"]
    if CPU:
        variables.update(UPDRAFT_DISABLE=1, TORCH_DEVICE_BACKEND_AUTOLOAD=0, OMP_NUM_THREADS=1)
    variables["PATH"] = "%s:%s" % (BIN, os.environ["PATH"])
    ended, = jobs.run([*prefix, *command, *SMALL, "--out", tmp_path], [variables], timeout=timeout, cwd=tmp_path)
    logs = "".join(log.read_text() for log in sorted(tmp_path.glob("rank-*.log")))
    return ended, ended.output + logs


def learned(tmp_path, ended, text, ranks):
    assert ended.status == 0, text[-6000:]
    for rank in range(ranks):
        assert re.search(r"rank %d of %d, device: .*%s" % (rank, ranks, "CPU" if CPU else "Ascend"), text), text
        losses = [float(loss) for _, loss, r in LOSS.findall(text) if int(r) == rank]
        assert len(losses) == 2 * 4 and sum(losses[4:]) / 4 < losses[0] / 2, text
    assert len(ACCURACY.findall(text)) == 2
    assert ranks == 1 or "parameters of %d ranks agree\n" % ranks in text, text
    assert (tmp_path / "checkpoint.pth.tar").stat().st_size > 100_000


def test_one_card_and_going_on(tmp_path):
    ended, text = train(tmp_path, sys.executable, MAIN, "--gpu", 0)
    learned(tmp_path, ended, text, 1)
    ended, text = train(tmp_path, sys.executable, MAIN, "--gpu", 0, "--resume", tmp_path / "checkpoint.pth.tar", "--evaluate")
    assert ended.status == 0 and "goes on after epoch 2" in text and len(ACCURACY.findall(text)) == 1, text


def test_spawned_processes(tmp_path):
    ended, text = train(tmp_path, sys.executable, MAIN, "--multiprocessing-distributed", "--world-size", 1, "--rank", 0, "--gpus", 2,
                        "--dist-url", "tcp://127.0.0.1:%d" % free_port(), *BACKEND)
    learned(tmp_path, ended, text, 2)


def test_torchrun(tmp_path):
    learned(tmp_path, *train(tmp_path, LAUNCH / "torchrun.sh", 2, MAIN, *BACKEND), 2)


def test_rank_table_and_cores_in_mixed_precision(tmp_path):
    ended, text = train(tmp_path, LAUNCH / "rank_table.sh", 2, sys.executable, MAIN, *BACKEND, *([] if CPU else ["--amp"]), LOG_DIR=tmp_path,
                        HCCL_IF_BASE_PORT=free_port())
    learned(tmp_path, ended, text, 2)
    assert (tmp_path / "rank_table_2p.json").exists()


@pytest.mark.skipif(not shutil.which("mpirun"), reason="no mpirun (Debian: openmpi-bin)")
def test_mpirun(tmp_path):
    learned(tmp_path, *train(tmp_path, LAUNCH / "mpirun.sh", 2, sys.executable, MAIN, *BACKEND,
                             MPIRUN_OPTIONS="--allow-run-as-root --oversubscribe --bind-to none"), 2)


def test_a_failing_rank_ends_the_job(tmp_path):
    """rank_table.sh: rank 1 fails, rank 0 would wait for ever."""
    script = "import os, sys, time; sys.exit(3) if os.environ['RANK_ID'] == '1' else time.sleep(600)"
    ended, = jobs.run([LAUNCH / "rank_table.sh", 2, sys.executable, "-c", script], [dict(LOG_DIR=tmp_path)], timeout=60, cwd=tmp_path)
    assert ended.status == 3 and "status 3" in ended.output, ended
