"""In each process of a recorded run. Started by updraft-preload.pth where UPDRAFT_RECORD names the folder.

Nothing that goes wrong here may change the run: it is kept in the record, under "errors".
"""

import atexit
import functools
import io
import json
import os
import sys
import sysconfig
import threading

MOST_PRINTED = 100_000  # losses that are printed
record = {"printed": [], "notes": {}, "errors": []}
_state = {"folder": None, "process": None, "files": None, "seen": set(), "busy": threading.local()}


def guarded(function):
    """The function, whose exceptions are noted and end there."""
    @functools.wraps(function)
    def call(*arguments, **words):
        try:
            return function(*arguments, **words)
        except Exception as error:
            text = "%s: %s: %s" % (function.__name__, type(error).__name__, error)
            if text not in record["errors"] and len(record["errors"]) < 20:
                record["errors"].append(text)
            return None

    return call


def note(key, value):
    """For others that know something worth comparing; nothing where no run is recorded."""
    if _state["folder"]:
        record["notes"][key] = value


def rank():
    for name in ("RANK", "RANK_ID", "OMPI_COMM_WORLD_RANK"):
        if os.environ.get(name, "").isdigit():
            return int(os.environ[name])
    return 0


class Told(io.TextIOBase):
    """An output stream whose lines are looked through for losses on their way."""

    def __init__(self, stream):
        self._stream, self._line = stream, ""

    def __getattribute__(self, name):
        if name in ("write", "writelines", "_stream", "_line", "_look", "__class__", "__dict__", "__del__"):
            return object.__getattribute__(self, name)
        return getattr(object.__getattribute__(self, "_stream"), name)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    def __iter__(self):
        return iter(self._stream)

    def __del__(self):  # TextIOBase would close it
        pass

    def write(self, text):
        written = self._stream.write(text)
        if isinstance(text, str):
            self._look(text)
        return written

    def writelines(self, lines):
        for line in lines:
            self.write(line)

    @guarded
    def _look(self, text):
        self._line += text
        if "\n" not in self._line:
            self._line = self._line[-4096:]
            return
        from updraft.verify.losses import losses

        whole, _, self._line = self._line.rpartition("\n")
        if len(record["printed"]) < MOST_PRINTED:
            record["printed"] += [{"label": loss.label, "text": loss.text, "line": loss.line.strip()[:200]} for loss in losses(whole)]


def _beneath(folders):
    return tuple(os.path.realpath(f).rstrip("/") + "/" for f in folders if f)


def _left_out():
    """Folders whose files are programs, not data."""
    from updraft import home

    paths = sysconfig.get_paths()
    return _beneath([paths["stdlib"], paths["platstdlib"], paths["purelib"], paths["platlib"], home(), os.path.dirname(os.path.dirname(__file__)),
                     _state["folder"], "/proc", "/sys", "/dev", "/etc", "/usr", "/lib", "/lib64", "/bin", "/run"]
                    + [p for p in sys.path if p.endswith(("site-packages", "dist-packages"))])


def _opened(event, arguments):
    """An audit hook: sees every open() of Python, also those of numpy, PIL, json and torch.load."""
    if event != "open" or getattr(_state["busy"], "now", False):
        return
    path, mode, flags = arguments
    if isinstance(path, int) or path is None:
        return
    _state["busy"].now = True
    try:
        path = os.path.realpath(os.fsdecode(path))
        writes = bool(flags & (os.O_WRONLY | os.O_RDWR)) if isinstance(flags, int) else any(c in (mode or "r") for c in "wax+")
        key = path, writes
        if key in _state["seen"] or path.startswith(_state["left_out"]) or path.endswith((".py", ".pyc", ".so")):
            return
        _state["seen"].add(key)
        if not writes and not os.path.isfile(path):
            return
        # one write for each line: what workers that are forked find comes between, not into it
        old = not writes or os.path.exists(path)
        os.write(_state["files"], (json.dumps({"path": path, "writes": writes, "existed": old}) + "\n").encode())
    except Exception:
        pass
    finally:
        _state["busy"].now = False


def start():
    folder = os.environ.get("UPDRAFT_RECORD", "")
    if not folder or _state["folder"] or not os.path.isdir(folder):
        return
    _state.update(folder=folder, process=os.getpid())
    _state["left_out"] = _left_out()
    _state["files"] = os.open(os.path.join(folder, "rank%d-%d.files" % (rank(), os.getpid())), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    sys.stdout, sys.stderr = Told(sys.stdout), Told(sys.stderr)
    atexit.register(_write)
    sys.addaudithook(_opened)


@guarded
def _write():
    if os.getpid() != _state["process"]:
        return
    trained = any(record.get(key) for key in ("printed", "loaders", "optimizers", "inputs", "notes"))
    if not trained:
        return
    record.update(process=os.getpid(), rank=rank(), argv=sys.argv, python=sys.version.split()[0],
                  world=int(os.environ.get("WORLD_SIZE") or os.environ.get("RANK_SIZE") or 1))
    path = os.path.join(_state["folder"], "rank%d-%d.json" % (rank(), os.getpid()))
    with open(path + ".part", "w", encoding="utf-8") as file:
        json.dump(record, file, ensure_ascii=False)
    os.replace(path + ".part", path)
