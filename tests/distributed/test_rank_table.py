"""Groups made from RANK_TABLE_FILE: the world from the table, the others as parts of it."""
import json
import socket

import pytest

from .launch import DEVICE
from .test_checks import Reports

pytestmark = pytest.mark.skipif(DEVICE != "npu", reason="about hccl")
CHECKS = ["all_gather", "sub_groups", "send_and_receive", "a_ring_of_batches", "two_groups_in_opposite_order", "the_world_is_that_of_the_table"]


def free_base_port():
    """The first of 16 ports that nobody listens on."""
    while True:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            base = probe.getsockname()[1]
        if base > 65000:
            continue
        sockets = [socket.socket() for _ in range(16)]
        try:
            for n, s in enumerate(sockets):
                s.bind(("127.0.0.1", base + n))
            return base
        except OSError:
            continue
        finally:
            for s in sockets:
                s.close()


@pytest.fixture(scope="module")
def with_table(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("table")
    table = {"status": "completed", "version": "1.0", "server_count": "1",
             "server_list": [{"server_id": "127.0.0.1", "device": [{"device_id": str(n), "device_ip": "", "rank_id": str(n)} for n in range(2)]}]}
    (folder / "ranks.json").write_text(json.dumps(table))
    env = {"RANK_TABLE_FILE": str(folder / "ranks.json"), "HCCL_IF_BASE_PORT": str(free_base_port())}
    return Reports([i for i in request.session.items if i.module is request.module], folder, env=env)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("ranks, name", [(2, name) for name in CHECKS])
def test_check(with_table, ranks, name):
    with_table.verdict(ranks, name)
