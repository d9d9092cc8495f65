"""Real projects from PyPI, pinned by their hashes (projects/requirements.txt), migrated as a whole.

Every change that is made to them has been read: projects/read/NAME.txt has each once, by a digest of the lines that go and come, with
how often it is made and the names in it that change; the lines are the projects' and stay there. The tool cannot sign for itself. After
a change to the rules
    UPDRAFT_TEST_LONG=1 UPDRAFT_KEEP=1 pytest tests/migrate/test_projects.py
writes what is new with "?" in front, shows its lines, and fails until somebody has read these, against the project's source, and taken
the "?" away. What is wrong becomes a case of the corpus, not a line there.
"""

import ast
import collections
import hashlib
import json
import os
import pathlib
import re
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


def changes(diff):
    """{lines that go and come: how often} of a diff; the indentation that they share is left out."""
    found, block = collections.Counter(), []
    for line in [*diff.splitlines(), " "]:
        if line[:1] in "+-" and not line.startswith(("+++ ", "--- ")):
            if block and line[0] == "-" and block[-1][0] == "+":
                found[whole(block)] += 1
                block = []
            block.append(line)
        elif block:
            found[whole(block)] += 1
            block = []
    return dict(found)


def whole(block):
    shared = min((len(line) - 1 - len(line[1:].lstrip()) for line in block if line[1:].strip()), default=0)
    return "\n".join(line[0] + " " + line[1 + shared:].rstrip() for line in block)


def digest(change):
    return hashlib.sha256(change.encode()).hexdigest()[:12]


def names(change):
    """The names that differ between the lines that go and those that come: torch.cuda.Stream > torch.npu.Stream"""
    was, now = ([word for line in change.splitlines() if line[0] == sign for word in re.findall(r"[\w.]+", line)] for sign in "-+")
    if not was:
        return "new: " + ", ".join(dict.fromkeys(now))
    pairs = [f"{a} > {b}" for a, b in zip(was, now) if a != b]
    return ", ".join(dict.fromkeys(pairs)) if len(was) == len(now) else "new: " + ", ".join(dict.fromkeys(w for w in now if w not in was))


def read(text):
    """({digest: how often}, those with a "?") of a file of projects/read."""
    signed, unread = {}, set()
    for line in text.splitlines():
        if line and not line.startswith("#"):
            key, times = line.lstrip("? ").split(" ")[:2]
            signed[key] = int(times)
            if line.startswith("?"):
                unread.add(key)
    return signed, unread


def write(path, name, made, unread):
    path.parent.mkdir(exist_ok=True)
    lines = sorted((names(change), digest(change), times) for change, times in made.items())
    path.write_text(f"# {LINES[name].split(' ')[0]}: digest of a change, how often it is made, names that change; read against the sources.\n"
                    + "".join(f"{'? ' if key in unread else ''}{key} {times} {what}".rstrip() + "\n" for what, key, times in lines))


def test_what_nobody_has_read_is_not_signed(tmp_path, monkeypatch):
    diff = "--- a/x.py\n+++ b/x.py\n@@ -1,4 +1,5 @@\n import torch\n+import torch_npu\n-    a.cuda()\n+    a.npu()\n-  b.cuda()\n+  b.npu()\n"
    made = changes(diff + diff.replace("x.py", "y.py"))
    assert made == {"+ import torch_npu": 2, "- a.cuda()\n+ a.npu()": 2, "- b.cuda()\n+ b.npu()": 2}
    assert [names(change) for change in made] == ["new: import, torch_npu", "a.cuda > a.npu", "b.cuda > b.npu"]
    keys = [digest(change) for change in made]
    monkeypatch.setitem(LINES, "x", "x==1 --hash=sha256:0")
    write(tmp_path / "x.txt", "x", made, {keys[1]})
    assert read((tmp_path / "x.txt").read_text()) == ({key: 2 for key in keys}, {keys[1]})


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
    made = changes((out / "migration.diff").read_text() if (out / "migration.diff").is_file() else "")
    for path in REPORTS & set(after) - set(before):
        after[path].unlink()
    tool(out, "--check", "-q")

    table = HERE / "read" / f"{name}.txt"
    signed, unread = read(table.read_text()) if table.is_file() else ({}, set())
    keys = {digest(change): times for change, times in made.items()}
    if os.environ.get("UPDRAFT_KEEP"):
        unread = (set(keys) - set(signed)) | (unread & set(keys))
        write(table, name, made, unread)
        signed = keys
    lines = "\n\n".join(f"{digest(change)}\n{change}" for change in made if digest(change) in unread or digest(change) not in signed)
    assert not unread, f"{name}: changes that nobody has read stand in {table}\n{lines}"
    assert signed == keys, f"{name}: other changes than those that were read (see this file's head)\n{lines}"
