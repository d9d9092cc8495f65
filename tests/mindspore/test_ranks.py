"""Two ranks by MindSpore's own launcher."""
import json
import socket

import numpy as np
import pytest
import torch
from programs import HERE, LONG, PYTHON, run

COUNTS = [2, 4] if LONG else [2]


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


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


@pytest.mark.parametrize("count", COUNTS)
def test_msrun(tmp_path, count):
    run(tmp_path, PYTHON, PYTHON.with_name("msrun"), "--worker_num=%d" % count, "--local_worker_num=%d" % count,
        "--master_addr=127.0.0.1", "--master_port=%d" % free_port(), "--log_dir=%s" % (tmp_path / "log"), "--join=True",
        HERE / "ranks.py", tmp_path, PATH="%s:/usr/bin:/bin" % PYTHON.parent)
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
