"""An HCCL program in C++ (examples/hccl_allreduce), started as the guide starts jobs: with rank tables of all forms, and
with root info."""
import json
import socket
import sys
from pathlib import Path

import pytest

from tests.distributed import jobs

SOURCE = jobs.ROOT / "examples" / "hccl_allreduce"
UPDRAFT = Path(sys.executable).with_name("updraft")


@pytest.fixture(scope="session")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hccl_allreduce")
    for command in (["cmake", "-S", SOURCE, "-B", folder], ["cmake", "--build", folder]):
        ended, = jobs.run([UPDRAFT, "run", *command])
        assert ended.status == 0, ended.output
    return folder / "hccl_allreduce"


def device(i, **more):
    return {"device_id": str(i), "device_ip": "192.168.100.%d" % (101 + i), **more}


def template_one(n):
    """The recommended one of Ascend 910, and the only one of Ascend 910B."""
    return {"server_count": "1", "server_list": [{"device": [device(i, rank_id=str(i)) for i in range(n)], "server_id": "10.0.0.10"}],
            "status": "completed", "version": "1.0"}


def template_two(n):
    pods = [{"pod_name": str(i), "server_id": "10.0.0.10", "devices": [device(i)]} for i in range(n)]
    return {"status": "completed", "group_count": "1", "group_list": [
        {"group_name": "hccl_world_group", "instance_count": str(n), "device_count": str(n), "instance_list": pods}]}


def no_nics(n):
    """On one server the network ports need not take part."""
    table = template_one(n)
    for entry in table["server_list"][0]["device"]:
        entry["device_ip"] = ""
    return table


FORMS = {"910, template 1": ("Ascend910A", template_one), "910, template 2": ("Ascend910A", template_two),
         "910B": ("Ascend910B2", template_one), "910B, no device_ip": ("Ascend910B2", no_nics)}


def write(folder, table):
    path = folder / "rank_table.json"
    path.write_text(table if isinstance(table, str) else json.dumps(table, indent=2))
    return path


def free_port():
    """Rank 0 of a rank table listens on HCCL_IF_BASE_PORT + device_id; another test's job may run on this machine."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def variables(rank, ranks, **more):
    """As the guide sets them in the shell of each process."""
    return dict(JOB_ID=10086, RANK_ID=rank, RANK_SIZE=ranks, ASCEND_DEVICE_ID=rank, UPDRAFT_MEMORY="256M", **more)


def good(ended):
    for rank, e in enumerate(ended):
        assert e.status == 0, jobs.report(ended)
        assert "rank %d of %d on device %d: all-reduce of " % (rank, len(ended), rank) in e.output and " is right\n" in e.output


@pytest.mark.parametrize("ranks", [1, 2, 8])
@pytest.mark.parametrize("form", FORMS)
def test_rank_table(program, tmp_path, form, ranks):
    soc, make = FORMS[form]
    job = dict(RANK_TABLE_FILE=write(tmp_path, make(ranks)), UPDRAFT_SOC=soc, HCCL_IF_BASE_PORT=free_port())
    good(jobs.run([UPDRAFT, "run", program, 10007], [variables(r, ranks, **job) for r in range(ranks)]))


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_root_info(program, tmp_path, ranks):
    good(jobs.run([UPDRAFT, "run", program], [variables(r, ranks, ROOT_INFO_FILE=tmp_path / "root") for r in range(ranks)]))


def test_the_program_ends_badly_without_a_job(program):
    ended, = jobs.run([UPDRAFT, "run", program], [variables(0, 2)])
    assert ended.status == 1 and "set RANK_TABLE_FILE" in ended.output


def wrong(change, form=template_one):
    """The form for two devices after a change."""
    table = form(2)
    change(table)
    return table


def devices(table):
    return table["server_list"][0]["device"]


WRONG = {
    "no JSON": '{"version": "1.0", "status": ',
    "empty": "",
    "a list": "[]",
    "no status": wrong(lambda t: t.pop("status")),
    "another status": wrong(lambda t: t.update(status="done")),
    "no version": wrong(lambda t: t.pop("version")),
    "another version": wrong(lambda t: t.update(version="7.0")),
    "no servers": wrong(lambda t: t.update(server_list=[], server_count="0")),
    "another number of servers": wrong(lambda t: t.update(server_count="2")),
    "no rank_id": wrong(lambda t: devices(t)[1].pop("rank_id")),
    "a rank twice": wrong(lambda t: devices(t)[1].update(rank_id="0")),
    "a rank missing": wrong(lambda t: devices(t)[1].update(rank_id="2")),
    "a negative rank": wrong(lambda t: devices(t)[1].update(rank_id="-1")),
    "a device twice": wrong(lambda t: devices(t)[1].update(device_id="0")),
    "no device_id": wrong(lambda t: devices(t)[0].pop("device_id")),
    "a device in words": wrong(lambda t: devices(t)[0].update(device_id="first")),
    "an address twice": wrong(lambda t: devices(t)[1].update(device_ip=devices(t)[0]["device_ip"])),
    "no address": wrong(lambda t: devices(t)[1].update(device_ip="192.168.1.300")),
    "template 2: no groups": wrong(lambda t: t.update(group_list=[], group_count="0"), template_two),
    "template 2: a pod twice": wrong(lambda t: t["group_list"][0]["instance_list"][1].update(pod_name="0"), template_two),
    "template 2: another number of devices": wrong(lambda t: t["group_list"][0].update(device_count="3"), template_two),
    "template 2: another number of pods": wrong(lambda t: t["group_list"][0].update(instance_count="1"), template_two),
}


@pytest.fixture(scope="session")
def refusals(program, tmp_path_factory):
    """What each wrong table is answered; two at a time, a process each."""
    folder, names, answers = tmp_path_factory.mktemp("wrong"), list(WRONG), {}
    for at in range(0, len(names), 4):
        some = names[at:at + 4]
        tables = []
        for name in some:
            place = folder / str(names.index(name))
            place.mkdir()
            tables.append(write(place, WRONG[name]))
        ended = jobs.run([UPDRAFT, "run", program, 64], [variables(0, 2, RANK_TABLE_FILE=t, UPDRAFT_SOC="Ascend910A") for t in tables])
        answers.update(zip(some, ended))
    return answers


@pytest.mark.parametrize("name", WRONG)
def test_wrong_rank_table(refusals, name):
    """Ended at once with the fault's number, by one process: nobody waits for the other rank."""
    ended = refusals[name]
    assert ended.status == 1 and "EI0004: " in ended.output, ended.output
    assert "HcclCommInitClusterInfo" in ended.output


@pytest.mark.parametrize("more, wanted", [
    (dict(RANK_TABLE_FILE="/nowhere/rank_table.json"), "EI0004: "),
    (dict(HCCL_CONNECT_TIMEOUT="5"), "EI0001: "),
    (dict(HCCL_ALGO="level9:ring"), "EI0001: "),
    (dict(HCCL_SOCKET_FAMILY="AF_UNIX"), "EI0001: "),
])
def test_wrong_variables(program, tmp_path, more, wanted):
    ended, = jobs.run([UPDRAFT, "run", program, 64], [variables(0, 2, **{"RANK_TABLE_FILE": write(tmp_path, template_one(2)), **more})])
    assert ended.status == 1 and wanted in ended.output, ended.output


def test_a_rank_that_is_not_in_the_table(program, tmp_path):
    path = write(tmp_path, template_one(2))
    ended, = jobs.run([UPDRAFT, "run", program, 64], [dict(variables(0, 2, RANK_TABLE_FILE=path), RANK_ID=2)])
    assert ended.status == 1 and "EI000" in ended.output, ended.output
