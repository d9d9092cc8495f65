"""Writes folders of raw records (src/observe/profiling/record.h) without a device: profiles of any size, and damaged ones."""

import json
import pathlib

import numpy

HEADER = b"UPDPROF1" + (1).to_bytes(4, "little")
BEGIN, WALL = 1_000_000_000_000, 1_700_000_000_000_000  # ns, us

RECORD = [("kind", "<u2"), ("bytes", "<u2")]
CALL = numpy.dtype(RECORD + [("name", "<u8"), ("begin", "<u8"), ("end", "<u8"), ("correlation", "<u8"), ("thread", "<i4"),
                             ("code", "<i4"), ("depth", "<u2"), ("phase", "u1"), ("implemented", "u1"), ("spare", "<u4")])
TASK = numpy.dtype(RECORD + [("id", "<u8"), ("correlation", "<u8"), ("submitted", "<u8"), ("begun", "<u8"), ("ended", "<u8"),
                             ("name", "<u8"), ("arguments", "<u8"), ("flops", "<i8"), ("moved", "<i8"), ("device", "<i4"),
                             ("stream", "<i4"), ("model", "<u4"), ("index", "<i4"), ("thread", "<i4"), ("submitter", "<i4"),
                             ("task_kind", "u1"), ("outcome", "u1"), ("unit", "u1"), ("spare", "u1"), ("spare2", "<u4")])
COMPUTE, COPY, HOST, CONTROL = range(4)
CUBE, VECTOR, AICPU, SDMA = 1, 2, 4, 5


def text_id(text):
    h = 0xCBF29CE484222325
    for byte in text.encode():
        h = (h ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    h ^= h >> 32
    return h or 1


def text_record(text):
    payload = text_id(text).to_bytes(8, "little") + text.encode()
    return (1).to_bytes(2, "little") + (4 + len(payload)).to_bytes(2, "little") + payload


def records(dtype, kind, count):
    rows = numpy.zeros(count, dtype)
    rows["kind"], rows["bytes"] = kind, dtype.itemsize
    return rows


def write(folder, texts, calls, tasks, device=0, sample=None):
    """A folder PROF_* with these records; gives its path."""
    folder = pathlib.Path(folder) / "PROF_000001_20260101000000000_ABCDEFGHIJKLMNOP"
    host, own = folder / "host" / "data", folder / ("device_%d" % device) / "data"
    host.mkdir(parents=True)
    own.mkdir(parents=True)
    (folder / "host" / "start_info").write_text(json.dumps({"collectionTimeBegin": str(WALL), "clockMonotonicRaw": str(BEGIN)}))
    (folder / "host" / "info.json").write_text(json.dumps({"pid": "1234", "hostname": "h", "hostUid": "1", "rank_id": 0, "soc": "Ascend910B2"}))
    (folder / "host" / "sample.json").write_text(json.dumps(sample or {"dataTypeConfig": 0x3, "aicMetrics": ""}))
    host_header, device_header = HEADER + b"\xff\xff\xff\xff", HEADER + device.to_bytes(4, "little")
    (host / "texts.slice_0").write_bytes(host_header + b"".join(map(text_record, texts)))
    (host / "host.slice_0").write_bytes(host_header + calls.tobytes())
    (own / "device.slice_0").write_bytes(device_header + tasks.tobytes())
    return folder


def many_tasks(folder, count):
    """`count` operators, each with its two calls, one after the other on one stream."""
    names = ["aclnnAdd", "aclnnMatmul", "aclnnRelu", "aclnnConvolution"]
    shapes = ["T\n64,%d\nFLOAT\nND\n64,%d\nFLOAT\nND" % (n, n) for n in range(50)]
    number = numpy.arange(count, dtype="u8")
    name = numpy.array([text_id(n) for n in names], "u8")[number % len(names)]
    calls = records(CALL, 2, 2 * count)
    calls["name"] = numpy.repeat(name, 2)
    calls["phase"] = numpy.tile([1, 2], count)
    calls["begin"] = BEGIN + numpy.repeat(number, 2) * 10000 + numpy.tile([0, 2000], count)
    calls["end"] = calls["begin"] + 1500
    calls["correlation"] = numpy.arange(1, 2 * count + 1)
    calls["thread"], calls["implemented"] = 1234, 1
    tasks = records(TASK, 3, count)
    tasks["id"], tasks["correlation"] = number + 1, 2 * number + 2
    tasks["submitted"] = BEGIN + number * 10000 + 3000
    tasks["begun"] = BEGIN + number * 10000 + 4000
    tasks["ended"] = tasks["begun"] + 5000
    tasks["name"] = name
    tasks["arguments"] = numpy.array([text_id(s) for s in shapes], "u8")[number % len(shapes)]
    tasks["flops"], tasks["moved"], tasks["unit"], tasks["index"] = 1000, 4000, VECTOR, -1
    return write(folder, names + shapes, calls, tasks)
