"""Writes docs/reference/guide-tensorflow.md and .zh.md from answers.tsv: what a guide to TensorFlow on NPUs asks, line by line.

usage: page.py [--check]    --check: writes nothing, exits 1 where a page is not what it would write
"""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADS = {
    "md": ("# TensorFlow, line by line\n\n[中文](guide-tensorflow.zh.md)\n\n"
           "What a guide to TensorFlow on NPUs describes, in 231 lines of our own words, and what is so here. **kept**: the tests say so. "
           "**part**: the rest of the line says what is missing. **answered**: why there is nothing to keep. Written by "
           "`tools/tensorflow_guide/page.py`.\n\n| line | | what it is about | tests |\n|---|---|---|---|\n"),
    "zh.md": ("# TensorFlow 逐条对照\n\n[English](guide-tensorflow.md)\n\n"
              "TensorFlow 迁移指南所述内容，共 231 条（以我们自己的话写成），以及此处的情况。**保持**：由测试证明。**部分**：说明中写明缺少什么。"
              "**答复**：为什么没有可保持的内容。由 `tools/tensorflow_guide/page.py` 生成。\n\n| 条目 | | 内容 | 测试 |\n|---|---|---|---|\n"),
}
STATES = {"md": {"kept": "kept", "part": "part", "answered": "answered"},
          "zh.md": {"kept": "保持", "part": "部分", "answered": "答复"}}


def rows():
    """(line, state, tests, English, Chinese) of every row."""
    for text in (ROOT / "tools/tensorflow_guide/answers.tsv").read_text().splitlines():
        if text and not text.startswith("#"):
            line, state, tests, english, chinese = text.split("\t")
            yield line, state, tests.split(), english, chinese


def page(kind):
    made = HEADS[kind]
    for line, state, tests, english, chinese in rows():
        words = english if kind == "md" else chinese
        made += "| %s | %s | %s | %s |\n" % (line, STATES[kind][state], words, "<br>".join("`%s`" % t for t in tests))
    return made


def main(arguments):
    stale = []
    for kind in HEADS:
        path = ROOT / ("docs/reference/guide-tensorflow." + kind)
        if "--check" not in arguments:
            path.write_text(page(kind))
        elif not path.exists() or path.read_text() != page(kind):
            stale.append(str(path))
    if stale:
        print("not what tools/tensorflow_guide/page.py writes: " + ", ".join(stale))
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
