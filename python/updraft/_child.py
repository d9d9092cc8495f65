"""Runs a command and waits for it."""

import os
import signal
import subprocess
import sys


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
