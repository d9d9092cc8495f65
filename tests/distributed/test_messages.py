"""The messages between servers are those that hccl_sim predicts: servers are processes with a server_id of their own in the
rank table, and UPDRAFT_HCCL_MESSAGES says what each of them sent."""
import csv
import json
import os
from collections import Counter, defaultdict

import pytest
from updraft import home

from tests.distributed import jobs

BIN = os.path.join(home(), "bin")
# operation of hccl_test: (kind of hccl_sim, name in the trace)
KINDS = {"all_reduce": ("allreduce", "HcclAllReduce"), "reduce_scatter": ("reducescatter", "HcclReduceScatter"),
         "all_gather": ("allgather", "HcclAllGather"), "broadcast": ("broadcast", "HcclBroadcast")}
ELEMENTS = 1001  # no number of ranks divides it but 7


def table(path, servers, cards=1, pods=()):
    """pods: the super pod of each server."""
    rows = [{"server_id": "127.0.0.%d" % (s + 1),
             "device": [{"device_id": str(c), "device_ip": "10.0.%d.%d" % (s, c + 1), "rank_id": str(s * cards + c)} for c in range(cards)]}
            for s in range(servers)]
    text = {"status": "completed", "version": "1.2" if pods else "1.0", "server_count": str(servers), "server_list": rows}
    if pods:
        for row in rows:
            for device in row["device"]:
                device["super_device_id"] = device["rank_id"]
        text["super_pod_list"] = [{"super_pod_id": pod, "server_list": [{"server_id": row["server_id"]} for row, p in zip(rows, pods) if p == pod]}
                                  for pod in dict.fromkeys(pods)]
    path.write_text(json.dumps(text))
    return path


def start(folder, operation, size, servers, cards=1, of_rank=lambda rank: {}, pods=()):
    """hccl_test as every rank of a table."""
    folder.mkdir(exist_ok=True)
    path, base = table(folder / "ranks.json", servers, cards, pods), jobs.free_base_port()
    command = ["sh", "-c", 'exec "$0" "$@" --rank $MESSAGES_RANK', os.path.join(BIN, "hccl_test"), operation, "-b", size, "-e", size,
               "-n", 1, "-w", 0, "--rank-table", path]
    return jobs.run(command, [dict(HCCL_IF_BASE_PORT=base, DEVICE_ID=r % cards, MESSAGES_RANK=r) | {"UPDRAFT_MEMORY": "64M"} | of_rank(r)
                              for r in range(servers * cards)])


def run(folder, operation, servers, cards=1, pods=(), **variables):
    """The rows of all ranks' traces."""
    ranks = servers * cards
    size = ELEMENTS * 4 * (1 if operation in ("all_reduce", "broadcast") else ranks)
    ended = start(folder, operation, size, servers, cards, lambda rank: dict(UPDRAFT_HCCL_MESSAGES=folder / "messages-%p", **variables), pods)
    assert all(e.status == 0 for e in ended) and "success" in ended[0].output, jobs.report(ended)
    rows = []
    files = sorted(folder.glob("messages-*"))
    assert len(files) == ranks
    for file in files:
        with file.open() as lines:
            found = list(csv.DictReader(lines))
        assert len({row["src"] for row in found}) <= 1  # one file a process
        rows += found
    return rows


def sent(rows, name, count=1):
    """By round, in each the messages as (src, dst, bytes). hccl_test does the operation twice: to time it and to check it."""
    by_number = defaultdict(list)
    for row in rows:
        if row["kind"] == name:
            by_number[int(row["operation"])].append(row)
    # hccl_test's own all-reduces of one number are a few bytes in all
    operations = [by_number[n] for n in sorted(by_number) if sum(int(r["bytes"]) for r in by_number[n]) > 1000]
    assert len(operations) == 2
    lists = []
    for operation in operations:
        rounds = defaultdict(list)
        for row in operation:
            rounds[int(row["round"])].append((int(row["src"]), int(row["dst"]), int(row["bytes"])))
        lists.append({k: sorted(v) for k, v in rounds.items()})
    assert lists[0] == lists[1]
    return lists[0]


def predicted(kind, algorithm, servers):
    ended, = jobs.run([os.path.join(BIN, "hccl_sim"), "--servers", servers, "--cards", 1, "--messages", "--kind", kind, "--count", ELEMENTS,
                       "--algorithm", algorithm])
    assert ended.status == 0, ended.output
    rounds = defaultdict(list)
    for row in csv.DictReader(ended.output.splitlines()):
        if row["level"] == "inter":
            rounds[int(row["round"])].append((int(row["src"]), int(row["dst"]), int(row["bytes"])))
    return {k: sorted(v) for k, v in rounds.items()}


CASES = [(operation, algorithm, servers) for operation in KINDS for algorithm in ("ring", "H-D_R", "NHR", "NB", "AHC", "pipeline")
         for servers in range(2, 9)
         if not (operation == "broadcast" and algorithm in ("AHC", "pipeline"))]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("operation, algorithm, servers", CASES)
def test_messages_are_those_of_the_simulation(tmp_path, operation, algorithm, servers):
    kind, name = KINDS[operation]
    wanted = predicted(kind, algorithm, servers)
    assert wanted
    assert sent(run(tmp_path, operation, servers, HCCL_ALGO=f"level0:NA;level1:{algorithm}"), name) == wanted


@pytest.mark.timeout(300)
@pytest.mark.parametrize("operation, algorithm, servers", [(o, a, n) for o, a, n in CASES if (o, n) in (("all_reduce", 3), ("reduce_scatter", 4))])
def test_messages_of_several_pieces_give_right_numbers(tmp_path, operation, algorithm, servers):
    """Pieces have 1 MiB (collective/network.cpp); no block of these is a multiple of it. hccl_test compares every element."""
    ended = start(tmp_path, operation, servers * 4 * 1_300_003, servers,
                  of_rank=lambda rank: dict(HCCL_ALGO=f"level0:NA;level1:{algorithm}", UPDRAFT_MEMORY="512M"))
    assert all(e.status == 0 for e in ended) and "success" in ended[0].output, jobs.report(ended)


@pytest.mark.timeout(300)
def test_an_algorithm_for_one_operator(tmp_path):
    """The others have theirs."""
    algo = "allreduce=level0:NA;level1:ring/others=level0:NA;level1:H-D_R"
    for operation, algorithm in (("all_reduce", "ring"), ("all_gather", "H-D_R"), ("broadcast", "H-D_R")):
        kind, name = KINDS[operation]
        found = sent(run(tmp_path / operation, operation, 4, HCCL_ALGO=algo), name)
        assert found == predicted(kind, algorithm, 4)
        assert found != predicted(kind, "NHR", 4)


@pytest.mark.timeout(300)
def test_cards_of_a_server_send_their_parts(tmp_path):
    """Two servers of two cards: the l-th card carries the l-th half to the l-th card over there, by the ring."""
    found = sent(run(tmp_path, "all_reduce", 2, cards=2, HCCL_ALGO="level0:NA;level1:ring"), "HcclAllReduce")
    messages = Counter((src, dst) for rows in found.values() for src, dst, _ in rows)
    assert messages == {(0, 2): 2, (2, 0): 2, (1, 3): 2, (3, 1): 2}
    assert sum(size for rows in found.values() for _, _, size in rows) == 2 * ELEMENTS * 4


def test_servers_with_different_algorithms_are_refused(tmp_path):
    ended = start(tmp_path, "all_reduce", 64, 2, of_rank=lambda rank: dict(HCCL_ALGO="level0:NA;level1:" + ("ring", "NHR")[rank]))
    assert all(e.status == 1 and "EI0005: the algorithms between servers differ" in e.output for e in ended), jobs.report(ended)


def test_a_file_that_cannot_be_written(tmp_path):
    ended = start(tmp_path, "all_reduce", 64, 2, of_rank=lambda rank: dict(UPDRAFT_HCCL_MESSAGES=tmp_path / "nowhere" / "file"))
    assert all(e.status == 1 and "EI0001: UPDRAFT_HCCL_MESSAGES" in e.output for e in ended), jobs.report(ended)


def test_without_percent_p_all_append_to_one_file(tmp_path):
    ended = start(tmp_path, "all_reduce", 4004, 3, of_rank=lambda rank: dict(UPDRAFT_HCCL_MESSAGES=tmp_path / "messages"))
    assert all(e.status == 0 for e in ended), jobs.report(ended)
    with (tmp_path / "messages").open() as lines:
        rows = [row for row in csv.DictReader(lines) if row["operation"] != "operation"]  # the header may be there more than once
    assert {row["src"] for row in rows} == {"0", "1", "2"} and {row["communicator"] for row in rows} == {"hccl_world_group"}


@pytest.mark.timeout(120)
def test_super_pods_are_a_level_of_their_own(tmp_path):
    """Each server speaks to one of the other super pod, and each number crosses once in either direction; by one level it is more."""
    pods = ["0", "0", "1", "1"]

    def crossing(name, pods_of_table):
        rounds = sent(run(tmp_path / name, "all_reduce", 4, pods=pods_of_table, HCCL_ALGO="level0:NA;level1:ring;level2:H-D_R"), "HcclAllReduce")
        return [m for messages in rounds.values() for m in messages if pods[m[0]] != pods[m[1]]]

    across = crossing("pods", pods)
    assert {(src, dst) for src, dst, _ in across} == {(0, 2), (2, 0), (1, 3), (3, 1)}
    assert sum(n for _, _, n in across) == 2 * ELEMENTS * 4
    assert sum(n for _, _, n in crossing("one-level", ())) > 2.9 * ELEMENTS * 4
