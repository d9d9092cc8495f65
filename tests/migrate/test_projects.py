"""Real projects from PyPI, pinned by their hashes (projects/requirements.txt), migrated as a whole.

How many edits each rule makes is kept in projects/edits.json. After a change to the rules look at the diffs that differ,
then write the new numbers by: UPDRAFT_TEST_LONG=1 UPDRAFT_KEEP=1 pytest tests/migrate/test_projects.py
"""

import ast
import collections
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tarfile
import warnings
import zipfile

import pytest

HERE = pathlib.Path(__file__).resolve().parent / "projects"
SDISTS, WHEELS = ({line.split("==")[0]: line for line in (HERE / name).read_text().splitlines() if "==" in line}
                  for name in ("requirements.txt", "wheels.txt"))
LINES = SDISTS | WHEELS
LONG = os.environ.get("UPDRAFT_TEST_LONG")
PROJECTS = list(LINES) if LONG else ["timm"]
CACHE = pathlib.Path(os.environ.get("UPDRAFT_TEST_CACHE") or pathlib.Path.home() / ".cache" / "updraft-tests")
REPORTS = {"change_list.csv", "unsupported_api.csv", "unknown_api.csv", "cuda_op_list.csv", "api_precision_advice.csv",
           "api_performance_advice.csv", "affinity_api_call.csv", "msFmkTranspltlog.txt", "migration.diff",
           "migration_report.html", "migration_report.json", "migration_report.sarif", "success_report.txt",
           "failed_report.txt", "api_brief_report.txt", "api_analysis_report.xlsx"}


def archive(name):
    """The archive: of an earlier run, else by pip, which refuses other bytes than those of the hash."""
    requirement, digest = LINES[name].split(" --hash=sha256:")
    stem = f"{name.replace('-', '_')}-{requirement.split('==')[1]}"
    pattern, binary = (f"{stem}.tar.gz", "--no-binary") if name in SDISTS else (f"{stem}-*.whl", "--only-binary")
    found = next(CACHE.glob(pattern), CACHE / pattern)
    if found.is_file() and hashlib.sha256(found.read_bytes()).hexdigest() == digest:
        return found
    CACHE.mkdir(parents=True, exist_ok=True)
    wanted = CACHE / f"{name}.txt"
    wanted.write_text(LINES[name] + "\n")
    done = subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
                           "--require-hashes", binary, name, "--retries", "1", "--timeout", "20", "--dest", str(CACHE),
                           "--requirement", str(wanted)], capture_output=True, text=True, timeout=250)
    if "DO NOT MATCH" in done.stderr:
        pytest.fail(done.stderr[-2000:])
    if done.returncode:
        pytest.skip(f"{requirement} cannot be had from PyPI here: {done.stderr.strip()[-300:]}")
    found = next(CACHE.glob(pattern), found)
    assert found.is_file(), f"pip left no {found.name} in {CACHE}"
    return found


def parses(text):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(text)
        except (SyntaxError, ValueError):
            return False
    return True


def files(folder):
    paths = (p for p in sorted(folder.rglob("*")) if p.is_file() and not p.is_symlink())
    return {str(p.relative_to(folder)): p for p in paths if not {".egg-info", ".dist-info"} & {q.suffix for q in p.parents}}  # made by builds: not taken over


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", PROJECTS)
def test_project(tool, tmp_path, name):
    if name in SDISTS:
        with tarfile.open(archive(name)) as tar:
            tar.extractall(tmp_path, filter="data")
        (source,) = [p for p in tmp_path.iterdir() if p.is_dir()]
    else:
        source = tmp_path / name
        with zipfile.ZipFile(archive(name)) as wheel:
            wheel.extractall(source)
    tool(source, "-o", tmp_path / "out", "-q")
    (out,) = (tmp_path / "out").iterdir()
    before, after = files(source), files(out)
    assert set(after) - set(before) <= REPORTS and set(before) <= set(after)
    report = json.loads((out / "migration_report.json").read_text())
    changed = {file["path"] for file in report["files"] if file["changed"]}
    for path, old in before.items():
        was, now = old.read_bytes(), after[path].read_bytes()
        assert (path in changed) == (was != now), f"{path}: changed, and not said so, or the other way round"
        assert old.stat().st_mode == after[path].stat().st_mode, path
        if was == now:
            continue
        if path.endswith(".py") and parses(was):
            assert parses(now), f"{path} does not parse after the migration"
        if path.endswith((".json", ".ipynb")):
            json.loads(now)
        assert len(was.splitlines()) <= len(now.splitlines()), f"{path} lost lines"

    # what is written is what the reports say, and a second run finds nothing to do
    if changed:
        subprocess.run(["git", "apply", "--check", out / "migration.diff"], cwd=source, check=True, capture_output=True,
                       timeout=120)
    for path in REPORTS & set(after) - set(before):
        after[path].unlink()
    tool(out, "--check", "-q")

    edits = collections.Counter(finding["rule"] for file in report["files"] for finding in file["findings"] if finding.get("applied"))
    table = HERE / "edits.json"
    kept = json.loads(table.read_text()) if table.is_file() else {}
    if os.environ.get("UPDRAFT_KEEP"):
        kept[name] = dict(sorted(edits.items()))
        table.write_text(json.dumps(dict(sorted(kept.items())), indent=1) + "\n")
    assert kept.get(name) == dict(edits), f"{name}: other edits than those that were looked at (see this file's head)"
