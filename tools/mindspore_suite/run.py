#!/usr/bin/env python3
"""Runs MindSpore's own tests for Ascend file by file, each file in a process of its own, and keeps what each test said in results.tsv.

The tests are no part of this project: give a checkout of them (MindSpore's repository, or mindspore-ai/mindspore_test). It needs pytest,
pytest-timeout and pyyaml in the environment of tests/mindspore; some files want torch as well. Files that have a row are not run again; --again FILE… does so.
usage: .venv-mindspore/bin/python tools/mindspore_suite/run.py CHECKOUT [--again] [FILE…]
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET

RESULTS = pathlib.Path(__file__).resolve().with_name("results.tsv")
FOLDERS = ("tests/st/mint", "tests/st/ops/ascend")
MARKS = "(platform_ascend or platform_ascend910b) and (level0 or level1) and not allcards"
INTERNAL = "test_internal_ops"  # of kernels that the wheel holds as programs for the AI core
SECONDS = 300


def rows():
    if not RESULTS.exists():
        return []
    return [tuple(line.split("\t")) for line in RESULTS.read_text(encoding="utf-8").splitlines()]


def keep(file, found):
    kept = sorted([row for row in rows() if row[0] != file] + found)
    RESULTS.write_text("".join("\t".join(row) + "\n" for row in kept), encoding="utf-8")


def reason(text):
    """One line of what a test said: the last of the errors that it quotes, without places in memory or in a file."""
    lines = [line[1:].strip() for line in text.splitlines() if line.startswith("E  ") and line[1:].strip()]
    worth = [line for line in lines if re.search(r"Error|error|assert|not |fail|E[0-9]{5}", line)] or lines or text.strip().splitlines()[-1:] or ["no reason given"]
    line = worth[0] if re.match(r"\w*(Error|Exception)", worth[0]) else worth[-1]
    return re.sub(r"0x[0-9a-f]+", "0x…", re.sub(r"\s+", " ", line))[:240]


def run(checkout, file):
    """(file, test, passed|failed|skipped|crashed, reason) of each test; a file that dies or takes too long has one row more, of no test."""
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder, "report.xml")
        env = {**os.environ, "GLOG_v": "4", "PYTHONPATH": "%s:%s" % (checkout, os.environ.get("PYTHONPATH", ""))}
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--timeout=150", "--junitxml=%s" % report, "-m", MARKS, "-o",
                   "junit_logging=no", "--rootdir=%s" % checkout, "%s/%s" % (checkout, file)]
        try:
            done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, errors="replace", timeout=SECONDS)
            end = "" if done.returncode in (0, 1, 5) else "pytest ended with %d: %s" % (done.returncode, " ".join((done.stdout + done.stderr).split())[-200:])
        except subprocess.TimeoutExpired:
            end = "not done within %d s" % SECONDS
        found = []
        if report.exists():
            for case in ET.parse(report).getroot().iter("testcase"):
                bad = case.find("failure") if case.find("failure") is not None else case.find("error")
                if bad is not None:
                    found.append((file, case.get("name"), "failed", reason((bad.text or "") + "\n" + (bad.get("message") or ""))))
                else:
                    found.append((file, case.get("name"), "skipped" if case.find("skipped") is not None else "passed", ""))
        if end and not any(row[2] == "failed" for row in found):
            found.append((file, "", "crashed", end))
        return found or [(file, "", "none", "")]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("checkout", type=pathlib.Path)
    parser.add_argument("files", nargs="*")
    parser.add_argument("--again", action="store_true")
    arguments = parser.parse_intermixed_args()
    files = arguments.files or [str(path.relative_to(arguments.checkout)) for folder in FOLDERS
                                for path in sorted((arguments.checkout / folder).rglob("test_*.py")) if INTERNAL not in path.parts]
    done = {row[0] for row in rows()}
    for file in files:
        if file in done and not arguments.again:
            continue
        found = run(arguments.checkout.resolve(), file)
        keep(file, found)
        print("%-70s %s" % (file, " ".join("%s %d" % (kind, sum(row[2] == kind for row in found)) for kind in ("passed", "failed", "skipped", "crashed", "none")
                                           if any(row[2] == kind for row in found))), flush=True)


if __name__ == "__main__":
    main()
