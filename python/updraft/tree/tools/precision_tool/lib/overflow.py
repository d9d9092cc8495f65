"""Overflow: what the Opdebug files of a run say, the first operator first."""

import glob
import json
import os
import re

from precision_tool.lib import dump, places

_OPDEBUG = re.compile(r"^Opdebug\.Node_OpDebug\.(\d+)(?:\.(\d+))?\.(\d+)$")

# Bits of the status; several at once are or-ed.
_AI_CORE = {0x8: "取负溢出：最小整数取负", 0x10: "整数加减乘溢出", 0x20: "浮点计算有溢出", 0x80: "负浮点数转无符号整数",
            0x100: "FP32 或 INT32 转 FP16 溢出", 0x400: "CUBE 累加溢出"}
_DHA = {0x9: "overflow", 0xA: "underflow", 0xB: "source NaN", 0xC: "destination NaN", 0xD: "both NaN"}
_L2 = {0: "none", 1: "overflow", 2: "underflow", 3: "source NaN", 4: "destination NaN", 5: "both NaN"}


def meaning(kind, status):
    if kind == "AI Core":
        return [text for bit, text in _AI_CORE.items() if status & bit] or ["?"]
    if kind.startswith("DHA"):
        return [_DHA.get(status >> 8 & 0xFF, "?")]
    return [_L2.get(status >> 16 & 0x7, "?")]


class Overflow:
    """kind: AI Core, DHA Atomic Add, L2 Atomic Add."""

    def __init__(self, kind, entry, time):
        self.kind, self.time = kind, time
        self.status, self.task, self.stream = (int(entry.get(k, 0)) for k in ("status", "task_id", "stream_id"))
        self.file = None  # the operator's own dump


def found(folder):
    """All overflows below a folder, in the order of execution."""
    all_files = dump.files(folder)
    made = []
    for path in glob.glob(os.path.join(folder, "**", "Opdebug.Node_OpDebug.*"), recursive=True):
        match = _OPDEBUG.match(os.path.basename(path))
        if not match:
            continue
        target = places.temp("decode", "overflow_decode")
        decoded = os.path.join(target, os.path.basename(path) + ".output.0.json")
        if not os.path.exists(decoded):
            places.toolkit("msaccucmp.py", "convert", "-d", path, "-out", target)
        with open(decoded) as file:
            info = json.load(file)
        for kind, entry in info.items():
            if isinstance(entry, dict) and int(entry.get("status", 0)):
                made.append(Overflow(kind, entry, int(match.group(3))))
    made.sort(key=lambda o: o.time)
    operators = [f for f in all_files if f.type != "Opdebug"]
    for o in made:
        same = [f for f in operators if f.task == o.task]
        o.file = min(same, key=lambda f: abs(f.time - o.time), default=None)
    return made
