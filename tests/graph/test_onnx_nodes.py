"""ONNX's own node cases through the official, unmodified onnxruntime-cann: those that its CPU provider passes.

The ordinary form runs a sample (onnx_nodes.py says which), the long form (UPDRAFT_TEST_LONG=1) all of them. onnx_nodes.txt names
those that do not run on the virtual NPU, each with its reason: one that begins to pass or to fail fails the test.
onnx_nodes_parsed.txt is the same of the parser alone, without onnxruntime, which puts calls into control flow that nobody knows;
onnx_nodes_atc.txt of atc and pyACL, for the cases of operator sets up to 18 without expanded functions.
"""

import json
import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).parent
PYTHON = HERE.parents[1] / ".venv-onnxruntime" / "bin" / "python"
LONG = bool(os.environ.get("UPDRAFT_TEST_LONG"))
# Cases that count at least: fewer are a mistake of the test's.
LEAST = {"onnx_nodes.txt": 1350 if LONG else 120, "onnx_nodes_parsed.txt": 1380 if LONG else 150,
         "onnx_nodes_atc.txt": 620 if LONG else 100}
WAYS = {"onnx_nodes.txt": [], "onnx_nodes_parsed.txt": ["--parser", "--bodies"], "onnx_nodes_atc.txt": ["--atc", "--base"]}


def known(file):
    """By the name of a case: how it ends, and why."""
    ends = {}
    for line in (HERE / file).read_text().splitlines():
        if line and not line.startswith("#"):
            name, status, reason = (part.strip() for part in line.split("|"))
            assert name not in ends and status in ("failed", "fell back") and reason, line
            ends[name] = status
    return ends


@pytest.fixture(scope="module", params=sorted(LEAST))
def answers(request, tmp_path_factory):
    """The list's name, and what counted."""
    updraft = pathlib.Path(sys.executable).parent / "updraft"
    environment = {**os.environ, "TMPDIR": str(tmp_path_factory.mktemp("onnx_nodes"))}
    which = [option for option in WAYS[request.param] if not (LONG and option == "--bodies")] + ([] if LONG else ["--sample"])
    done = subprocess.run([updraft, "run", PYTHON, HERE / "onnx_nodes.py", "--json", *which], env=environment, capture_output=True,
                          text=True, timeout=3000 if LONG else 500)
    assert done.returncode == 0, done.stderr[-4000:]
    found = [json.loads(line[2:]) for line in done.stdout.splitlines() if line.startswith("@@")]
    return request.param, {one["name"]: one for one in found if one["status"] != "uncounted"}


def test_as_many_cases_count_as_there_are(answers):
    file, found = answers
    assert len(found) >= LEAST[file]
    assert sum(one["status"] == "npu" for one in found.values()) >= 0.85 * LEAST[file]


def test_cases_run_on_the_npu_but_for_those_that_are_known(answers):
    file, found = answers
    ends = known(file)
    other = ["%s: %s %s" % (name, one["status"], one["reason"]) for name, one in sorted(found.items())
             if one["status"] != ends.get(name, "npu")]
    assert not other, "\n".join(["these end otherwise than %s says:" % file, *other])


def test_known_ends_are_of_cases_that_there_are(answers):
    file, found = answers
    if LONG:
        assert not set(known(file)) - set(found)
