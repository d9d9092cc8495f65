"""Migrates projects of PyPI, runs a short training of each before (on the CPU) and after (on the virtual NPU), and writes
docs/reference/migration-projects.md and its Chinese twin.

usage: .venv/bin/python tools/migrate_projects/table.py [--work FOLDER] [--only NAME,…]

The training (tries/NAME.py) says cuda and stands in the project's folder when that is migrated. `before` is the project as
it is, which finds no CUDA; `after` must have run on a device of type npu and end with the same loss.
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import urllib.request
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SCRIPT = "updraft_try.py"
WORDS = {
    "en": ("# Projects that were migrated", "Projects that nobody here wrote, of PyPI but for the examples of Horovod, which its sdist does not have, migrated with `updraft migrate` and nothing else. *changed* and *left* are "
           "places: edits that were made, and changes that are left for review. *before* is a short training of the project on the CPU "
           "as it is, *after* the migrated one on the virtual NPU: its last loss, which has to agree to 2 %; a project that takes the NPU by itself says (npu) before, too. The training says `cuda` and is "
           "migrated with the project (`tools/migrate_projects/tries/`); Horovod is not built here, a stand-in of one process takes its place before. The diffs were read; what was found there and mended is in "
           "`tests/migrate/corpus/`.", "Made by", "project", "version", "Python files", "changed", "left", "before", "after", "not run: "),
    "zh": ("# 迁移过的项目", "第三方项目，除 Horovod 的示例（其 sdist 不含示例）外均来自 PyPI，仅用 `updraft migrate` 迁移。*修改*与*待确认*为处数：已作的修改，以及留待确认的修改。*迁移前*为项目的一次短训练，"
           "在 CPU 上原样运行（未找到 CUDA）；*迁移后*为迁移结果在虚拟 NPU 上的运行：给出最后的 loss，两者之差应在 2 % 以内；自身已支持 NPU 的项目在迁移前即为 (npu)。训练脚本写的是 `cuda`，与项目一同迁移"
           "（`tools/migrate_projects/tries/`）；此处未构建 Horovod，迁移前由单进程的替身代替。差异经人工阅读，由此发现并修正的问题见 `tests/migrate/corpus/`。", "生成命令：", "项目", "版本",
           "Python 文件", "修改", "待确认", "迁移前", "迁移后", "未运行："),
}


def fetch(name, project, work):
    """The project's folder, from its source distribution or wheel."""
    folder = work / "projects" / name
    if not folder.exists() and "archive" in project:
        part = work / "parts" / name
        with urllib.request.urlopen(project["archive"], timeout=120) as answer, tarfile.open(fileobj=answer, mode="r|gz") as archive:
            archive.extractall(part, filter="data")
        (top,) = part.iterdir()
        folder.parent.mkdir(parents=True, exist_ok=True)
        (top / project.get("folder", ".")).rename(folder)
    elif not folder.exists():
        downloads = work / "downloads" / name
        kind = ["--only-binary", ":all:"] if project.get("wheel") else ["--no-binary", ":all:", "--no-build-isolation"]
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps", *kind, "-d", downloads,
                        f"{name}=={project['version']}"], check=True, timeout=600)
        (archive,) = downloads.iterdir()
        part = work / "parts" / name
        if archive.suffix == ".whl":
            zipfile.ZipFile(archive).extractall(part)
            folder.parent.mkdir(parents=True, exist_ok=True)
            part.rename(folder)
        else:
            tarfile.open(archive).extractall(part, filter="data")
            (top,) = part.iterdir()
            folder.parent.mkdir(parents=True, exist_ok=True)
            top.rename(folder)
    return folder


def run(folder, project, site, device):
    env = dict(os.environ, PYTHONPATH=os.pathsep.join([str(folder / project.get("path", ".")), str(site)]), PYTHONDONTWRITEBYTECODE="1",
               PYTHONWARNINGS="ignore", HF_HUB_OFFLINE="1", ACCELERATE_USE_CPU="true" if device == "cpu" and not project.get("takes_npu") else "false",
               **project.get("env", {}))
    python = ROOT / project["python"] / "bin" / "python" if "python" in project else sys.executable
    if "python" in project and device == "cpu":
        env["UPDRAFT_DISABLE"] = "1"
    done = subprocess.run([python, SCRIPT], cwd=folder, env=env, capture_output=True, text=True, timeout=600)
    for line in done.stdout.splitlines():
        if line.startswith("RESULT "):
            _, where, loss = line.split()
            return where, float(loss)
    return None, (done.stderr.strip().splitlines() or ["?"])[-1]


def measure(name, project, work):
    folder, site, out = fetch(name, project, work), work / "site" / name, work / "out" / name
    try_ = HERE / "tries" / f"{name}.py"
    if try_.exists():
        (folder / SCRIPT).write_text(try_.read_text())
        if project.get("needs") and not site.exists():
            subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps", "--target", site,
                            *project["needs"]], check=True, timeout=600)
        site.mkdir(parents=True, exist_ok=True)
        for module in project.get("beside", []):
            shutil.copy(HERE / "beside" / f"{module}.py", site)
    import updraft
    subprocess.run([pathlib.Path(updraft.home()) / "bin" / "updraft-migrate", folder, "-o", out, "--force", "-q", *project.get("options", [])],
                   check=True, timeout=120)
    migrated = out / (folder.name + "_msft")
    report = json.loads((migrated / "migration_report.json").read_text())
    changes = [f for file in report["files"] for f in file["findings"] if f["category"] == "change" and file["path"] != SCRIPT]
    row = {"files": sum(1 for _ in folder.rglob("*.py")) - try_.exists(), "changed": sum(f["applied"] for f in changes),
           "left": sum(not f["applied"] for f in changes)}
    if try_.exists():
        row["before"], row["after"] = run(folder, project, site, "cpu"), run(migrated, project, site, "npu")
    return row


def cached(name, project, work):
    """What an earlier run in the same folder measured; projects may be measured side by side with --only."""
    file = work / "rows" / f"{name}.json"
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        row = measure(name, project, work)
        file.write_text(json.dumps(row))
    return json.loads(file.read_text())


def cell(result, device):
    where, value = result
    if where is None:
        return f"**no**: {value}"
    return f"{value:.4f} ({where})" if where == device else f"**on {where}**"


def page(projects, rows, language):
    title, text, made, *heads, not_run = WORDS[language]
    lines = [title, "", text, "", f"{made} `.venv/bin/python tools/migrate_projects/table.py`", "", "| " + " | ".join(heads) + " |",
             "|---" * len(heads) + "|"]
    for name, row in rows.items():
        project = projects[name]
        runs = [cell(row["before"], row["before"][0]), cell(row["after"], "npu")] if "before" in row else \
            [not_run + project["why"][language == "zh"], "–"]
        lines.append("| " + " | ".join(str(c) for c in [name, project["version"], row["files"], row["changed"], row["left"], *runs]) + " |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=pathlib.Path, help="kept between runs (default: a temporary folder)")
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    with open(HERE / "projects.toml", "rb") as file:
        projects = tomllib.load(file)
    chosen = args.only.split(",") if args.only else list(projects)
    with tempfile.TemporaryDirectory() as temporary:
        work = args.work or pathlib.Path(temporary)
        rows = {name: cached(name, projects[name], work) for name in chosen}
    for name, row in rows.items():
        print(name, row)
        if "before" in row:
            (_, before), (_, after) = row["before"], row["after"]
            if not isinstance(before, float) or not isinstance(after, float) or abs(before - after) > 0.02 * max(1, abs(before)):
                print(f"{name}: {before} before and {after} after", file=sys.stderr)
    if not args.only:
        for language, name in (("en", "migration-projects.md"), ("zh", "migration-projects.zh.md")):
            (ROOT / "docs" / "reference" / name).write_text(page(projects, rows, language), encoding="utf-8")


if __name__ == "__main__":
    main()
