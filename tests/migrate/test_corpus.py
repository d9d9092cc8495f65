"""The corpus (corpus/*.case): what the tool makes of each case, and whether that runs on torch_npu."""

import ast
import collections
import difflib
import json
import os
import pathlib
import subprocess
import sys
import tomllib

import pytest

import corpus_reader

HERE = pathlib.Path(__file__).resolve().parent
CASES = corpus_reader.read_all()
RUNNABLE = [case for case in CASES if case.main]


def write(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def compare(case, folder):
    for name, wanted in case.after.items():
        got = (folder / name).read_bytes().decode()
        diff = "".join(difflib.unified_diff(wanted.splitlines(True), got.splitlines(True), f"{name} (wanted)", f"{name} (got)"))
        assert got == wanted, f"{case.topic}.case:{case.line}: {case.name}\n{diff}"


@pytest.mark.parametrize("case", [case for case in CASES if case.command], ids=lambda case: case.id)
def test_conversion(tool, tmp_path, case):
    """By the guide's command lines."""
    write(tmp_path / "project", case.before)
    extra = {"gpu2npu": ["-v", "2.1"], "tf2npu": ["-r", tmp_path / "reports"]}[case.command[0]]
    tool(case.command[0], "-i", tmp_path / "project", "-o", tmp_path / "out", *extra, *case.command[1:])
    (main,) = (tmp_path / "out").rglob("main.py")
    compare(case, main.parent)


@pytest.mark.parametrize("case", [case for case in CASES if not case.command], ids=lambda case: case.id)
def test_case(tool, tmp_path, case):
    project = tmp_path / "project"
    write(project, case.before)
    findings = json.loads(tool(project, "--json", *case.options).stdout)
    rules = {f["rule"] for file in findings["files"] for f in file["findings"]}
    tool(project, "--in-place", "-q", *case.options)
    compare(case, project)
    assert set(case.finds) <= rules, f"{case.topic}.case:{case.line}: {case.finds} wanted, said was {sorted(rules)}"
    tool(project, "--check", *case.options)  # a second run has nothing to do


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    """Every runnable result of the corpus, executed on the virtual NPU: {id: (error, output)}."""
    jobs = []
    for n, case in enumerate(RUNNABLE):
        folder = tmp_path_factory.mktemp(f"case{n}", numbered=False)
        write(folder, case.after)
        jobs.append({"id": case.id, "folder": str(folder), "main": case.main, "check": case.check})
    results = {}
    while jobs:
        env = dict(os.environ, PYTHONDONTWRITEBYTECODE="1", UPDRAFT_DEVICES="2", PYTHONWARNINGS="ignore")
        done = subprocess.run([sys.executable, str(HERE / "corpus_runner.py")], input="\n".join(map(json.dumps, jobs)).encode(),
                              capture_output=True, timeout=280, env=env)
        for line in done.stdout.splitlines():
            result = json.loads(line)
            results[result["id"]] = result["error"], result["output"]
        rest = [job for job in jobs if job["id"] not in results]
        assert done.returncode == 0 or rest, done.stderr.decode()[-3000:]
        if rest:  # the first of them ended the process
            results[rest[0]["id"]] = f"the process ended with {done.returncode}\n{done.stderr.decode()[-2000:]}", ""
        jobs = rest[1:]
    return results


@pytest.mark.parametrize("case", RUNNABLE, ids=lambda case: case.id)
def test_expectation_runs(executed, case):
    error, _ = executed[case.id]
    assert not error, f"{case.topic}.case:{case.line}: what the case expects does not run on torch_npu\n{error}"


def test_every_defect_has_three_cases():
    with open(corpus_reader.CORPUS / "defects.toml", "rb") as file:
        defects = tomllib.load(file)
    shown = collections.Counter(case.defect for case in CASES if case.defect)
    assert set(shown) <= set(defects), set(shown) - set(defects)
    few = {name: shown[name] for name, defect in defects.items() if shown[name] + len(defect.get("tests", [])) < 3}
    assert not few, f"three variants of each defect are wanted: {few}"


def test_the_page_is_written_from_the_labels():
    script = HERE.parents[1] / "tools" / "migrate_facts" / "comparison.py"
    done = subprocess.run([sys.executable, str(script), "--check"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_expectation_parses(case):
    for name, text in case.after.items():
        if name.endswith(".py") and "does not parse" not in case.why_not_run:
            ast.parse(text, name)
