"""Exports of records that were made without a device: large, damaged and odd ones."""

import json
import resource
import sqlite3
import subprocess

import numpy
import pytest

from . import raw_profile as raw
from . import traces
from .programs import environment, table, timeline, UPDRAFT


def msprof(*options, status=0, memory=None):
    limit = (lambda: resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))) if memory else None
    program = subprocess.run([str(UPDRAFT), "run", "sh", "-c", "command -v msprof"], capture_output=True, text=True, env=environment()).stdout.strip()
    done = subprocess.run([program, *map(str, options)], capture_output=True, text=True, timeout=120, preexec_fn=limit)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_many_tasks_within_their_memory(tmp_path):
    """1e6 tasks may take 500 MB (bench/observe): 200000 of them get a fifth of that, and what a program needs at all."""
    raw.many_tasks(tmp_path, 200000)
    msprof("--export=on", "--output=%s" % tmp_path, memory=140 << 20)
    assert len(table(tmp_path, "op_summary")) == 200000
    statistic = {r["OP Type"]: r for r in table(tmp_path, "op_statistic")}
    assert {int(r["Count"]) for r in statistic.values()} == {50000}
    assert float(statistic["Add"]["Avg Time(us)"]) == 5


def test_the_timeline_of_synthetic_tasks(tmp_path):
    raw.many_tasks(tmp_path, 500)
    msprof("--export=on", "--output=%s" % tmp_path)
    events = timeline(tmp_path)
    traces.check(events)
    assert sum(e["ph"] == "s" for e in events) == 500
    computing = [e for e in events if e["name"] == "Computing"]
    free = [e for e in events if e["name"] == "Free"]
    assert len(computing) == 500 and len(free) == 499 and {e["dur"] for e in free} == {5}
    assert float(computing[0]["ts"]) == raw.WALL + 4  # begun 4 us after the profile


def test_the_database_of_synthetic_tasks(tmp_path):
    folder = raw.many_tasks(tmp_path, 500)
    msprof("--export=on", "--type=db", "--output=%s" % tmp_path)
    (path,) = folder.glob("msprof_*.db")
    with sqlite3.connect(path) as db:
        assert db.execute("select count(*), sum(endNs - startNs) from TASK").fetchone() == (500, 2500000)
        assert db.execute("select count(*) from CANN_API where type = 10000").fetchone() == (500,)
        shapes = db.execute("select distinct s.value from COMPUTE_TASK_INFO c join STRING_IDS s on s.id = c.inputShapes order by 1").fetchall()
        assert len(shapes) == 50 and ("64,0",) in shapes


def test_texts_of_any_bytes_give_valid_json(tmp_path):
    names = ['a "quoted" \\ name', "line\nbreak\ttab", "\u4e2d\u6587", "\x01\x7f", "comma, semicolon;"]
    tasks = raw.records(raw.TASK, 3, len(names))
    for i, name in enumerate(names):
        tasks[i]["id"], tasks[i]["name"] = i + 1, raw.text_id(name)
        tasks[i]["begun"], tasks[i]["ended"] = raw.BEGIN + 100 * i, raw.BEGIN + 100 * i + 50
    tasks["index"] = -1
    folder = raw.write(tmp_path, names, raw.records(raw.CALL, 2, 0), tasks)
    texts = folder / "host" / "data" / "texts.slice_0"
    texts.write_bytes(texts.read_bytes().replace("\u4e2d".encode(), b"\xff\xfe\xfd"))  # no UTF-8
    msprof("--export=on", "--output=%s" % tmp_path)
    shown = [e["name"] for e in timeline(tmp_path) if e["ph"] == "X" and "Task Id" in e["args"]]
    assert shown[:2] == names[:2] and shown[2] == "???\u6587" and shown[3:] == names[3:]
    with open(next(folder.rglob("op_summary*.csv")), "rb") as file:
        assert b'"comma, semicolon;"' in file.read()


def test_damage_is_told_and_the_rest_is_exported(tmp_path):
    folder = raw.many_tasks(tmp_path, 100)
    path = folder / "device_0" / "data" / "device.slice_0"
    path.write_bytes(path.read_bytes()[:-30])
    (folder / "host" / "data" / "other.slice_0").write_bytes(b"no records")
    msprof("--export=on", "--output=%s" % tmp_path)
    assert len(table(tmp_path, "op_summary")) == 99
    assert "2 files of records are damaged" in (next(folder.glob("mindstudio*")) / "README.txt").read_text()


def test_collectives_overlap_and_links(tmp_path):
    texts = ["aclnnMatmul", "HcclAllReduce", "HcclSend", "C\ngroup_x\n1\n4\nFLOAT\n1000\nsum\n-1\n", "C\ngroup_x\n1\n4\nFLOAT\n0\n\n-1\n3"]
    tasks = raw.records(raw.TASK, 3, 3)
    tasks["id"], tasks["name"] = [1, 2, 3], [raw.text_id(t) for t in texts[:3]]
    tasks["arguments"] = [0, raw.text_id(texts[3]), raw.text_id(texts[4])]
    tasks["begun"], tasks["ended"] = raw.BEGIN + numpy.array([0, 6000, 20000]), raw.BEGIN + numpy.array([10000, 16000, 21000])
    tasks["task_kind"], tasks["unit"], tasks["stream"], tasks["moved"] = [0, 3, 3], [1, 5, 5], [0, 1, 1], [0, 4000, 4000]
    tasks["index"] = -1
    folder = raw.write(tmp_path, texts, raw.records(raw.CALL, 2, 0), tasks)
    msprof("--export=on", "--output=%s" % tmp_path)
    msprof("--analyze=on", "--output=%s" % tmp_path)
    spans = [(e["name"], e["dur"]) for e in timeline(tmp_path) if e["ph"] == "X" and "Task Id" not in e["args"]]
    assert spans == [("Computing", 10), ("Communication", 10), ("Communication", 1), ("Communication(Not Overlapped)", 6),
                     ("Communication(Not Overlapped)", 1), ("Free", 4)]
    communication = json.loads((folder / "analyze" / "communication.json").read_text())
    reduce, send = communication.values()
    assert reduce["Communication Bandwidth Info"]["SDMA"]["Transit Size(MB)"] == pytest.approx(0.006)  # 2 * 3/4 of 4000 bytes
    assert send["Communication Bandwidth Info"]["SDMA"]["Transit Size(MB)"] == pytest.approx(0.004)
    matrix = json.loads((folder / "analyze" / "communication_matrix.json").read_text())
    assert [sorted(links) for links in matrix.values()] == [["1-0", "1-1", "1-2", "1-3"], ["1-1", "1-3"]]
    assert table(tmp_path, "communication_statistic")[0]["OP Type"] == "hcom_allReduce_"
    msprof("--analyze=on", "--rule=communication", "--output=%s" % tmp_path)
    assert not (folder / "analyze" / "communication_matrix.json").exists()
