"""Finds what matters in a log, or in the output of a run: lines of errors in the order of time, and codes."""

import re
from collections import namedtuple

from updraft.explain import codes

# [ERROR] RUNTIME(123,python):2026-11-24-18:00:00.123.456 [stream.cpp:210]text
_LINE = re.compile(r"\[(DEBUG|INFO|WARNING|ERROR|EVENT)\] ?([\w-]+)\((\d+),([^)]*)\):(\d{4}-\d\d-\d\d-\d\d:\d\d:\d\d\.\d+\.\d+) ?(?:\[([^\]]*)\])?(.*)")
_CODE = re.compile(r"\b(EI\d{4}|E[EZL]\d{4}|E\d{5}|ERR\d{5}|(?:1(?:00|07|45|48|61)|20[07]|245|30[07]|345|361|50[07]|545|561)\d{3})\b")

Line = namedtuple("Line", "level module process program time place text")


def lines_of(text):
    """The lines of the log in a text; lines that do not begin as such belong to the one before them."""
    found = []
    for raw in text.splitlines():
        match = _LINE.search(raw)
        if match:
            level, module, process, program, time, place, rest = match.groups()
            found.append(Line(level, module, int(process), program, time, place or "", rest.strip()))
        elif found and raw.startswith((" ", "\t")):
            found[-1] = found[-1]._replace(text=found[-1].text + "\n" + raw.strip())
    return found


def codes_of(text):
    """Codes that the table knows, each once, in the order in which they come."""
    known, seen = codes.table(), {}
    for match in _CODE.finditer(text):
        code = match.group(1)
        row = known.get(code) or codes.adapter(code)
        if row:
            seen.setdefault(code, row)
    return list(seen.values())
