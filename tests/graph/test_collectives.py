"""Collectives as nodes of compiled graphs: two ranks get what eager calls give them."""

import json
import os
import re
import socket
import subprocess
import sys

import pytest

RANKS = 2
NAMES = ["all_reduce", "all_reduce_twice_of_the_largest", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "products_between_ranks",
         "second_forms_of_products_between_ranks", "experts_on_ranks", "products_with_exchanges", "data_parallel_training", "parts_of_other_sizes"]


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    folder = tmp_path_factory.mktemp("collectives")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    logs = [open(folder / ("rank%d" % rank), "w+") for rank in range(RANKS)]
    dumps = [folder / ("dump%d" % rank) for rank in range(RANKS)]
    for dump in dumps:
        dump.mkdir()
    ranks = [subprocess.Popen([sys.executable, "-W", "ignore", "-m", "tests.graph.collective_programs", str(rank), str(RANKS),
                               str(port)], stdout=log, stderr=subprocess.STDOUT,
                              env={**os.environ, "DUMP_GE_GRAPH": "3", "DUMP_GRAPH_LEVEL": "3", "DUMP_GRAPH_PATH": str(dumps[rank])})
             for rank, log in enumerate(logs)]
    try:
        for process in ranks:
            process.wait(timeout=400)
    finally:
        for process in ranks:
            process.kill()
            process.wait()
    texts = [(folder / ("rank%d" % rank)).read_text() for rank in range(RANKS)]
    found = [{answer["name"]: answer for answer in (json.loads(line[2:]) for line in text.splitlines() if line.startswith("@@"))}
             for text in texts]
    assert all(found), "\n".join(texts)[-4000:]
    for answer, dump in zip(found, dumps):
        answer["dumps"] = {path.name: path.read_text() for path in dump.glob("ge_proto_*_Build.txt")}
    return found


@pytest.mark.timeout(500)
@pytest.mark.parametrize("name", NAMES)
def test_collectives_in_compiled_graphs(answers, name):
    for rank in answers:
        answer = rank[name]
        assert "error" not in answer, answer["error"] + "\n" + answer["trace"]
        assert all(answer["shapes"]) and answer["size"] > 0, answer
        assert answer["difference"] <= 1e-6 * max(1, answer["size"]), answer


def test_each_rank_dumps_its_graphs(answers):
    """The same files from each, with the collectives as nodes."""
    files = [rank["dumps"] for rank in answers]
    assert len(files[0]) >= len(NAMES) and sorted(files[0]) == sorted(files[1])
    for kind in ("HcomAllReduce", "HcomAllGather", "HcomReduceScatter", "HcomBroadcast", "HcomAllGatherV", "HcomReduceScatterV", "MatmulAllReduce", "AllGatherMatmulV2", "MatmulReduceScatterV2",
                 "MoeDistributeDispatch", "MoeDistributeCombine", "MoeDistributeDispatchV2", "MoeDistributeCombineV2", "MoeDistributeCombineAddRmsNorm"):
        holding = [sorted(name for name, text in rank.items() if 'op: "%s"' % kind in text or 'type: "%s"' % kind in text) for rank in files]
        assert holding[0] and holding[0] == holding[1], kind


def test_all_programs_are_tested():
    text = open(__file__.replace("test_collectives", "collective_programs")).read()
    assert re.findall(r"^@program\ndef (\w+)", text, re.M) == NAMES
