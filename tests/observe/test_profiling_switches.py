"""The switches of PROFILING_OPTIONS: what each brings into the tables, and that it is not there without it."""

import json
import subprocess
import textwrap

import numpy
import pytest

from . import raw_profile as raw
from . import traces
from .programs import environment, python, run, table, timeline, UPDRAFT

# Without torch: copies, an operator of the AI CPU, a graph that runs three times with an all-reduce of two devices behind it.
PROGRAM = """
    import ctypes
    acl, opapi, hccl = (ctypes.CDLL("lib%s.so" % name) for name in ("ascendcl", "opapi", "hccl"))
    def ok(code): assert code == 0, code
    size, p = ctypes.c_size_t(4096), [ctypes.c_void_p(), ctypes.c_void_p()]
    streams = [ctypes.c_void_p(), ctypes.c_void_p()]
    ok(acl.aclInit(None))
    for device in range(2):
        ok(acl.aclrtSetDevice(device))
        ok(acl.aclrtMalloc(ctypes.byref(p[device]), size, 0))
        ok(acl.aclrtCreateStream(ctypes.byref(streams[device])))
    comms = (ctypes.c_void_p * 2)()
    ok(hccl.HcclCommInitAll(2, (ctypes.c_int32 * 2)(0, 1), comms))
    ok(acl.aclrtSetDevice(0))
    host = ctypes.create_string_buffer(4096)
    ok(acl.aclrtMemcpy(p[0], size, host, size, 1))

    shape = (ctypes.c_int64 * 1)(16)
    stride = (ctypes.c_int64 * 1)(1)
    opapi.aclCreateTensor.restype = ctypes.c_void_p
    order = ctypes.c_void_p(opapi.aclCreateTensor(shape, ctypes.c_uint64(1), 9, stride, ctypes.c_int64(0), 2, shape, ctypes.c_uint64(1), p[0]))
    space, executor = ctypes.c_uint64(), ctypes.c_void_p()
    ok(opapi.aclnnRandpermGetWorkspaceSize(ctypes.c_int64(16), ctypes.c_int64(1), ctypes.c_int64(0), order, ctypes.byref(space), ctypes.byref(executor)))
    ok(opapi.aclnnRandperm(None, space, executor, streams[0]))
    ok(acl.aclrtSynchronizeStream(streams[0]))

    graph = ctypes.c_void_p()
    ok(acl.aclmdlRICaptureBegin(streams[0], 0))
    ok(acl.aclrtMemsetAsync(p[0], size, 1, size, streams[0]))
    ok(acl.aclmdlRICaptureEnd(streams[0], ctypes.byref(graph)))
    for _ in range(3):
        ok(acl.aclmdlRIExecuteAsync(graph, streams[0]))
        for device in range(2):
            ok(acl.aclrtSetDevice(device))
            ok(hccl.HcclAllReduce(p[device], p[device], ctypes.c_uint64(1024), 4, 0, ctypes.c_void_p(comms[device]), streams[device]))
        for stream in streams: ok(acl.aclrtSynchronizeStream(stream))
"""
TIMES = "op_summary", "op_statistic", "task_time", "ai_stack_time"


def recorded(folder, **options):
    folder.mkdir()
    python(PROGRAM, PROFILING_MODE="true", PROFILING_OPTIONS=json.dumps({"output": str(folder), **options}))
    run("msprof", "--export=on", "--output=%s" % folder)
    return folder


@pytest.fixture(scope="module")
def every(tmp_path_factory):
    """All switches are on."""
    return recorded(tmp_path_factory.mktemp("every") / "out", training_trace="on", task_trace="on", hccl="on", aicpu="on", runtime_api="on",
                    sys_io_sampling_freq=100, sys_interconnection_freq="50")


@pytest.fixture(scope="module")
def none(tmp_path_factory):
    """No switch is given: task_time is on by itself."""
    return recorded(tmp_path_factory.mktemp("none") / "out")


def tables(folder):
    return {p.name.rstrip(".csv0123456789").rstrip("_") for p in folder.rglob("*.csv")}


def analysed(folder):
    return run("msprof", "--analyze=on", "--output=%s" % folder)


def test_training_trace(every, none):
    rows = table(every, "step_trace")
    assert [r["Iteration ID"] for r in rows] == ["1", "2", "3"]
    assert "step_trace" not in tables(none)
    assert sum(e["name"].startswith("Iteration ") for e in timeline(every)) == 3
    assert not any(e["name"].startswith("Iteration ") for e in timeline(none))


def test_hccl(every, none):
    count = {r["Device_id"]: r["Count"] for r in table(every, "communication_statistic")}
    assert count == {"0": "3", "1": "3"}
    assert "communication.json" in analysed(every)
    assert "communication_statistic" not in tables(none) and "has no collectives" in analysed(none)
    assert not any("Hccl" in r["kernel_name"] or "hcom" in r["kernel_name"] for r in table(none, "task_time"))


def test_aicpu(every, none):
    (row,) = table(every, "aicpu")
    assert row["Node"] == "aclnnRandperm" and float(row["Compute_time(us)"]) > 0
    assert row["Memcpy_time(us)"] == "0"  # it works on the device's memory
    assert float(row["Total_time(us)"]) >= float(row["Task_time(us)"]) == float(row["Compute_time(us)"])
    assert "aicpu" not in tables(none)


def test_runtime_api(every, none):
    def of(folder, level):
        return {r["API Name"]: r for r in table(folder, "api_statistic") if r["Level"] == level}

    calls = of(every, "runtime")
    assert calls["Memcpy"]["Count"] == "1" and float(calls["Memcpy"]["Time(us)"]) > 0
    assert calls["Memcpy"]["Time(us)"] == of(every, "acl")["aclrtMemcpy"]["Time(us)"]
    assert of(none, "runtime") == {} and "aclrtMemcpy" in of(none, "acl")


def test_network_and_links(every, none):
    rows = table(every, "nic")
    assert rows and all(float(r["Bandwidth(MB/s)"]) >= 0 and float(r["txPacket/s"]) >= 0 for r in rows)
    links = {(r["Device_id"], r["Mode"]): r for r in table(every, "hccs")}
    assert set(links) == {(d, m) for d in "01" for m in ("Tx (MB/s)", "Rx (MB/s)")}
    for r in links.values():
        assert float(r["Max"]) >= float(r["Average"]) >= float(r["Min"]) >= 0 and float(r["Average"]) > 0
    assert not {"nic", "hccs"} & tables(none)


def test_task_time(none, tmp_path):
    assert set(TIMES) <= tables(none)
    off = recorded(tmp_path / "out", task_time="off", aicpu="on")
    assert not set(TIMES) & tables(off) and "aicpu" in tables(off)
    assert [e["name"] for e in timeline(off) if e["ph"] == "X" and "Task Id" in e["args"]] == ["aclnnRandperm"]


def test_off_there_is_nothing(tmp_path):
    """No file, and no thread beside those of the library, of which a profile with samples has one more."""
    count = textwrap.dedent(PROGRAM) + "import os; print('threads', len(os.listdir('/proc/self/task')))"

    def threads(**env):
        return int(python(count, **env).split("threads ")[1].split()[0])

    options = json.dumps({"output": str(tmp_path), "host_sys": "cpu"})
    off = threads()
    assert threads(PROFILING_MODE="false", PROFILING_OPTIONS=options) == off and list(tmp_path.iterdir()) == []
    assert threads(PROFILING_MODE="true", PROFILING_OPTIONS=options) > off and len(list(tmp_path.iterdir())) == 1


def msprof(*options):
    program = subprocess.run([str(UPDRAFT), "run", "sh", "-c", "command -v msprof"], capture_output=True, text=True, env=environment()).stdout.strip()
    done = subprocess.run([program, *map(str, options)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


def test_points_of_an_iteration_with_eight_segments(tmp_path):
    """A graph of training whose gradients are reduced in eight pieces, the last of them alone behind the backward pass."""
    names = ["graph", "aclnnAdd", "HcclAllReduce", "C\ngroup\n0\n2\nFLOAT\n250000\nsum\n-1\n"]
    tasks = raw.records(raw.TASK, 3, 11)
    tasks["id"], tasks["index"] = range(1, 12), -1
    tasks["name"] = [raw.text_id(names[0])] + [raw.text_id(names[1])] * 2 + [raw.text_id(names[2])] * 8
    tasks["begun"] = raw.BEGIN + 1000 * (10 + numpy.array([0, 1, 50] + [20 + 10 * i for i in range(8)]))
    tasks["ended"] = tasks["begun"] + 1000 * numpy.array([100, 10, 40] + [5] * 8)
    tasks["model"][0] = 1
    tasks["unit"][1:3], tasks["task_kind"][3:], tasks["arguments"][3:], tasks["stream"][3:] = raw.VECTOR, raw.CONTROL, raw.text_id(names[3]), 1
    sample = {"dataTypeConfig": 0x63, "aicMetrics": "", "interconnectionFrequency": 50}
    raw.write(tmp_path, names, raw.records(raw.CALL, 2, 0), tasks, sample=sample)
    msprof("--export=on", "--output=%s" % tmp_path)
    events = timeline(tmp_path)
    traces.check(events)
    (iteration,) = (e for e in events if e["name"] == "Iteration 1")
    points = [(k, traces.nanoseconds(v) // 1000 - raw.WALL) for k, v in iteration["args"].items() if k != "Model Id"]
    assert dict(points[:2]) == {"fp_start": 11, "bp_end": 100} and points[-1] == ("Iteration_end", 110)
    pairs = [("allreduce%d_%s" % (i + 1, end), 30 + 10 * i + (5 if end == "end" else 0)) for i in range(8) for end in ("start", "end")]
    assert points[2:-1] == pairs
    with open(next(tmp_path.rglob("step_trace*.csv"))) as file:
        head, row = file.read().strip().split("\n")
    assert head.count("Reduce Start(us)") == 8 and row.split(",")[-1] == "5.000"
    # 8 MB went to the other rank within 75 us, of which there is one sample
    sent = next(r for r in table(tmp_path, "hccs") if r["Mode"].startswith("Tx"))
    assert float(sent["Max"]) == pytest.approx(8e6 * 50 / 1e6)

