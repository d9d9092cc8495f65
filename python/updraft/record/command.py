"""`updraft run --record FOLDER CMD`: runs the command and keeps what `updraft check` compares."""

import concurrent.futures
import hashlib
import json
import os
import sys
import time

from updraft import __version__, _child
from updraft._texts import t

FORMAT = 1
_OURS = (".json", ".files", ".part")


def check(folder):
    """A sentence where nothing could be recorded there, else None. A folder with a record is emptied."""
    if os.path.exists(folder) and not os.path.isdir(folder):
        return t("%s is a file; name a folder", "%s 是文件；请给出目录") % folder
    if os.path.isdir(folder):
        names = os.listdir(folder)
        if names and "run.json" not in names:
            return t("%s is not empty and holds no record of ours; name a new folder", "%s 非空且不是本工具的记录；请给出新目录") % folder
    return None


def md5(path, told=lambda size: None):
    made = hashlib.md5(usedforsecurity=False)
    with open(path, "rb") as file:
        while block := file.read(4 << 20):
            made.update(block)
            told(len(block))
    return made.hexdigest()


class _Progress:
    """On a terminal, while large files are read."""

    def __init__(self, total):
        self._total, self._done, self._shown = total, 0, time.monotonic()
        self._open = False

    def __call__(self, size):
        self._done += size
        if sys.stderr.isatty() and time.monotonic() - self._shown > 0.5:
            self._shown, self._open = time.monotonic(), True
            print(t("\rupdraft: md5 of files, %d of %d MB", "\rupdraft：计算文件 md5，%d / %d MB") % (self._done >> 20, self._total >> 20),
                  end="", file=sys.stderr, flush=True)

    def end(self):
        if self._open:
            print(file=sys.stderr)


def sums(paths):
    """[{"path", "size", "md5"}] in the order given; of a file that cannot be read "md5" is None."""
    sizes = {p: os.path.getsize(p) for p in paths if os.path.isfile(p)}
    progress = _Progress(sum(sizes.values()))

    def one(path):
        try:
            return {"path": path, "size": sizes[path], "md5": md5(path, progress)}
        except OSError:
            return {"path": path, "size": sizes.get(path, 0), "md5": None}

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        made = list(pool.map(one, [p for p in paths if p in sizes]))
    progress.end()
    return made


def files_below(folder):
    """The files of a data set, sorted by name. A file is a data set of one."""
    if os.path.isfile(folder):
        return [os.path.realpath(folder)]
    return sorted(os.path.join(where, name) for where, _, names in os.walk(os.path.realpath(folder)) for name in names)


def _read_files(folder):
    """What the processes opened: the files that were there before the run, by path {"ranks": in whose order, "written"}."""
    read, written = {}, set()
    for name in sorted(n for n in os.listdir(folder) if n.endswith(".files")):
        rank = int(name[len("rank"):].split("-")[0])
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            for order, line in enumerate(file):
                row = json.loads(line)
                if row["writes"]:
                    written.add(row["path"])
                    if not row["existed"]:
                        read.pop(row["path"], None)
                elif row["path"] not in written:
                    read.setdefault(row["path"], {}).setdefault(rank, order)
    return read, written


def run(command, env, folder, data=()):
    """The command's exit status."""
    wrong = check(folder) or next((t("--data %s: no such file or folder", "--data %s：没有该文件或目录") % d for d in data if not os.path.exists(d)), None)
    if wrong:
        print("updraft run: " + wrong, file=sys.stderr)
        return 2
    folder = os.path.abspath(folder)
    try:
        os.makedirs(folder, exist_ok=True)
        for name in os.listdir(folder):
            if name.endswith(_OURS):
                os.remove(os.path.join(folder, name))
    except OSError as error:
        print("updraft run: %s: %s" % (folder, error.strerror), file=sys.stderr)
        return 2
    began = time.time()
    status = _child.run(command, dict(env, UPDRAFT_RECORD=folder))
    if status in (126, 127):
        return status
    read, written = _read_files(folder)
    scripts = [os.path.abspath(word) for word in command if word.endswith(".py") and os.path.isfile(word)]
    files = sums(list(read))
    for row in files:
        row["ranks"] = sorted(read[row["path"]])
        row["order"] = {str(rank): order for rank, order in read[row["path"]].items()}
    whole = {"format": FORMAT, "updraft": __version__, "command": command, "status": status, "seconds": round(time.time() - began, 3), "began": began,
             "cwd": os.getcwd(), "script": sums(scripts), "files": files, "written": sorted(written)[:10000],
             "data": [{"folder": os.path.realpath(d), "files": sums(files_below(d))} for d in data],
             "environment": {k: v for k, v in env.items() if k.startswith(("UPDRAFT_SOC", "UPDRAFT_DEVICES", "HCCL_", "ASCEND_RT_VISIBLE", "PYTHONHASHSEED"))}}
    with open(os.path.join(folder, "run.json"), "w", encoding="utf-8") as file:
        json.dump(whole, file, ensure_ascii=False, indent=1)
    processes = sum(n.startswith("rank") and n.endswith(".json") for n in os.listdir(folder))
    if processes:
        print(t("updraft: %s: recorded %d processes, %d files; compare with: updraft check REFERENCE %s",
                "updraft：%s：记录了 %d 个进程、%d 个文件；比较：updraft check 参考目录 %s") % (folder, processes, len(files), folder), file=sys.stderr)
    else:
        print(t("updraft: %s: no process of the command has trained anything that could be recorded",
                "updraft：%s：命令的进程没有可记录的训练") % folder, file=sys.stderr)
    return status
