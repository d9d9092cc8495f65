"""aclprofModelSubscribe: operators of a model come through the subscriber's pipe while it runs."""

import json
import pathlib
import subprocess
import sys

import pytest

from .programs import environment, run

HERE = pathlib.Path(__file__).parent


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    subprocess.run([sys.executable, str(HERE / "dump_models.py"), str(folder)], check=True, timeout=200, env=environment())
    return json.loads(run(sys.executable, HERE / "subscribed.py", folder / "small.om", 3).splitlines()[-1])


def test_each_operator_of_each_run(seen):
    rows = seen["rows"]
    types = [r["type"] for r in rows]
    assert len(rows) % 3 == 0 and types[:len(rows) // 3] == types[len(rows) // 3:2 * len(rows) // 3]  # three runs, and none of before and after
    assert {"FusedConv2D", "MatMulV2", "SoftmaxV2"} <= set(types)
    assert {"net/matmul", "net/softmax"} <= {r["name"] for r in rows}


def test_times_and_numbers(seen):
    rows = seen["rows"]
    assert all(0 < r["start"] <= r["end"] and r["duration"] == r["end"] - r["start"] for r in rows)
    assert [r["end"] for r in rows] == sorted(r["end"] for r in rows)
    assert {r["model"] for r in rows} == {seen["model"]} and {r["flag"] for r in rows} == {0}
    assert all(r["thread"].isdigit() for r in rows)


@pytest.mark.parametrize("what, code", [("none", 145003), ("not_yet", 100043), ("again", 148046), ("part", 100000), ("twice", 100000), ("reading_end", 0)])
def test_wrong_uses(seen, what, code):
    assert seen["codes"][what] == code
