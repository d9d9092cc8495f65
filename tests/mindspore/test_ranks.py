"""Ranks by MindSpore's own launcher: collectives, steps in parallel, a table of ranks, a rank that is killed."""
import json
import os
import pathlib
import signal
import socket
import subprocess
import time

import numpy as np
import pytest
import torch
from programs import HERE, LONG, PYTHON, run

COUNTS = [2, 4] if LONG else [2]


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return str(s.getsockname()[1])


def trained():
    """The first layer's weights after the same steps on the whole batch."""
    net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
    with torch.no_grad():
        for i, p in enumerate(net.parameters()):
            p.copy_(torch.from_numpy(np.random.default_rng(i).standard_normal(tuple(p.shape)).astype(np.float32) * 0.3))
    step, rng = torch.optim.AdamW(net.parameters(), 1e-2), np.random.default_rng(7)
    x, y = torch.from_numpy(rng.standard_normal((16, 8)).astype(np.float32)), torch.from_numpy(rng.integers(0, 4, 16))
    for _ in range(5):
        step.zero_grad()
        torch.nn.functional.cross_entropy(net(x), y).backward()
        step.step()
    return net[0].weight.detach().double().flatten()


def msrun(folder, count, *more):
    return [PYTHON, PYTHON.with_name("msrun"), "--worker_num=%d" % count, "--local_worker_num=%d" % count, "--master_addr=127.0.0.1",
            "--master_port=%s" % free_port(), "--log_dir=%s" % (folder / "log"), "--join=True", *more]


@pytest.mark.parametrize("count", COUNTS)
def test_msrun(tmp_path, count):
    run(tmp_path, *msrun(tmp_path, count), HERE / "ranks.py", tmp_path, HCCL_IF_BASE_PORT=free_port(), PATH="%s:/usr/bin:/bin" % PYTHON.parent)
    ranks = [json.loads((tmp_path / ("rank%d.json" % r)).read_text()) for r in range(count)]
    total, weights = count * (count + 1) / 2, trained()
    for r, found in enumerate(ranks):
        assert found["all_reduce"] == [total] * 4 and found["graph"] == [2 * total] * 4
        assert found["all_gather"] == [float(i + 1) for i in range(count) for _ in range(4)]
        shift = count * (count - 1) / 2
        assert found["reduce_scatter"] == [count * (2 * r + i) + shift for i in range(2)]
        assert found["broadcast"] == [2.0] * 4
        assert found["weights"] == ranks[0]["weights"]
        torch.testing.assert_close(torch.tensor(found["weights"], dtype=torch.float64), weights, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("count", COUNTS)
def test_distributed_of_mint(tmp_path, count):
    """Communicators are made from a table of ranks here, which msrun hands on."""
    table = {"version": "1.0", "server_count": "1", "status": "completed", "server_list": [{"server_id": "127.0.0.1", "host_nic_ip": "reserve", "device": [
        {"device_id": str(r), "device_ip": "192.1.0.%d" % (r + 1), "rank_id": str(r)} for r in range(count)]}]}
    (tmp_path / "table.json").write_text(json.dumps(table))
    run(tmp_path, *msrun(tmp_path, count, "--rank_table_file=%s" % (tmp_path / "table.json")), HERE / "collectives.py", tmp_path,
        HCCL_IF_BASE_PORT=free_port(), PATH="%s:/usr/bin:/bin" % PYTHON.parent, GLOG_v="2")
    names = [json.loads((tmp_path / ("rank%d.json" % r)).read_text()) for r in range(count)]
    assert len(names[0]) == 25 and all(found == names[0] for found in names), names
    log = (tmp_path / "log/worker_0.log").read_text(errors="replace")
    assert "End to initialize communicator by HcclCommInitClusterInfoConfig" in log, log[-3000:]


def until(there, seconds=60):
    end = time.monotonic() + seconds
    while not there():
        assert time.monotonic() < end, "not there within %d s" % seconds
        time.sleep(0.05)


def test_killed_rank(tmp_path):
    """The others are told who died. (msrun itself ends only when its scheduler's own limit has passed.)"""
    env = {**os.environ, "PATH": "%s:/usr/bin:/bin" % PYTHON.parent, "GLOG_v": "3", "PYTHONPATH": str(HERE)}
    with subprocess.Popen([str(part) for part in msrun(tmp_path, 2)] + [str(HERE / "loop_of_ranks.py"), str(tmp_path)], cwd=tmp_path, env=env,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True) as job:
        try:
            until(lambda: all((tmp_path / ("looping%d" % r)).exists() for r in range(2)))
            # The launcher looks once a second for workers that failed and kills the others: it must not come first.
            os.kill(job.pid, signal.SIGSTOP)
            os.kill(int((tmp_path / "pid1").read_text()), signal.SIGKILL)
            until(lambda: (tmp_path / "told0").exists())
            os.kill(job.pid, signal.SIGCONT)
            until(lambda: not pathlib.Path("/proc", (tmp_path / "pid0").read_text()).exists())
        finally:
            os.killpg(job.pid, signal.SIGKILL)
    assert "rank 1 has died" in (tmp_path / "told0").read_text()
