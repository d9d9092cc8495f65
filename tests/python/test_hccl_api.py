"""hccl.manage.api and hccl.split.api, in processes whose environment says what the job is. Needs the built library."""

import concurrent.futures
import json
import os
import pathlib
import socket
import subprocess
import sys
import textwrap
import time

import pytest

from conftest import PTH, ROOT, clean_environment


def built_home():
    """UPDRAFT_CANN_HOME, else the installed package's tree, else that of the release build."""
    chosen = os.environ.get("UPDRAFT_CANN_HOME")
    places = [pathlib.Path(chosen)] if chosen else [
        pathlib.Path(sys.prefix, "lib", "python%d.%d" % sys.version_info[:2], "site-packages", "updraft", "cann"),
        ROOT / "build" / "release" / "cann"]
    for place in places:
        if (place / "lib64" / "libupdraft.so").exists():
            return place
    pytest.skip("libupdraft.so is not built")


@pytest.fixture(scope="session")
def tree():
    return built_home()


def job(tree, code, **variables):
    """Runs code in a process with these variables, as after set_env.sh; gives what it printed, line by line."""
    names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK", "DEVICE_ID")
    env = {k: v for k, v in clean_environment(**variables).items()
           if k in variables or k not in names and not k.startswith(("RANK_", "CM_", "HCCL_"))}
    env.update(PYTHONPATH=str(tree / "python" / "site-packages"), PYTHONDONTWRITEBYTECODE="1",
               LD_LIBRARY_PATH=str(tree / "lib64"))
    env.setdefault("ASCEND_PROCESS_LOG_PATH", env["UPDRAFT_RUN_DIR"] + "/log")
    done = subprocess.run([sys.executable, "-S", "-c", "from hccl.manage.api import *\nfrom hccl.split.api import *\n"
                           + FAILS + textwrap.dedent(code)], env=env, text=True, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


FAILS = """
def fails(call, *arguments):
    try:
        call(*arguments)
    except ValueError as error:
        print(error)
    else:
        print("NO ERROR", call.__name__, arguments)
"""

EVERYTHING = """
print(get_rank_size(), get_local_rank_size(), get_rank_id(), get_local_rank_id())
"""


def table(folder, servers, first=0, status="completed"):
    """A rank table of template 1.0: {server_id: [device_id, …]}; ranks in this order."""
    servers_list, rank = [], first
    for at, (server, devices) in enumerate(servers.items()):
        entries = []
        for device in devices:
            entries.append({"device_id": str(device), "device_ip": "192.168.%d.%d" % (at, device + 1), "rank_id": str(rank)})
            rank += 1
        servers_list.append({"server_id": server, "device": entries})
    path = folder / "rank_table.json"
    path.write_text(json.dumps({"version": "1.0", "status": status, "server_count": str(len(servers)), "server_list": servers_list}))
    return path


EIGHT = list(range(8))
THREE_SERVERS = {"10.0.0.10": EIGHT, "10.0.0.11": EIGHT, "10.0.0.12": EIGHT}


def test_the_world_of_a_rank_table(tree, tmp_path):
    path = table(tmp_path, {"10.0.0.10": [0, 1], "10.0.0.11": [0, 1]})
    for rank in range(4):
        assert job(tree, EVERYTHING, RANK_TABLE_FILE=path, RANK_ID=rank, RANK_SIZE=4) == ["4 2 %d %d" % (rank, rank % 2)]
    assert job(tree, "print(get_rank_id('hccl_world_group'), get_rank_size(group='hccl_world_group'))",
               RANK_TABLE_FILE=path, RANK_ID=3) == ["3 4"]


def test_torch_gives_the_rank_where_rank_id_is_missing(tree, tmp_path):
    path = table(tmp_path, {"10.0.0.10": [0, 1]})
    assert job(tree, EVERYTHING, RANK_TABLE_FILE=path, RANK=1, WORLD_SIZE=2) == ["2 2 1 1"]


def test_the_old_template_names_pods(tree, tmp_path):
    path = tmp_path / "rank_table.json"
    pods = [{"pod_name": "worker-%d" % i, "server_id": "10.0.0.10",
             "devices": [{"device_id": str(i), "device_ip": "192.168.0.%d" % (i + 1)}]} for i in range(2)]
    path.write_text(json.dumps({"status": "completed", "group_count": "1", "group_list": [
        {"group_name": "", "instance_count": "2", "device_count": "2", "instance_list": pods}]}))
    assert job(tree, EVERYTHING, RANK_TABLE_FILE=path, RANK_ID="worker-1", RANK_SIZE=2) == ["2 2 1 1"]
    assert "EI000" in job(tree, "fails(get_rank_id)", RANK_TABLE_FILE=path, RANK_ID="worker-7", RANK_SIZE=2)[0]


def test_the_world_of_torchrun(tree):
    """Two nodes with two and four ranks: this one is the first of the second node."""
    ranks = dict(RANK=2, WORLD_SIZE=6, LOCAL_RANK=0, LOCAL_WORLD_SIZE=4, GROUP_RANK=1)
    assert job(tree, EVERYTHING, **ranks) == ["6 4 2 0"]
    code = "create_group('mine', 4, [0, 2, 3, 5]); print(get_local_rank_size('mine'), get_local_rank_id('mine'), get_rank_id('mine'))"
    assert job(tree, code, **ranks) == ["3 0 1"]
    assert job(tree, EVERYTHING, RANK=1, WORLD_SIZE=2) == ["2 2 1 1"]


def test_a_process_alone(tree):
    assert job(tree, EVERYTHING, RANK_ID=0, RANK_SIZE=1) == ["1 1 0 0"]
    assert job(tree, EVERYTHING, CM_CHIEF_IP="192.168.1.1", CM_CHIEF_PORT=6000, CM_CHIEF_DEVICE=0, CM_WORKER_SIZE=1,
               CM_WORKER_IP="192.168.1.1") == ["1 1 0 0"]


def test_processes_meet_at_the_chief(tree):
    """Two servers, which are two addresses of this machine, with a device each; the chief comes last."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    code = EVERYTHING + "create_group('pair', 2, [1, 0]); print(get_rank_id('pair'), get_local_rank_size('pair'))"
    job_of = lambda address: job(tree, code, CM_CHIEF_IP="127.0.0.1", CM_CHIEF_PORT=port, CM_CHIEF_DEVICE=0, CM_WORKER_SIZE=2,
                                 CM_WORKER_IP=address, ASCEND_DEVICE_ID=0)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        worker = pool.submit(job_of, "127.0.0.2")
        time.sleep(0.2)
        assert job_of("127.0.0.1") == ["2 1 0 0", "1 1"]
        assert worker.result() == ["2 1 1 0", "0 1"]


@pytest.mark.parametrize("variables, wanted", [
    ({}, "EI0001: nothing says which processes"),
    (dict(RANK=0), "EI0001: RANK=0 is set and WORLD_SIZE is not"),
    (dict(RANK=2, WORLD_SIZE=2), "EI0001: RANK=2 with WORLD_SIZE=2"),
    (dict(RANK="x", WORLD_SIZE=2), 'EI0001: RANK="x"'),
    (dict(RANK=-1, WORLD_SIZE=2), 'EI0001: RANK="-1"'),
    (dict(RANK=3, WORLD_SIZE=4, LOCAL_RANK=1), "LOCAL_WORLD_SIZE is not"),
    (dict(RANK=3, WORLD_SIZE=4, LOCAL_WORLD_SIZE=2), "LOCAL_RANK is not"),
    (dict(RANK=3, WORLD_SIZE=4, LOCAL_RANK=1, LOCAL_WORLD_SIZE=3), "do not fit"),
    (dict(RANK_ID=0, RANK_SIZE=2), "EI0001: RANK_SIZE=2 without a rank table"),
    (dict(RANK_TABLE_FILE="/nowhere/table.json", RANK_ID=0), "EI0004"),
    (dict(CM_CHIEF_IP="192.168.1.1", CM_WORKER_SIZE=2), "EI0001"),
    (dict(CM_CHIEF_IP="192.168.1.1", CM_CHIEF_PORT=6000, CM_CHIEF_DEVICE=0, CM_WORKER_SIZE=2, CM_WORKER_IP="192.168.1.1"),
     "ASCEND_DEVICE_ID is not set"),
    (dict(CM_CHIEF_IP="192.168.1.1", CM_CHIEF_PORT=6000, CM_CHIEF_DEVICE=0, CM_WORKER_SIZE=1, CM_WORKER_IP="192.168.1.1",
          RANK_ID=0), "EI0001"),
])
def test_a_world_that_does_not_exist(tree, variables, wanted):
    text, = job(tree, "fails(get_rank_id)", **variables)
    assert text.startswith("get rank id error: ") and wanted in text, text


def test_the_log_has_the_words_that_are_looked_for(tree, tmp_path):
    text, = job(tree, "fails(get_rank_id)", ASCEND_PROCESS_LOG_PATH=tmp_path / "log")
    assert text.startswith("get rank id error: EI0001")
    lines = "".join(path.read_text() for path in (tmp_path / "log").rglob("plog-*.log")).splitlines()
    assert any(line.startswith("[ERROR] HCCL(") and "Call hcom_bind_model failed: get_rank_id of group hccl_world_group: EI0001" in line for line in lines)


@pytest.mark.parametrize("variables, wanted", [
    (dict(), "RANK_ID"),
    (dict(RANK_ID=2), "RANK_ID"),
    (dict(RANK_ID=0, RANK_SIZE=1), "EI0004"),
    (dict(RANK_ID=0, RANK_SIZE=4), "EI0004"),
    (dict(RANK_ID=0, HCCL_CONNECT_TIMEOUT="soon"), "HCCL_CONNECT_TIMEOUT"),
    (dict(CM_WORKER_SIZE=2, RANK_ID=0), "EI0001"),
])
def test_a_rank_table_that_does_not_fit_the_variables(tree, tmp_path, variables, wanted):
    path = table(tmp_path, {"10.0.0.10": [0, 1]})
    text, = job(tree, "fails(get_local_rank_size)", RANK_TABLE_FILE=path, **variables)
    assert text.startswith("get local rank size error: EI000") and wanted in text, text


def test_a_failure_is_not_kept(tree):
    code = """
        import os
        fails(get_rank_id)
        os.environ.update(RANK="1", WORLD_SIZE="2")
        print(get_rank_id())
    """
    assert job(tree, code)[1] == "1"


def test_groups(tree, tmp_path):
    """The guide's lists for three servers, seen by a rank of the second server."""
    code = """
        create_group("one", 3, [1, 9, 17])
        create_group("two", 6, [1, 2, 9, 10, 17, 18])
        for group in "one", "two":
            print(get_rank_size(group), get_local_rank_size(group), get_rank_id(group), get_local_rank_id(group))
        print([get_world_rank_from_group_rank("two", i) for i in range(6)])
        print([get_group_rank_from_world_rank(r, "two") for r in (1, 2, 9, 10, 17, 18)])
        print(get_world_rank_from_group_rank("hccl_world_group", 23), get_group_rank_from_world_rank(0, "hccl_world_group"))
        destroy_group("one")
        create_group("one", 2, [17, 9])  # the order given is the group's
        print(get_rank_id("one"), get_world_rank_from_group_rank("one", 0))
        fails(get_group_rank_from_world_rank, 3, "two")
        fails(get_world_rank_from_group_rank, "two", 6)
        fails(get_world_rank_from_group_rank, "two", -1)
    """
    lines = job(tree, code, RANK_TABLE_FILE=table(tmp_path, THREE_SERVERS), RANK_ID=9, RANK_SIZE=24)
    assert lines[:6] == ["3 1 1 0", "6 2 2 0", "[1, 2, 9, 10, 17, 18]", "[0, 1, 2, 3, 4, 5]", "23 0", "1 17"]
    assert "rank 3 of the job is not in group two" in lines[6]
    assert lines[7].startswith("get world rank from group rank error: EI0003: group two has no rank 6")
    assert "no rank -1" in lines[8]


def test_refused_groups(tree):
    code = """
        create_group("g", 2, [0, 1])
        create_group("x" * 127, 1, [0])
        create_group(chr(0x7ec4), 1, [0])
        print("made")
        fails(create_group, "hccl_world_group", 2, [0, 1])
        fails(destroy_group, "hccl_world_group")
        fails(create_group, "g", 2, [0, 1])
        fails(create_group, "h", 2, [1, 2])
        fails(create_group, "h", 3, [0, 1])
        fails(create_group, "h", 2, [0, 0])
        fails(create_group, "h", 2, [0, 4])
        fails(create_group, "h", 2, [0, -1])
        fails(create_group, "h", 0, [])
        fails(create_group, "h", 4097, list(range(4097)))
        fails(create_group, "x" * 128, 1, [0])
        fails(create_group, chr(0x7ec4) * 43, 1, [0])
        fails(create_group, "", 1, [0])
        fails(create_group, "a" + chr(0) + "b", 1, [0])
        fails(create_group, 5, 1, [0])
        fails(create_group, b"h", 1, [0])
        fails(create_group, "h", "1", [0])
        fails(create_group, "h", True, [0])
        fails(create_group, "h", 1, (0,))
        fails(create_group, "h", 1, [0.0])
        fails(create_group, "h", 1, [2 ** 64])
        fails(destroy_group, "h")
        for query in get_rank_size, get_local_rank_size, get_rank_id, get_local_rank_id:
            fails(query, "h")
        fails(get_rank_size, None)
        fails(get_world_rank_from_group_rank, "h", 0)
        fails(get_group_rank_from_world_rank, 0, "h")
        fails(get_world_rank_from_group_rank, "g", 0.5)
        fails(get_group_rank_from_world_rank, 2 ** 70, "g")
        destroy_group("g")
        fails(get_rank_size, "g")
    """
    made, *lines = job(tree, code, RANK=0, WORLD_SIZE=4)
    assert made == "made"
    for line in lines:
        assert " error: EI0003: " in line, line
    assert "not in group h" in lines[3] and "more than once" in lines[5] and "ranks 0 to 3" in lines[6]


@pytest.mark.parametrize("soc, ranks, fits", [
    ("Ascend910A", [1, 9, 17], True),
    ("Ascend910A", [1, 2, 9, 10, 17, 18], True),
    ("Ascend910A", [1, 4, 5, 6, 7, 9, 12, 13, 14, 15], False),  # five of a server
    ("Ascend910A", [1, 2, 3], False),  # three of one server
    ("Ascend910A", [1, 4], False),  # of both networks
    ("Ascend910A", [1, 2, 9], False),  # two and one
    ("Ascend910A", EIGHT, True),
    ("Ascend910B2", [0, 1, 2, 5, 7], True),  # one server: any
    ("Ascend910B2", [1, 9, 17], True),
    ("Ascend910B2", [1, 2, 5, 9, 10, 13], True),
    ("Ascend910B2", [1, 10], False),  # other places
    ("Ascend910B2", [1, 9, 10], False),
])
def test_groups_that_a_product_takes(tree, tmp_path, soc, ranks, fits):
    path = table(tmp_path, THREE_SERVERS)
    code = "create_group('g', %d, %r); print('made')" % (len(ranks), ranks)
    free = dict(RANK_TABLE_FILE=path, RANK_ID=1, UPDRAFT_SOC=soc)
    assert job(tree, code, **free) == ["made"]
    code = code if fits else "fails(create_group, 'g', %d, %r)" % (len(ranks), ranks)
    line, = job(tree, code, UPDRAFT_FIDELITY="card", **free)
    assert line == "made" if fits else ("EI0003: group g has" in line and soc in line), line


def test_split_strategies(tree, tmp_path):
    code = """
        from hccl.split.segments import split_gradients
        print(split_gradients([4] * 160)[-1], len(split_gradients([4] * 160)), split_gradients([]))
        set_split_strategy_by_idx([20, 100, 159])
        print(split_gradients([4] * 160))
        fails(split_gradients, [4] * 150)
        set_split_strategy_by_size([60, 20, 20])
        print(split_gradients([10 ** 7] * 15))
        create_group("g", 1, [0])
        print(split_gradients([1, 99], "g"))
        set_split_strategy_by_size([1.0, 99], "g")
        print(split_gradients([1, 99], "g"))
        destroy_group("g")
        create_group("g", 1, [0])
        print(split_gradients([1, 99], "g"))
    """
    lines = job(tree, code, RANK=0, WORLD_SIZE=2, ASCEND_PROCESS_LOG_PATH=tmp_path, ASCEND_GLOBAL_LOG_LEVEL=1)
    assert lines[0] == "(155, 159) 2 []"
    assert lines[1] == "[(0, 20), (21, 100), (101, 159)]"
    assert "the last index must be 149" in lines[2]
    assert lines[3:] == ["[(0, 8), (9, 11), (12, 14)]", "[(0, 1)]", "[(0, 0), (1, 1)]", "[(0, 1)]"]
    log = "".join(f.read_text() for f in tmp_path.glob("debug/plog/*.log"))
    assert "[INFO] HCCL" in log
    assert "segment result of group hccl_world_group: segment index list: [0,20] [21,100] [101,159]\n" in log


def test_the_worlds_strategy_needs_no_job_yet(tree):
    assert job(tree, "set_split_strategy_by_idx([3]); fails(set_split_strategy_by_idx, [3], 'g')")[0].startswith(
        "set split strategy by idx error: EI0003: there is no group g")


def test_refused_strategies(tree):
    code = """
        for bad in [], [-1], [3, 3], [5, 4], list(range(9)), (1, 2), 3, None, [1.5], ["1"], [True], [2 ** 65]:
            fails(set_split_strategy_by_idx, bad)
        for bad in ([], [99.9], [60, 41], [-10, 110], [float("nan"), 100], [12.5] * 7 + [6.25, 6.25], (100,), 100, None, ["100"],
                    [True], [10 ** 400]):
            fails(set_split_strategy_by_size, bad)
        fails(set_split_strategy_by_idx, [1], "nobody")
        fails(set_split_strategy_by_size, [100], "nobody")
        fails(set_split_strategy_by_size, [100], 7)
        fails(set_split_strategy_by_size, [100], "x" * 128)
    """
    lines = job(tree, code, RANK=0, WORLD_SIZE=2)
    assert len(lines) == 28
    for line in lines:
        assert line.startswith("set split strategy by ") and " error: EI0003: " in line, line


def test_installed_without_set_env(tree, tmp_path):
    """The hook finds the package in the tree, after sys.path had none; a folder of that name is none."""
    (tmp_path / "hccl").mkdir()
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "updraft-preload.pth").write_text(PTH.read_text())
    code = ("import site; site.addsitedir(%r)\nimport hccl.manage.api\nprint(hccl.__file__, hccl.manage.api.get_rank_id())"
            % str(tmp_path / "site"))
    env = clean_environment(UPDRAFT_CANN_HOME=tree, RANK=1, WORLD_SIZE=2, PYTHONDONTWRITEBYTECODE=1)
    run = lambda **more: subprocess.run([sys.executable, "-S", "-c", code], env=dict(env, **more), cwd=str(tmp_path), text=True,
                                        capture_output=True, timeout=60)
    done = run()
    assert done.stdout == "%s 1\n" % (tree / "python" / "site-packages" / "hccl" / "__init__.py"), done.stderr
    assert done.stderr == ""
    assert run(UPDRAFT_DISABLE="1").returncode != 0
