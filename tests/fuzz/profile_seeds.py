"""Writes the seeds of the fuzz target profile into corpus/profile beside this file: records of every kind, and options."""

import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "observe"))

from raw_profile import BEGIN, HEADER, text_id, text_record  # noqa: E402

FOLDER = pathlib.Path(__file__).parent / "corpus" / "profile"


def record(kind, payload, tail=b""):
    return struct.pack("<HH", kind, 4 + len(payload) + len(tail)) + payload + tail


def call(name, begin, correlation, phase=0):
    return record(2, struct.pack("<QQQQiiHBBI", text_id(name), BEGIN + begin, BEGIN + begin + 5, correlation, 7, 0, 0, phase, 1, 0))


def task(number, name, begin, correlation, arguments="", kind=0, unit=2, model=0, index=-1, stream=0):
    return record(3, struct.pack("<7Q2q2iI3i4BI", number, correlation, BEGIN + begin - 1, BEGIN + begin, BEGIN + begin + 9, text_id(name),
                                 text_id(arguments) if arguments else 0, 100, 200, 0, stream, model, index, 7, 7, kind, 0, unit, 0, 0))


def marker(time, what, number, on_stream=0):
    return record(6, struct.pack("<5QIiII", BEGIN + time, number, text_id("mark"), text_id("default"), 30, what, 7, on_stream, 0))


def main():
    tensors, group = "T\n2,3\nFLOAT\nND\n2,3\nFLOAT\nND", "C\ngroup\n0\n2\nFLOAT\n10\nsum\n-1\n"
    names = ["aclnnAdd", "HcclAllReduce", "MEMCPY", "MODEL", "STEP_START", "STEP_END", "MSTX_MARK", "mark", "default", "aclmdlRIExecuteAsync", tensors, group]
    texts = b"".join(map(text_record, names))
    seeds = {
        "operators": call("aclnnAdd", 0, 1, 1) + call("aclnnAdd", 10, 2, 2) + task(1, "aclnnAdd", 20, 2, tensors) + task(2, "aclnnAdd", 40, 2, tensors, unit=4),
        "collectives": call("HcclAllReduce", 0, 3) + task(3, "HcclAllReduce", 10, 3, group, kind=3, unit=5),
        "graph": call("aclmdlRIExecuteAsync", 0, 4) + task(4, "MODEL", 10, 4, model=1) + task(5, "aclnnAdd", 11, 4, tensors, model=1, index=0),
        "steps": record(7, struct.pack("<QQQIi", BEGIN, 1, 10, 0, 0)) + record(7, struct.pack("<QQQIi", BEGIN + 99, 1, 11, 1, 0))
        + task(6, "STEP_START", 5, 10, kind=3) + task(7, "STEP_END", 90, 11, kind=3),
        "markers": marker(1, 0, 0) + marker(2, 1, 5) + marker(9, 2, 5, 1) + task(8, "MSTX_MARK", 8, 30, kind=3),
        "samples": record(4, struct.pack("<4QiI", BEGIN, 100, 200, 300, 0, 0)) + record(4, struct.pack("<4QiI", BEGIN + 1000, 100, 200, 900, 0, 0))
        + b"".join(record(8, struct.pack("<QII4Q", BEGIN + t, kind, 0, t, t, t, t)) for kind in range(5) for t in (10, 2000)),
        "reports": record(5, struct.pack("<II", 0, 0), struct.pack("<HHIIIQQQ", 0, 0, 0, 7, 0, BEGIN, BEGIN + 9, text_id("aclnnAdd"))) + record(9, struct.pack("<QQ", BEGIN, 3)),
        "negative_stream": task(9, "MEMCPY", 10, 0, kind=1, unit=5, stream=-2147483648) + task(10, "MEMCPY", 30, 0, kind=1, unit=5, stream=-3),
    }
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, body in seeds.items():
        (FOLDER / name).write_bytes(HEADER + b"\xff\xff\xff\xff" + texts + body)
    (FOLDER / "options").write_text('O{"output":"/tmp","training_trace":"on","task_trace":"on","aic_metrics":"Custom:0x1,2","storage_limit":"200MB","llc_profiling":"read"}')
    (FOLDER / "excluded").write_text('O{"output":"/tmp","instr_profiling_freq":"1000","l2":"on"}')


main()
