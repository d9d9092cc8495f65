"""Boxes, tables and log lines on a terminal."""

import os
import shutil
import sys
import time
import unicodedata

from precision_tool.lib.config import config

_LEVELS = ("NOTSET", "DEBUG", "INFO", "WARNING", "ERROR")


def width(text):
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def _pad(text, columns):
    return text + " " * (columns - width(text))


def box(title, lines):
    """Lines in a frame, as wide as they are."""
    lines = [part for line in lines for part in str(line).split("\n")]
    inner = max([width(line) for line in lines] + [width(title) + 2])
    least = min(inner, shutil.get_terminal_size().columns - 4)
    inner = max(inner, least)
    print("╭─ %s %s╮" % (title, "─" * (inner - width(title) - 1)))
    for line in lines:
        print("│ %s │" % _pad(line, inner))
    print("╰%s╯" % ("─" * (inner + 2)))


def table(title, columns, rows):
    rows = [[str(c) for c in row] for row in rows]
    widths = [max(width(c) for c in column) for column in zip(columns, *rows)]
    box(title, ["  ".join(_pad(c, w) for c, w in zip(row, widths)).rstrip() for row in [columns] + rows])


def log(level, text):
    """2021-05-31 14:48:56 (pid) -[INFO]text"""
    least = config.LOG_LEVEL if config.LOG_LEVEL in _LEVELS else "NOTSET"
    if _LEVELS.index(level) >= _LEVELS.index(least):
        print("%s (%d) -[%s]%s" % (time.strftime("%Y-%m-%d %H:%M:%S"), os.getpid(), level, text), file=sys.stderr if level == "ERROR" else sys.stdout)
