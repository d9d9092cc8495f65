"""Runs the command of `updraft run` and waits for it."""

import shutil
import signal
import subprocess
import sys
import tempfile

NOT_RUN = (126, 127)


def run(command, env):
    """The exit status, as a shell tells it: 127 no such program, 126 not to be run, 128 + N ended by signal N. An interrupt (Ctrl-C) is the
    command's own affair: this process goes on."""
    try:
        child = subprocess.Popen(command, env=env)
    except OSError as error:
        print("updraft run: %s: %s" % (command[0], error.strerror), file=sys.stderr)
        return 127 if isinstance(error, FileNotFoundError) else 126
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # the command has it, too, and decides
    try:
        status = child.wait()
    finally:
        signal.signal(signal.SIGINT, before)
    return 128 - status if status < 0 else status


def run_with_folder(command, env, variable, then):
    """Runs it with `variable` naming a folder, in which its processes leave what they saw. The exit status is what `then(folder, status)`
    makes of it, after an interrupt as well; that of a command that was not run stays."""
    folder = tempfile.mkdtemp(prefix="updraft-report-")
    try:
        status = run(command, dict(env, **{variable: folder}))
        return status if status in NOT_RUN else then(folder, status)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
