"""Both runs: each in a copy of its tree, so that neither the input nor the output gets what a script writes."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

from updraft import cli


class Run:
    """status: the exit status, None where time ran out. active: whether torch was imported under Updraft's hook."""

    def __init__(self, name, status, seconds, active, stdout, stderr):
        self.name, self.status, self.seconds, self.active = name, status, seconds, active
        self.stdout, self.stderr = stdout, stderr  # paths

    def text(self, path):
        return path.read_bytes().decode("utf-8", "replace")


def stage(source, like, folder):
    """A copy of the project `source` (a folder or one file) by the name of `like`, between links to like's neighbours, so that
    ../data is found. Gives the folder to run in."""
    like = pathlib.Path(like).resolve()
    home = like if like.is_dir() else like.parent
    place = folder / (home.parent.name or "root") if like.is_dir() else folder / home.name
    place.mkdir(parents=True)
    for neighbour in (home.parent if like.is_dir() else home).iterdir():
        if neighbour != like and neighbour.resolve() != folder.resolve():
            (place / neighbour.name).symlink_to(neighbour)
    if like.is_file():
        migrated = source if source.is_file() else source / like.name
        shutil.copy2(migrated, place / like.name)
        return place
    shutil.copytree(source, place / home.name, symlinks=True, ignore=lambda _, names: {".git"} & set(names))
    if (home / ".git").exists():
        (place / home.name / ".git").symlink_to(home / ".git")
    return place / home.name


def environment(migrated, mark):
    env = {k: v for k, v in os.environ.items() if not k.startswith("UPDRAFT_CUDA_") and k != "UPDRAFT_DISABLE"}
    env["PATH"] = os.path.dirname(os.path.abspath(sys.executable)) + os.pathsep + env.get("PATH", "")
    env.update(PYTHONUNBUFFERED="1", UPDRAFT_VERIFY_MARK=str(mark))
    env.setdefault("PYTHONHASHSEED", "0")
    if migrated:
        env.update(cli.environment(env))
        env.pop("TORCH_DEVICE_BACKEND_AUTOLOAD", None)
    else:
        env.update(UPDRAFT_CUDA_ON_CPU="1", TORCH_DEVICE_BACKEND_AUTOLOAD="0")
    return env


def execute(name, command, folder, reports, limit, migrated):
    mark = reports / (name + ".mark")
    mark.unlink(missing_ok=True)
    out, err = reports / (name + ".stdout.txt"), reports / (name + ".stderr.txt")
    start = time.monotonic()
    with open(out, "wb") as stdout, open(err, "wb") as stderr:
        process = subprocess.Popen(["/bin/sh", "-c", command], cwd=folder, stdin=subprocess.DEVNULL, stdout=stdout,
                                   stderr=stderr, env=environment(migrated, mark), start_new_session=True)
        try:
            status = process.wait(timeout=limit)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            _end(process)
    seconds = time.monotonic() - start
    active = mark.exists()
    mark.unlink(missing_ok=True)
    return Run(name, status, seconds, active, out, err)


def _end(process):
    """The whole session: workers of a DataLoader, ranks of a launcher."""
    for sign, patience in ((signal.SIGTERM, 5), (signal.SIGKILL, 5)):
        try:
            os.killpg(process.pid, sign)
        except (ProcessLookupError, PermissionError):
            break
        try:
            process.wait(timeout=patience)
        except subprocess.TimeoutExpired:
            continue
    process.wait()
