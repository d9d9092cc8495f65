"""The command of `updraft run` as a child, whose processes leave what they saw in a folder."""

import shutil
import signal
import subprocess
import sys
import tempfile


def run(command, env, variable, then):
    """Runs it with `variable` naming a folder, and `then(folder, status)`. The exit status. An interrupt (Ctrl-C) ends the
    command, and what had run is told of."""
    folder = tempfile.mkdtemp(prefix="updraft-report-")
    try:
        try:
            child = subprocess.Popen(command, env=dict(env, **{variable: folder}))
        except OSError as error:
            print("updraft run: %s: %s" % (command[0], error.strerror), file=sys.stderr)
            return 127 if isinstance(error, FileNotFoundError) else 126
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # the command has it, too, and decides
        try:
            status = child.wait()
        finally:
            signal.signal(signal.SIGINT, before)
        status = 128 - status if status < 0 else status
        return then(folder, status)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
