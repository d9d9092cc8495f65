"""Writes docs/reference/guide-NAME.md and .zh.md from NAME.tsv beside this file: what a guide to CANN asks, line by line, and what is so here.

usage: page.py [--check]    --check: writes nothing, exits 1 where a page is not what it would write
"""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
# The letter of the lines, their count, the titles, and what the guide is about.
GUIDES = {
    "graph": ("G", 80, ("The graph engine, line by line", "图引擎逐条对照"), ("the graph engine", "图引擎指南")),
    "observe": ("O", 125, ("Profiling, dump, comparison and logs, line by line", "性能采集、dump、比对与日志逐条对照"),
                ("profiling, dump, comparison and logs", "性能采集、dump、比对与日志指南")),
    "tensorflow": ("F", 231, ("TensorFlow, line by line", "TensorFlow 逐条对照"), ("TensorFlow on NPUs", "TensorFlow 迁移指南")),
}
STATES = {"md": {"kept": "kept", "part": "part", "answered": "answered"}, "zh.md": {"kept": "保持", "part": "部分", "answered": "答复"}}


def head(name, kind):
    _, count, titles, about = GUIDES[name]
    if kind == "md":
        return ("# %s\n\n[中文](guide-%s.zh.md)\n\nWhat a guide to %s describes, in %d lines of our own words, and what is so here. **kept**: the tests "
                "say so. **part**: the rest of the line says what is missing. **answered**: why there is nothing to keep. Written by `tools/guides/page.py`."
                "\n\n| line | | what it is about | tests |\n|---|---|---|---|\n" % (titles[0], name, about[0], count))
    return ("# %s\n\n[English](guide-%s.md)\n\n%s所述内容，共 %d 条（以我们自己的话写成），以及此处的情况。**保持**：由测试证明。**部分**：说明中写明缺少什么。"
            "**答复**：为什么没有可保持的内容。由 `tools/guides/page.py` 生成。\n\n| 条目 | | 内容 | 测试 |\n|---|---|---|---|\n" % (titles[1], name, about[1], count))


def rows(name):
    """(line, state, tests, English, Chinese) of every row."""
    for text in (pathlib.Path(__file__).parent / (name + ".tsv")).read_text().splitlines():
        if text and not text.startswith("#"):
            line, state, tests, english, chinese = text.split("\t")
            yield line, state, tests.split(), english, chinese


def page(name, kind):
    made = head(name, kind)
    for line, state, tests, english, chinese in rows(name):
        made += "| %s | %s | %s | %s |\n" % (line, STATES[kind][state], english if kind == "md" else chinese, "<br>".join("`%s`" % t for t in tests))
    return made


def main(arguments):
    stale = []
    for name in GUIDES:
        for kind in STATES:
            path = ROOT / "docs/reference" / ("guide-%s.%s" % (name, kind))
            if "--check" not in arguments:
                path.write_text(page(name, kind))
            elif not path.exists() or path.read_text() != page(name, kind):
                stale.append(str(path))
    if stale:
        print("not what tools/guides/page.py writes: " + ", ".join(stale))
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
