"""Groups made from RANK_TABLE_FILE: the world from the table, the others as parts of it."""
import json

import pytest

from .jobs import free_base_port
from .launch import DEVICE
from .test_checks import Reports

pytestmark = pytest.mark.skipif(DEVICE != "npu", reason="about hccl")
CHECKS = ["all_gather", "sub_groups", "send_and_receive", "a_ring_of_batches", "two_groups_in_opposite_order", "the_world_is_that_of_the_table"]


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
