"""Every collective by every algorithm of HCCL_ALGO on clusters of up to 8 ranks in up to 4 servers, of one size or not, in super pods
or not: the messages that the library sends between servers are those that hccl_sim lists."""
import csv
import itertools
import json
import os
from collections import defaultdict
from pathlib import Path

import pytest
from updraft import home

from tests.distributed import jobs
from tests.distributed.native_job import NATIVE
from tests.distributed.native_job import home as tree
from tests.distributed.uneven import blocks, matrix

SIMULATOR = os.environ.get("UPDRAFT_HCCL_SIM") or os.path.join(home(), "bin", "hccl_sim")
ALGORITHMS = ["-", "ring", "H-D_R", "NHR", "NB", "AHC", "pipeline"]
# cards of each server; servers of each super pod, where there are several
CLUSTERS = [((3,), ()), ((1, 1), ()), ((1, 1, 1), ()), ((1, 1, 1, 1), ()), ((2, 2), ()), ((3, 3), ()), ((4, 4), ()), ((2, 2, 2), ()),
            ((2, 2, 2, 2), ()),
            ((1, 2), ()), ((3, 1), ()), ((2, 1, 1), ()), ((3, 5), ()), ((1, 2, 3), ()), ((4, 1, 2), ()), ((1, 2, 3, 2), ()), ((2, 2, 2, 1), ()),
            ((1, 1, 1), (2, 1)), ((1, 1, 1, 1), (2, 2)), ((1, 1, 1, 1), (1, 3)), ((2, 2, 2), (1, 1, 1)), ((2, 2, 2, 2), (2, 2)),
            ((2, 2, 2), (2, 1)), ((1, 2, 1, 2), (2, 2)), ((1, 2, 3), (1, 2))]
COUNTS = [1001, 1, 13]


def operations(ranks):
    """(kind, root)"""
    return [(kind, 0) for kind in ("allreduce", "reducescatter", "allgather", "alltoall", "reducescatterv", "allgatherv", "alltoallv",
                                   "barrier")] + [(kind, root) for kind in ("broadcast", "reduce", "scatter") for root in (0, ranks - 1)]


def table(path, cards, pods):
    rank = itertools.count()
    servers = [{"server_id": f"127.0.0.{s + 1}",
                "device": [{"device_id": str(c), "device_ip": f"10.0.{s}.{c + 1}", "rank_id": str(next(rank))} for c in range(n)]}
               for s, n in enumerate(cards)]
    text = {"status": "completed", "version": "1.0", "server_count": str(len(cards)), "server_list": servers}
    if pods:
        text["version"], text["super_pod_list"], first = "1.2", [], 0
        for p, size in enumerate(pods):
            mine = servers[first:first + size]
            text["super_pod_list"].append({"super_pod_id": str(p), "server_list": [{"server_id": s["server_id"]} for s in mine]})
            for number, device in enumerate(d for s in mine for d in s["device"]):
                device["super_device_id"] = str(number)
            first += size
    path.write_text(json.dumps(text))
    return path


def executed(folder, path, cards, count):
    """{(communicator, operation): [(round, src, dst, bytes), …]}"""
    folder.mkdir()
    places = [device for n in cards for device in range(n)]
    base = jobs.free_base_port()
    command = [*NATIVE[:-1], Path(__file__).with_name("native_messages.py"), path]
    words = ",".join(f"{kind}:{root}" for kind, root in operations(len(places)))
    ended = jobs.run(command, [dict(HCCL_IF_BASE_PORT=base, UPDRAFT_MEMORY="64M", UPDRAFT_CANN_HOME=tree(),
                                    UPDRAFT_HCCL_MESSAGES=folder / "messages-%p")] * len(places),
                     each=[[me, device, count, words, *ALGORITHMS] for me, device in enumerate(places)])
    assert all(e.status == 0 and e.output.endswith("done\n") for e in ended), jobs.report(ended)
    found = defaultdict(list)
    for file in folder.glob("messages-*"):
        with file.open() as lines:
            for row in csv.DictReader(lines):
                found[row["communicator"], int(row["operation"])].append(tuple(int(row[k]) for k in ("round", "src", "dst", "bytes")))
    return {key: sorted(rows) for key, rows in found.items()}


def simulated(path, kind, root, count, algorithm, ranks):
    own = blocks(ranks, count)
    counts = {"allgatherv": own, "reducescatterv": own, "alltoallv": sum(matrix(ranks, count), [])}.get(kind)
    words = ["--rank-table", path, "--messages", "--kind", kind, "--root", root, "--count", count,
             *(("--counts", ",".join(map(str, counts))) if counts else ()),
             *(() if algorithm == "-" or kind.startswith("alltoall") else ("--algorithm", algorithm))]
    ended, = jobs.run([SIMULATOR, *words])
    assert ended.status == 0, ended.output
    rows = csv.DictReader(ended.output.splitlines())
    return sorted(tuple(int(row[k]) for k in ("round", "src", "dst", "bytes")) for row in rows if row["level"] != "intra")


@pytest.mark.timeout(600)
@pytest.mark.parametrize("cards, pods", CLUSTERS, ids=lambda sizes: "-".join(map(str, sizes)) or "one")
def test_messages_are_the_simulated_ones(tmp_path, cards, pods):
    path = table(tmp_path / "ranks.json", cards, pods)
    for count in COUNTS:
        found = executed(tmp_path / f"messages of {count}", path, cards, count)
        for (number, algorithm), (at, (kind, root)) in itertools.product(enumerate(ALGORITHMS), enumerate(operations(sum(cards)))):
            wanted = simulated(path, kind, root, count, algorithm, sum(cards))
            assert found.get((f"messages-{number}", at + 1), []) == wanted, (count, algorithm, kind, root)
            assert wanted or len(cards) == 1 or count < sum(cards)
