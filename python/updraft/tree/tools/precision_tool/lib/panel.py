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


def _room():
    """Columns between the sides of a box; None where no terminal cuts the lines: files and pipes have them whole."""
    if not sys.stdout.isatty():
        return None
    return max(shutil.get_terminal_size().columns - 4, 20)


def fold(text, columns):
    """The text in pieces of that many columns: cut behind a space, else behind a slash or comma, else anywhere."""
    pieces = []
    while width(text) > columns:
        end = used = 0
        while used + width(text[end]) <= columns:
            used += width(text[end])
            end += 1
        for marks in (" ", "/,"):
            at = max(text.rfind(mark, 0, end) for mark in marks) + 1
            if text[:at].strip() and at > end // 2:
                end = at
                break
        pieces.append(text[:end].rstrip())
        text = text[end:]
    return pieces + [text]


def box(title, lines):
    """Lines in a frame, as wide as they are or as the terminal is; what is cut goes on below, by two columns to the right."""
    lines = [part for line in lines for part in str(line).split("\n")]
    room = _room()
    if room:
        title = fold(title, room - 2)[0]
        cut = []
        for line in lines:
            if width(line) <= room:
                cut.append(line)
                continue
            indent = " " * min(len(line) - len(line.lstrip()) + 2, room // 2)
            first = fold(line, room)[0]
            cut += [first] + [indent + piece for piece in fold(line[len(first):].lstrip(), room - len(indent))]
        lines = cut
    inner = max([width(line) for line in lines] + [width(title) + 2])
    print("╭─ %s %s╮" % (title, "─" * (inner - width(title) - 1)))
    for line in lines:
        print("│ %s │" % _pad(line, inner))
    print("╰%s╯" % ("─" * (inner + 2)))


def table(title, columns, rows):
    """Where the terminal is too narrow the widest columns are folded."""
    rows = [[str(c) for c in row] for row in [columns] + list(rows)]
    widths = [max(width(c) for c in column) for column in zip(*rows)]
    room = _room()
    while room and sum(widths) + 2 * (len(widths) - 1) > room and max(widths) > 8:
        widths[widths.index(max(widths))] -= 1
    lines = []
    for row in rows:
        cells = [fold(c, w) for c, w in zip(row, widths)]
        for i in range(max(map(len, cells))):
            lines.append("  ".join(_pad(c[i] if i < len(c) else "", w) for c, w in zip(cells, widths)).rstrip())
    box(title, lines)


def log(level, text):
    """2021-05-31 14:48:56 (pid) -[INFO]text"""
    least = config.LOG_LEVEL if config.LOG_LEVEL in _LEVELS else "NOTSET"
    if _LEVELS.index(level) >= _LEVELS.index(least):
        print("%s (%d) -[%s]%s" % (time.strftime("%Y-%m-%d %H:%M:%S"), os.getpid(), level, text), file=sys.stderr if level == "ERROR" else sys.stdout)
