"""Executes scripts on the virtual NPU, many in one process, each in a module, a folder and an environment of its own.

usage: corpus_runner.py < JOBS > RESULTS    JSON, a line each: {"id", "folder", "main", "check"} and {"id", "error", "output"}
"""

import contextlib
import io
import json
import os
import signal
import sys
import traceback
import types

import torch
import torch_npu  # noqa: F401

SECONDS = 60


def cells(text):
    """The Python cells of a notebook, without the lines that are IPython's."""
    lines = []
    for cell in json.loads(text)["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "code" and not source.startswith("%%"):
            lines += [line for line in source.splitlines() if not line.lstrip().startswith(("%", "!"))]
    return "\n".join(lines) + "\n"


def execute(job):
    path = os.path.join(job["folder"], job["main"])
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if path.endswith(".ipynb"):
        text = cells(text)
    module = types.ModuleType("__main__")
    module.__file__ = path
    sys.modules["__main__"] = module
    sys.argv = [job["main"]]
    sys.path.insert(0, job["folder"])
    os.chdir(job["folder"])
    exec(compile(text, path, "exec"), module.__dict__)
    exec(compile(job["check"], "check", "exec"), module.__dict__)


def too_long(*_):
    raise TimeoutError(f"took more than {SECONDS} s")


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    signal.signal(signal.SIGALRM, too_long)
    before = dict(os.environ), list(sys.path), sys.modules["__main__"], set(sys.modules)
    for line in sys.stdin:
        job, error, output = json.loads(line), "", io.StringIO()
        signal.alarm(SECONDS)
        try:
            with contextlib.redirect_stdout(output):
                execute(job)
        except (Exception, SystemExit):
            error = traceback.format_exc()
        signal.alarm(0)
        for undo in (torch.distributed.destroy_process_group if torch.distributed.is_initialized() else None,
                     lambda: torch.set_default_device(None), lambda: torch.npu.set_device(0),
                     lambda: torch.set_default_dtype(torch.float32)):
            with contextlib.suppress(Exception):
                if undo:
                    undo()
        os.environ.clear()
        os.environ.update(before[0])
        sys.path[:], sys.modules["__main__"] = before[1], before[2]
        for name in [n for n, m in sys.modules.items() if n not in before[3] and (getattr(m, "__file__", "") or "").startswith(job["folder"])]:
            del sys.modules[name]
        print(json.dumps({"id": job["id"], "error": error, "output": output.getvalue()}), file=answers, flush=True)


if __name__ == "__main__":
    main()
