"""Communicators of jobs without torch: CM_* or a rank table, and groups of hccl.manage.api."""
import ast
import socket

import pytest

from tests.distributed import jobs
from tests.distributed.native_job import NATIVE, home
from tests.distributed.test_hccl_program import template_one, write

pytestmark = pytest.mark.timeout(120)


def chief(rank, ranks, port, **more):
    return dict(UPDRAFT_CANN_HOME=home(), UPDRAFT_MEMORY="64M", ASCEND_DEVICE_ID=rank, CM_CHIEF_IP="127.0.0.1", CM_CHIEF_PORT=port,
                CM_CHIEF_DEVICE=0, CM_WORKER_SIZE=ranks, CM_WORKER_IP="127.0.0.1", HCCL_CONNECT_TIMEOUT=120, **more)


def rank_table(rank, ranks, port, folder):
    return dict(UPDRAFT_CANN_HOME=home(), UPDRAFT_MEMORY="64M", ASCEND_DEVICE_ID=rank, RANK_ID=rank, RANK_SIZE=ranks,
                RANK_TABLE_FILE=write(folder, template_one(ranks)), HCCL_IF_BASE_PORT=port)


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("kind", ["CM_*", "rank table"])
def test_groups(tmp_path, kind, ranks):
    port = jobs.free_base_port()
    job = [chief(r, ranks, port) if kind == "CM_*" else rank_table(r, ranks, port, tmp_path) for r in range(ranks)]
    ended = jobs.run([*NATIVE, "groups"], job, each=[[r] for r in range(ranks)])
    assert [e.status for e in ended] == [0] * ranks, jobs.report(ended)
    for rank, e in enumerate(ended):
        pair = rank // 2 * 2
        assert ast.literal_eval(e.output.splitlines()[-1]) == [
            [ranks * (ranks + 1) / 2, ranks], [10.0 ** pair + 10.0 ** (pair + 1)], [ranks - 1.0], [ranks - 1.0], "EI0003", [2.0 * ranks]]


def test_one_process_needs_nobody():
    ended, = jobs.run([*NATIVE, "only_group"], [dict(chief(0, 1, jobs.free_base_port()))], each=[[0]])
    assert ended.status == 0 and ended.output == "", ended.output


def test_torchruns_variables_do_not_say_where_to_meet():
    ended, = jobs.run([*NATIVE, "only_group"], [dict(UPDRAFT_CANN_HOME=home(), RANK=0, WORLD_SIZE=2, LOCAL_RANK=0, LOCAL_WORLD_SIZE=2)], each=[[0]])
    assert ended.status == 0 and "EI0001: RANK and WORLD_SIZE do not say where rank 0 can be met" in ended.output, ended.output


def test_the_meeting_points_port_is_taken(tmp_path):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        job = rank_table(0, 2, other.getsockname()[1], tmp_path)
        ended, = jobs.run([*NATIVE, "only_group"], [job], each=[[0]])
    assert "EI0019" in ended.output and f":{job['HCCL_IF_BASE_PORT']} cannot be listened on" in ended.output, ended.output
